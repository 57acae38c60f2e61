"""Sums over squares of cells, and the chance of each square of answers from each square of cells.

A large map's channel is a matrix too large to write, and a coarse one is written from sums of its
kernel: a table of these, read at the squares' edges, does what a transform a square would.

Source: Crow 1984, for the table ("summed-area").
"""

import numpy as np
from numpy.typing import NDArray

from .channel import Channel

Floats = NDArray[np.float64]


def block_chances(
    channel: Channel, tops: NDArray[np.int_], lefts: NDArray[np.int_], step: int, block: int
) -> Floats:
    """Return the chance of every block of answers from every square of cells, (blocks, squares).

    Args:
        tops, lefts: the first rows and columns of the squares of `step` cells, the last smaller.
        block: cells along a side of what answers are summed over; those never answered are left
            out.
    """
    high, wide = channel.support.shape
    support = in_blocks(channel.support.astype(np.float64), block)
    kept = support.ravel() > 0
    edges = [np.append(np.arange(0, size, block), size) for size in (high, wide)]
    tables: dict[tuple[int, int], Floats] = {}
    found = np.empty((int(kept.sum()), len(tops) * len(lefts)))
    for place in range(found.shape[1]):
        corner = tops[place // len(lefts)], lefts[place % len(lefts)]
        size = min(step, channel.rows - corner[0]), min(step, channel.columns - corner[1])
        if size not in tables:
            tables[size] = _sums(channel.kernel, size)
        table = tables[size]
        y, x = (np.clip(edges[at] - corner[at], 0, table.shape[at] - 1) for at in (0, 1))
        sums = np.diff(np.diff(table[np.ix_(y, x)], axis=0), axis=1)
        found[:, place] = (sums + channel.base * support).ravel()[kept]
    return found


def _sums(kernel: Floats, size: tuple[int, int]) -> Floats:
    """Return the sums above and left of every place of a kernel that is spread over a square."""
    spread = kernel / (size[0] * size[1])
    for axis, length in enumerate(size):
        around = [(0, 0), (0, 0)]
        around[axis] = (length, length - 1)
        sums = np.cumsum(np.pad(spread, around), axis=axis)
        spread = _apart(sums, length, axis)
    return np.pad(np.cumsum(np.cumsum(spread, axis=0), axis=1), ((1, 0), (1, 0)))


def _apart(sums: Floats, length: int, axis: int) -> Floats:
    """Return by how much sums grow over a length."""
    whole = sums.shape[axis]
    return np.asarray(
        np.take(sums, range(length, whole), axis) - np.take(sums, range(whole - length), axis)
    )


def in_blocks(values: Floats, step: int) -> Floats:
    """Return the sums over squares of so many cells a side, the last ones smaller."""
    rows = np.add.reduceat(values, np.arange(0, values.shape[0], step), axis=0)
    return np.add.reduceat(rows, np.arange(0, values.shape[1], step), axis=1)
