"""Figures 10 to 12 of paper 003: weights, outer domain and circle crossings, held to counting."""

import math
from typing import NamedTuple

from edge.core.records import Grid
from recovery.disk import promise
from recovery.disk.footprint import inside, meets, shares
from recovery.disk.query import Query
from recovery.disk.round import disk_round, domain_of, weights_of

from .figures import FIGURES, Figure, Grid2, Order, Stage, Table

# Paper 003's Theorems VI.1 to VI.4 word for word, beside what counting cells one by one gives.
#
# None of this is used by the mechanism (`recovery.disk.footprint` enumerates and clamps). It is
# here to show what the printed formulas do, so nothing in it is corrected.

Cell = tuple[int, int]


class Counted(NamedTuple):
    """Cells strictly between the axis and the diagonal of one eighth."""

    mixed: int  # crossed by the circle, centre outside
    high: int  # centre inside


def list_crossed(radius: int) -> list[Cell]:
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
    width, listed = math.ceil(radius / math.sqrt(2) - 0.5), list_crossed(radius)
    return width * (width - 2 * len(listed) - 1) / 2 + sum(x for x, _ in listed)


def low(side: int, radius: int) -> int:
    """Return Theorem VI.2's number of cells that no circle around one cell touches."""
    return side**2 + 4 * radius * side - 4 * radius - 1


def count_cells(radius: int) -> Counted:
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
    for cell in list_crossed(radius):
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


# Figure 10 of paper 003: how the footprint is divided into weights, printed and enumerated.

SHOWN_10 = (3, 6, 7)  # the first with a negative area, with one above 1, and the paper's example
MOST_10 = 15
EPSILON = 3.5


def make_disk_10(order: Order, stage: Stage) -> Figure:
    """Return the figure; it has no chance in it and needs no runs."""
    rows = []
    negative = above = broken = 0
    for radius in range(1, MOST_10 + 1):
        areas = [area(cell, radius) for cell in list_crossed(radius)] or [math.nan]
        below = sum(one < 0 for one in areas)
        over = sum(one > 1 for one in areas)
        given = really(radius, EPSILON)
        negative, above = negative + (below > 0), above + (over > 0)
        broken += not given <= EPSILON + 1e-9
        told = "a weight below 0" if math.isnan(given) else f"{given:.2f}"
        rows.append((radius, len(list_crossed(radius)), below, over, min(areas), max(areas), told))
    table = Table(
        f"Theorem VI.1 printed, by radius; promised is epsilon {EPSILON:g}",
        ("radius", "crossed", "below 0", "above 1", "least", "greatest", "epsilon given"),
        tuple(rows),
    )
    pairs = [_maps(radius) for radius in SHOWN_10]
    maps = tuple(pair[which] for which in (0, 1) for pair in pairs)
    found = (
        f"of radii 1 to {MOST_10}, {negative} have a cell of negative area and {above} one above "
        f"1; the printed weights break epsilon {EPSILON:g} at {broken}",
        "ours are enumerated and clamped to [0, 1]: no radius breaks anything, by construction",
    )
    return Figure(
        "disk-10",
        FIGURES["disk-10"],
        "each crossed cell has a shrunken area between 0 and 1, and with it a weight between both",
        found,
        tables=(table,),
        maps=maps,
    )


def _maps(radius: int) -> list[Grid2]:
    """Return both divisions as shares of the greatest weight: 1 near, 0 far."""
    rows = shares("dam", radius, EPSILON, (99, 99))
    ours = {(x, y): share for y, row in enumerate(rows) for x, share in enumerate(row, y)}
    more = math.expm1(EPSILON)
    theirs = {cell: (weight - 1) / more for cell, weight in weights(radius, EPSILON).items()}
    return [
        _map_10(f"radius {radius}, ours", radius, ours),
        _map_10(f"radius {radius}, as printed", radius, theirs),
    ]


def _map_10(title: str, radius: int, eighth: dict[tuple[int, int], float]) -> Grid2:
    size = radius + 2
    values = [[eighth.get((max(x, y), min(x, y)), 0.0) for x in range(size)] for y in range(size)]
    marked = tuple(
        (x, y, f"{share:.2f}" if abs(share) >= 0.005 else f"{share:.1g}")
        for y, row in enumerate(values)
        for x, share in enumerate(row)
        if share < 0 or share > 1 or 0 < share < 1
    )
    return Grid2(title, values, marked)


# Figure 11 of paper 003: the outer domain, and how many cells it has as the grid grows.

SIDES, RADII = (1, 2, 3, 5, 8, 15, 20), (0, 1, 2, 3, 5, 7, 10)
SHOWN_11 = ((1, 3), (3, 3), (8, 3))


def make_disk_11(order: Order, stage: Stage) -> Figure:
    """Return the figure; every domain is the union of all footprints, cell by cell."""
    rows = []
    for side in SIDES:
        for radius in RADII:
            if side == 1:
                continue  # one cell has nowhere to be moved to, and no footprint but itself
            outer, footprint = _cells(side, radius)
            rows.append((side, radius, outer, footprint, outer - footprint, low(side, radius)))
    wrong = sum(row[4] != row[5] for row in rows)
    table = Table(
        "cells of the outer domain",
        ("d", "radius", "outer", "footprint", "outside it", "Theorem VI.2"),
        tuple(rows),
    )
    maps = tuple(_map_11(side, radius) for side, radius in SHOWN_11 if side > 1)
    found = (f"Theorem VI.2 is right: of {len(rows)} grids and radii it miscounts {wrong}",)
    return Figure(
        "disk-11",
        FIGURES["disk-11"],
        "moving up and then right adds d2 + 4 b d - 4 b - 1 cells to the footprint (Theorem VI.2)",
        found,
        tables=(table,),
        maps=maps,
    )


def _cells(side: int, radius: int) -> tuple[int, int]:
    query = Query(Grid((side, side), 0), (7, 2), scheme="dam", radius=radius)
    made = disk_round(query, 1, promise(query))
    return int(domain_of(made).sum()), int((weights_of(made) != 0).sum())


def _map_11(side: int, radius: int) -> Grid2:
    query = Query(Grid((side, side), 0), (7, 2), scheme="dam", radius=radius)
    made = disk_round(query, 1, promise(query))
    domain = domain_of(made)
    reach = made.params[0]
    values = domain.astype(float)
    values[reach : reach + side, reach : reach + side] += 1
    shown = values.tolist()
    return Grid2(f"d = {side}, radius {radius}: {int(domain.sum())} cells", shown)


# Figure 12 of paper 003: where the circle crosses cells, and where its theorems miscount.

MOST_12 = 200
LISTED = 16
SHOWN_12 = (5, 7)


def make_disk_12(order: Order, stage: Stage) -> Figure:
    """Return the figure; it has no chance in it and needs no runs."""
    rows = []
    centre = mixed = double = 0
    for radius in range(1, MOST_12 + 1):
        listed, true = list_crossed(radius), count_cells(radius)
        within = sum(inside(x, y, radius) for x, y in listed)
        centre += within > 0
        mixed += len(listed) - within != true.mixed
        double += high(radius) != true.high
        rows.append((radius, len(listed), within, true.mixed, round(high(radius)), true.high))
    table = Table(
        "cells strictly inside one eighth",
        ("radius", "VI.3 lists", "centre inside", "counted", "VI.4 says", "counted"),
        tuple(rows[:LISTED]),
    )
    found = (
        f"of radii 1 to {MOST_12}, VI.3 lists cells whose centre is inside at {centre}, and what "
        f"it lists besides is not what is crossed at {mixed}",
        f"VI.4 miscounts at {double}: it counts crossed cells too, so the weights no longer add "
        "to one",
    )
    return Figure(
        "disk-12",
        FIGURES["disk-12"],
        "each line of an eighth has one crossed cell whose centre is outside, and the rest "
        "follows",
        found,
        tables=(table,),
        maps=tuple(map(_map_12, SHOWN_12)),
    )


def _map_12(radius: int) -> Grid2:
    """Return one eighth: 2 for a centre inside, 1 for crossed, and what VI.3 lists marked."""
    size = radius + 2
    values = [
        [
            math.nan if y > x else 2.0 * inside(x, y, radius) or float(meets(x, y, radius))
            for x in range(size)
        ]
        for y in range(size)
    ]
    marked = tuple((x, y, "!" if inside(x, y, radius) else "o") for x, y in list_crossed(radius))
    return Grid2(f"radius {radius}: o listed by VI.3, ! listed though inside", values, marked)
