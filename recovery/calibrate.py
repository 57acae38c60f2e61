"""From a wish, epsilon and delta, to the whole-number noise that grants it.

Source: Canonne, Kamath and Steinke 2020, Theorem 14, for the discrete Gaussian in whole
numbers; Balle and Wang 2018 for one reading, zCDP for several.

Differs from the paper:
1. The sensitivity is that of the whole numbers really sent, rounding and converter included.
2. One source moves by any distance up to the protected one, not by one cell alone.
3. Lemma 3's formula is a choice ("paper") for reproducing figures, not the default.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from .gaussian import gaussian_epsilon, gaussian_sigma, paper_sigma
from .ratio import Ratio, check_ratio
from .whole import coarsest_exponent, counted_norm, reach, shifts, whole_square, widest
from .zcdp import zcdp_epsilon, zcdp_rho

Floats = NDArray[np.float64]
Method = Literal["exact", "paper"]

# The discrete Gaussian keeps the continuous curve when sigma is larger by one in a thousand
# and at least a hundred grains, which `coarsest_exponent` sees to.
_DISCRETE = 1.001


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
class Distance:
    """How well two places so far apart are hidden from whoever sees all readings."""

    cells: int
    sensitivity: float  # in units
    epsilon: float
    right: float  # chance that the best test tells them apart; 1/2 is a blind guess


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
            move may be felt most at, (spreads, sensors, cells); see `recovery.spreads`.
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
    epsilon_asked, delta_asked = check_ratio(epsilon, "epsilon"), check_ratio(delta, "delta")
    if min(cells, readings, step or 1) <= 0 or not 0 < intensity_max < math.inf:
        raise ValueError(
            f"cells is {cells}, readings {readings}, step {step} and intensity_max "
            f"{intensity_max:g} but all must be positive and finite: the noise is scaled by "
            "them. Correct the query."
        )
    moved = reach(shape, cells)
    continuous = intensity_max * max(widest(operator, d, shape) for d in moved)
    spread = continuous
    if method == "paper":
        factor = paper_sigma(epsilon_asked, delta_asked) * math.sqrt(readings)
    else:
        one_sigma = gaussian_sigma(epsilon_asked, delta_asked) * _DISCRETE
        several = math.sqrt(readings / (2 * zcdp_rho(epsilon_asked, delta_asked)))
        factor = one_sigma if readings == 1 else several
        spread = counted_norm(shifts(operator, shape, moved, intensity_max), step)
    if not continuous > 0:
        raise ValueError(
            f"the operator changes by {continuous:g} when a source moves but must change by "
            "more: no sensor feels any heat. Place sensors nearer, or wait for a longer spread."
        )
    exponent = coarsest_exponent(spread, factor * spread, operator.shape[-2], step)
    grain = Fraction(2) ** -exponent
    square = whole_square(shifts(operator, shape, moved, intensity_max), exponent, step)
    # The variance is rounded up, in exact fractions of the floats, so it is never too small.
    hidden = (Fraction(continuous) / grain) ** 2 if method == "paper" else square
    variance = math.ceil(Fraction(factor) ** 2 * hidden)
    given = delivered(square, variance, readings, delta_asked)
    if method == "paper" and given > epsilon_asked:
        raise ValueError(
            f"the paper's formula gives epsilon {given:.4g} at delta {delta_asked:g} but "
            f"{epsilon_asked:g} was asked for: there, or with so coarse a converter, it is not "
            "private. Use the exact calibration."
        )
    return Calibration(
        exponent=exponent,
        step=1 if step is None else math.ceil(step / grain),
        sensitivity=continuous,
        sensitivity_squared=square,
        variance=variance,
        rho=(square, 2 * variance),
        sigma=math.sqrt(variance) * float(grain),
        epsilon=given,
        readings=readings,
        intensity_max=intensity_max,
        adc_step=step,
    )


def distance_curve(
    operator: Floats,
    shape: tuple[int, int],
    calibration: Calibration,
    delta: Ratio,
    distances: tuple[int, ...] | None = None,
) -> list[Distance]:
    """Return what the same noise promises for moves of other distances, in cells.

    A promise for one cell says little about ten: this is the page to show an operator.
    """
    longest = max(shape) - 1
    found = []
    for cells in distances or [d for d in (1, 2, 5, 10, 20, 50, 100, 200) if d <= longest]:
        moved = shifts(operator, shape, [cells], calibration.intensity_max)
        epsilon, apart = _hidden(moved, calibration, delta)
        continuous = calibration.intensity_max * widest(operator, cells, shape)
        found.append(Distance(cells, continuous, epsilon, float(ndtr(apart / 2))))
    return found


def presence_epsilon(operator: Floats, calibration: Calibration, delta: Ratio) -> float:
    """Return the epsilon of a source's very presence: so large that it is not protected."""
    blocks = np.abs(operator).reshape(-1, *operator.shape[-2:]) * calibration.intensity_max
    return _hidden(blocks, calibration, delta)[0]


def _hidden(blocks: Iterable[Floats], made: Calibration, delta: Ratio) -> tuple[float, float]:
    """Return the epsilon of the worst of these changes, and how many sigmas it is wide."""
    square = whole_square(blocks, made.exponent, made.adc_step)
    apart = math.sqrt(square * made.readings / made.variance)
    return gaussian_epsilon(1 / (_DISCRETE * apart), check_ratio(delta, "delta")), apart


def delivered(square: int, variance: int, readings: int, delta: float) -> float:
    """Return the epsilon of so many readings with this variance, both in grains squared."""
    if readings == 1:
        return gaussian_epsilon(math.sqrt(variance / square) / _DISCRETE, delta)
    return zcdp_epsilon(readings * square / (2 * variance), delta)
