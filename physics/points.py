"""Points of people in a plane: the three synthetic sets of the paper, and the cells they fall in.

A point is (x, y) on the unit square where the grid is one (cell_mm 0), in metres otherwise; cells
are half open, and a point outside belongs to the nearest cell, for dropping it would tell that
there was one. Files of points are read in `physics.files`.
"""

import math

import numpy as np
from numpy.typing import NDArray

from edge.core.records import Grid

from .files import Points as Points
from .files import read_points as read_points
from .places import Floats

# The last number below one: the unit square is half open.
_BELOW_ONE = math.nextafter(1.0, 0.0)
# In the paper's units: a corner and a side of the square that becomes the unit square.
_NORMAL = (-5.0, 10.0)
_MNORMAL = (-4.32, 10.76)
# Centre (of x and of y alike) and correlation of each of the three parts.
_PARTS = ((0.0, 0.5), (1.0, 0.0), (2.0, -0.2))


def normal(n: int, world: np.random.Generator) -> Floats:
    """Return points of one Gaussian hill, (n, 2) in [0, 1).

    Means 0, variances 1, correlation 1/2, on the square (-5, 5) x (-5, 5); the one in nine
    hundred thousand that falls outside is moved to its border.

    Source: Section VII-A, "Normal(0, 0, 1, 1, 0.5)", with n = 300 000.
    """
    return _scale_to_unit(_draw_hill(_check_count(n), 0.5, world), _NORMAL)


def szipf(n: int, world: np.random.Generator) -> Floats:
    """Return points that crowd towards the corner (0, 0), (n, 2) in [0, 1).

    Both coordinates are independent with the density (1 / ln 2) / (x + 1) on [0, 1), drawn by
    the inverse of log2(1 + x).

    Source: Section VII-A, "Skew Zipf", with n = 100 000.

    Differs from the paper:
    1. It calls the formula a cumulative function; it falls and is 1.44 at 0, so it is the density.
    """
    return np.minimum(np.exp2(world.random((_check_count(n), 2))) - 1.0, _BELOW_ONE)


def mnormal(n: int, world: np.random.Generator) -> Floats:
    """Return points of three Gaussian hills of equal size, (n, 2) in [0, 1).

    Variances 1, correlations 1/2, 0 and -1/5, centres (0, 0), (1, 1) and (2, 2), on the square
    from -4.32 to 6.44; what falls outside is moved to its border. Where n is no multiple of
    three the first hills have one point more. The points come hill by hill.

    Source: Section VII-A, "Multi-center Normal", with n = 300 000.

    Differs from the paper:
    1. It prints one centre, (0, 0), for all three, and the range [-4.25, 6.18] x [-4.32, 6.44],
       which three hills at 0 reach once in many thousand tries. The centres are not in the paper;
       ours are chosen so that the range comes out: half of all sets of 300 000 points reach
       from beyond -4.35 to beyond 6.35. Others would do as well, so the numbers of this set
       can be compared with each other and not with the paper's.
    """
    sizes = [(_check_count(n) + 2 - part) // 3 for part in range(3)]
    hills = [
        centre + _draw_hill(size, correlation, world)
        for size, (centre, correlation) in zip(sizes, _PARTS, strict=True)
    ]
    return _scale_to_unit(np.concatenate(hills), _MNORMAL)


def find_cells(points: Floats, grid: Grid) -> NDArray[np.int64]:
    """Return the flat index of the cell of each point, (n,), row by row and x fastest.

    Args:
        points: (n, 2); for a line of cells also (n,) or (n, 1).

    Raises:
        ValueError: points of another shape, a coordinate that is NaN, or a grid without cells.

    >>> find_cells(np.array([[0.5, 0.2], [1.0, 9.0]]), Grid((4, 2), 0))
    array([2, 7])
    """
    places = np.asarray(points, dtype=np.float64)
    columns, rows = grid.shape
    if columns < 1 or rows < 1 or grid.cell_mm < 0:
        raise ValueError(
            f"the grid is {columns} by {rows} cells of {grid.cell_mm} mm but each side needs at "
            "least one cell and the size must not be negative, or no point has a cell. Write a "
            "line of n cells as (n, 1), and 0 mm for the unit square."
        )
    if rows == 1 and places.ndim == 1:
        places = places[:, None]
    if places.ndim != 2 or places.shape[1] not in ((1, 2) if rows == 1 else (2,)):
        raise ValueError(
            f"the points have shape {places.shape} but must be (n, 2), x and y of each, or their "
            "cell is not known. Give one row a point."
        )
    if np.isnan(places).any():
        at = int(np.flatnonzero(np.isnan(places).any(axis=1))[0])
        raise ValueError(
            f"point {at} is {places[at].tolist()} but must have a place: what stands nowhere has "
            "no nearest cell. Leave it out, and say so, or mend it."
        )
    scale = np.array([columns, rows], float) if grid.cell_mm == 0 else 1000 / grid.cell_mm
    # Clipped as floats, so that infinity and what is beyond all integers find their cell too.
    most = np.array([columns - 1, rows - 1])[: places.shape[1]]
    scaled = places * (scale[: places.shape[1]] if isinstance(scale, np.ndarray) else scale)
    column_row = np.clip(np.floor(scaled), 0, most).astype(np.int64)
    return np.asarray(column_row @ np.array([1, columns])[: places.shape[1]])


def histogram(points: Floats, grid: Grid) -> NDArray[np.int64]:
    """Return how many points each cell has, (rows, columns); arguments as for `find_cells`."""
    columns, rows = grid.shape
    counts = np.bincount(find_cells(points, grid), minlength=columns * rows)
    return counts.reshape(rows, columns)


def _draw_hill(n: int, correlation: float, world: np.random.Generator) -> Floats:
    """Return n points of means 0 and variances 1, (n, 2)."""
    x, y = world.standard_normal((2, n))
    return np.stack([x, correlation * x + math.sqrt(1 - correlation**2) * y], axis=1)


def _scale_to_unit(points: Floats, square: tuple[float, float]) -> Floats:
    """Return the points on the unit square, those outside moved to its border."""
    low, side = square
    return np.asarray(np.clip((points - low) / side, 0.0, _BELOW_ONE))


def _check_count(n: int) -> int:
    if n < 0 or n % 1:
        raise ValueError(
            f"{n} points were asked for but it must be a whole number from 0, for a point is "
            "there or not. Give another number."
        )
    return int(n)
