"""Figure 12 of paper 003: where the circle crosses cells, and where its theorems miscount."""

import math

from recovery.disk.footprint import inside, meets

from .printed import counted, crossed, high
from .record import Figure, Grid2, Order, Stage, Table

TITLE = "Circle crossings: Theorems VI.3 and VI.4 against counting"
PAPER = "each line of an eighth has one crossed cell whose centre is outside, and the rest follows"
MOST = 200
LISTED = 16
SHOWN = (5, 7)


def make(order: Order, stage: Stage) -> Figure:
    """Return the figure; it has no chance in it and needs no runs."""
    rows = []
    centre = mixed = double = 0
    for radius in range(1, MOST + 1):
        listed, true = crossed(radius), counted(radius)
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
        f"of radii 1 to {MOST}, VI.3 lists cells whose centre is inside at {centre}, and what it "
        f"lists besides is not what is crossed at {mixed}",
        f"VI.4 miscounts at {double}: it counts crossed cells too, so the weights no longer add "
        "to one",
    )
    return Figure("disk-12", TITLE, PAPER, found, tables=(table,), maps=tuple(map(_map, SHOWN)))


def _map(radius: int) -> Grid2:
    """Return one eighth: 2 for a centre inside, 1 for crossed, and what VI.3 lists marked."""
    size = radius + 2
    values = [
        [
            math.nan if y > x else 2.0 * inside(x, y, radius) or float(meets(x, y, radius))
            for x in range(size)
        ]
        for y in range(size)
    ]
    marked = tuple((x, y, "!" if inside(x, y, radius) else "o") for x, y in crossed(radius))
    return Grid2(f"radius {radius}: o listed by VI.3, ! listed though inside", values, marked)
