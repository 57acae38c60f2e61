"""Where the cells and the sensors of a grid stand.

Differs from the paper:
1. On the unit interval (cell_mm 0) everything stands where the paper puts it: cell j of n
   at j/n, sensor i of m at i/m, so the last of both touches the right wall and nothing
   stands at the left one. In metres a place is the middle of what it stands for.
"""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from edge.core.records import Grid

Floats: TypeAlias = NDArray[np.float64]


def cell_places(grid: Grid) -> Floats:
    """Return where each cell stands, (cells,) on a line, (cells, 2) in a plane.

    In a plane the cells go row by row, x fastest, and a row holds (x, y). Unit grids are
    dimensionless, others in metres.

    Raises:
        ValueError: the grid has no cells, or its cell size is negative.

    Source: Gilbert and McMillan 2017, Section 2.1, for the unit interval.

    >>> cell_places(Grid((4, 1), 0))
    array([0.25, 0.5 , 0.75, 1.  ])
    >>> cell_places(Grid((2, 1), 500))
    array([0.25, 0.75])
    """
    return sensor_places(_check_shape(grid)[: 1 + is_plane(grid)], grid)


def sensor_places(shape: Sequence[int], grid: Grid) -> Floats:
    """Return where evenly spread sensors stand over a grid, as `cell_places` does.

    Args:
        shape: how many sensors, (m,) along a line, (columns, rows) over a plane.
        grid: the cells that the sensors watch.

    Raises:
        ValueError: no sensors on an axis, or two axes of them along a line.

    >>> sensor_places((2,), Grid((100, 1), 0))
    array([0.5, 1. ])
    >>> sensor_places((2, 1), Grid((8, 4), 250))
    array([[0.5, 0.5],
           [1.5, 0.5]])
    """
    counts = tuple(shape)
    if not is_plane(grid) and len(counts) == 2 and counts[1] == 1:
        counts = counts[:1]
    if len(counts) != 1 + is_plane(grid):
        raise ValueError(
            f"the sensors are {counts} but a grid of {_check_shape(grid)} cells needs "
            f"{1 + is_plane(grid)} count(s), one for each of its axes, or the places have no "
            "meaning. Write (50,) along a line and (8, 8) over a plane."
        )
    lengths = np.atleast_1d(length_m(grid))
    axes = [
        length * _spread_evenly(count, paper=grid.cell_mm == 0)
        for count, length in zip(counts, lengths, strict=True)
    ]
    if len(axes) == 1:
        return axes[0]
    x, y = np.meshgrid(*axes)
    return np.stack([x.ravel(), y.ravel()], axis=1)


def length_m(grid: Grid) -> float | tuple[float, float]:
    """Return how long the grid is, in metres (1 for a unit grid); a pair (x, y) in a plane.

    >>> length_m(Grid((40, 30), 100))
    (4.0, 3.0)
    """
    columns, rows = _check_shape(grid)
    if grid.cell_mm == 0:
        return (1.0, 1.0) if is_plane(grid) else 1.0
    if is_plane(grid):
        return columns * grid.cell_mm / 1000, rows * grid.cell_mm / 1000
    return columns * grid.cell_mm / 1000


def is_plane(grid: Grid) -> bool:
    """Return whether the grid has two axes: a line of n cells has the shape (n, 1)."""
    return bool(_check_shape(grid)[1] != 1)


def nearest_cells(places: Floats, grid: Grid) -> NDArray[np.int64]:
    """Return the index of the cell that stands nearest to each place; a tie goes up.

    Args:
        places: (k,) on a line, (k, 2) in a plane, inside the grid.

    Raises:
        ValueError: places with another number of axes than the grid's, or outside it.
    """
    axes = places.reshape(len(places), -1)
    shape = _check_shape(grid)[: 1 + is_plane(grid)]
    if axes.shape[1] != len(shape):
        raise ValueError(
            f"the places have {axes.shape[1]} coordinate(s) but the grid has {len(shape)} "
            "axis or axes, so they cannot be put into its cells. Give x alone along a line "
            "and x, y over a plane."
        )
    lengths = np.atleast_1d(length_m(grid))
    outside = np.flatnonzero(~((axes >= 0) & (axes <= lengths)).all(axis=1))
    if len(outside):
        raise ValueError(
            f"place {outside[0]} is at {places[outside[0]]} but must be within 0 and "
            f"{' x '.join(f'{length:g}' for length in lengths)}, for only there are cells. Are "
            "the place and the grid in the same unit?"
        )
    # In units of a cell, place j stands at j on the unit grids and at j - 1/2 in metres.
    cells = axes / lengths * shape + (0.0 if grid.cell_mm == 0 else 0.5)
    column_row = np.clip(np.floor(cells + 0.5).astype(np.int64) - 1, 0, np.array(shape) - 1)
    return np.asarray(column_row @ np.array([1, shape[0]][: len(shape)]))


def _spread_evenly(count: int, paper: bool) -> Floats:
    if count < 1:
        raise ValueError(
            f"{count} places were asked for along one axis but there must be at least one, "
            "for there is nothing to see otherwise. Give a whole number from 1."
        )
    return (np.arange(1, count + 1) - (0.0 if paper else 0.5)) / count


def _check_shape(grid: Grid) -> tuple[int, int]:
    columns, rows = grid.shape
    if columns < 1 or rows < 1 or grid.cell_mm < 0:
        raise ValueError(
            f"the grid is {columns} by {rows} cells of {grid.cell_mm} mm but each side needs at "
            "least one cell and the size must not be negative, or no place can be given. Write "
            "a line of n cells as (n, 1), and 0 mm for the unit interval."
        )
    return int(columns), int(rows)
