"""The paper's own formula for the noise, and what it really gives.

Kept for reproducing figures. It is no Gaussian calibration that anybody has proved: for
delta = 1/10 it stops being private at epsilon 39, for delta = 1/2 at epsilon 7.6.
"""

import math

from .gaussian import gaussian_delta, gaussian_epsilon
from .parameters import check_delta, check_epsilon

# Lemma 3 as printed is private for every epsilon up to 39 where delta is at most this.
PAPER_DELTA_MAX = 0.1


def paper_sigma(epsilon: float, delta: float, sensitivity: float = 1.0) -> float:
    """Return the standard deviation of the paper's Lemma 3, as printed.

        sigma = 2 ln(1.25 / delta) sensitivity / epsilon

    Differs from its source: the square root of Dwork and Roth's formula is lost, which
    errs on the safe side almost everywhere; `paper_delivers` tells what it really gives.

    Raises:
        ValueError: a parameter is out of range, or delta above 0.1, where the formula soon
            stops being private.

    Source: Gilbert and McMillan 2017, Lemma 3.

    >>> round(paper_sigma(1.0, 1e-5), 2)
    23.47
    """
    check_epsilon(epsilon, lowest=5e-324)
    check_delta(delta)
    if not 0 < sensitivity < math.inf:
        raise ValueError(
            f"sensitivity is {sensitivity:g} but must be positive and finite: without it there "
            "is nothing to hide. Check the operator and the units."
        )
    if delta > PAPER_DELTA_MAX:
        raise ValueError(
            f"delta is {delta:g} but the paper's formula is accepted up to {PAPER_DELTA_MAX:g}: "
            "above that it stops being private at everyday epsilons. Ask for a smaller delta, "
            "or for the exact calibration."
        )
    return 2 * math.log(1.25 / delta) * sensitivity / epsilon


def paper_delivers(epsilon: float, delta: float) -> tuple[float, float]:
    """Return what the paper's sigma really gives: epsilon at this delta, delta at this epsilon.

    The first is above `epsilon`, and the second above `delta`, where the printed formula
    is not private.

    >>> round(paper_delivers(1.0, 1e-5)[0], 3)
    0.134
    """
    sigma = paper_sigma(epsilon, delta)
    return gaussian_epsilon(sigma, delta), gaussian_delta(epsilon, sigma)
