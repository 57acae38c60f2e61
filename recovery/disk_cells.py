"""Cells beside a disk that stands in the middle of one: inside, crossed, and by how much.

A cell is the unit square around (x, y), both from 0 up; the disk is around (0, 0).

Source: the disk area mechanism's paper, Section VI.A and Theorem VI.1.
"""

import math


def inside(x: int, y: int, radius: float) -> bool:
    """Say whether the cell's centre is in the disk or on its edge."""
    return x * x + y * y <= radius * radius


def meets(x: int, y: int, radius: float) -> bool:
    """Say whether the open cell meets the disk, for cells with x, y >= 0."""
    return max(x - 0.5, 0.0) ** 2 + max(y - 0.5, 0.0) ** 2 < radius * radius


def shrunken(x: int, y: int, radius: float) -> float:
    """Return Theorem VI.1's area of the rectangle that shrinks to the disk, kept in [0, 1]."""
    nearer = radius / math.sqrt(x * x + y * y) - 1
    sides = max(nearer * x + 0.5, 0.0), max(nearer * y + 0.5, 0.0)
    return min(1.0, 4 * sides[0] * sides[1])


def part_inside(x: int, y: int, radius: float, line: bool) -> float:
    """Return how much of the cell lies in the disk; along a line, in the interval."""
    if line:
        return min(1.0, radius - (x - 0.5)) if x else min(1.0, 2 * radius)
    if (x + 0.5) ** 2 + (y + 0.5) ** 2 <= radius**2:
        return 1.0
    left, right = (_quadrant(at, y + 0.5, radius) for at in (x - 0.5, x + 0.5))
    below_left, below_right = (_quadrant(at, y - 0.5, radius) for at in (x - 0.5, x + 0.5))
    return min(1.0, max(0.0, right - left - below_right + below_left))


def _quadrant(x: float, y: float, radius: float) -> float:
    """Return the disk's area between the axes and (x, y), with the sign of x y."""
    sign = math.copysign(1.0, x) * math.copysign(1.0, y)
    x, y = min(abs(x), radius), min(abs(y), radius)
    bend = min(x, math.sqrt(radius * radius - y * y))  # up to there y is the lower roof

    def under(at: float) -> float:
        roof = math.sqrt(max(radius * radius - at * at, 0.0))
        return (at * roof + radius * radius * math.asin(min(1.0, at / radius))) / 2

    return sign * (y * bend + under(x) - under(bend))
