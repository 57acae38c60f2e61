"""The heat kernel along a line without walls, from which all others are made."""

import math

import numpy as np
from numpy.typing import ArrayLike

from ..places import Floats


def heat_kernel(distance_m: ArrayLike, spread_m2: float) -> Floats:
    """Return the temperature that one unit of heat leaves at a distance.

        g(x) = exp(-x**2 / 4 s) / sqrt(4 pi s)

    Args:
        distance_m: distances from the source, in metres, of any shape.
        spread_m2: s, diffusivity times elapsed time, in square metres; positive.

    Returns:
        Temperature per unit of heat, in 1/m.

    Raises:
        ValueError: `spread_m2` is not positive and finite, or a distance is not a number.

    Source: Gilbert and McMillan 2017, Section 2.1, where s is called T.

    >>> heat_kernel(np.array([0.0, 1.0]), spread_m2=0.25).round(4)
    array([0.5642, 0.2076])
    """
    root = math.sqrt(checked_spread(spread_m2))
    distance = np.asarray(distance_m, dtype=float)
    if np.isnan(distance).any():
        raise ValueError(
            "distance_m holds a NaN but every distance must be a number, or one bad place "
            "would spoil all the readings. Look for a missing position in the input."
        )
    # Far away the square overflows to infinity and the exponential is rightly nought.
    with np.errstate(over="ignore", under="ignore"):
        return np.exp(-np.square(distance / (2 * root))) / (2 * math.sqrt(math.pi) * root)


def widened(spread_m2: float, source_sd_m: float) -> float:
    """Return the spread at which a point looks like a source of some size does at this one.

        2 s becomes 2 s + sd**2

    A source that is a normal density is a point that has already spread, and between walls one
    whose rim they have sent back. So any kernel here takes a person, who is no point, by this
    number alone.

    Args:
        spread_m2: s, diffusivity times elapsed time, in square metres; 0 for just now.
        source_sd_m: the standard deviation of the source along each axis, in metres; 0 for a
            point. A person who stands is about 0.15.

    Raises:
        ValueError: one of both is negative or not finite, or both are nought.

    >>> widened(0.05, 0.2)
    0.07
    """
    if not 0 <= source_sd_m < math.inf:
        raise ValueError(
            f"source_sd_m is {source_sd_m:g} but must be 0 or more and finite, for it is how "
            "wide the source is. Give metres, 0 for a point."
        )
    past = source_sd_m**2 / 2
    return past if past > 0 and spread_m2 == 0 else checked_spread(spread_m2) + past


def checked_spread(spread_m2: float) -> float:
    """Return the spread, once it is known to have a kernel.

    Raises:
        ValueError: it is not positive and finite.
    """
    if not 0 < spread_m2 < math.inf:
        raise ValueError(
            f"spread_m2 is {spread_m2:g} but must be positive and finite: heat that has had "
            "no time to spread has no kernel. Is the elapsed time in seconds?"
        )
    return float(spread_m2)
