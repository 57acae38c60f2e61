"""Least squares over a box, with a price on heat or on its square: one convex program.

minimise  ||B f - c||**2 / 2 + price sum(f) + ridge ||f||**2 / 2   with  0 <= f <= upper
"""

from dataclasses import dataclass

import clarabel
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import solve_triangular

from .small import GAP_MAX

# Least squares between bounds, with a price on heat, by an active set whose steps are exact.
#
#     minimise  ||B f - c||**2 / 2 + price sum(f)   with  0 <= f <= upper
#
# With B_P = Q R over the cells P that are neither empty nor full, and d the readings less what
# full cells explain, the least over P lies at R^-1 (Q'd - price R^-T 1). Cells that pull more than
# the price join, those that reach a bound leave, and the objective falls with each.
#
# Source: Lawson and Hanson 1974, chapter 23; Stark and Parker 1995 for the upper bound.

Floats = NDArray[np.float64]

_EMPTY, _FREE, _FULL = 0, 1, 2
# A cell that pulls more than the price by less than this, in units of the greatest pull at the
# start, stays where it is; and a column that adds less of its length than this adds nothing.
_PULL, _DEPENDENT = 1e-12, 1e-11


def bounded(operator: Floats, readings: Floats, upper: float, price: float) -> Floats:
    """Return the heat of the least objective, (cells,), but for roundings.

    Whoever calls it computes the gap: after many steps without an end, which roundings could
    cause, the heat of the last one is returned.
    """
    cells = operator.shape[1]
    heat, state = np.zeros(cells), np.zeros(cells, dtype=np.int8)
    refused = np.zeros(cells, dtype=bool)
    least = _PULL * float(np.abs(readings @ operator).max())
    for _ in range(10 * cells + 100):
        held = np.flatnonzero(state)
        left = readings - operator[:, held] @ heat[held]
        pull = left @ operator - price
        gain = np.where(state == _EMPTY, pull, np.where(state == _FULL, -pull, -np.inf))
        gain[refused] = -np.inf
        joins = int(gain.argmax())
        if gain[joins] <= least:
            break
        before = int(state[joins])
        state[joins] = _FREE
        if _settled(operator, readings, upper, price, heat, state, joins):
            refused[:] = False
        else:  # it is where the others already are, or pulls by rounding alone
            state[joins], refused[joins] = before, True
    return heat


def _settled(
    operator: Floats,
    readings: Floats,
    upper: float,
    price: float,
    heat: Floats,
    state: NDArray[np.int8],
    joins: int,
) -> bool:
    """Move the free cells to their least, step by step between the bounds; False if it cannot."""
    start = heat[joins]
    first = True
    while (state == _FREE).any():
        free, full = np.flatnonzero(state == _FREE), np.flatnonzero(state == _FULL)
        basis, factor = np.linalg.qr(operator[:, free])
        lengths = np.linalg.norm(operator[:, free], axis=0)
        if len(free) > len(readings) or (np.abs(np.diag(factor)) < _DEPENDENT * lengths).any():
            return not first
        rest = (readings - upper * operator[:, full].sum(axis=1)) @ basis
        rest -= price * solve_triangular(factor, np.ones(len(free)), trans="T")
        target = solve_triangular(factor, rest)
        step = target - heat[free]
        wrong = step[free == joins] * (1 if start == 0 else -1) <= 0
        if first and wrong.any():
            return False
        first = False
        room = np.where(step > 0, upper - heat[free], heat[free])
        lengths = np.where(step != 0, room / np.maximum(np.abs(step), 1e-300), np.inf)
        if lengths.min() > 1:
            heat[free] = target
            return True
        heat[free] += lengths.min() * step
        stops = free[lengths <= lengths.min() * (1 + 1e-12)]
        up = step[lengths <= lengths.min() * (1 + 1e-12)] > 0
        state[stops] = np.where(up, _FULL, _EMPTY)
        heat[stops] = np.where(up, upper, 0.0)
    return True


# Least squares between bounds with a price on squared heat too, in the space of the readings.
#
#     minimise  ||B f - c||**2 / 2 + price sum(f) + ridge ||f||**2 / 2   with  0 <= f <= upper
#
# Its dual has one unknown for each direction that is heard, whatever the number of cells:
#
#     maximise  nu'c - ||nu||**2 / 2 - sum_j max over 0 <= x <= upper of (q_j x - ridge x**2 / 2),
#     q = B'nu - price
#
# The top is where nu = c - B f with f = q / ridge, cut off at the bounds. It is a parabola
# wherever no cell reaches or leaves a bound, so Newton's steps end on it after a few.
#
# Source: Qi and Sun 1993, semismooth Newton; Rockafellar 1970, section 31, for the dual.

_STEPS = 100


def ridged(
    operator: Floats,
    readings: Floats,
    upper: float,
    price: float,
    ridge: float,
    start: Floats | None = None,
) -> tuple[Floats, Floats]:
    """Return the heat, (cells,), and nu, (r,), but for roundings; whoever calls computes the gap.

    Args:
        operator: B, (r, cells). readings: c, (r,).
        price: at least 0. ridge: positive.
        start: nu of a ridge near by.
    """

    def at(nu: Floats) -> tuple[Floats, float]:
        pull = nu @ operator - price
        heat = np.clip(pull / ridge, 0.0, upper)
        gain = float(heat @ (pull - ridge / 2 * heat))
        return heat, float(nu @ readings - nu @ nu / 2) - gain

    nu = np.zeros(len(readings)) if start is None else start
    heat, value = at(nu)
    if value < 0:  # worse than none: from far off steps are many
        nu = np.zeros(len(readings))
        heat, value = at(nu)
    for _ in range(_STEPS):
        free = operator[:, (heat > 0) & (heat < upper)]
        slope = readings - nu - operator @ heat
        step = np.linalg.solve(np.eye(len(nu)) + free @ free.T / ridge, slope)
        rise, length = float(slope @ step), 1.0
        if rise <= 1e-15 * float(readings @ readings):
            break
        trial = at(nu + step)
        while trial[1] < value + length * rise / 4 and length > 1e-9:
            length /= 2
            trial = at(nu + length * step)
        nu, (heat, value) = nu + length * step, trial
    return heat, nu


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
