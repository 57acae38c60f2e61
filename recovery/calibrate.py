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
from scipy.special import ndtr

from edge.limits import NANO

from .gaussian import gaussian_sigma
from .paper import paper_sigma
from .ratio import Ratio, check_ratio
from .settle import DISCRETE, Calibration, Floats, Moved, exact_epsilon, moved, settle
from .whole import bounded, shifts, whole_square, widest
from .zcdp import zcdp_rho

Method = Literal["exact", "paper"]

# The price is a float and the promise is not: so little less makes up for its last digits.
_DIGITS = Fraction(1, 10**12)


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
    change = moved(operator, shape, cells, intensity_max, step, readings)
    return granted(change, epsilon, delta, method)


def granted(change: Moved, epsilon: Ratio, delta: Ratio, method: Method) -> Calibration:
    """Return the least noise that hides this change, as `calibrate`."""
    epsilon_asked, delta_asked = check_ratio(epsilon, "epsilon"), check_ratio(delta, "delta")
    if method == "paper":
        factor = Fraction(paper_sigma(epsilon_asked, delta_asked)) ** 2 * change.readings
        spread = change.continuous
    else:
        factor = Fraction(NANO, 2 * _nano_rho(epsilon, delta, change.readings))
        spread = change.counted

    def variance(grain: Fraction, square: int) -> Fraction:
        """Return it in exact fractions of the floats."""
        hidden = (Fraction(change.continuous) / grain) ** 2 if method == "paper" else square
        return factor * hidden

    made = settle(change, spread, math.sqrt(factor) * spread, variance, delta_asked)
    if method == "paper" and made.epsilon > epsilon_asked:
        raise ValueError(
            f"the paper's formula gives epsilon {made.epsilon:.4g} at delta {delta_asked:g} but "
            f"{epsilon_asked:g} was asked for: there, or with so coarse a converter, it is not "
            "private. Use the exact calibration."
        )
    return made


def _nano_rho(epsilon: Ratio, delta: Ratio, readings: int) -> int:
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


def distance_curve(
    operator: Floats,
    shape: tuple[int, int],
    calibration: Calibration,
    delta: Ratio,
    distances: tuple[int, ...] | None = None,
) -> list[Distance]:
    """Return what the same noise promises for moves of other distances, in cells.

    A promise for one cell says little about ten: this is the page to show an operator. It is
    true of these operators; `recovery.thermal_curve` looks at every spread for each distance.
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
    warmest = float(np.abs(operator).max())
    layers = operator.reshape(-1, *operator.shape[-2:])
    blocks = (bounded(layer, calibration.intensity_max, warmest) for layer in layers)
    return _hidden(blocks, calibration, delta)[0]


def _hidden(blocks: Iterable[Floats], made: Calibration, delta: Ratio) -> tuple[float, float]:
    """Return the epsilon of the worst of these changes, and how many sigmas it is wide."""
    square = whole_square(blocks, made.exponent, made.adc_step)
    apart = math.sqrt(square * made.readings / made.variance)
    at = check_ratio(delta, "delta")
    return exact_epsilon(square, made.variance, made.readings, at), apart
