"""The laws of the samplers in floats, for as many values as anybody will draw.

Written from the formulas once more; `laws` has them in exact bounds, for few values.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

FAR = 60  # exp(-60) is 1e-26, less than the floats of a law lose


class Law(NamedTuple):
    """Values in order, and the probability of each."""

    values: Whole
    probabilities: Floats


def _scaled(values: Whole, logarithms: NDArray[np.floating[Any]]) -> Law:
    weights = np.exp(logarithms - logarithms.max())
    return Law(values, np.asarray(weights / weights.sum(), dtype=np.float64))


def coin(num: int, den: int) -> Law:
    """Return 1 with probability num/den, else 0."""
    return Law(np.array([0, 1]), np.array([1 - num / den, num / den]))


def exp_coin(num: int, den: int) -> Law:
    """Return 1 with probability exp(-num/den), else 0."""
    return Law(np.array([0, 1]), np.array([-math.expm1(-num / den), math.exp(-num / den)]))


def below(n: int) -> Law:
    """Return every number below n as likely."""
    return Law(np.arange(n), np.full(n, 1 / n))


def geometric(num: int, den: int) -> Law:
    """Return k >= 0 in proportion to exp(-k num/den)."""
    values = np.arange(FAR * den // num + 1)
    return _scaled(values, -values * (num / den))


def dlaplace(num: int, den: int) -> Law:
    """Return z in proportion to exp(-|z| den/num)."""
    values = np.arange(-FAR * num // den, FAR * num // den + 1)
    return _scaled(values, -np.abs(values) * (den / num))


def dgauss(num: int, den: int) -> Law:
    """Return z in proportion to exp(-z**2 den / (2 num))."""
    reach = 12 * math.isqrt(num // den) + 12
    values = np.arange(-reach, reach + 1)
    return _scaled(values, np.square(values.astype(np.float64)) * (-den / (2 * num)))


def polya(shares: int, num: int, den: int) -> Law:
    """Return a negative binomial of r = 1/shares: Gamma(k + r) / (Gamma(r) k!) (1 - q)**r q**k."""
    values = np.arange(FAR * den // num + 1)
    logarithms = gammaln(values + 1 / shares) - gammaln(values + 1.0) - values * (num / den)
    return _scaled(values, np.asarray(logarithms))
