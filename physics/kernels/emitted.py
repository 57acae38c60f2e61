"""What a point that has given off heat at a constant rate leaves at a distance, without walls.

    U(r, s) = integral over s' from 0 to s of (4 pi s')**(-d/2) exp(-r**2 / 4 s' - c s') ds'

with d axes, s the spread since it began, and c the loss over the diffusivity, in 1/m2. Divided
by the diffusivity it is kelvin per K m**d a second.

Source: Carslaw and Jaeger 1959, Sections 10.2 and 10.4; Hantush and Jacob 1955 for the plane that
loses heat, whose integral is the well function of a leaky aquifer.
"""

import math

import numpy as np
from scipy.special import erfc, erfcx, exp1, k0

from ..places import Floats

# Below it eleven terms of the loss's own series are exact, above it the closed forms are.
_SLIGHT = 0.1
_TERMS = 12
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)
_PANELS = 4
# exp(-40) is lost beside one.
_NEGLIGIBLE = 40.0


def emitted(distance_m: Floats, spread_m2: float, axes: int, loss_per_m2: float = 0.0) -> Floats:
    """Return U, in m**(2 - axes), at distances of any shape.

    Args:
        distance_m: r, positive; along a line 0 too.
        spread_m2: s, positive: diffusivity times the time since the source began.
        axes: d, 1 to 3.
        loss_per_m2: c, the rate of loss over the diffusivity, 0 or more.

    >>> emitted(np.array([0.0, 1.0]), 0.25, 1).round(4).tolist()
    [0.2821, 0.0251]
    """
    with np.errstate(under="ignore"):
        if loss_per_m2 * spread_m2 <= _SLIGHT:
            return _slight(distance_m, spread_m2, axes, loss_per_m2)
        if axes == 2:
            return _plane(distance_m, spread_m2, loss_per_m2)
        kappa, swept = math.sqrt(loss_per_m2), math.sqrt(loss_per_m2 * spread_m2)
        way = distance_m / (2 * math.sqrt(spread_m2))
        gone = np.exp(-kappa * distance_m) * erfc(way - swept)
        back = np.exp(-np.square(way) - swept**2) * erfcx(way + swept)
        if axes == 1:
            return np.asarray((gone - back) / (4 * kappa))
        return np.asarray((gone + back) / (8 * math.pi * distance_m))


def _slight(distance: Floats, spread: float, axes: int, loss: float) -> Floats:
    """Add the powers of the loss: I(p) = integral of s'**p exp(-r**2 / 4 s'), p = k - d/2.

    By parts, (p + 1) I(p) = s**(p + 1) exp(-r**2 / 4 s) - r**2 / 4 I(p - 1).
    """
    quarter = np.square(distance) / 4
    way, fallen = distance / (2 * math.sqrt(spread)), np.exp(-quarter / spread)
    if axes == 1:
        integral = 2 * math.sqrt(spread) * fallen - math.sqrt(math.pi) * distance * erfc(way)
    elif axes == 2:
        integral = exp1(np.square(way))
    else:
        integral = 2 * math.sqrt(math.pi) * erfc(way) / distance
    total, factor = integral, 1.0
    for power in range(1, _TERMS if loss else 1):
        above = power - axes / 2 + 1
        integral = (spread**above * fallen - quarter * integral) / above
        factor *= -loss / power
        total = total + factor * integral
    return np.asarray(total / (4 * math.pi) ** (axes / 2))


def _plane(distance: Floats, spread: float, loss: float) -> Floats:
    """Return W(r**2 / 4 s, r sqrt(c)) / 4 pi, W the well function of a leaky aquifer.

    With b = r sqrt(c), W is the integral of exp(-b cosh v) from v0 = log(r / 2 s sqrt(c)) on. The
    whole of it is 2 K0(b), and it is even in v: so only what lies beyond |v0| is summed.
    """
    b = distance * math.sqrt(loss)
    first = np.log(distance / (2 * spread * math.sqrt(loss)))
    start = np.abs(first)
    last = np.arccosh(np.cosh(start) + _NEGLIGIBLE / b)
    # Far out v is as wide as the logarithm of b: the panels are as many as that needs.
    half = (last - start) / (2 * _PANELS)
    total = np.zeros_like(b)
    for panel in range(_PANELS):
        middle = start + (2 * panel + 1) * half
        for node, weight in zip(_NODES.tolist(), _WEIGHTS.tolist(), strict=True):
            total += weight * np.exp(-b * np.cosh(middle + half * node))
    total *= half
    return np.asarray(np.where(first >= 0, total, 2 * k0(b) - total) / (4 * math.pi))
