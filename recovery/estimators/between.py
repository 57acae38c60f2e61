"""Sources between cells: the readings of a place that is none of the grid's.

Places are counted in cells along each axis, (atoms, axes), 0 for the first cell's; a line has
one axis, a plane two, rows first, as the cells are counted.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline, RegularGridInterpolator

from .record import Seen

Floats = NDArray[np.float64]
Free = NDArray[np.bool_]  # of the grid's shape, or (cells,) along a line: where sources may be


def grid(seen: Seen) -> Free:
    """Return where sources may be, in the shape that the cells have.

    Raises:
        ValueError: a plane's cells are not those of a grid.
    """
    free = np.ones(len(seen.places), dtype=bool) if seen.open is None else seen.open
    if seen.places.shape[1] == 1:
        return free
    rows, columns = seen.shape
    x, y = seen.places.reshape(rows, columns, 2).transpose(2, 0, 1)
    if not (np.allclose(x, x[:1]) and np.allclose(y, y[:, :1])):
        raise ValueError(
            f"the {len(free)} places are not those of {rows} rows and {columns} columns but must "
            "be: between other places nothing says what a source would warm. Take 'lasso'."
        )
    return free.reshape(seen.shape)


@dataclass(frozen=True, slots=True, eq=False)
class Splines:
    """What a source of unit heat warms at any place: (atoms, axes) -> (atoms, r)."""

    columns: Callable[[Floats], Floats]
    slopes: Callable[[Floats], Floats]  # and how that changes with the place, (axes, atoms, r)


def splines(operator: Floats, free: Free) -> Splines:
    """Return cubic splines through the cells' columns.

    Args:
        operator: B, (r, cells), of all the cells.
        free: for the grid's shape.
    """
    if free.ndim == 1 and len(free) > 1:
        line = CubicSpline(np.arange(len(free)), operator.T)
        slope = line.derivative()
        return Splines(lambda at: line(at[:, 0]), lambda at: slope(at[:, 0])[None])
    values = operator.T.reshape(*free.shape, -1)
    for axis, size in enumerate(free.shape):
        if size == 1:  # there is nothing between one cell, and a spline needs two
            values = np.repeat(values, 2, axis)
    axes = tuple(np.arange(size, dtype=np.float64) for size in values.shape[:-1])
    # Straight lines where an axis has too few cells for more.
    degree = "cubic" if min(values.shape[:-1]) > 3 else "slinear"
    plane = RegularGridInterpolator(axes, values, degree)
    orders = np.eye(free.ndim, dtype=np.int64)
    return Splines(plane, lambda at: np.stack([plane(at, nu=order) for order in orders]))


def around(place: Floats, free: Free) -> list[tuple[float, float]]:
    """Return how far a source may slide along each axis: to the next cell, if that is free."""
    here = np.rint(place).astype(int)
    bounds = []
    for axis, size in enumerate(free.shape):
        ends = []
        for step in (-1, 1):
            there = here.copy()
            there[axis] += step
            inside = 0 <= there[axis] < size and free[tuple(there)]
            ends.append(float(there[axis] if inside else here[axis]))
        bounds.append((ends[0], ends[1]))
    return bounds


def shared_out(places: Floats, powers: Floats, free: Free) -> Floats:
    """Return the heat of each cell, of the grid's shape: an atom's goes to those around it.

    In proportion to how near they are along each axis, and to free ones alone, so that along
    a line an atom between two of them keeps its place on average.
    """
    heat = np.zeros(free.shape)
    for place, power in zip(places, powers, strict=True):
        low = np.minimum(place.astype(int), np.maximum(np.array(free.shape) - 2, 0))
        shares = {}
        for corner in product((0, 1), repeat=len(place)):
            cell = tuple(low + corner)
            inside = all(c < size for c, size in zip(cell, free.shape, strict=True))
            if inside and free[cell]:
                shares[cell] = float(np.prod(1 - np.abs(place - cell)))
        total = sum(shares.values())
        if total <= 0:  # it stands on the edge of what is free: the nearest cell has it
            cells = np.argwhere(free)
            shares = {tuple(cells[((cells - place) ** 2).sum(axis=1).argmin()]): 1.0}
            total = 1.0
        for cell, share in shares.items():
            heat[cell] += power * share / total
    return heat
