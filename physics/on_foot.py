"""Who is near whom by a way that one can walk, and not through walls or shut doors."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]

_AT_ONCE = 4_000_000  # cells of all the discs that are walked at once


def met(ways: Mask, cells: int) -> Callable[[int, int], Mask]:
    """Return a function from a step (right, down) to where it leads no further than on foot.

    It tells, (rows, columns), from which cells somebody may get to the cell at that step on a
    way no longer than so many sides of a cell, from any point of the one to any of the other. A
    way so long never leaves the disc of that radius about where it begins, nor that about
    where it ends, and each cell that it comes into touches a side or a corner of the one before.
    So who gets there in neither disc does not get there; some of those who do have further to go.

    Args:
        ways: (rows, columns), where one can walk.
    """
    rows, columns = ways.shape
    side = 2 * cells + 1
    gap = np.maximum(np.abs(np.arange(side) - cells) - 1, 0)
    disc = gap[:, None] ** 2 + gap**2 < cells**2
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(ways, cells), (side, side))
    found = np.zeros((rows, columns, side, side), dtype=bool)
    row, column = np.nonzero(ways)
    many = max(1, _AT_ONCE // side**2)
    for first in range(0, len(row), many):
        here = row[first : first + many], column[first : first + many]
        found[here] = _walked(windows[here] & disc)

    def leads(right: int, down: int) -> Mask:
        there = found[:, :, cells + down, cells + right].copy()
        back = found[:, :, cells - down, cells - right]
        # The cell at that step, told where the step begins; beyond the border nothing was found.
        there &= np.roll(back, (-down, -right), axis=(0, 1))
        return there

    return leads


def _walked(ways: Mask) -> Mask:
    """Return what is reached from the middle of each of (discs, side, side) cells."""
    middle = ways.shape[1] // 2
    found, before = np.zeros_like(ways), 0
    found[:, middle, middle] = ways[:, middle, middle]
    while (now := int(np.count_nonzero(found))) > before:
        before = now
        for axis in (1, 2):
            wide = found.copy()
            low: list[slice] = [slice(None)] * 3
            high = list(low)
            low[axis], high[axis] = slice(1, None), slice(None, -1)
            wide[tuple(low)] |= found[tuple(high)]
            wide[tuple(high)] |= found[tuple(low)]
            found = wide
        found &= ways
    return found
