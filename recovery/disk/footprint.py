"""How much of the greatest weight each cell around the true one gets, scheme by scheme.

A share s lies in [0, 1] and stands for the weight far + s (near - far): nought for a cell that is
no likelier than those far away, one for a cell that is exp(epsilon) times as likely. Whatever the
shares are, no weight is below far or above near, so no scheme can break the promise by its
geometry; it can only be a worse or a better one.

Only the eighth 0 <= y <= x of the footprint is stated, row by row from x = y on; mirrored, it is
the whole. Along a line it is the row y = 0 alone.

Source: the disk area mechanism's paper, Sections IV and VI.A and Appendix A.

Differs from the paper:
1. Theorem VI.1's area is clamped to [0, 1]. Printed, it is negative where only a corner of a cell
   is inside (first at radius 3), and above one for cells whose centre is inside (first at 6).
2. Cells are enumerated. Theorem VI.3 lists, for most radii, a cell whose centre is inside the
   disk among those whose centre is outside, and Theorem VI.4 counts border cells twice.
3. The exponent of the hybrid mechanism's rings holds epsilon, as in Appendix A; Section VI.A
   leaves it out, and its rings would differ by one factor whatever epsilon is.
4. "area", the share of a cell that really lies in the disk, is ours, and so are radii that are no
   whole numbers.
"""

import math
from collections.abc import Callable

# Cells beside a disk that stands in the middle of one: inside, crossed, and by how much.
#
# A cell is the unit square around (x, y), both from 0 up; the disk is around (0, 0).
#
# Source: the disk area mechanism's paper, Section VI.A and Theorem VI.1.


def has_centre_inside(x: int, y: int, radius: float) -> bool:
    """Say whether the cell's centre is in the disk or on its edge."""
    return x * x + y * y <= radius * radius


def touches_disk(x: int, y: int, radius: float) -> bool:
    """Say whether the open cell meets the disk, for cells with x, y >= 0."""
    return max(x - 0.5, 0.0) ** 2 + max(y - 0.5, 0.0) ** 2 < radius * radius


def measure_shrunken_area(x: int, y: int, radius: float) -> float:
    """Return Theorem VI.1's area of the rectangle that shrinks to the disk, kept in [0, 1]."""
    nearer = radius / math.sqrt(x * x + y * y) - 1
    sides = max(nearer * x + 0.5, 0.0), max(nearer * y + 0.5, 0.0)
    return min(1.0, 4 * sides[0] * sides[1])


def measure_part_inside(x: int, y: int, radius: float, line: bool) -> float:
    """Return how much of the cell lies in the disk; along a line, in the interval."""
    if line:
        return min(1.0, radius - (x - 0.5)) if x else min(1.0, 2 * radius)
    if (x + 0.5) ** 2 + (y + 0.5) ** 2 <= radius**2:
        return 1.0
    left, right = (_compute_quadrant_area(at, y + 0.5, radius) for at in (x - 0.5, x + 0.5))
    below_left, below_right = (
        _compute_quadrant_area(at, y - 0.5, radius) for at in (x - 0.5, x + 0.5)
    )
    return min(1.0, max(0.0, right - left - below_right + below_left))


def _compute_quadrant_area(x: float, y: float, radius: float) -> float:
    """Return the disk's area between the axes and (x, y), with the sign of x y."""
    sign = math.copysign(1.0, x) * math.copysign(1.0, y)
    x, y = min(abs(x), radius), min(abs(y), radius)
    bend = min(x, math.sqrt(radius * radius - y * y))  # up to there y is the lower roof

    def under(at: float) -> float:
        roof = math.sqrt(max(radius * radius - at * at, 0.0))
        return (at * roof + radius * radius * math.asin(min(1.0, at / radius))) / 2

    return sign * (y * bend + under(x) - under(bend))


# Of a cell (x, y) with 0 <= y <= x, at a radius, an epsilon, along a line or not; None outside
# the footprint.
Share = Callable[[int, int, float, float, bool], float | None]


def compute_shares(
    scheme: str, radius: float, epsilon: float, shape: tuple[int, int]
) -> list[list[float]]:
    """Return the shares of the footprint's eighth: row y holds those of x = y, y + 1, ...

    Args:
        scheme: a name of `SCHEMES`.
        radius: in cells, 0 or more; "krr" has none and takes no notice of it.
        epsilon: of one report.
        shape: (columns, rows) of the grid; where either is one the footprint is a line.

    Raises:
        ValueError: there is no such scheme, or the radius or epsilon means nothing.

    >>> compute_shares("dam", 1, 1.4, (5, 5))[0]
    [1.0, 1.0]
    """
    _check(scheme, radius, epsilon)
    if shape == (1, 1):
        return [[1.0]]  # the only cell: there is nowhere else to go
    if scheme == "wave":
        # Loaded here alone: it solves a program of its own.

        return compute_wave_shares(radius, epsilon, shape)
    line = 1 in shape
    rows: list[list[float]] = []
    while not (line and rows):
        row = _make_row(SCHEMES[scheme], len(rows), radius, epsilon, line)
        if not row:
            break
        rows.append(row)
    if not rows:
        return [[1.0]]  # a radius whose square is nought in floats: the true cell alone
    # Where a small disk fills no cell, the budget would be left unspent: the greatest share is 1.
    most = max(max(row) for row in rows)
    return [[share / most for share in row] for row in rows]


def weigh_shrunken_disk(x: int, y: int, radius: float, epsilon: float, line: bool) -> float | None:
    """Return the share of the disk area mechanism: all, the shrunken rectangle's, or none.

    Source: Definition 8, Equation (13) and Theorem VI.1.
    """
    if has_centre_inside(x, y, radius):
        return 1.0
    return measure_shrunken_area(x, y, radius) if touches_disk(x, y, radius) else None


def weigh_by_centre(x: int, y: int, radius: float, epsilon: float, line: bool) -> float | None:
    """Return the share without border cells: all where the centre is inside, none elsewhere.

    Source: Section VII.B, "Non-Shrink".
    """
    return 1.0 if has_centre_inside(x, y, radius) else None


def weigh_by_area(x: int, y: int, radius: float, epsilon: float, line: bool) -> float | None:
    """Return the part of the cell that lies in the disk, or along a line in the interval."""
    if x == y == radius == 0:
        return 1.0
    return measure_part_inside(x, y, radius, line) if touches_disk(x, y, radius) else None


def weigh_by_ring(x: int, y: int, radius: float, epsilon: float, line: bool) -> float | None:
    """Return the share of the hybrid uniform-exponential mechanism, in rings one cell wide.

    Ring j, between the circles j - 1 and j, weighs exp((1 - (j - 1) / radius) epsilon); a cell
    that the circle inside it crosses weighs between that ring and the next one inwards, by its
    shrunken rectangle.

    Source: Definition 5, and Appendix A for rings.
    """
    outside = not has_centre_inside(x, y, radius)
    if outside and not touches_disk(x, y, radius):
        return None
    last = max(1, math.ceil(radius))
    ring = last + 1 if outside else max(1, math.ceil(math.sqrt(x * x + y * y)))
    circle = min(float(ring - 1), radius)
    share = _compute_ring_share(ring, radius, epsilon)
    if ring > 1 and touches_disk(x, y, circle):
        part = measure_shrunken_area(x, y, circle)
        share = part * _compute_ring_share(ring - 1, radius, epsilon) + (1 - part) * share
    return share


def weigh_true_cell(x: int, y: int, radius: float, epsilon: float, line: bool) -> float | None:
    """Return the share of randomised response: all for the true cell, none elsewhere."""
    return 1.0 if x == y == 0 else None


# What "wave" is made of stands in its own module.
SCHEMES: dict[str, Share] = {
    "dam": weigh_shrunken_disk,
    "dam-ns": weigh_by_centre,
    "area": weigh_by_area,
    "huem": weigh_by_ring,
    "krr": weigh_true_cell,
}


def _make_row(share: Share, y: int, radius: float, epsilon: float, line: bool) -> list[float]:
    row: list[float] = []
    while (found := share(y + len(row), y, radius, epsilon, line)) is not None:
        row.append(found)
    return row


def _compute_ring_share(ring: int, radius: float, epsilon: float) -> float:
    """Return the share of a whole ring; beyond the last it is nought."""
    if ring == 1:
        return 1.0
    exponent = (1 - (ring - 1) / radius) * epsilon
    return max(0.0, math.expm1(exponent) / math.expm1(epsilon))


def _check(scheme: str, radius: float, epsilon: float) -> None:
    known = (*SCHEMES, "wave")
    for name, good, given, needed in (
        ("scheme", scheme in known, scheme, f"one of {', '.join(known)}"),
        ("radius", 0 <= radius < math.inf, radius, "a number of cells from 0 up"),
        ("epsilon", 0 < epsilon < math.inf, epsilon, "positive"),
    ):
        if not good:
            raise ValueError(
                f"{name} is {given!r} but must be {needed}, or no cell would have a weight. "
                "Correct it."
            )


# How far the disk reaches: the radius that lets the most through of where somebody is.
#
# The bound on what an answer tells of the cell is largest where the footprint's area and the area
# around it are as
#
#     footprint : rest = m2 : exp(epsilon) m1,   m1 = e^epsilon - 1 - epsilon,
#                                                m2 = 1 - e^epsilon + epsilon e^epsilon,
#
# whatever their shapes are. For a disk of radius b over a square of side L the rest is 4 L b +
# L^2, which gives the printed formula; over a rectangle it is 2 (L1 + L2) b + L1 L2, and along a
# line, with a footprint 2 b, it is L.
#
# Source: the disk area mechanism's paper, Section V.C; and Li et al. 2020, Section 5.3, for lines.
#
# Differs from the paper: 1. Equation (12) prints 4 d m2 b; it is 4 L m2 b. The radius that follows
# from it is right. 2. Rectangles and lines: the ratio above is elementary, from the derivative by
# the ratio itself. 3. m1 and m2 are had without the cancellation that leaves no digit of them at
# small epsilon.


_SERIES = 0.5  # below it m1 and m2 are summed as series


def choose_radius(epsilon: float, shape: tuple[int, int]) -> int:
    """Return the best radius over a grid, in whole cells, rounded down; nought is a radius.

    Args:
        epsilon: of one report.
        shape: (columns, rows).

    >>> [choose_radius(epsilon, (15, 15)) for epsilon in (0.7, 3.5, 7.0)]
    [14, 3, 0]
    """
    # A radius that is whole but for rounding is whole.
    return math.floor(best_radius(epsilon, *map(float, shape)) + 1e-9)


def best_radius(epsilon: float, across: float, down: float) -> float:
    """Return the best radius over a rectangle, in the unit of its sides; a side of 1 is a line.

    A unit square is a square: only beside a longer side does 1 mean that there is no other cell.
    """
    ratio = best_area_ratio(epsilon)
    short, long = sorted((across, down))
    if short == 1 < long:
        return ratio * long / 2
    around, within = 2 * (across + down), across * down
    most = ratio * around
    return (most + math.sqrt(most**2 + 4 * math.pi * ratio * within)) / (2 * math.pi)


def best_area_ratio(epsilon: float) -> float:
    """Return the best area of the footprint over the area around it: m2 / (e^epsilon m1).

    >>> round(best_area_ratio(1e-9), 6)  # as large as all the rest, where nothing is told
    1.0
    """
    if not 0 < epsilon < math.inf:
        raise ValueError(
            f"epsilon is {epsilon!r} but must be positive and finite: without a budget no radius "
            "tells more than another. Give one, such as 1."
        )
    if epsilon < _SERIES:
        # m1 / e^2 = sum of e^k / (k+2)!, and m2 / e^2 = sum of (k+1) e^k / (k+2)!.
        terms = [epsilon**k / math.factorial(k + 2) for k in range(18)]
        m1, m2 = sum(terms), sum((k + 1) * term for k, term in enumerate(terms))
        return m2 / m1 * math.exp(-epsilon)
    # Over e^epsilon: nothing overflows, however large epsilon is.
    small = math.exp(-epsilon)
    return small * (small - 1 + epsilon) / (1 - small * (1 + epsilon))


# A footprint that maps are nearer with than with the disk: the square wave, at times hollow.
#
#     radius 0    1/2         1           2             3 and more
#     #             #         # # #         # # #       the whole square
#                 # # #       # - #       # # # # #
#                   #         # # #       # # - # #     # weighs near, - weighs far and is
#                                         # # # # #     answered as often as any cell far away
#                                           # # #
#
# Proof of epsilon, which is the same for any shares in [0, 1]: a cell of the outer domain weighs
# far + s (near - far), so at least far and at most near <= far exp(epsilon); all weights of one
# true cell add up to far |O| + sum of (w - far), which names no cell, because every footprint is
# the same and lies in O. So any answer has, from any two cells, chances whose ratio is at most
# exp(epsilon). Nothing is asked of the device but another eighth; it checks those bounds itself.
#
# Why a square: with reach b around d x d cells the outer domain is d**2 + 4 b d + about the
# footprint. Of all footprints of that reach the square holds the most, so of all that hold as much
# it needs the narrowest margin, and answers in a margin tell little.
#
# Why hollow: what an answer tells is convex in the weights, so between far and near nothing is
# gained, and which cells weigh near is a question of shape. Every shape up to reach 2 was tried:
# where the best reach is 1 or 2 the true cell is best left out, and at 2 the corners: 2 to 5 % of
# W2, or nothing where cells are many. From reach 3 on a hole gained nothing beyond noise.
#
# Measured on ten sets of points, with the reach of `recovery.disk.query`: at 5 to 10 cells a side
# W2 is 7 to 18 % smaller than DAM's and up to 10 % smaller than that of DAM-NS, at 20 a side by a
# third of that. At epsilon 5, and where it reaches as far as the printed disk, it is no better
# than DAM-NS, which `query` takes there. Along a line the wave is the interval, which is the disk.
#
# Differs from the paper:
# 1. Theorem V.2 calls the disk the best at a fixed reach, for the sliced distance between two
#    answers' laws, and bounds the footprint by the disk's area. The square of that reach has a
#    larger area and so a smaller q; its reach along the diagonal is longer.


HOLLOW = 2  # from the next reach on the square is whole


def compute_wave_shares(
    radius: float, epsilon: float, shape: tuple[int, int]
) -> list[list[float]]:
    """Return the shares of the wave's eighth: row y holds those of x = y, y + 1, ..., reach.

    Args:
        radius: in cells, 0 or more; its whole part is the reach, but from 1/2 to 1 it is a cross.
        epsilon: of one report; the shares do not depend on it, the radius should.
        shape: (columns, rows) of the grid.

    Raises:
        ValueError: the radius is no number of cells.

    >>> compute_wave_shares(1, 3.5, (10, 10))
    [[0.0, 1.0], [1.0]]
    >>> compute_wave_shares(2, 3.5, (15, 15))
    [[0.0, 1.0, 1.0], [1.0, 1.0]]
    """
    if not 0 <= radius < math.inf:
        raise ValueError(
            f"the radius is {radius!r} but must be a number of cells from 0 up, or the wave would "
            "have no cell. Leave it out to have one chosen."
        )
    reach = math.floor(radius)
    if 1 in shape:
        return [[1.0] * (reach + 1)]
    if 0.5 <= radius < 1:
        return [[1.0, 1.0]]
    rows = [[1.0] * (reach + 1 - y) for y in range(reach + 1)]
    if 0 < reach <= HOLLOW:
        rows[0][0] = 0.0
    if reach == HOLLOW:
        del rows[reach]  # its only cell is the corner
    return rows
