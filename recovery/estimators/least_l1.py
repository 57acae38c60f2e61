"""The least heat within a radius that holds the truth but for a stated chance.

    minimise  sum(f)   with  ||A f - y|| <= radius  and  0 <= f <= upper
    radius = sigma sqrt(chi2 quantile of the sensors at 1 - failure)

Source: Gilbert and McMillan 2017, Algorithm 1 and Lemma 7.

Limits, which are the program's and not the radius's: it takes the least heat of all that
would do, so it shrinks what there is and merges sources that stand close; the shares of one
source too strong and one too weak are lost; and a longer spread makes it worse although the
readings say as much as before. A posterior has a half to a ninth of its error where the
sources are few. What it needs to know is least: neither number nor warmth of the sources.
Along a line and in a plane alike.

Differs from the paper:
1. The printed radius sigma sqrt(sensors) leaves out the truth half of the time: "l1-printed".
"""

import math

import scipy  # its parts are loaded when they are used

from ..sparse import Solution, minimise_l1
from .record import Estimate, Seen
from .small import estimated, small


def chi_radius(directions: int, failure: float) -> float:
    """Return the length that unit noise in so many directions exceeds with this chance.

        sqrt(chi2 quantile of the directions at 1 - failure)

    Source: Gilbert and McMillan 2017, Lemma 7.

    Differs from the paper:
    1. It is the exact quantile; the printed sqrt(directions) is exceeded half of the time.

    >>> round(chi_radius(50, 0.05), 4)
    8.2161
    """
    return math.sqrt(2 * float(scipy.special.gammaincinv(directions / 2, 1 - failure)))


_WORDS = {
    "optimal": "optimal",
    "zero": "no estimate: no heat at all explains the readings best",
    "inaccurate": "inaccurate: the solver gave up short of a proof",
}


def estimate(seen: Seen) -> Estimate:
    """Return the least heat within the radius, or the nearest where there is none within it."""
    return within(seen, seen.sigma * chi_radius(len(seen.readings), seen.failure))


def within(seen: Seen, radius: float) -> Estimate:
    """Return the least heat within that radius of all readings, in kelvin."""
    cells = small(seen).cells
    found: Solution = minimise_l1(seen.operator[:, cells], seen.readings, radius, seen.upper)
    words = _WORDS.get(
        found.status,
        f"infeasible: no heat lies within the radius {radius:.4g}, this comes nearest",
    )
    return estimated(seen, cells, found.heat, words, found.gap)


def estimate_as_printed(seen: Seen) -> Estimate:
    """Return the least heat within the printed radius, or the nearest.

    minimise  sum(f)   with  ||A f - y|| <= sigma sqrt(sensors)  and  0 <= f <= upper

    Source: Gilbert and McMillan 2017, Algorithm 1.

    Limits: those of "l1". The radius leaves out the truth half of the time and every heat in a
    third of the runs; then the heat that comes nearest is returned, and its status says so.
    """
    return within(seen, seen.sigma * math.sqrt(len(seen.readings)))
