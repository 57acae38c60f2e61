"""A normal law kept between two bounds, far out in its tails too."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtri_exp

Floats = NDArray[np.float64]
Bound = Floats | float

# Below this a precision is nothing: the law is flat between its bounds.
_FLAT = 1e-12
# Between bounds that differ by less than this in the logarithm of the CDF it is level.
_THIN = 1e-6


def log_mass(slope: Floats, precision: Floats, low: Bound, high: Bound) -> Floats:
    """Return the log of the integral of exp(slope w - precision w**2 / 2) over low..high.

    Args:
        slope, precision, low, high: of one shape, or broadcast to one; precision not negative.

    >>> log_mass(np.zeros(1), np.zeros(1), np.zeros(1), np.full(1, np.e)).round(6)
    array([1.])
    """
    middle, deviation, below, above, _ = _standard(slope, precision, low, high)
    thick = above + np.log(-np.expm1(np.minimum(below - above, -_THIN)))
    # Of bounds so near to each other the logarithms differ by their rounding: the law is level.
    wide = (np.asarray(high) - low) / deviation
    centre = (np.asarray(high) + low) / 2
    level = np.log(wide / np.sqrt(2 * np.pi)) - 0.5 * np.square((centre - middle) / deviation)
    share = np.where(below - above > -_THIN, level, thick)
    return np.asarray(
        share + np.log(deviation * np.sqrt(2 * np.pi)) + 0.5 * np.square(middle / deviation)
    )


def at_share(slope: Floats, precision: Floats, low: Bound, high: Bound, share: Floats) -> Floats:
    """Return the value below which this share of the law lies: the inverse of its CDF.

    Args:
        slope, precision, low, high: as for `log_mass`.
        share: between 0 and 1; even numbers there give draws of the law.
    """
    middle, deviation, below, above, turned = _standard(slope, precision, low, high)
    part = np.where(turned, 1 - share, share)
    reached = ndtri_exp(above + np.log(part + (1 - part) * np.exp(below - above)))
    return np.asarray(np.clip(middle + deviation * np.where(turned, -reached, reached), low, high))


def rough_mass(slope: Floats, precision: Floats, low: Bound, high: Bound) -> tuple[Floats, Floats]:
    """Return about the same integral as (log of its peak, width), in ordinary arithmetic.

    Within a third of `log_mass`, at a tenth of its cost: good enough to propose with. To each
    side of the peak the law falls by its slope there and as a normal does, until the bound.
    """
    stiff = np.maximum(precision, _FLAT)
    peak = np.clip(slope / stiff, low, high)
    fall = np.abs(slope - stiff * peak) + np.sqrt(stiff * (2 / np.pi))
    left, right = peak - low, high - peak
    # A peak on a bound slopes towards it, one inside is level: one fall serves both sides.
    width = left / (1 + left * fall) + right / (1 + right * fall)
    return peak * (slope - 0.5 * stiff * peak), width


def _standard(
    slope: Floats, precision: Floats, low: Bound, high: Bound
) -> tuple[Floats, Floats, Floats, Floats, NDArray[np.bool_]]:
    """Return mean, deviation, log-CDF at both bounds, and where the law was turned round.

    Turned round, whatever lies in the upper tail lies in the lower one, where a log-CDF keeps
    its digits.
    """
    stiff = np.maximum(precision, _FLAT)
    deviation = 1 / np.sqrt(stiff)
    middle = slope / stiff
    first, last = (low - middle) / deviation, (high - middle) / deviation
    turned = first > 0
    first, last = np.where(turned, -last, first), np.where(turned, -first, last)
    return middle, deviation, log_ndtr(first), log_ndtr(last), turned
