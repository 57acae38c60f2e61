"""How far noise goes, but for a stated chance."""

import math

import scipy  # its parts are loaded when they are used


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
