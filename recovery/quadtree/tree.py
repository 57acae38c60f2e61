"""Squares within squares: which cells each owns, which are split, which fall back to their parent.

A square of level l is one number, 4**l plus its place along the Z curve: its parent is a quarter
of it, its children are four times it and the next three. A list of them need not be a whole tree.
A cell belongs to the smallest square of the list that holds it, so the region of a square is what
no smaller one takes from it, and every square that owns nothing can be left out.

Source: paper 001, Section 4, whose leaves and partial nodes these are.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from edge.core.grid import depth
from edge.core.records import Grid

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

ROOT = 1


def find_level(squares: Whole) -> Whole:
    """Return the level of each square: 0 for the whole."""
    # A float's exponent is exact for whole numbers below 2**53.
    return np.asarray((np.frexp(squares.astype(np.float64))[1] - 1) // 2, dtype=np.int64)


def place_squares(squares: Whole) -> tuple[Whole, Whole, Whole]:
    """Return (level, column, row) of each square among those of its level."""
    found = find_level(squares)
    rest = squares - (1 << (2 * found))
    column, row = np.zeros_like(rest), np.zeros_like(rest)
    for bit in range(int(found.max(initial=0))):
        column |= (rest >> (2 * bit) & 1) << bit
        row |= (rest >> (2 * bit + 1) & 1) << bit
    return found, column, row


def square_of(level: int, column: int, row: int) -> int:
    """Return the number of a square.

    >>> square_of(0, 0, 0), square_of(1, 1, 0), square_of(2, 3, 1)
    (1, 5, 23)
    """
    found = 1 << (2 * level)
    for bit in range(level):
        found |= (column >> bit & 1) << (2 * bit) | (row >> bit & 1) << (2 * bit + 1)
    return found


class Painted(NamedTuple):
    """Which square of a list owns each block of cells; blocks are as small as the smallest one."""

    owner: NDArray[np.int32]  # (rows, columns) of blocks, -1 of none
    block: int  # cells a side
    area: Whole  # cells that each square owns
    shape: tuple[int, int]  # (rows, columns) of the grid

    def sum_blocks(self, cells: Whole) -> Whole:
        """Return what the cells of each block add up to."""
        down, across = (np.arange(0, side, self.block) for side in cells.shape)
        return np.asarray(np.add.reduceat(np.add.reduceat(cells, down, axis=0), across, axis=1))

    def expand_to_cells(self, values: Floats) -> Floats:
        """Return each cell's value of its square, (rows, columns) of the grid."""
        rows, columns = self.shape
        blocks = values[self.owner]
        wide = blocks.repeat(self.block, axis=0)[:rows].repeat(self.block, axis=1)
        return np.ascontiguousarray(wide[:, :columns])


def paint_squares(squares: Sequence[int], grid: tuple[int, int]) -> Painted:
    """Return which square of a list owns what of a grid of (columns, rows).

    Squares are painted from large to small, each level at its own resolution.
    """
    columns, rows = grid
    listed = np.asarray(squares, dtype=np.int64)
    found, column, row = place_squares(listed)
    places = np.arange(len(listed), dtype=np.int32)
    canvas, deepest = np.full((1, 1), -1, dtype=np.int32), depth(Grid(grid, 0))
    for step in range(int(found.max(initial=0)) + 1):
        block = 1 << (deepest - step)
        if step:  # only as far as the grid reaches: a line is no square
            canvas = canvas.repeat(2, axis=0)[: -(-rows // block)]
            canvas = canvas.repeat(2, axis=1)[:, : -(-columns // block)]
        here = (found == step) & (row < canvas.shape[0]) & (column < canvas.shape[1])
        canvas[row[here], column[here]] = places[here]
    high, wide = (
        np.minimum(block, side - block * np.arange(blocks))
        for side, blocks in zip((rows, columns), canvas.shape, strict=True)
    )
    kept = canvas.ravel() >= 0
    area = np.bincount(canvas.ravel()[kept], np.outer(high, wide).ravel()[kept], len(listed))
    return Painted(np.ascontiguousarray(canvas), block, area.astype(np.int64), (rows, columns))


def find_owners(squares: Iterable[int], shape: tuple[int, int]) -> tuple[int, ...]:
    """Return in order the squares that own a cell, the whole among them where any cell is left."""
    listed = sorted({*squares, ROOT})
    owned = paint_squares(listed, shape).area.tolist()
    return tuple(square for square, area in zip(listed, owned, strict=True) if area)


def split_squares(squares: Iterable[int]) -> set[int]:
    """Return the children of squares."""
    return {4 * square + quadrant for square in squares for quadrant in range(4)}


def find_parents(finer: Sequence[int], coarser: Sequence[int]) -> Whole | None:
    """Return for each square the place in the other list of the one that holds its region.

    Args:
        finer, coarser: lists of squares that own something, in order, of one tree as it grows.

    None where the regions of the finer list are not parts of those of the coarser: some square
    has fallen back to its parent in between.
    """
    at = {square: place for place, square in enumerate(coarser)}
    kept = set(finer)
    found = []
    for square in finer:
        while square not in at:
            square >>= 2
            if not square:
                return None
        found.append(at[square])
    # A square that is gone without its children owning all of it has fallen back.
    gone = [square for square in coarser if square not in kept]
    holders = set(found)
    if any(at[square] not in holders for square in gone):
        return None
    return np.array(found, dtype=np.int64)
