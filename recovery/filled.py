"""The most that whole numbers can change by where two bounds are known of what they round.

It is known by how many kelvin each sensor may change, and all together in l2 norm. Both hold
at once, and so does the rounding: on one sensor a change of x steps of the
converter shows as at most ceil(x) of them. The greatest that the squares can then add up to is
found by giving every sensor one step, which costs nothing, then a second one, which costs one
step of the norm, then a third, and so on: c steps more than one cost (c - 1)**2 of its square
and bring c**2, so that each further one brings less for what it costs.

Source: for concave gains the greedy filling is the best there is, and an upper bound for whole
numbers; Ibaraki and Katoh 1988, "Resource Allocation Problems", chapter 4.
"""

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .whole import sent

Floats = NDArray[np.float64]

_SLACK = 1e-9  # of what floats lose, many times over


class Change(NamedTuple):
    """By how much readings may change, in kelvin."""

    joint: float  # l2 norm over all sensors
    each: Floats  # (sensors,)


def most_sent(change: Change, exponent: int, step: Fraction | None) -> int:
    """Return the greatest squared l2 norm of what is sent, in grains squared.

    Args:
        exponent: a grain is 2**-exponent kelvin.
        step: of the converter, in kelvin, or None.

    Raises:
        ValueError: it is beyond what can be squared exactly.

    >>> most_sent(Change(1.1, np.array([0.3, 1.1])), exponent=0, step=None)
    5
    >>> most_sent(Change(0.5, np.array([0.5, 0.5])), exponent=1, step=Fraction(1))
    8
    """
    unit = math.ldexp(1.0, -exponent) if step is None else float(step)
    tops = np.ceil(change.each / unit)
    square = _filled((change.joint / unit) ** 2, tops)
    if step is not None:
        ratio = step * Fraction(2) ** exponent
        square = Fraction(square) * ratio**2
        if ratio.denominator != 1:  # then a grain more may show on each sensor
            root = math.sqrt(square) * (1 + _SLACK) + math.sqrt(len(tops))
            square = Fraction(root * root)
    alone = sent(change.each[:, None], exponent, step)
    found = min(math.ceil(square), int(np.square(alone).sum()))
    if found >= 2**53:
        raise ValueError(
            f"a displacement changes the readings by {found**0.5:g} grains but at most 94906265 "
            "can be squared exactly, and a promise must not rest on a rounded number. Lower "
            "intensity_max."
        )
    return found


def _filled(budget: float, tops: Floats) -> Fraction:
    """Return what squares of whole numbers c, each to its top, come to at the most.

    Args:
        budget: that the sum of (c - 1)**2 does not exceed.
    """

    def cost(level: int) -> float:
        return float(np.square(np.maximum(np.minimum(tops, level), 1) - 1).sum())

    low, high = 1, max(1, int(tops.max()))
    if cost(high) > budget:
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if cost(middle) <= budget else (low, middle)
    else:
        low = high
    filled = Fraction(float(np.square(np.minimum(tops, low)).sum()))
    if low == int(tops.max(initial=1)):
        return filled
    # What is left buys part of one step more, on those that may have it.
    left = Fraction(budget - cost(low)) * Fraction(2 * low + 1, 2 * low - 1)
    return filled + left * (1 + Fraction(_SLACK))
