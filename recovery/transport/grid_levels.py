"""A grid and the one half as fine: maps to the coarse one, flows and plans back."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Places = NDArray[np.int64]


def quarter(mass: Floats) -> Floats:
    """Return the map on cells of 2 by 2, the last row or column alone where it is odd.

    >>> quarter(np.ones((2, 3)))
    array([[4., 2.]])
    """
    rows, columns = mass.shape
    padded = np.pad(mass, ((0, rows % 2), (0, columns % 2)))
    halves = padded.reshape(padded.shape[0] // 2, 2, padded.shape[1] // 2, 2)
    return halves.sum(axis=(1, 3))


def finer_flow(right: Floats, rows: int, columns: int) -> Floats:
    """Return a flow to the right on the grid twice as fine, (rows, columns - 1).

    Each edge between two blocks of 2 by 2 becomes two, with half the flow each; the edge inside
    a block has the mean of what comes in and what leaves on its row.

    Args:
        right: (coarse rows, coarse columns - 1), what passes to the right.
        rows, columns: of the fine grid.
    """
    halves = np.repeat(right / 2, 2, axis=0)[:rows]
    fine = np.zeros((rows, 2 * halves.shape[1] + 3))
    fine[:, 2:-1:2] = halves
    fine[:, 1::2] = (fine[:, :-1:2] + fine[:, 2::2]) / 2
    return fine[:, 1:columns]


def finer_pairs(
    leaving: Places, arriving: Places, moved: Floats, p: Floats, q: Floats
) -> tuple[Places, Places, Floats]:
    """Return all pairs of cells within pairs of blocks, and how much each would move.

    What a block moves is thought of as shared out in proportion to the masses of its cells.

    Args:
        leaving, arriving: (pairs,), blocks of 2 by 2 cells, counted row by row.
        moved: (pairs,), how much goes from block to block.
        p, q: (rows, columns), the masses of the cells; only cells with mass are paired.
    """
    here, mass_here = _cells(leaving, p)
    there, mass_there = _cells(arriving, q)
    share_here = moved[:, None] * mass_here / mass_here.sum(axis=1, keepdims=True)
    share_there = mass_there / mass_there.sum(axis=1, keepdims=True)
    both = (mass_here > 0)[:, :, None] & (mass_there > 0)[:, None, :]
    pair, i, j = np.nonzero(both)
    return here[pair, i], there[pair, j], share_here[pair, i] * share_there[pair, j]


def _cells(blocks: Places, mass: Floats) -> tuple[Places, Floats]:
    """Return the four cells of each block, (blocks, 4), and their masses, 0 outside the map."""
    rows, columns = mass.shape
    y, x = np.divmod(blocks, (columns + 1) // 2)
    y = 2 * y[:, None] + np.array([0, 0, 1, 1])
    x = 2 * x[:, None] + np.array([0, 1, 0, 1])
    inside = (y < rows) & (x < columns)
    cells = np.where(inside, y * columns + x, 0)
    return cells, np.where(inside, mass.ravel()[cells], 0.0)
