"""From a wish, epsilon and delta, to the whole-number noise that grants it.

Source: Canonne, Kamath and Steinke 2020, Theorem 14, for the discrete Gaussian in whole
numbers; Balle and Wang 2018 for one reading, zCDP for several.

Differs from the paper:
1. The sensitivity is that of the whole numbers really sent, rounding and converter included.
2. One source moves by any distance up to the protected one, not by one cell alone.
3. Lemma 3's formula is a choice ("paper") for reproducing figures, not the default.
"""

import math
from fractions import Fraction
from typing import Literal

from edge.limits import NANO

from .gaussian import gaussian_sigma
from .paper import paper_sigma
from .ratio import Ratio, check_ratio
from .settle import DISCRETE, Calibration, Floats, Moved, moved, settle
from .zcdp import zcdp_rho

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
