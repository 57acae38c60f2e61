"""Zero-concentrated privacy: a price that adds up over readings, and its exchange rate.

A Gaussian of standard deviation sigma, continuous or discrete, whose neighbours differ by
whole numbers costs rho = (sensitivity / sigma)**2 / 2, and N readings cost N rho. Turned
into epsilon and delta, with any order alpha > 1,

    epsilon = alpha rho + (ln(1/delta) - ln alpha) / (alpha - 1) + ln(1 - 1/alpha)

Source: Canonne, Kamath and Steinke 2020, Theorem 14, Proposition 12 and Corollary 13.
Every alpha is valid, so the search below can end too high but never too low.
"""

import math
from collections.abc import Callable

from scipy.optimize import minimize_scalar

from .gaussian import check_delta


def zcdp_epsilon(rho: float, delta: float) -> float:
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
    if not 0 <= rho < math.inf:
        raise ValueError(
            f"rho is {rho:g} but must be at least 0 and finite: it is the price paid so far, "
            "and prices add. Check the variance that it was computed from."
        )
    if rho == 0:
        return 0.0
    return max(0.0, _least(lambda alpha: alpha * rho + _exchange(alpha, delta)))


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
    return -_least(lambda alpha: (_exchange(alpha, delta) - epsilon) / alpha)


def _exchange(alpha: float, delta: float) -> float:
    """Return the part of epsilon that does not depend on rho."""
    return (-math.log(delta) - math.log(alpha)) / (alpha - 1) + math.log1p(-1 / alpha)


def _least(cost: Callable[[float], float]) -> float:
    """Return the least cost over alpha > 1; it has one valley in ln(alpha - 1)."""
    found = minimize_scalar(
        lambda t: cost(1 + math.exp(t)), bounds=(-20.0, 60.0), options={"xatol": 1e-10}
    )
    return float(found.fun)
