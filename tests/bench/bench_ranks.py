"""A million points sorted and blurred, beside plain counts.

One core. The ratio is to what a grid of 256 x 256 cells takes, noise in every cell. How near such
maps are, beside those of peers, is in `bench_mechanisms`.
"""

import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from edge.core.entropy import Tape
from edge.core.noise import dlaplace
from edge.core.records import Grid
from physics.crowds.ranks import release_many
from physics.points import histogram
from recovery.peers.equi_width import map_by_equi_width
from recovery.ranks import Query, plan, recover
from recovery.ranks.order import cells_of, places_of
from recovery.ranks.query import ORDERS

GRID, USERS = Grid((256, 256), 0), 10**6


def town() -> Any:
    """Return points in eight heaps of many widths."""
    world = np.random.default_rng(6)
    centres, widths = world.random((8, 2)), world.uniform(0.004, 0.05, 8)
    which = world.integers(8, size=USERS)
    moved = centres[which] + widths[which, None] * world.standard_normal((USERS, 2))
    return np.clip(moved, 0, 0.9999)


def sorted_map(points: Any) -> Any:
    """Return the map of sorted places."""
    query = Query(GRID, (1, 1), users=USERS)
    places = places_of(cells_of(points, ORDERS[2]), ORDERS[2])
    return recover(query, [release_many(plan(query, ()), places, Tape(b"ranks"))]).mass


def timed(work: Callable[[], Any]) -> float:
    """Return the least seconds of CPU of three runs."""
    took = []
    for _ in range(3):
        began = time.process_time()
        work()
        took.append(time.process_time() - began)
    return min(took)


def main() -> None:
    """Print both times, and their ratio."""
    million, draw = town(), partial(dlaplace, rng=Tape(b"grid"))
    ranks = timed(lambda: sorted_map(million))
    grid = timed(lambda: map_by_equi_width(histogram(million, GRID), Fraction(1), draw))
    print(
        f"a million points: ranks {ranks:.2f} s (bound 2 s), grid {grid:.2f} s: {ranks / grid:.2f}"
    )


if __name__ == "__main__":
    main()
