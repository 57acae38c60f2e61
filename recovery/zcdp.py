"""Zero-concentrated privacy: a price that adds up over readings, and its exchange rate.

A Gaussian of standard deviation sigma, continuous or discrete, whose neighbours differ by
whole numbers costs rho = (sensitivity / sigma)**2 / 2, and N readings cost N rho. Turned
into epsilon and delta, with any order alpha > 1,

    epsilon = alpha rho + (ln(1/delta) - ln alpha) / (alpha - 1) + ln(1 - 1/alpha)

Source: Canonne, Kamath and Steinke 2020, Theorem 14, Proposition 12 and Corollary 13.
Every alpha is valid, so the search below can end too high but never too low; and what floats
lose of the three terms is added to them.
"""

import math
from collections.abc import Callable
from fractions import Fraction

from .parameters import check_delta, check_epsilon

# Each term is computed to a few parts in 10**16; a sum is moved up by this much of its terms.
_HAIR = 1e-14
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
    price = _price(rho)
    if price == 0:
        return 0.0
    return max(0.0, _least(lambda less: _sum((1 + less) * price, *_exchange(less, delta))))


def zcdp_delta(rho: float | Fraction, epsilon: float) -> float:
    """Return a delta for which rho-zCDP implies (epsilon, delta)-privacy; at most 1.

        delta = exp((alpha - 1) (alpha rho - epsilon)) (1 - 1/alpha)**alpha / (alpha - 1)

    Raises:
        ValueError: rho is negative or not finite, or epsilon negative.

    >>> round(zcdp_delta(0.5 / 4.045**2, 1.0), 7)
    1e-05
    """
    check_epsilon(epsilon, lowest=0.0)
    price = _price(rho)
    if price == 0:
        return 5e-324
    log_delta = _least(
        lambda less: _sum(
            less * (1 + less) * price,
            -less * epsilon,
            (1 + less) * _below(less),
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
    rho = -_least(lambda less: _sum(*_exchange(less, delta), -epsilon) / (1 + less))
    step = 1e-15
    while zcdp_epsilon(rho, delta) > epsilon:
        rho *= 1 - step
        step *= 2
    return rho


def _price(rho: float | Fraction) -> float:
    """Return the price as a float, or refuse it; what rounding loses is within the hair."""
    if not 0 <= rho < math.inf:
        raise ValueError(
            f"rho is {float(rho):g} but must be at least 0 and finite: it is the price paid so "
            "far, and prices add. Check the variance that it was computed from."
        )
    return max(float(rho), 5e-324) if rho else 0.0


def _exchange(less: float, delta: float) -> tuple[float, float, float]:
    """Return the terms of epsilon that do not depend on rho; `less` is alpha - 1."""
    return -math.log(delta) / less, -math.log1p(less) / less, _below(less)


def _below(less: float) -> float:
    """Return ln(1 - 1/alpha), where alpha itself would round to 1 too."""
    return -math.log1p(1 / less)


def _sum(*terms: float) -> float:
    return sum(terms) + _HAIR * sum(map(abs, terms))


def _least(cost: Callable[[float], float]) -> float:
    """Return the least cost over alpha - 1 > 0; it has one valley in its logarithm."""
    low, high = -20.0, 60.0
    while high - low > 1e-9:  # golden sections; at its bottom the valley is flat to rounding
        step = _GOLDEN * (high - low)
        if cost(math.exp(high - step)) < cost(math.exp(low + step)):
            high = low + step
        else:
            low = high - step
    return cost(math.exp((low + high) / 2))
