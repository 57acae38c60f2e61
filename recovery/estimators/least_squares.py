"""Least squares between bounds: plain, or with a price on heat or on its square."""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from .quadratic import Fit, fit, ridged
from .record import Estimate, Seen
from .small import Small, estimated, small

# The price, in prices of the lasso: dear enough for a dozen solves, where one ends too far in.
_DEAR = 20.0
_SOLVES = 200


def estimate_by_bregman(seen: Seen) -> Estimate:
    """Return the first heat of the iteration that lies within the printed radius.

    Bregman iteration for the least heat: a dear lasso again and again, what it left out added
    back.

        f = least of ||A f - y_k||**2 / 2 + price sum(f)  with  0 <= f <= upper
        y_(k+1) = y_k + (y - A f)

    until ||A f - y|| <= sigma sqrt(sensors). Heat that is dear is shrunk, and what is added back
    undoes the shrinking: at the stop sources have nearly the warmth that they have.

    Source: Osher, Burger, Goldfarb, Xu and Yin 2005; for heat sources, Li, Osher and Tsai 2014,
    which is how Gilbert and McMillan 2017 solve their program.

    Limits: it ends about where "l1-printed" does, after a dozen lassos where that takes one
    program, and with its radius: where no heat lies within it, the nearest. It is here because it
    is how the paper's figures were made. Along a line and in a plane alike.

    Differs from the source:
    1. Each lasso is solved exactly, not by coordinate descent with a refit.
    2. Heat has a most, `upper`.
    """
    made = small(seen)
    radius = seen.sigma * math.sqrt(len(seen.readings))
    if float(np.linalg.norm(seen.readings)) <= radius:
        return estimated(seen, made.cells, np.zeros(len(made.cells)))
    nearest = fit(made.operator, made.readings, seen.upper)
    if math.hypot(nearest.residual, made.beyond) > radius:
        status = f"infeasible: no heat lies within the radius {radius:.4g}, this comes nearest"
        return estimated(seen, made.cells, nearest.heat, status)
    price = _DEAR * seen.sigma * float(np.linalg.norm(made.operator, axis=0).max())
    target, status = made.readings, f"inaccurate: not within the radius after {_SOLVES} solves"
    for _ in range(_SOLVES):
        found = fit(made.operator, target, seen.upper, price)
        left = made.readings - made.operator @ found.heat
        if math.hypot(float(np.linalg.norm(left)), made.beyond) <= radius:
            status = found.status
            break
        target = target + left
    return estimated(seen, made.cells, found.heat, status)


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
    made = small(seen)
    price = seen.sigma * float(np.linalg.norm(made.operator, axis=0).max())
    found = fit(made.operator, made.readings, seen.upper, price)
    return estimated(seen, made.cells, found.heat, found.status, found.gap)


def estimate_by_nnls(seen: Seen) -> Estimate:
    """Return the nearest heat, proved by its duality gap.

    Non-negative least squares: the heat that comes nearest to the readings, noise and all.

        minimise  ||A f - y||**2   with  0 <= f <= upper

    Source: Lawson and Hanson 1974, chapter 23.

    Limits: nothing but the bounds holds the noise back, which is why it is sparse all the same
    and never far off the total; its few peaks stand where the noise puts them, and for one source
    it is the worst of the sparse estimators. It needs no sigma. Along a line and in a plane alike.

    Differs from the source:
    1. Heat has a most, `upper`, as it has in the other convex programs here.
    """
    made = small(seen)
    found = fit(made.operator, made.readings, seen.upper)
    return estimated(seen, made.cells, found.heat, found.status, found.gap)


Floats = NDArray[np.float64]

# Ridges are sought so many e-folds below the operator's greatest squared strength, and above.
_BELOW, _ABOVE = 30.0, 15.0
_STRIDE = 3.0


def estimate_by_tikhonov(seen: Seen) -> Estimate:
    """Return the heat at the ridge of the discrepancy principle.

    Tikhonov's regularisation: the smoothest heat that the noise can explain.

        minimise  ||A f - y||**2 + ridge ||f||**2   with  0 <= f <= upper

    and the ridge at which ||A f - y|| = sigma sqrt(sensors), Morozov's discrepancy principle.

    Source: Tikhonov 1963; Morozov 1966; Hansen 1998, section 7.2.

    Limits: it draws hills, never sources, and beats the sparse estimators only where sources are
    four or more, when hills are all that can be had. Where not even the nearest heat lies
    within the discrepancy, that one is returned. Along a line and in a plane alike.

    Differs from the source:
    1. Heat is not negative: the free solution oscillates by more than it says.
    """
    made = small(seen)
    inside = seen.sigma**2 * len(seen.readings) - made.beyond**2
    found = fit(made.operator, made.readings, seen.upper)
    if found.residual**2 < inside:
        found = _discrepant(made, math.sqrt(inside), seen.upper)
    return estimated(seen, made.cells, found.heat, found.status, found.gap)


def _discrepant(made: Small, inside: float, upper: float) -> Fit:
    """Return the fit whose residual, which rises with the ridge, is that radius."""
    start: Floats | None = None

    def excess(fold: float) -> float:
        nonlocal start  # neighbouring ridges have neighbouring multipliers
        heat, start = ridged(made.operator, made.readings, upper, 0.0, math.exp(fold), start)
        return float(np.linalg.norm(made.operator @ heat - made.readings)) - inside

    middle = math.log(float((made.operator**2).sum(axis=0).max()))
    low, high = middle - _BELOW, middle + _ABOVE
    fold = high
    if excess(high) > 0:  # else nearly no heat at all lies within the discrepancy
        while fold > low and excess(fold) > 0:  # from above, where the program is easy
            fold = max(low, fold - _STRIDE)
        if fold > low:
            fold = brentq(excess, fold, min(high, fold + _STRIDE), xtol=1e-6)
    return fit(made.operator, made.readings, upper, ridge=math.exp(fold))
