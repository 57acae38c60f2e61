"""Cells where nothing warm can stand: rectangles of furniture on a grid."""

import numpy as np
from numpy.typing import NDArray

from edge.records import Grid

Rectangle = tuple[int, int, int, int]  # column, row, columns, rows; counted from 0


def free_cells(grid: Grid, furniture: tuple[Rectangle, ...]) -> NDArray[np.bool_]:
    """Return where no furniture is, (cells,), row by row."""
    columns, rows = grid.shape
    free = np.ones((rows, columns), dtype=bool)
    for left, top, wide, high in furniture:
        free[top : top + high, left : left + wide] = False
    return free.ravel()


def check_furniture(grid: Grid, furniture: tuple[Rectangle, ...], sources: int) -> None:
    """Refuse furniture outside of the room, or that leaves too few cells for the sources.

    Raises:
        ValueError: it is so.
    """
    columns, rows = grid.shape
    for rectangle in furniture:
        whole = isinstance(rectangle, tuple) and [type(part) for part in rectangle] == [int] * 4
        if not whole or not (
            0 <= rectangle[0] < rectangle[0] + rectangle[2] <= columns
            and 0 <= rectangle[1] < rectangle[1] + rectangle[3] <= rows
        ):
            raise ValueError(
                f"furniture holds {rectangle!r} but must be of cells (column, row, columns, rows) "
                f"within the {columns} by {rows}, counted from 0: what stands elsewhere keeps "
                "nobody away. Correct it."
            )
    free = np.count_nonzero(free_cells(grid, furniture))
    if free < sources:
        raise ValueError(
            f"furniture leaves {free} cells for "
            f"{sources} sources, but each needs its own: nothing could be warm. Take "
            "some of it away."
        )
