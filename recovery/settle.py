"""Noise of a known width, laid out in whole numbers, and what it really gives.

Both ways to noise end here: `calibrate` finds its width from a promise, `stated` is told it.

Source: Canonne, Kamath and Steinke 2020, Theorem 14, for the discrete Gaussian in whole
numbers; Balle and Wang 2018 for one reading, zCDP for several.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from .gaussian import gaussian_delta, gaussian_epsilon
from .ratio import Ratio
from .whole import coarsest_exponent, counted_norm, reach, shifts, whole_square, widest
from .zcdp import zcdp_delta, zcdp_epsilon

Floats = NDArray[np.float64]

# The discrete Gaussian keeps the continuous curve when sigma is larger by one in a thousand
# and at least a hundred grains, which `coarsest_exponent` sees to.
DISCRETE = 1.001


@dataclass(frozen=True, slots=True)
class Calibration:
    """Noise in whole numbers, and what it promises. The unit is that of the temperatures."""

    exponent: int  # a grain is 2**-exponent units
    step: int  # of the converter, in grains, rounded up; 1 when none is coarser
    sensitivity: float  # of the temperatures, continuous, in units
    sensitivity_squared: int  # of the whole numbers, in grains**2
    variance: int  # of the noise on each reading, in grains**2
    rho: Ratio  # the exact price of one reading in zCDP
    sigma: float  # standard deviation of the noise, in units
    epsilon: float  # what the readings together really cost at the delta asked for
    readings: int
    intensity_max: float
    adc_step: Fraction | None


@dataclass(frozen=True, slots=True)
class Moved:
    """What a move of one source changes, at its most. The unit is that of the temperatures."""

    sensors: int
    intensity_max: float
    step: Fraction | None  # of the converter
    readings: int  # how many times every sensor reports the same scene
    continuous: float  # l2 norm of the temperatures' change
    counted: float  # l2 norm of what the converters show of it
    square: Callable[[int], int]  # squared l2 norm of what is sent, in grains of this exponent


def check_scales(
    cells: int,
    intensity_max: float,
    step: Fraction | None,
    readings: int,
    continuous: float,
    unfelt: str = "",
) -> None:
    """Refuse what the noise cannot be scaled by with a ValueError.

    Args:
        unfelt: what to say where no sensor feels a move, from somebody who knows the room.
    """
    if min(cells, readings, step or 1) <= 0 or not 0 < intensity_max < math.inf:
        raise ValueError(
            f"cells is {cells}, readings {readings}, step {step} and intensity_max "
            f"{intensity_max:g} but all must be positive and finite: the noise is scaled by "
            "them. Correct the query."
        )
    if not continuous > 0:
        raise ValueError(
            unfelt
            or f"what sensors feel changes by {continuous:g} when a source moves but must change "
            "by more: no sensor feels any heat, or all feel the same. Give another spread."
        )


def moved(
    operator: Floats,
    shape: tuple[int, int],
    cells: int,
    intensity_max: float,
    step: Fraction | None,
    readings: int,
    unfelt: str = "",
) -> Moved:
    """Return what a move of one source by up to so many cells changes, with these operators.

    Args:
        operator: A, (sensors, cells), or one for each of several spreads, (spreads, sensors,
            cells).
        readings: how many times every sensor reports the same scene.
        unfelt: as for `check_scales`.

    Raises:
        ValueError: a parameter is not positive, or no sensor feels a move.
    """
    check_scales(cells, intensity_max, step, readings, math.inf)
    distances = reach(shape, cells)
    continuous = intensity_max * max(widest(operator, one, shape) for one in distances)
    check_scales(cells, intensity_max, step, readings, continuous, unfelt)

    def square(exponent: int) -> int:
        return whole_square(shifts(operator, shape, distances, intensity_max), exponent, step)

    counted = counted_norm(shifts(operator, shape, distances, intensity_max), step)
    return Moved(operator.shape[-2], intensity_max, step, readings, continuous, counted, square)


def settle(
    change: Moved,
    spread: float,
    sigma: float,
    variance: Callable[[Fraction, int], Fraction],
    delta: float,
) -> Calibration:
    """Return the noise in whole numbers.

    Args:
        spread: l2 norm that the grain must be fine beside, in units.
        sigma: standard deviation that it must be fine beside, in units.
        variance: of the noise in grains squared, from the grain in units and the squared
            sensitivity in grains; it is rounded up, so it is never too small.
        delta: at which epsilon is told.

    Raises:
        ValueError: no whole number is exact any more.
    """
    exponent = coarsest_exponent(spread, sigma, change.sensors, change.step)
    grain = Fraction(2) ** -exponent
    square = change.square(exponent)
    whole = math.ceil(variance(grain, square))
    return Calibration(
        exponent=exponent,
        step=1 if change.step is None else math.ceil(change.step / grain),
        sensitivity=change.continuous,
        sensitivity_squared=square,
        variance=whole,
        rho=(square, 2 * whole),
        sigma=math.sqrt(whole) * float(grain),
        epsilon=delivered(square, whole, change.readings, delta),
        readings=change.readings,
        intensity_max=change.intensity_max,
        adc_step=change.step,
    )


def delivered(square: int, variance: int, readings: int, delta: float) -> float:
    """Return the epsilon of so many readings with this variance, both in grains squared."""
    return worth(Fraction(square, 2 * variance), readings, delta)


def worth(rho: Fraction, readings: int, delta: float) -> float:
    """Return the epsilon of so many readings at this price each: by its curve where it is one."""
    if readings == 1:
        return gaussian_epsilon(1 / (math.sqrt(2 * rho) * DISCRETE), delta)
    return zcdp_epsilon(readings * rho, delta)


def delivered_delta(square: int, variance: int, readings: int, epsilon: float) -> float:
    """Return the delta of so many readings at this epsilon, as `delivered` returns epsilon."""
    if readings == 1:
        return gaussian_delta(epsilon, math.sqrt(variance / square) / DISCRETE)
    return zcdp_delta(Fraction(readings * square, 2 * variance), epsilon)


def exact_epsilon(square: int, variance: int, readings: int, delta: float) -> float:
    """Return the epsilon by the Gaussian's own curve, which is a little less than zCDP's.

    It holds as well, but does not add: two windows need the curve of both together.
    """
    return gaussian_epsilon(math.sqrt(variance / (square * readings)) / DISCRETE, delta)
