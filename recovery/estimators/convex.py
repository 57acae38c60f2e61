"""Estimators that are convex programs: a price on heat, and the least heat within a radius.

minimise  ||B f - c||**2 / 2 + price sum(f)   with  0 <= f <= upper
"""

import math
from dataclasses import dataclass

import numpy as np
import scipy  # its parts are loaded when they are used
from numpy.typing import NDArray

from ..l1 import prepare
from ..sparse import Solution, minimise_l1
from .record import Estimate, Seen

Floats = NDArray[np.float64]

# The readings as estimators use them: open cells alone, in the few directions that are heard.


# An objective that is proved to be within this of the least, relative, is optimal.
GAP_MAX = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Small:
    """The same readings over the open cells: ||A f - y||**2 = ||B f - c||**2 + beyond**2.

    Args:
        operator: B, (r, open cells).
        readings: c, (r,).
        beyond: what no heat anywhere can explain.
        cells: (open cells,), which ones they are.
    """

    operator: Floats
    readings: Floats
    beyond: float
    cells: NDArray[np.intp]


def reduce_problem(seen: Seen) -> Small:
    """Return the readings in the directions of the operator, and the cells that are open."""
    ready = prepare(seen.operator)
    inside, beyond = ready.compress(seen.readings)
    cells = np.arange(seen.operator.shape[1]) if seen.open is None else np.flatnonzero(seen.open)
    return Small(ready.small[:, cells], inside, float(np.linalg.norm(beyond)), cells)


def make_estimate(
    seen: Seen,
    cells: NDArray[np.intp],
    heat: Floats,
    status: str = "optimal",
    gap: float = float("nan"),
) -> Estimate:
    """Return the Estimate with that heat in the open cells and none elsewhere.

    Args:
        cells, heat: (open cells,), where, and how much.
        status: what is to be said, if there is any heat.
    """
    everywhere = np.zeros(seen.operator.shape[1])
    everywhere[cells] = heat
    residual = float(np.linalg.norm(seen.operator @ everywhere - seen.readings))
    if not everywhere.any() and status == "optimal":
        status = "no estimate: no heat at all explains the readings best"
    return Estimate(everywhere, status, residual, gap=gap)


def estimate_by_lasso(seen: Seen) -> Estimate:
    """Return the heat of the best price, proved by its duality gap.

    The lasso, also called basis pursuit denoising: least squares with a price on heat.

        minimise  ||A f - y||**2 / 2 + price sum(f)   with  0 <= f <= upper
        price = sigma max_j ||A_j||

    Source: Tibshirani 1996; Chen, Donoho and Saunders 1998. The price is one deviation of what
    noise alone makes of the correlation with the best heard cell.

    Limits: it does not know that heat comes in sources of one warmth, so it shrinks all heat, by
    price / ||A_j||**2 for a source alone, and puts one source between two that stand close. It
    comes nearer than "l1": by a third or more with one source, and with four by a fifth in much
    noise and a twentieth in little. Along a line and in a plane alike.
    """
    made = reduce_problem(seen)
    price = seen.sigma * float(np.linalg.norm(made.operator, axis=0).max())
    found = fit(made.operator, made.readings, seen.upper, price)
    return make_estimate(seen, made.cells, found.heat, found.status, found.gap)


# By an active set whose steps are exact.
#
# With B_P = Q R over the cells P that are neither empty nor full, and d the readings less what
# full cells explain, the least over P lies at R^-1 (Q'd - price R^-T 1). Cells that pull more than
# the price join, those that reach a bound leave, and the objective falls with each.
#
# Source: Lawson and Hanson 1974, chapter 23; Stark and Parker 1995 for the upper bound.


_EMPTY, _FREE, _FULL = 0, 1, 2
# A cell that pulls more than the price by less than this, in units of the greatest pull at the
# start, stays where it is; and a column that adds less of its length than this adds nothing.
_PULL, _DEPENDENT = 1e-12, 1e-11


def fit_bounded(operator: Floats, readings: Floats, upper: float, price: float) -> Floats:
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
        if _settle(operator, readings, upper, price, heat, state, joins):
            refused[:] = False
        else:  # it is where the others already are, or pulls by rounding alone
            state[joins], refused[joins] = before, True
    return heat


def _settle(
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
        rest -= price * scipy.linalg.solve_triangular(factor, np.ones(len(free)), trans="T")
        target = scipy.linalg.solve_triangular(factor, rest)
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


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """Heat, and how much more than the least the objective is at most."""

    heat: Floats
    objective: float
    residual: float  # ||B f - c||
    gap: float
    status: str  # "optimal", or "inaccurate: ..."


def fit(operator: Floats, readings: Floats, upper: float, price: float = 0.0) -> Fit:
    """Return the heat of the least objective, and a bound on what it exceeds the least by.

    Args:
        operator: B, (r, cells), not all 0.
        readings: c, (r,).
        upper: the most heat of a cell.
        price: of heat, in squared readings a unit; at least 0.

    The gap is computed from the heat alone, whatever the active set says: for every nu

        nu'c - ||nu||**2 / 2 - sum_j upper max(0, q_j),   q = B'nu - price

    is at most the least objective; nu = c - B f makes it equal at the optimum.

    >>> fit(np.eye(2), np.array([0.9, -1.0]), upper=1.0, price=0.4).heat.round(6)
    array([0.5, 0. ])
    """
    if not readings.any():
        return Fit(np.zeros(operator.shape[1]), 0.0, 0.0, 0.0, "optimal")
    heat = fit_bounded(operator, readings, upper, price)
    return _judge(operator, readings, upper, price, heat)


def _judge(operator: Floats, readings: Floats, upper: float, price: float, heat: Floats) -> Fit:
    """Return the heat with the gap that it proves."""
    left = readings - operator @ heat
    squares = float(left @ left)
    objective = squares / 2 + price * float(heat.sum())
    pull = operator.T @ left - price
    gain = float(pull @ np.where(pull > 0, upper, 0.0))
    gap = objective - (float(left @ readings) - squares / 2 - gain)
    good = gap <= GAP_MAX * float(readings @ readings) / 2
    status = "optimal" if good else "inaccurate: the solver gave up short of a proof"
    return Fit(heat, objective, float(np.sqrt(squares)), gap, status)


# The least heat within a radius that holds the truth but for a stated chance.
#
#     minimise  sum(f)   with  ||A f - y|| <= radius  and  0 <= f <= upper
#     radius = sigma sqrt(chi2 quantile of the sensors at 1 - failure)
#
# Source: Gilbert and McMillan 2017, Algorithm 1 and Lemma 7.
#
# Limits, which are the program's and not the radius's: it takes the least heat of all that
# would do, so it shrinks what there is and merges sources that stand close; the shares of one
# source too strong and one too weak are lost; and a longer spread makes it worse although the
# readings say as much as before. A posterior has a half to a ninth of its error where the
# sources are few. What it needs to know is least: neither number nor warmth of the sources.
# Along a line and in a plane alike.
#
# Differs from the paper:
# 1. The printed radius sigma sqrt(sensors) leaves out the truth half of the time: "l1-printed".


def compute_chi_radius(directions: int, failure: float) -> float:
    """Return the length that unit noise in so many directions exceeds with this chance.

        sqrt(chi2 quantile of the directions at 1 - failure)

    Source: Gilbert and McMillan 2017, Lemma 7.

    Differs from the paper:
    1. It is the exact quantile; the printed sqrt(directions) is exceeded half of the time.

    >>> round(compute_chi_radius(50, 0.05), 4)
    8.2161
    """
    return math.sqrt(2 * float(scipy.special.gammaincinv(directions / 2, 1 - failure)))


_WORDS = {
    "optimal": "optimal",
    "zero": "no estimate: no heat at all explains the readings best",
    "inaccurate": "inaccurate: the solver gave up short of a proof",
}


def estimate_by_l1(seen: Seen) -> Estimate:
    """Return the least heat within the radius, or the nearest where there is none within it."""
    return find_least_heat(seen, seen.sigma * compute_chi_radius(len(seen.readings), seen.failure))


def find_least_heat(seen: Seen, radius: float) -> Estimate:
    """Return the least heat within that radius of all readings, in kelvin."""
    cells = reduce_problem(seen).cells
    found: Solution = minimise_l1(seen.operator[:, cells], seen.readings, radius, seen.upper)
    words = _WORDS.get(
        found.status,
        f"infeasible: no heat lies within the radius {radius:.4g}, this comes nearest",
    )
    return make_estimate(seen, cells, found.heat, words, found.gap)


def estimate_as_printed(seen: Seen) -> Estimate:
    """Return the least heat within the printed radius, or the nearest.

    minimise  sum(f)   with  ||A f - y|| <= sigma sqrt(sensors)  and  0 <= f <= upper

    Source: Gilbert and McMillan 2017, Algorithm 1.

    Limits: those of "l1". The radius leaves out the truth half of the time and every heat in a
    third of the runs; then the heat that comes nearest is returned, and its status says so.
    """
    return find_least_heat(seen, seen.sigma * math.sqrt(len(seen.readings)))
