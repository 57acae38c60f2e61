"""Crowds: what five million users answer, beside a peer that draws from each row of the channel.

Run it: `python tests/bench/bench_crowds.py [users]`. Processor seconds of one core, faster of two
runs. The peer is what one writes first: the cumulative chances of each cell, one uniform number
a user, `searchsorted` in the row of the user's cell. It needs the channel's matrix, so it stops
where that does not fit. Nothing is asserted.
"""

import sys
import time
from collections.abc import Callable

import numpy as np

from edge.records import Grid, Guarantee, Round
from physics.crowds import disk, peers
from recovery.disk.channel import channel_of
from recovery.disk.query import Query
from recovery.disk.round import disk_round
from recovery.peers.local_privacy import distances
from recovery.peers.sem_geo_i import anchors

PROMISE = Guarantee((7, 2), None, (49, 8), "cells", "local", "report", "presence")
MATRIX_MAX = 50_000_000


def seconds(work: Callable[[], object]) -> float:
    """Processor seconds of the faster of two runs."""
    spent = []
    for _ in range(2):
        begun = time.process_time()
        work()
        spent.append(time.process_time() - begun)
    return min(spent)


def by_rows(round: Round, cells: np.ndarray, world: np.random.Generator) -> np.ndarray:
    """The peer: every cell's own law, one row after another."""
    channel = channel_of(round)
    rising = np.cumsum(channel.matrix().T, axis=1)
    answers = np.empty(len(cells), np.int64)
    for cell, row in enumerate(rising):
        there = np.flatnonzero(cells == cell)
        drawn = world.random(len(there)) * row[-1]
        answers[there] = np.searchsorted(row, drawn, side="right")
    return answers


def measured(side: int, radius: int, users: int) -> str:
    """A line for one grid."""
    query = Query(Grid((side, side), 0), (7, 2), radius=radius)
    round = disk_round(query, 1, PROMISE)
    world = np.random.default_rng(1)
    cells = world.integers(side**2, size=users)
    histogram = np.bincount(cells, minlength=side**2).reshape(side, side)
    ours = seconds(lambda: disk.report_many(round, cells, world))
    counted = seconds(lambda: disk.count_many(round, histogram, world))
    line = f"d = {side}, radius {radius}, {users} users: reports {ours:.3f} s, counts "
    line += f"{counted:.4f} s"
    if (side + 2 * radius) ** 2 * side**2 <= MATRIX_MAX:
        peer = seconds(lambda: by_rows(round, cells, world))
        line += f"; row by row {peer:.3f} s, {peer / ours:.1f} times"
    return line


def others(side: int, users: int) -> str:
    """A line for the mechanisms that the disk is compared with."""
    world = np.random.default_rng(2)
    cells = world.integers(side**2, size=users)
    histogram = np.bincount(cells, minlength=side**2)
    table = anchors(distances(side, side), 1.0)
    bits = seconds(lambda: peers.count_oue(histogram, 3.5, world))
    pairs = seconds(lambda: peers.report_sem_geo_i(table, cells, 2, world))
    return f"d = {side}, {users} users: OUE counts {bits:.4f} s, SEM-Geo-I pairs {pairs:.3f} s"


def main() -> None:
    """Print a line a grid."""
    users = int(sys.argv[1]) if len(sys.argv) > 1 else 5_000_000
    for side, radius in ((5, 1), (15, 3), (64, 8), (256, 30)):
        print(measured(side, radius, users), flush=True)
    print(others(15, users))


if __name__ == "__main__":
    main()
