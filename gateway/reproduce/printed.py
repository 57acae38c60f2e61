"""Paper 003's Theorems VI.1 to VI.4 word for word, beside what counting cells one by one gives.

None of this is used by the mechanism (`recovery.disk.footprint` enumerates and clamps). It is here
to show what the printed formulas do, so nothing in it is corrected.
"""

import math
from typing import NamedTuple

from recovery.disk.footprint import inside, meets

Cell = tuple[int, int]


class Counted(NamedTuple):
    """Cells strictly between the axis and the diagonal of one eighth."""

    mixed: int  # crossed by the circle, centre outside
    high: int  # centre inside


def crossed(radius: int) -> list[Cell]:
    """Return the cells that Theorem VI.3 lists as crossed with their centre outside."""
    width = math.ceil(radius / math.sqrt(2) - 0.5)
    corner = math.floor(radius / math.sqrt(2) - 0.5) * math.sqrt(2) + 1 / math.sqrt(2)
    border = math.sqrt(corner**2 + 1 + math.sqrt(2) * corner)
    count = width - math.floor(border / radius)
    return [
        (math.ceil(math.sqrt(radius**2 - (row - 0.5) ** 2) - 0.5), row)
        for row in range(1, count + 1)
    ]


def area(cell: Cell, radius: int) -> float:
    """Return Theorem VI.1's area of a crossed cell's shrunken rectangle, of any sign and size."""
    x, y = cell
    nearer = radius / math.hypot(x, y) - 1
    return 4 * (nearer * x + 0.5) * (nearer * y + 0.5)


def high(radius: int) -> float:
    """Return Theorem VI.4's number of cells with their centre inside."""
    width, listed = math.ceil(radius / math.sqrt(2) - 0.5), crossed(radius)
    return width * (width - 2 * len(listed) - 1) / 2 + sum(x for x, _ in listed)


def low(side: int, radius: int) -> int:
    """Return Theorem VI.2's number of cells that no circle around one cell touches."""
    return side**2 + 4 * radius * side - 4 * radius - 1


def counted(radius: int) -> Counted:
    """Return what Theorems VI.3 and VI.4 say, by looking at every cell."""
    eighth = [(x, y) for x in range(1, radius + 2) for y in range(1, x)]
    return Counted(
        mixed=sum(not inside(x, y, radius) and meets(x, y, radius) for x, y in eighth),
        high=sum(inside(x, y, radius) for x, y in eighth),
    )


def weights(radius: int, epsilon: float) -> dict[Cell, float]:
    """Return the printed mechanism's weights in the eighth, where far cells weigh 1.

    Cells that the list holds weigh by their area, also where their centre is inside. The crossed
    cell of the diagonal has formula (14), which alone is capped.
    """
    more = math.expm1(epsilon)
    found = {
        (x, y): 1.0 + more for x in range(radius + 1) for y in range(x + 1) if inside(x, y, radius)
    }
    for cell in crossed(radius):
        found[cell] = 1.0 + area(cell, radius) * more
    step = radius / math.sqrt(2) - 0.5
    corner = math.floor(step) + 1
    if not inside(corner, corner, radius):
        part = step - math.floor(step)
        found[corner, corner] = 1.0 + (4 * part**2 if part < 0.5 else 1.0) * more
    return found


def really(radius: int, epsilon: float) -> float:
    """Return the epsilon that the printed weights really give; NaN where one is not positive."""
    found = [*weights(radius, epsilon).values(), 1.0]
    return math.log(max(found) / min(found)) if min(found) > 0 else math.nan
