"""How far the disk reaches: the radius that lets the most through of where somebody is.

The bound on what an answer tells of the cell is largest where the footprint's area and the area
around it are as

    footprint : rest = m2 : exp(epsilon) m1,   m1 = e^epsilon - 1 - epsilon,
                                               m2 = 1 - e^epsilon + epsilon e^epsilon,

whatever their shapes are. For a disk of radius b over a square of side L the rest is 4 L b + L^2,
which gives the printed formula; over a rectangle it is 2 (L1 + L2) b + L1 L2, and along a line,
with a footprint 2 b, it is L.

Source: the disk area mechanism's paper, Section V.C; and Li et al. 2020, Section 5.3, for lines.

Differs from the paper:
1. Equation (12) prints 4 d m2 b; it is 4 L m2 b. The radius that follows from it is right.
2. Rectangles and lines: the ratio above is elementary, from the derivative by the ratio itself.
3. m1 and m2 are had without the cancellation that leaves no digit of them at small epsilon.
"""

import math

_SERIES = 0.5  # below it m1 and m2 are summed as series


def mutual_information_radius(epsilon: float) -> float:
    """Return the best radius over a square, in units of its side.

        b = (2 m2 + sqrt(4 m2^2 + pi e^epsilon m1 m2)) / (pi e^epsilon m1)

    Raises:
        ValueError: epsilon is not positive.

    >>> round(mutual_information_radius(3.5), 4)
    0.2332
    """
    return best_radius(epsilon, 1.0, 1.0)


def radius_cells(epsilon: float, shape: tuple[int, int]) -> int:
    """Return the best radius over a grid, in whole cells, rounded down; nought is a radius.

    Args:
        epsilon: of one report.
        shape: (columns, rows).

    >>> [radius_cells(epsilon, (15, 15)) for epsilon in (0.7, 3.5, 7.0)]
    [14, 3, 0]
    """
    # A radius that is whole but for rounding is whole.
    return math.floor(best_radius(epsilon, *map(float, shape)) + 1e-9)


def best_radius(epsilon: float, across: float, down: float) -> float:
    """Return the best radius over a rectangle, in the unit of its sides; a side of 1 is a line.

    A unit square is a square: only beside a longer side does 1 mean that there is no other cell.
    """
    ratio = footprint_ratio(epsilon)
    short, long = sorted((across, down))
    if short == 1 < long:
        return ratio * long / 2
    around, within = 2 * (across + down), across * down
    most = ratio * around
    return (most + math.sqrt(most**2 + 4 * math.pi * ratio * within)) / (2 * math.pi)


def footprint_ratio(epsilon: float) -> float:
    """Return the best area of the footprint over the area around it: m2 / (e^epsilon m1).

    >>> round(footprint_ratio(1e-9), 6)  # as large as all the rest, where nothing is told
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
