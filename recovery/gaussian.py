"""How much Gaussian noise hides a difference: the exact curve, and the paper's formula.

With mu = sensitivity / sigma, the least delta at which the Gaussian mechanism is
(epsilon, delta)-private is

    delta = Phi(mu/2 - epsilon/mu) - exp(epsilon) Phi(-mu/2 - epsilon/mu)

Source: Balle and Wang 2018, Theorem 8. Written with the scaled complementary error
function exp(x**2) erfc(x), in which the exponential of epsilon cancels, so nothing
overflows at epsilon 10**6 and nothing vanishes at delta 10**-300.
"""

import math
from collections.abc import Callable

from scipy.optimize import brentq
from scipy.special import erfc, erfcx

# A root is found to 1e-14; the answer is moved this far to the safe side, so that
# neither rounding nor another accountant's tolerance can put it below the truth.
_SAFE = 1e-9

# Lemma 3 as printed is private for every epsilon up to 39 where delta is at most this.
PAPER_DELTA_MAX = 0.1


def gaussian_log_delta(epsilon: float, mu: float) -> float:
    """Return the natural logarithm of the exact delta, mu being sensitivity over sigma."""
    near = (epsilon / mu - mu / 2) / math.sqrt(2)
    far = (epsilon / mu + mu / 2) / math.sqrt(2)
    if near < -5:  # delta is almost 1, and the scaled function would overflow
        return math.log((erfc(near) - math.exp(-near * near) * erfcx(far)) / 2)
    gap = float(erfcx(near) - erfcx(far))
    if far - near < 1e-5:  # the difference of two near values is better taken as a slope
        middle = (near + far) / 2
        gap = (far - near) * (2 / math.sqrt(math.pi) - 2 * middle * float(erfcx(middle)))
    # Where even the slope is lost to rounding, the first of the two terms bounds delta.
    bound = gap if gap > 0 else float(erfcx(near))
    return math.log(bound / 2) - near * near if bound > 0 else -math.inf


def gaussian_delta(epsilon: float, sigma: float, sensitivity: float = 1.0) -> float:
    """Return the exact delta that noise of this standard deviation gives.

    Args:
        epsilon: at least 0.
        sigma: standard deviation of the noise, in the unit of the sensitivity.
        sensitivity: l2 distance between the readings of two neighbours.

    Raises:
        ValueError: epsilon is negative, or sigma or the sensitivity not positive.

    >>> round(gaussian_delta(1.0, 3.7306), 8)
    1e-05
    """
    _check_epsilon(epsilon, lowest=0.0)
    # Never 0: a delta too small for a float is still not none.
    return max(math.exp(gaussian_log_delta(epsilon, _mu(sigma, sensitivity))), 5e-324)


def gaussian_sigma(epsilon: float, delta: float, sensitivity: float = 1.0) -> float:
    """Return the least standard deviation that is (epsilon, delta)-private.

    Args:
        epsilon: at least 0.
        delta: in (0, 1).
        sensitivity: l2 distance between the readings of two neighbours; positive.

    Raises:
        ValueError: a parameter is outside its range.

    Source: Balle and Wang 2018, Algorithm 1.

    >>> round(gaussian_sigma(1.0, 1e-5), 3)
    3.731
    """
    _check_epsilon(epsilon, lowest=0.0)
    check_delta(delta)
    _mu(1.0, sensitivity)
    # In the logarithm of mu, because mu runs over three hundred orders of magnitude.
    log_mu = _root(lambda t: gaussian_log_delta(epsilon, math.exp(t)) - math.log(delta))
    return sensitivity / math.exp(log_mu) * (1 + _SAFE)


def gaussian_epsilon(sigma: float, delta: float, sensitivity: float = 1.0) -> float:
    """Return the least epsilon at which this noise is (epsilon, delta)-private; 0 at best.

    Raises:
        ValueError: a parameter is outside its range.

    >>> round(gaussian_epsilon(3.7306, 1e-5), 4)
    1.0
    """
    check_delta(delta)
    mu = _mu(sigma, sensitivity)
    if gaussian_log_delta(0.0, mu) <= math.log(delta):
        return 0.0
    log_epsilon = _root(lambda t: math.log(delta) - gaussian_log_delta(math.exp(t), mu))
    return math.exp(log_epsilon) * (1 + _SAFE)


def paper_sigma(epsilon: float, delta: float, sensitivity: float = 1.0) -> float:
    """Return the standard deviation of the paper's Lemma 3, as printed.

        sigma = 2 ln(1.25 / delta) sensitivity / epsilon

    Differs from its source: the square root of Dwork and Roth's formula is lost, which
    errs on the safe side almost everywhere; `paper_delivers` tells what it really gives.

    Raises:
        ValueError: delta is above 0.1, where the formula soon stops being private.

    Source: Gilbert and McMillan 2017, Lemma 3.

    >>> round(paper_sigma(1.0, 1e-5), 2)
    23.47
    """
    _check_epsilon(epsilon, lowest=5e-324)
    check_delta(delta)
    _mu(1.0, sensitivity)
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


def check_delta(delta: float) -> None:
    """Refuse a delta outside (0, 1) with a ValueError."""
    if not 0 < delta < 1:
        raise ValueError(
            f"delta is {delta:g} but must lie between 0 and 1, both excluded: it is the chance "
            "that the promise fails. 1/100000 is customary."
        )


def _check_epsilon(epsilon: float, lowest: float) -> None:
    if not lowest <= epsilon < math.inf:
        raise ValueError(
            f"epsilon is {epsilon:g} but must be {'positive' if lowest else 'at least 0'} and "
            "finite: it bounds how far the odds of a guess may move. 1/1 is customary."
        )


def _mu(sigma: float, sensitivity: float) -> float:
    for name, value in (("sigma", sigma), ("sensitivity", sensitivity)):
        if not 0 < value < math.inf:
            raise ValueError(
                f"{name} is {value:g} but must be positive and finite: without it there is "
                "nothing to hide or nothing to hide it with. Check the operator and the units."
            )
    return sensitivity / sigma


def _root(increasing: Callable[[float], float]) -> float:
    """Return where an increasing function of a logarithm crosses zero, bracketing it first."""
    low, high = -1.0, 1.0
    while increasing(low) > 0 and low > -700:  # exp(-700) is the least that floats hold
        low = max(2 * low, -700.0)
    while increasing(high) < 0 and high < 700:
        high = min(2 * high, 700.0)
    return float(brentq(increasing, low, high, xtol=1e-14, rtol=1e-14))
