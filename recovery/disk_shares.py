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

from .disk_cells import inside as inside
from .disk_cells import meets as meets
from .disk_cells import part_inside, shrunken

# Of a cell (x, y) with 0 <= y <= x, at a radius, an epsilon, along a line or not; None outside
# the footprint.
Share = Callable[[int, int, float, float, bool], float | None]


def shares(
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

    >>> shares("dam", 1, 1.4, (5, 5))[0]
    [1.0, 1.0]
    """
    _check(scheme, radius, epsilon)
    if shape == (1, 1):
        return [[1.0]]  # the only cell: there is nowhere else to go
    if scheme == "wave":
        # Loaded here alone: it solves a program of its own.
        from .disk_wave import shares as wave

        return wave(radius, epsilon, shape)
    line = 1 in shape
    rows: list[list[float]] = []
    while not (line and rows):
        row = _row(SCHEMES[scheme], len(rows), radius, epsilon, line)
        if not row:
            break
        rows.append(row)
    if not rows:
        return [[1.0]]  # a radius whose square is nought in floats: the true cell alone
    # Where a small disk fills no cell, the budget would be left unspent: the greatest share is 1.
    most = max(max(row) for row in rows)
    return [[share / most for share in row] for row in rows]


def disk(x: int, y: int, radius: float, epsilon: float, line: bool) -> float | None:
    """Return the share of the disk area mechanism: all, the shrunken rectangle's, or none.

    Source: Definition 8, Equation (13) and Theorem VI.1.
    """
    if inside(x, y, radius):
        return 1.0
    return shrunken(x, y, radius) if meets(x, y, radius) else None


def unshrunken(x: int, y: int, radius: float, epsilon: float, line: bool) -> float | None:
    """Return the share without border cells: all where the centre is inside, none elsewhere.

    Source: Section VII.B, "Non-Shrink".
    """
    return 1.0 if inside(x, y, radius) else None


def exact_area(x: int, y: int, radius: float, epsilon: float, line: bool) -> float | None:
    """Return the part of the cell that lies in the disk, or along a line in the interval."""
    if x == y == radius == 0:
        return 1.0
    return part_inside(x, y, radius, line) if meets(x, y, radius) else None


def hybrid(x: int, y: int, radius: float, epsilon: float, line: bool) -> float | None:
    """Return the share of the hybrid uniform-exponential mechanism, in rings one cell wide.

    Ring j, between the circles j - 1 and j, weighs exp((1 - (j - 1) / radius) epsilon); a cell
    that the circle inside it crosses weighs between that ring and the next one inwards, by its
    shrunken rectangle.

    Source: Definition 5, and Appendix A for rings.
    """
    outside = not inside(x, y, radius)
    if outside and not meets(x, y, radius):
        return None
    last = max(1, math.ceil(radius))
    ring = last + 1 if outside else max(1, math.ceil(math.sqrt(x * x + y * y)))
    circle = min(float(ring - 1), radius)
    share = _ring(ring, radius, epsilon)
    if ring > 1 and meets(x, y, circle):
        part = shrunken(x, y, circle)
        share = part * _ring(ring - 1, radius, epsilon) + (1 - part) * share
    return share


def alone(x: int, y: int, radius: float, epsilon: float, line: bool) -> float | None:
    """Return the share of randomised response: all for the true cell, none elsewhere."""
    return 1.0 if x == y == 0 else None


# What "wave" is made of stands in its own module.
SCHEMES: dict[str, Share] = {
    "dam": disk,
    "dam-ns": unshrunken,
    "area": exact_area,
    "huem": hybrid,
    "krr": alone,
}


def _row(share: Share, y: int, radius: float, epsilon: float, line: bool) -> list[float]:
    row: list[float] = []
    while (found := share(y + len(row), y, radius, epsilon, line)) is not None:
        row.append(found)
    return row


def _ring(ring: int, radius: float, epsilon: float) -> float:
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
                "Correct it in the query."
            )
