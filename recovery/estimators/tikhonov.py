"""Tikhonov's regularisation: the smoothest heat that the noise can explain.

    minimise  ||A f - y||**2 + ridge ||f||**2   with  0 <= f <= upper

and the ridge at which ||A f - y|| = sigma sqrt(sensors), Morozov's discrepancy principle.

Source: Tikhonov 1963; Morozov 1966; Hansen 1998, section 7.2.

Limits: it draws hills, never sources, and beats the sparse estimators only where sources are
four or more, when hills are all that can be had. Where not even the nearest heat lies
within the discrepancy, that one is returned. Along a line and in a plane alike.

Differs from the source:
1. Heat is not negative: the free solution oscillates by more than it says.
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from .quadratic import Fit, fit
from .record import Estimate, Seen
from .ridged import ridged
from .small import Small, estimated, small

NAME = "tikhonov"

Floats = NDArray[np.float64]

# Ridges are sought so many e-folds below the operator's greatest squared strength, and above.
_BELOW, _ABOVE = 30.0, 15.0
_STRIDE = 3.0


def estimate(seen: Seen) -> Estimate:
    """Return the heat at the ridge of the discrepancy principle."""
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
