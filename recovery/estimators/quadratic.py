"""Least squares over a box, with a price on heat or on its square: one convex program.

minimise  ||B f - c||**2 / 2 + price sum(f) + ridge ||f||**2 / 2   with  0 <= f <= upper
"""

from dataclasses import dataclass

import clarabel
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .bounded import bounded
from .ridged import ridged
from .small import GAP_MAX

Floats = NDArray[np.float64]

# A bound that is so far beyond what explains the readings is first left out: it costs digits.
_FAR = 10.0


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """Heat, and how much more than the least the objective is at most."""

    heat: Floats
    objective: float
    residual: float  # ||B f - c||
    gap: float
    status: str  # "optimal", or "inaccurate: ..."


def fit(
    operator: Floats, readings: Floats, upper: float, price: float = 0.0, ridge: float = 0.0
) -> Fit:
    """Return the heat of the least objective, and a bound on what it exceeds the least by.

    Args:
        operator: B, (r, cells), not all 0.
        readings: c, (r,).
        upper: the most heat of a cell.
        price: of heat, in squared readings a unit; at least 0.
        ridge: of squared heat, in squared readings a squared unit; at least 0.

    Without a ridge the heat is sparse and had by an active set, with one in the space of the
    readings; by an interior point where either falls short. The gap is computed from the heat
    alone, whatever they say: for every nu

        nu'c - ||nu||**2 / 2 - sum_j max over 0 <= x <= upper of (q_j x - ridge x**2 / 2),
        q = B'nu - price

    is at most the least objective; nu = c - B f makes it equal at the optimum.

    >>> fit(np.eye(2), np.array([0.9, -1.0]), upper=1.0, price=0.4).heat.round(6)
    array([0.5, 0. ])
    """
    if not readings.any():
        return Fit(np.zeros(operator.shape[1]), 0.0, 0.0, 0.0, "optimal")
    if ridge:
        heat = ridged(operator, readings, upper, price, ridge)[0]
    else:
        heat = bounded(operator, readings, upper, price)
    found = _judged(operator, readings, upper, price, ridge, heat)
    if found.status == "optimal":
        return found
    heat = _by_clarabel(operator, readings, upper, price, ridge)
    return _judged(operator, readings, upper, price, ridge, heat)


def _judged(
    operator: Floats, readings: Floats, upper: float, price: float, ridge: float, heat: Floats
) -> Fit:
    """Return the heat with the gap that it proves, whoever found it."""
    left = readings - operator @ heat
    squares = float(left @ left)
    objective = squares / 2 + price * float(heat.sum()) + ridge * float(heat @ heat) / 2
    pull = operator.T @ left - price
    best = np.clip(pull / ridge, 0, upper) if ridge else np.where(pull > 0, upper, 0.0)
    gain = float(pull @ best) - ridge * float(best @ best) / 2
    gap = objective - (float(left @ readings) - squares / 2 - gain)
    good = gap <= GAP_MAX * float(readings @ readings) / 2
    status = "optimal" if good else "inaccurate: the solver gave up short of a proof"
    return Fit(heat, objective, float(np.sqrt(squares)), gap, status)


def _by_clarabel(
    operator: Floats, readings: Floats, upper: float, price: float, ridge: float
) -> Floats:
    """Return the heat of the least objective, as an interior point comes near it."""
    # In these units what is solved is near one whatever the units of readings and heat are.
    size = float(np.linalg.norm(readings))
    unit = size / float(np.linalg.norm(operator, axis=0).max())
    scaled = operator * (unit / size), readings / size
    prices = price * unit / size**2, ridge * unit**2 / size**2
    most = upper / unit
    shares = _solve(*scaled, *prices, most if most < _FAR else None)
    if most >= _FAR and shares.max() > most:
        shares = _solve(*scaled, *prices, most)
    return np.clip(shares * unit, 0.0, upper)


def _solve(
    operator: Floats, readings: Floats, price: float, ridge: float, upper: float | None
) -> Floats:
    """Minimise over heat and misfit together, so that B'B, which squares B's range, is not had."""
    rows, cells = operator.shape
    eye = sparse.eye_array(cells)
    square = sparse.block_diag([ridge * eye, sparse.eye_array(rows)], format="csc")
    blocks = [
        [sparse.csc_array(operator), -sparse.eye_array(rows)],
        [-eye, sparse.csc_array((cells, rows))],
    ]
    limits = [readings, np.zeros(cells)]
    if upper is not None:
        blocks.append([eye, sparse.csc_array((cells, rows))])
        limits.append(np.full(cells, upper))
    constraints = sparse.csc_matrix(sparse.block_array(blocks))
    cones = [clarabel.ZeroConeT(rows), clarabel.NonnegativeConeT(constraints.shape[0] - rows)]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    cost = np.append(np.full(cells, price), np.zeros(rows))
    solver = clarabel.DefaultSolver(
        sparse.csc_matrix(square), cost, constraints, np.concatenate(limits), cones, settings
    )
    return np.asarray(solver.solve().x)[:cells]
