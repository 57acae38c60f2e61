"""Figure 11 of paper 003: the outer domain, and how many cells it has as the grid grows."""

from edge.records import Grid
from recovery.disk import promise
from recovery.disk.query import Query
from recovery.disk.round import disk_round, domain_of, weights_of

from .printed import low
from .record import Figure, Grid2, Order, Stage, Table

TITLE = "The outer domain and its cells, as the grid grows"
PAPER = "moving up and then right adds d2 + 4 b d - 4 b - 1 cells to the footprint (Theorem VI.2)"
SIDES, RADII = (1, 2, 3, 5, 8, 15, 20), (0, 1, 2, 3, 5, 7, 10)
SHOWN = ((1, 3), (3, 3), (8, 3))


def make(order: Order, stage: Stage) -> Figure:
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
    maps = tuple(_map(side, radius) for side, radius in SHOWN if side > 1)
    found = (f"Theorem VI.2 is right: of {len(rows)} grids and radii it miscounts {wrong}",)
    return Figure("disk-11", TITLE, PAPER, found, tables=(table,), maps=maps)


def _cells(side: int, radius: int) -> tuple[int, int]:
    query = Query(Grid((side, side), 0), (7, 2), scheme="dam", radius=radius)
    made = disk_round(query, 1, promise(query))
    return int(domain_of(made).sum()), int((weights_of(made) != 0).sum())


def _map(side: int, radius: int) -> Grid2:
    query = Query(Grid((side, side), 0), (7, 2), scheme="dam", radius=radius)
    made = disk_round(query, 1, promise(query))
    domain = domain_of(made)
    reach = made.params[0]
    values = domain.astype(float)
    values[reach : reach + side, reach : reach + side] += 1
    shown = values.tolist()
    return Grid2(f"d = {side}, radius {radius}: {int(domain.sum())} cells", shown)
