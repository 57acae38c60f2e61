"""Figure 10 of paper 003: how the footprint is divided into weights, printed and enumerated."""

import math

from recovery.disk.footprint import shares

from .printed import area, crossed, really, weights
from .record import Figure, Grid2, Order, Stage, Table

TITLE = "The division of the footprint into weights: ours, and as printed"
PAPER = "each crossed cell has a shrunken area between 0 and 1, and with it a weight between both"
RADII = (3, 6, 7)  # the first with a negative area, with one above 1, and the paper's example
MOST = 15
EPSILON = 3.5


def make(order: Order, stage: Stage) -> Figure:
    """Return the figure; it has no chance in it and needs no runs."""
    rows = []
    negative = above = broken = 0
    for radius in range(1, MOST + 1):
        areas = [area(cell, radius) for cell in crossed(radius)] or [math.nan]
        below = sum(one < 0 for one in areas)
        over = sum(one > 1 for one in areas)
        given = really(radius, EPSILON)
        negative, above = negative + (below > 0), above + (over > 0)
        broken += not given <= EPSILON + 1e-9
        told = "a weight below 0" if math.isnan(given) else f"{given:.2f}"
        rows.append((radius, len(crossed(radius)), below, over, min(areas), max(areas), told))
    table = Table(
        f"Theorem VI.1 printed, by radius; promised is epsilon {EPSILON:g}",
        ("radius", "crossed", "below 0", "above 1", "least", "greatest", "epsilon given"),
        tuple(rows),
    )
    pairs = [_maps(radius) for radius in RADII]
    maps = tuple(pair[which] for which in (0, 1) for pair in pairs)
    found = (
        f"of radii 1 to {MOST}, {negative} have a cell of negative area and {above} one above 1; "
        f"the printed weights break epsilon {EPSILON:g} at {broken}",
        "ours are enumerated and clamped to [0, 1]: no radius breaks anything, by construction",
    )
    return Figure("disk-10", TITLE, PAPER, found, tables=(table,), maps=maps)


def _maps(radius: int) -> list[Grid2]:
    """Return both divisions as shares of the greatest weight: 1 near, 0 far."""
    rows = shares("dam", radius, EPSILON, (99, 99))
    ours = {(x, y): share for y, row in enumerate(rows) for x, share in enumerate(row, y)}
    more = math.expm1(EPSILON)
    theirs = {cell: (weight - 1) / more for cell, weight in weights(radius, EPSILON).items()}
    return [
        _map(f"radius {radius}, ours", radius, ours),
        _map(f"radius {radius}, as printed", radius, theirs),
    ]


def _map(title: str, radius: int, eighth: dict[tuple[int, int], float]) -> Grid2:
    size = radius + 2
    values = [[eighth.get((max(x, y), min(x, y)), 0.0) for x in range(size)] for y in range(size)]
    marked = tuple(
        (x, y, f"{share:.2f}" if abs(share) >= 0.005 else f"{share:.1g}")
        for y, row in enumerate(values)
        for x, share in enumerate(row)
        if share < 0 or share > 1 or 0 < share < 1
    )
    return Grid2(title, values, marked)
