"""A whole crowd's release at once: what `report` and `release` give, for millions of devices.

Who is in a shard does not matter to the sum of all, so cells are counted once, squares are painted
on the grid, and the noise of all devices is drawn together by `physics.crowds.shares`, exactly.
The law is that of the devices one by one; but sums are not taken modulo 2**bits, which changes a
number once in 2**40.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from edge.mechanisms.quadtree import COUNTS, PROPORTIONS, params_of, sensitivity
from edge.records import Release, Round
from physics.crowds.shares import sums
from recovery.quadtree.tree import painted

Whole = NDArray[np.int64]


def release_crowd(round: Round, cells: Whole, present: int, rng: Any) -> Release:
    """Return the release of a Round to which every shard's devices that are present report.

    Args:
        cells: how many of those present are in each cell, (rows, columns); for proportions (2,
            rows, columns), first those who say yes.
        present: devices that report, at least the threshold in every shard.

    Raises:
        ValueError: too few are present, or the Round is for devices of many places, which have
            no cells to count.
    """
    params = params_of(round)
    if params.kind not in (COUNTS, PROPORTIONS) or present < params.shards * params.threshold:
        raise ValueError(
            f"{present} devices are present but {params.shards} shards of at least "
            f"{params.threshold} are needed, of one place each: else their sum would not be "
            "opened, or has no cells. Let the devices report one by one."
        )
    squares = params.squares
    where = painted(squares, round.grid.shape)
    owner = where.owner.ravel()
    counts = [
        np.bincount(owner[owner >= 0], where.blocks(layer).ravel()[owner >= 0], len(squares))
        for layer in cells.reshape(-1, *where.shape)
    ]
    divisor = params.threshold - params.colluders
    values = np.stack(counts, axis=1).astype(np.int64).ravel()
    noise = sums(len(values), present, divisor, params.num, params.den * sensitivity(params), rng)
    return Release(round, (values + noise).tolist(), present)
