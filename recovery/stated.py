"""Noise that is stated instead of wished for: what does it promise?

The paper's first two figures fix sigma and name no epsilon, and readings that others have
published come with the noise that they came with.
"""

import math
from fractions import Fraction

from .ratio import Ratio, check_ratio, lowest
from .settle import Calibration, Moved, settle

# An epsilon is rounded up to whole thousandths, so that it is a ratio and never too small.
_PARTS = 1000


def stated(change: Moved, sigma: Ratio, delta: Ratio) -> Calibration:
    """Return noise of this standard deviation, and what it really promises at delta.

    Args:
        change: what it hides.
        sigma: standard deviation of the noise on each reading, in the temperatures' unit.

    Raises:
        ValueError: sigma is not a ratio of whole numbers.
    """
    wide, delta_asked = check_ratio(sigma, "sigma"), check_ratio(delta, "delta")

    def variance(grain: Fraction, square: int) -> Fraction:
        """Return it whatever the sensitivity: it was stated."""
        return (Fraction(*sigma) / grain) ** 2

    return settle(change, change.counted, wide, variance, delta_asked)


def epsilon_of(made: Calibration) -> Ratio:
    """Return what a calibration really costs, as a ratio that is never too small."""
    return lowest((max(1, math.ceil(made.epsilon * _PARTS)), _PARTS))
