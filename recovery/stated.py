"""Noise that is stated instead of wished for: what does it promise?

The paper's first two figures fix sigma and name no epsilon, and readings that others have
published come with the noise that they came with.
"""

import math
from fractions import Fraction

from .ratio import Ratio, check_ratio, lowest
from .settle import Calibration, Floats, Moved, moved, settle

# An epsilon is rounded up to whole thousandths, so that it is a ratio and never too small.
_PARTS = 1000


def stated(
    operator: Floats,
    shape: tuple[int, int],
    cells: int,
    sigma: Ratio,
    delta: Ratio,
    *,
    intensity_max: float = 1.0,
    step: Fraction | None = None,
    readings: int = 1,
) -> Calibration:
    """Return noise of this standard deviation, and what it really promises at delta.

    Args:
        sigma: standard deviation of the noise on each reading, in the temperatures' unit.
        operator, shape, cells, delta, intensity_max, step, readings: as for
            `recovery.calibrate.calibrate`.

    Raises:
        ValueError: no sensor feels any heat, a parameter is not positive, or sigma no ratio.
    """
    check_ratio(sigma, "sigma")
    change = moved(operator, shape, cells, intensity_max, step, readings)
    return with_sigma(change, sigma, delta)


def with_sigma(change: Moved, sigma: Ratio, delta: Ratio) -> Calibration:
    """Return noise of this width beside this change, as `stated`."""
    wide, delta_asked = check_ratio(sigma, "sigma"), check_ratio(delta, "delta")

    def variance(grain: Fraction, square: int) -> Fraction:
        """Return it whatever the sensitivity: it was stated."""
        return (Fraction(*sigma) / grain) ** 2

    return settle(change, change.counted, wide, variance, delta_asked)


def epsilon_of(made: Calibration) -> Ratio:
    """Return what a calibration really costs, as a ratio that is never too small."""
    return lowest((max(1, math.ceil(made.epsilon * _PARTS)), _PARTS))
