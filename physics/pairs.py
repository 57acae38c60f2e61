"""Which cells two points can be in that are no further apart than a distance.

Points may be anywhere in their cells. Far pairs are told by blocks of cells, for there are many.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .on_foot import met
from .places import Floats

Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]

_BLOCK = 3  # cells along the side of a block


class Near(NamedTuple):
    """Pairs of cells, by which of the exact distances first holds them."""

    distance: int
    one: Indices
    other: Indices


def steps(cells: int, flat: bool = False) -> list[tuple[int, int]]:
    """Return the steps (right, down) from cell to cell of two points up to so many sides apart.

    The points may be anywhere in their cells, so these can be one further apart along each axis:

        max(|right| - 1, 0)**2 + max(|down| - 1, 0)**2 < cells**2

    One of each pair of opposite steps is given, and none from a cell to itself.

    Args:
        flat: along a line.

    >>> steps(1)
    [(1, 0), (-1, 1), (0, 1), (1, 1)]
    >>> len(steps(5)), steps(2, flat=True)
    (54, [(1, 0), (2, 0)])
    """
    return [
        (right, down)
        for down in range(1 if flat else cells + 1)
        for right in range(-cells, cells + 1)
        if max(abs(right) - 1, 0) ** 2 + max(down - 1, 0) ** 2 < cells**2
        and (down > 0 or right > 0)
    ]


def pairs_of(
    open_cells: Mask, cells: int, before: int, nth: int, ways: Mask | None = None
) -> Iterator[Near]:
    """Yield the pairs of open cells that this distance has and the one before has not.

    Args:
        ways: (rows, columns), where one can walk, for pairs that are so near on foot; without,
            those too that are near through walls.
    """
    rows, columns = open_cells.shape
    number = np.cumsum(open_cells).reshape(rows, columns) - 1
    nearer = set(steps(before, rows == 1)) if before else set()
    leads = None if ways is None else met(ways, cells)
    led = met(ways, before) if ways is not None and before else None
    for right, down in steps(cells, rows == 1):
        near = (right, down) in nearer
        if (near and led is None) or abs(right) >= columns or down >= rows:
            continue
        left, width, height = max(0, -right), columns - abs(right), rows - down
        here = np.s_[:height, left : left + width]
        there = np.s_[down:, left + right : left + right + width]
        both = open_cells[here] & open_cells[there]
        if leads is not None:
            both &= leads(right, down)[here]
        if near and led is not None:
            both &= ~led(right, down)[here]  # a longer way may lead where a shorter does not
        if both.any():
            yield Near(nth, number[here][both], number[there][both])


class Blocks:
    """Blocks of cells: their middles, and how far a cell of theirs is from that."""

    def __init__(self, open_cells: Mask, far_cells: Sequence[int]) -> None:
        row, column = np.nonzero(open_cells)
        wide = -(-open_cells.shape[1] // _BLOCK)
        place, block = np.unique(row // _BLOCK * wide + column // _BLOCK, return_inverse=True)
        self.block, self.count = block, np.bincount(block)
        down, right = np.divmod(place, wide)
        # Points of two blocks are at least so far apart, in sides of a cell.
        between = [
            np.maximum(np.abs(part[:, None] - part) - 1, 0) * _BLOCK for part in (down, right)
        ]
        least = np.hypot(*between)
        self.near = [least < cells for cells in far_cells]

    def apart(self, felt: Floats) -> Floats:
        """Return how far cells up to each distance apart can differ at the most, in l2 norm."""
        middle = np.zeros((len(self.count), felt.shape[1]))
        np.add.at(middle, self.block, felt)
        middle /= self.count[:, None]
        away = np.linalg.norm(felt - middle[self.block], axis=1)
        radius = np.zeros(len(middle))
        np.maximum.at(radius, self.block, away)
        middle -= middle.mean(axis=0)  # so that their products do not drown the differences
        own = np.einsum("ij,ij->i", middle, middle)
        square = own[:, None] + own - 2 * (middle @ middle.T)
        # What the products lost in rounding is put back.
        square += 1e-13 * (own[:, None] + own)
        gap = np.sqrt(np.maximum(square, 0)) + radius[:, None] + radius
        return np.array([float(gap[near].max()) for near in self.near])


class Neighbours(NamedTuple):
    """Where a source can be, and where it could be as well, up to each of some distances."""

    open_cells: Mask  # (rows, columns)
    far_cells: tuple[int, ...]
    exact: int  # so many of these distances have their pairs told one by one
    near: tuple[Near, ...]
    blocks: Blocks


def neighbours(
    open_cells: Mask, far_cells: Sequence[int], exact_cells: int, ways: Mask | None = None
) -> Neighbours:
    """Return the cells that displaced paths can be in.

    Args:
        open_cells: (rows, columns), where a source can be.
        far_cells: distances, in sides of a cell, growing.
        exact_cells: up to here all pairs of cells are told; beyond it they are told in blocks,
            through walls too, which is more than the truth and never less.
        ways: where one can walk, for paths that are so near on foot; without, through walls too.

    Raises:
        ValueError: no source can be anywhere, or distances that do not grow.
    """
    growing = all(a < b for a, b in pairwise(far_cells))
    if np.count_nonzero(open_cells) < 2 or not far_cells or far_cells[0] < 1 or not growing:
        raise ValueError(
            f"there are {np.count_nonzero(open_cells)} cells to stand in and the distances are "
            f"{tuple(far_cells)}, but two cells and growing whole distances from 1 are needed: "
            "else there is nothing to hide. Correct the room, or the distances."
        )
    near = tuple(
        found
        for nth, cells in enumerate(far_cells)
        if cells <= exact_cells
        for found in pairs_of(open_cells, cells, far_cells[nth - 1] if nth else 0, nth, ways)
    )
    exact = sum(cells <= exact_cells for cells in far_cells)
    return Neighbours(open_cells, tuple(far_cells), exact, near, Blocks(open_cells, far_cells))
