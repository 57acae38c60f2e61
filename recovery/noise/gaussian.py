"""How much Gaussian noise hides a difference: the exact curve, and its price in zCDP.

With mu = sensitivity / sigma, the least delta at which the Gaussian mechanism is
(epsilon, delta)-private is

    delta = Phi(mu/2 - epsilon/mu) - exp(epsilon) Phi(-mu/2 - epsilon/mu)

Source: Balle and Wang 2018, Theorem 8. Written with the scaled complementary error
function exp(x**2) erfc(x), in which the exponential of epsilon cancels, so nothing
overflows at epsilon 10**6 and nothing vanishes at delta 10**-300.
"""

import math
from collections.abc import Callable
from fractions import Fraction

from . import check_delta, check_epsilon

# The normal distribution's tail, with nothing but the standard library beneath it.
#
# A gateway prices its rounds with these few numbers; scipy, which has them all, would be half of
# its memory and of its start.

_FRACTION_FROM = 4.0  # from here on the continued fraction is exact, and exp(x**2) gets large
_TERMS = 100
_SPLIT = 1 << 20


def erfcx(x: float) -> float:
    """Return exp(x**2) erfc(x), to a few units of the last digit; x at least -26.

    Source: Abramowitz and Stegun 1964, 7.1.14, from 4 on; below, the two factors as they are,
    with x**2 split so that rounding it costs nothing.

    >>> round(erfcx(1.0), 15), round(erfcx(100.0), 17)
    (0.427583576155807, 0.00564161378298943)
    """
    if x >= _FRACTION_FROM:
        tail = x
        for term in range(_TERMS, 0, -1):
            tail = x + term / 2 / tail
        return 1 / (math.sqrt(math.pi) * tail)
    high = round(x * _SPLIT) / _SPLIT  # short enough for its square to be exact
    return math.exp(high * high) * math.exp((x - high) * (x + high)) * math.erfc(x)


def ndtr(x: float) -> float:
    """Return the chance that a standard normal number is at most x.

    >>> ndtr(0.0), round(ndtr(-10.0), 26)
    (0.5, 7.62e-24)
    """
    return math.erfc(-x / math.sqrt(2)) / 2


def find_crossing(increasing: Callable[[float], float], low: float, high: float) -> float:
    """Return where an increasing function crosses zero between low and high, by halving."""
    while high - low > 1e-15 and low < (middle := (low + high) / 2) < high:
        if increasing(middle) < 0:
            low = middle
        else:
            high = middle
    return high


# What floats lose of a logarithm of delta is under 1e-10, see the tests. Every answer is checked
# with twice that against it, so neither sigma, epsilon nor delta can be below the truth.
_CURVE_HAIR = 2e-10
# And this far above it, another accountant's tolerance does not put its answer above ours.
_SAFE = 1e-9


def gaussian_log_delta(epsilon: float, mu: float) -> float:
    """Return the natural logarithm of the exact delta, mu being sensitivity over sigma."""
    near = (epsilon / mu - mu / 2) / math.sqrt(2)
    far = (epsilon / mu + mu / 2) / math.sqrt(2)
    if near < -5:  # delta is almost 1, and the scaled function would overflow
        return math.log((math.erfc(near) - math.exp(-near * near) * erfcx(far)) / 2)
    gap = erfcx(near) - erfcx(far)
    if far - near < 1e-5:  # the difference of two near values is better taken as a slope
        middle = (near + far) / 2
        gap = (far - near) * (2 / math.sqrt(math.pi) - 2 * middle * erfcx(middle))
    # Where even the slope is lost to rounding, the first of the two terms bounds delta.
    bound = gap if gap > 0 else erfcx(near)
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
    check_epsilon(epsilon, lowest=0.0)
    rounded_up = gaussian_log_delta(epsilon, _compute_mu(sigma, sensitivity)) + _CURVE_HAIR
    # Never 0: a delta too small for a float is still not none.
    return min(max(math.exp(rounded_up), 5e-324), 1.0)


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
    check_epsilon(epsilon, lowest=0.0)
    check_delta(delta)
    _compute_mu(1.0, sensitivity)
    aim = math.log(delta) - 2 * _CURVE_HAIR
    # In the logarithm of mu, because mu runs over three hundred orders of magnitude.
    log_mu = _find_root(lambda t: gaussian_log_delta(epsilon, math.exp(t)) - aim)
    return _raise(
        sensitivity / math.exp(log_mu) * (1 + _SAFE),
        lambda sigma: gaussian_log_delta(epsilon, sensitivity / sigma) <= aim,
    )


def gaussian_epsilon(sigma: float, delta: float, sensitivity: float = 1.0) -> float:
    """Return the least epsilon at which this noise is (epsilon, delta)-private; 0 at best.

    Raises:
        ValueError: a parameter is outside its range.

    >>> round(gaussian_epsilon(3.7306, 1e-5), 4)
    1.0
    """
    check_delta(delta)
    mu, aim = _compute_mu(sigma, sensitivity), math.log(delta) - _CURVE_HAIR
    if gaussian_log_delta(0.0, mu) <= aim:
        return 0.0
    log_epsilon = _find_root(lambda t: aim - gaussian_log_delta(math.exp(t), mu))
    return _raise(
        math.exp(log_epsilon) * (1 + _SAFE), lambda epsilon: gaussian_log_delta(epsilon, mu) <= aim
    )


def _compute_mu(sigma: float, sensitivity: float) -> float:
    for name, value in (("sigma", sigma), ("sensitivity", sensitivity)):
        if not 0 < value < math.inf:
            raise ValueError(
                f"{name} is {value:g} but must be positive and finite: without it there is "
                "nothing to hide or nothing to hide it with. Check the operator and the units."
            )
    return sensitivity / sigma


def _raise(value: float, private: Callable[[float], bool]) -> float:
    """Return the value, or the next above it that is found to be private; infinity at worst."""
    step = 1e-15
    while value < math.inf and not private(value):
        value *= 1 + step
        step *= 2
    return value


def _find_root(increasing: Callable[[float], float]) -> float:
    """Return where an increasing function of a logarithm crosses zero, bracketing it first."""
    low, high = -1.0, 1.0
    while increasing(low) > 0 and low > -700:  # exp(-700) is the least that floats hold
        low = max(2 * low, -700.0)
    while increasing(high) < 0 and high < 700:
        high = min(2 * high, 700.0)
    return find_crossing(increasing, low, high)


# The paper's own formula for the noise, and what it really gives.
#
# Kept for reproducing figures. It is no Gaussian calibration that anybody has proved: for
# delta = 1/10 it stops being private at epsilon 39, for delta = 1/2 at epsilon 7.6.

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


# Zero-concentrated privacy: a price that adds up over readings, and its exchange rate.
#
# A Gaussian of standard deviation sigma, continuous or discrete, whose neighbours differ by
# whole numbers costs rho = (sensitivity / sigma)**2 / 2, and N readings cost N rho. Turned
# into epsilon and delta, with any order alpha > 1,
#
#     epsilon = alpha rho + (ln(1/delta) - ln alpha) / (alpha - 1) + ln(1 - 1/alpha)
#
# Source: Canonne, Kamath and Steinke 2020, Theorem 14, Proposition 12 and Corollary 13.
# Every alpha is valid, so the search below can end too high but never too low; and what floats
# lose of the three terms is added to them.

# Each term is computed to a few parts in 10**16; a sum is moved up by this much of its terms.
_TERM_HAIR = 1e-14
_GOLDEN = (math.sqrt(5) - 1) / 2


def zcdp_epsilon(rho: float | Fraction, delta: float) -> float:
    """Return an epsilon, at least 0, for which rho-zCDP implies (epsilon, delta)-privacy.

    Args:
        rho: the price in zCDP; 0 for nothing released.
        delta: in (0, 1).

    Raises:
        ValueError: rho is negative or not finite, or delta outside (0, 1).

    >>> round(zcdp_epsilon(0.5 / 4.045**2, 1e-5), 3)
    1.0
    """
    check_delta(delta)
    price = _check_price(rho)
    if price == 0:
        return 0.0
    return max(
        0.0, _find_least_cost(lambda less: _sum((1 + less) * price, *_exchange(less, delta)))
    )


def zcdp_delta(rho: float | Fraction, epsilon: float) -> float:
    """Return a delta for which rho-zCDP implies (epsilon, delta)-privacy; at most 1.

        delta = exp((alpha - 1) (alpha rho - epsilon)) (1 - 1/alpha)**alpha / (alpha - 1)

    Raises:
        ValueError: rho is negative or not finite, or epsilon negative.

    >>> round(zcdp_delta(0.5 / 4.045**2, 1.0), 7)
    1e-05
    """
    check_epsilon(epsilon, lowest=0.0)
    price = _check_price(rho)
    if price == 0:
        return 5e-324
    log_delta = _find_least_cost(
        lambda less: _sum(
            less * (1 + less) * price,
            -less * epsilon,
            (1 + less) * _compute_log_complement(less),
            -math.log(less),
        )
    )
    # Never 0: a delta too small for a float is still not none.
    return min(max(math.exp(log_delta), 5e-324), 1.0) if log_delta < 0 else 1.0


def zcdp_rho(epsilon: float, delta: float) -> float:
    """Return a rho, as large as can be, that implies (epsilon, delta)-privacy.

    Raises:
        ValueError: epsilon is not positive and finite, or delta outside (0, 1).

    >>> round((0.5 / zcdp_rho(1.0, 1e-5)) ** 0.5, 3)
    4.045
    """
    check_delta(delta)
    if not 0 < epsilon < math.inf:
        raise ValueError(
            f"epsilon is {epsilon:g} but must be positive and finite: no noise in zCDP makes "
            "it 0. 1/1 is customary."
        )
    # For one alpha the exchange is linear in rho, so rho is found without a root.
    rho = -_find_least_cost(lambda less: _sum(*_exchange(less, delta), -epsilon) / (1 + less))
    step = 1e-15
    while zcdp_epsilon(rho, delta) > epsilon:
        rho *= 1 - step
        step *= 2
    return rho


def _check_price(rho: float | Fraction) -> float:
    """Return the price as a float, or refuse it; what rounding loses is within the hair."""
    if not 0 <= rho < math.inf:
        raise ValueError(
            f"rho is {float(rho):g} but must be at least 0 and finite: it is the price paid so "
            "far, and prices add. Check the variance that it was computed from."
        )
    return max(float(rho), 5e-324) if rho else 0.0


def _exchange(less: float, delta: float) -> tuple[float, float, float]:
    """Return the terms of epsilon that do not depend on rho; `less` is alpha - 1."""
    return -math.log(delta) / less, -math.log1p(less) / less, _compute_log_complement(less)


def _compute_log_complement(less: float) -> float:
    """Return ln(1 - 1/alpha), where alpha itself would round to 1 too."""
    return -math.log1p(1 / less)


def _sum(*terms: float) -> float:
    return sum(terms) + _TERM_HAIR * sum(map(abs, terms))


def _find_least_cost(cost: Callable[[float], float]) -> float:
    """Return the least cost over alpha - 1 > 0; it has one valley in its logarithm."""
    low, high = -20.0, 60.0
    while high - low > 1e-9:  # golden sections; at its bottom the valley is flat to rounding
        step = _GOLDEN * (high - low)
        if cost(math.exp(high - step)) < cost(math.exp(low + step)):
            high = low + step
        else:
            low = high - step
    return cost(math.exp((low + high) / 2))
