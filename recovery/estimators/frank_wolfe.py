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

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from .between import Free, Splines, around, grid, shared_out, splines
from .quadratic import fit
from .record import Estimate, Seen
from .small import Small, estimated, small

NAME = "frank-wolfe"

Floats = NDArray[np.float64]

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
