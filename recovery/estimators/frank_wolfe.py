"""The lasso without cells: sources anywhere between them, by the sliding Frank-Wolfe algorithm.

    minimise  ||A m - y||**2 / 2 + price m(everywhere)   over measures m that are not negative

The readings of a source between cells are a cubic spline through those of the cells around it.
In turn a source is added in the cell that the rest of the readings calls for most, all powers
are fitted, and all places and powers slide together to the nearest best; until no cell calls
for more than the price.

Source: Denoyelle, Duval, Peyré and Soubies 2019, algorithm 2; for blurred point sources, Duval
and Peyré 2015.

Limits: those of "lasso", which it reproduces to the width of a cell: under heavy noise cells
are not what limits a map. It draws single sources where the lasso draws two neighbours. Cells
must lie closer than the kernel is wide, and be a grid in a plane.

Differs from the source:
1. Candidates are cells, which lie closer than the kernel is wide, not the whole line.
2. An atom has no most: off the grid two may stand in one place.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline, RegularGridInterpolator
from scipy.optimize import minimize

from .quadratic import fit
from .record import Estimate, Seen
from .small import Small, estimated, small

# Sources between cells: the readings of a place that is none of the grid's.
#
# Places are counted in cells along each axis, (atoms, axes), 0 for the first cell's; a line has
# one axis, a plane two, rows first, as the cells are counted.

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


_ROUNDS = 50
# No cell may call for more than the price by more than this share of it.
_CALLED = 1e-3
# An atom that is so much weaker than the warmest is none.
_WEAK = 1e-6


def estimate(seen: Seen) -> Estimate:
    """Return the atoms, each shared out between the cells that it stands between.

    Raises:
        ValueError: the cells of a plane are not those of a grid.
    """
    made, free = small(seen), grid(seen)
    spline = splines(small(replace(seen, open=None)).operator, free)
    price = seen.sigma * float(np.linalg.norm(made.operator, axis=0).max())
    places, powers, status = measure(spline, made, price, free)
    left = made.readings - powers @ spline.columns(places)
    heat = shared_out(places, powers, free).ravel()[made.cells]
    return estimated(seen, made.cells, heat, status, _gap(left, made, price, float(powers.sum())))


def measure(spline: Splines, made: Small, price: float, free: Free) -> tuple[Floats, Floats, str]:
    """Return the places of the atoms, in cells, their powers, and "optimal" or why not."""
    cells = np.argwhere(free).astype(np.float64)
    places, powers, left = np.zeros((0, free.ndim)), np.zeros(0), made.readings
    for _ in range(_ROUNDS):
        called = left @ made.operator
        if called.max() <= price * (1 + _CALLED):
            return places, powers, "optimal"
        places = np.vstack([places, cells[called.argmax()]])
        places, powers = _slid(spline, made.readings, price, places, free)
        left = made.readings - powers @ spline.columns(places)
    return places, powers, f"inaccurate: not settled after {_ROUNDS} rounds"


def _slid(
    spline: Splines, readings: Floats, price: float, places: Floats, free: Free
) -> tuple[Floats, Floats]:
    """Return places and powers at the nearest best, each within a cell of where it was."""
    found = spline.columns(places)
    most = float(readings @ readings) / (2 * price)  # or no heat at all would do better
    powers = fit(found.T, readings, most, price).heat
    kept = powers > _WEAK * powers.max()
    places, powers = places[kept], powers[kept]
    unit = float(powers.max())

    def objective(unknowns: Floats) -> tuple[float, Floats]:
        there, warm = unknowns[len(powers) :].reshape(places.shape), unknowns[: len(powers)] * unit
        found = spline.columns(there)
        left = readings - warm @ found
        value = float(left @ left) / 2 + price * float(warm.sum())
        moves = -(spline.slopes(there) @ left) * warm
        return value, np.concatenate([(price - found @ left) * unit, moves.T.ravel()])

    bounds = [(0.0, most / unit)] * len(powers)
    bounds += [bound for place in places for bound in around(place, free)]
    start = np.concatenate([powers / unit, places.ravel()])
    slid = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds).x
    return slid[len(powers) :].reshape(places.shape), slid[: len(powers)] * unit


def _gap(left: Floats, made: Small, price: float, total: float) -> float:
    """Return how much the objective exceeds the least that sources in cells can have, at most."""
    called = float((left @ made.operator).max())
    nu = left * min(1.0, price / called) if called > 0 else left
    objective = float(left @ left) / 2 + price * total
    return objective - float(nu @ made.readings) + float(nu @ nu) / 2
