"""Many users of a pyramid at once: the Release of `edge.mechanisms.pyramid`, added up by numpy.

The sums are the same whole numbers and the noise is the device half's own, so that a Release from
here and one from reports are equal, value by value, where the noise is drawn from one stream.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from edge.core.grid import depth
from edge.core.records import Release, Round
from edge.mechanisms.pyramid import params_of, veil

Whole = NDArray[np.int64]


def release_points(round: Round, cells: ArrayLike, rng: Any) -> Release:
    """Return the Release of users who are each in one cell.

    Args:
        cells: (users,), flat, x fastest.
        rng: of the noise, an `edge.core.entropy` stream; never the world's generator.
    """
    columns, rows = round.grid.shape
    flat = np.asarray(cells, dtype=np.int64)
    counts = np.bincount(flat, minlength=columns * rows).reshape(rows, columns)
    return release_sums(round, counts * params_of(round).units, len(flat), rng)


def release_sums(round: Round, sums: ArrayLike, reports: int, rng: Any) -> Release:
    """Return the Release of reports whose parts add up to these.

    Args:
        sums: (rows, columns), the parts in each cell of the grid, all reports together. Where a
            report holds several places they must be divided as `report` divides them.
        reports: how many there are.
    """
    return Release(round, veil(round, make_parts_lookup(round, sums), rng), reports)


def make_parts_lookup(round: Round, sums: ArrayLike) -> Callable[[int, list[int]], list[int]]:
    """Return what gives the exact parts of squares of the k-th measured level: private."""
    p = params_of(round)
    side = 1 << depth(round.grid)
    columns, rows = round.grid.shape
    padded = np.zeros((side, side), dtype=np.int64)
    padded[:rows, :columns] = sums
    pyramid = [sum_blocks(padded, depth(round.grid) - p.first - len(p.weights) + 1)]
    for _ in p.weights[1:]:
        pyramid.append(sum_blocks(pyramid[-1], 1))
    pyramid.reverse()

    def parts(k: int, squares: list[int]) -> list[int]:
        found: list[int] = pyramid[k].ravel()[squares].tolist()
        return found

    return parts


def sum_blocks(sums: Whole, times: int) -> Whole:
    """Return the sums over squares of 2**times cells a side."""
    side = len(sums) >> times
    return sums.reshape(side, 1 << times, side, 1 << times).sum(axis=(1, 3))
