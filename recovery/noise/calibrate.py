"""From a wish, epsilon and delta, to the whole-number noise that grants it.

Source: Canonne, Kamath and Steinke 2020, Theorem 14, for the discrete Gaussian in whole
numbers; Balle and Wang 2018 for one reading, zCDP for several.

Differs from the paper:
1. The sensitivity is that of the whole numbers really sent, rounding and converter included.
2. One source moves by any distance up to the protected one, not by one cell alone.
3. Lemma 3's formula is a choice ("paper") for reproducing figures, not the default.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from edge.core.budget import NANO

from . import Ratio, check_ratio, reduce_ratio
from .gaussian import (
    gaussian_delta,
    gaussian_epsilon,
    gaussian_sigma,
    paper_sigma,
    zcdp_delta,
    zcdp_epsilon,
    zcdp_rho,
)
from .worst import (
    NOT_BEHIND,
    bound_shifts,
    bound_whole_square,
    choose_exponent,
    find_least_shown,
    find_worst_sensitivity,
    list_distances,
)

# Noise of a known width, laid out in whole numbers, and what it really gives.
#
# Both ways to noise end here: `calibrate` finds its width from a promise,
# `calibrate_stated_noise` is told it.

Floats = NDArray[np.float64]

# The discrete Gaussian keeps the continuous curve when sigma is larger by one in a thousand
# and at least a hundred grains, which `choose_exponent` sees to.
DISCRETE = 1.001


@dataclass(frozen=True, slots=True)
class Calibration:
    """Noise in whole numbers, and what it promises. The unit is that of the temperatures."""

    exponent: int  # a grain is 2**-exponent units
    step: int  # what the least move shows, in grains, rounded up; 1 when none is coarser
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
    behind: Fraction = NOT_BEHIND  # of the converter behind that one, see `worst.bound_behind`


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


def bound_move(
    operator: Floats,
    shape: tuple[int, int],
    cells: int,
    intensity_max: float,
    step: Fraction | None,
    readings: int,
    unfelt: str = "",
    behind: Fraction = NOT_BEHIND,
) -> Moved:
    """Return what a move of one source by up to so many cells changes, with these operators.

    Args:
        operator: A, (sensors, cells), or one for each of several spreads, (spreads, sensors,
            cells).
        readings: how many times every sensor reports the same scene.
        unfelt: as for `check_scales`.
        behind: as for `worst.bound_behind`.

    Raises:
        ValueError: a parameter is not positive, or no sensor feels a move.
    """
    check_scales(cells, intensity_max, step, readings, math.inf)
    distances = list_distances(shape, cells)
    continuous = intensity_max * max(
        find_worst_sensitivity(operator, one, shape) for one in distances
    )
    check_scales(cells, intensity_max, step, readings, continuous, unfelt)

    scales = operator, shape, distances, intensity_max, behind

    def square(exponent: int) -> int:
        return bound_whole_square(bound_shifts(*scales), exponent, step)

    counted, sensors = continuous, operator.shape[-2]
    if step is not None:  # in steps of the converter, as if they were the grains
        steps = operator, shape, distances, intensity_max / float(step), behind / step
        counted = math.sqrt(bound_whole_square(bound_shifts(*steps), 0, None)) * float(step)
    return Moved(sensors, intensity_max, step, readings, continuous, counted, square, behind)


def round_noise(
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
    exponent = choose_exponent(spread, sigma, change.sensors, change.step)
    grain = Fraction(2) ** -exponent
    square = change.square(exponent)
    whole = math.ceil(variance(grain, square))
    least = grain if change.step is None else find_least_shown(change.step, change.behind)
    return Calibration(
        exponent=exponent,
        step=math.ceil(least / grain),
        sensitivity=change.continuous,
        sensitivity_squared=square,
        variance=whole,
        rho=(square, 2 * whole),
        sigma=math.sqrt(whole) * float(grain),
        epsilon=epsilon_of_variance(square, whole, change.readings, delta),
        readings=change.readings,
        intensity_max=change.intensity_max,
        adc_step=change.step,
    )


def epsilon_of_variance(square: int, variance: int, readings: int, delta: float) -> float:
    """Return the epsilon of so many readings with this variance, both in grains squared."""
    return epsilon_of_price(Fraction(square, 2 * variance), readings, delta)


def epsilon_of_price(rho: Fraction, readings: int, delta: float) -> float:
    """Return the epsilon of so many readings at this price each: by its curve where it is one."""
    if readings == 1:
        return gaussian_epsilon(1 / (math.sqrt(2 * rho) * DISCRETE), delta)
    return zcdp_epsilon(readings * rho, delta)


def delta_of_variance(square: int, variance: int, readings: int, epsilon: float) -> float:
    """Return the delta of so many readings at this epsilon, as `epsilon_of_variance` does that."""
    if readings == 1:
        return gaussian_delta(epsilon, math.sqrt(variance / square) / DISCRETE)
    return zcdp_delta(Fraction(readings * square, 2 * variance), epsilon)


def exact_epsilon(square: int, variance: int, readings: int, delta: float) -> float:
    """Return the epsilon by the Gaussian's own curve, which is a little less than zCDP's.

    It holds as well, but does not add: two windows need the curve of both together.
    """
    return gaussian_epsilon(math.sqrt(variance / (square * readings)) / DISCRETE, delta)


Method = Literal["exact", "paper"]

# The price is a float and the promise is not: so little less makes up for its last digits.
_DIGITS = Fraction(1, 10**12)


def calibrate(
    operator: Floats,
    shape: tuple[int, int],
    cells: int,
    epsilon: Ratio,
    delta: Ratio,
    *,
    intensity_max: float = 1.0,
    step: Fraction | None = None,
    readings: int = 1,
    method: Method = "exact",
) -> Calibration:
    """Return the least noise that hides a move of one source by up to so many cells.

    Args:
        operator: A, (sensors, cells), or one for each spread that the room can meet and a
            move may be felt most at, (spreads, sensors, cells); see `recovery.noise.worst`.
        shape: (columns, rows) of the cells.
        cells: how far a source may move and stay hidden, in cells.
        epsilon, delta: the promise for all the readings together.
        intensity_max: the most heat of one source: an assumption on the world.
        step: of the sensors' converter, in the unit of the temperatures, or None.
        readings: how many times every sensor reports the same scene.
        method: "exact", or "paper" for the printed formula.

    Raises:
        ValueError: a parameter is out of range, or the printed formula is not private here.
    """
    change = bound_move(operator, shape, cells, intensity_max, step, readings)
    return calibrate_change(change, epsilon, delta, method)


def calibrate_change(change: Moved, epsilon: Ratio, delta: Ratio, method: Method) -> Calibration:
    """Return the least noise that hides this change, as `calibrate`."""
    epsilon_asked, delta_asked = check_ratio(epsilon, "epsilon"), check_ratio(delta, "delta")
    if method == "paper":
        factor = Fraction(paper_sigma(epsilon_asked, delta_asked)) ** 2 * change.readings
        spread = change.continuous
    else:
        factor = Fraction(NANO, 2 * _compute_nano_rho(epsilon, delta, change.readings))
        spread = change.counted

    def variance(grain: Fraction, square: int) -> Fraction:
        """Return it in exact fractions of the floats."""
        hidden = (Fraction(change.continuous) / grain) ** 2 if method == "paper" else square
        return factor * hidden

    made = round_noise(change, spread, math.sqrt(factor) * spread, variance, delta_asked)
    if method == "paper" and made.epsilon > epsilon_asked:
        raise ValueError(
            f"the paper's formula gives epsilon {made.epsilon:.4g} at delta {delta_asked:g} but "
            f"{epsilon_asked:g} was asked for: there, or with so coarse a converter, it is not "
            "private. Use the exact calibration."
        )
    return made


def _compute_nano_rho(epsilon: Ratio, delta: Ratio, readings: int) -> int:
    """Return what one reading may cost, in the billionths of rho that devices count in.

    Rounded down: so that their ledgers, which round up, never run out before the promise does.
    """
    asked = check_ratio(epsilon, "epsilon"), check_ratio(delta, "delta")
    rho = zcdp_rho(*asked) if readings > 1 else (DISCRETE * gaussian_sigma(*asked)) ** -2 / 2
    each = math.floor(Fraction(rho) * (1 - _DIGITS) * NANO / readings)
    if not each:
        raise ValueError(
            f"epsilon {asked[0]:.3g} for {readings} readings is rho {rho / readings:.3g} a "
            "reading but a device counts in billionths and rounds up: it could never answer. "
            "Ask for a larger epsilon, or for fewer readings."
        )
    return each


# Noise that is stated instead of wished for: what does it promise?
#
# The paper's first two figures fix sigma and name no epsilon, and readings that others have
# published come with the noise that they came with.

# An epsilon is rounded up to whole thousandths, so that it is a ratio and never too small.
_PARTS = 1000


def calibrate_stated_noise(change: Moved, sigma: Ratio, delta: Ratio) -> Calibration:
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

    return round_noise(change, change.counted, wide, variance, delta_asked)


def epsilon_of(made: Calibration) -> Ratio:
    """Return what a calibration really costs, as a ratio that is never too small."""
    return reduce_ratio((max(1, math.ceil(made.epsilon * _PARTS)), _PARTS))
