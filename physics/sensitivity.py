"""How far one source that moves can change all the readings together.

The distance is taken over the whole vector of readings, for whoever sees one sensor of a
building usually sees them all. The noise of every sensor is scaled to this one number.

Differs from the paper:
1. The index i stops where its neighbour still exists: the paper's maximum over all n cells
   needs a column n + 1. Wrapping round to the first column gives 45 times too much noise.
2. Sources that move further than one cell have their own, exact number; the paper has only
   the next cell, which means less and less as the grid is made finer.
"""

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from .places import Floats


def sensitivity(
    operator: ArrayLike, cells: int = 1, shape: tuple[int, int] | None = None
) -> float:
    """Return the joint sensitivity, for a unit source that moves by so many cells.

        D(d) = max over i <= n - d of || A_i - A_(i+d) ||, A_i column i of the operator

    Args:
        operator: A, (sensors, sources), in temperature per unit of heat.
        cells: d, how far the source moves; see `moves` for what that means in a plane.
        shape: (columns, rows) of the cells in a plane, None along a line.

    Raises:
        ValueError: not a finite matrix, or no two cells are so far apart.

    Source: Gilbert and McMillan 2017, Section 3, "Delta_2(A)", with i < n.

    >>> sensitivity([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    1.4142135623730951
    """
    return max(
        float(np.sqrt(np.einsum("ij,ij->j", block, block).max()))
        for block in moves(operator, cells, shape)
    )


def moves(
    operator: ArrayLike, cells: int = 1, shape: tuple[int, int] | None = None
) -> Iterator[Floats]:
    """Yield blocks (sensors, moves) of column differences, one block for each direction.

    Along a line there is one block, A_i - A_(i+d). In a plane "d cells" is the ring of moves
    longer than d - 1 and at most d cells, so that d = 1 gives the four neighbours and the
    rings 1..d together give every move within d cells, the oblique ones too. A move and its
    reverse differ by a sign alone, so one of the two is given.

    Args:
        operator, cells, shape: as for `sensitivity`.

    Raises:
        ValueError: as for `sensitivity`.
    """
    matrix = np.asarray(operator, dtype=float)
    if matrix.ndim != 2 or not matrix.size or not np.isfinite(matrix).all():
        raise ValueError(
            f"the operator has shape {matrix.shape} or holds a value that is not finite, but a "
            "matrix (sensors, sources) of finite numbers is needed, or the noise that rests on "
            "it would protect nobody. Take it from physics.kernel.forward."
        )
    columns, rows = shape or (matrix.shape[1], 1)
    if columns * rows != matrix.shape[1]:
        raise ValueError(
            f"the shape {shape} has {columns * rows} cells but the operator has "
            f"{matrix.shape[1]} sources, and neighbours can only be found when they agree. "
            "Give the (columns, rows) of the grid that the operator was made for."
        )
    steps = [
        (right, down)
        for right, down in _ring(cells, flat=rows == 1)
        if abs(right) < columns and down < rows
    ]
    if not steps:
        raise ValueError(
            f"the move is {cells} cells but {columns} by {rows} cells have no two that far "
            "apart, so there is nothing to hide. Ask for a whole number from 1 to "
            f"{max(columns, rows) - 1}, or make the grid finer."
        )
    return _differences(matrix.reshape(-1, rows, columns), steps)


def _differences(matrix: Floats, steps: list[tuple[int, int]]) -> Iterator[Floats]:
    _, rows, columns = matrix.shape
    for right, down in steps:
        left = max(0, -right)
        width, height = columns - abs(right), rows - down
        here = matrix[:, :height, left : left + width]
        there = matrix[:, down:, left + right : left + right + width]
        yield (here - there).reshape(len(matrix), -1)


@lru_cache(maxsize=1024)  # the same rings are asked for at every spread
def _ring(cells: int, flat: bool) -> tuple[tuple[int, int], ...]:
    """Return the steps (right, down) longer than cells - 1 and at most cells, one of each pair."""
    if cells != int(cells) or cells < 1:
        return ()
    if flat:
        return ((int(cells), 0),)
    return tuple(
        (right, down)
        for down in range(int(cells) + 1)
        for right in range(-int(cells), int(cells) + 1)
        if (cells - 1) ** 2 < right**2 + down**2 <= cells**2 and (down > 0 or right > 0)
    )
