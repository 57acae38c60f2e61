"""How much Gaussian noise hides a difference: the exact curve.

With mu = sensitivity / sigma, the least delta at which the Gaussian mechanism is
(epsilon, delta)-private is

    delta = Phi(mu/2 - epsilon/mu) - exp(epsilon) Phi(-mu/2 - epsilon/mu)

Source: Balle and Wang 2018, Theorem 8. Written with the scaled complementary error
function exp(x**2) erfc(x), in which the exponential of epsilon cancels, so nothing
overflows at epsilon 10**6 and nothing vanishes at delta 10**-300.
"""

import math
from collections.abc import Callable

from .normal import crossing, erfcx
from .parameters import check_delta, check_epsilon

# What floats lose of a logarithm of delta is under 1e-10, see the tests. Every answer is checked
# with twice that against it, so neither sigma, epsilon nor delta can be below the truth.
_HAIR = 2e-10
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
    rounded_up = gaussian_log_delta(epsilon, _mu(sigma, sensitivity)) + _HAIR
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
    _mu(1.0, sensitivity)
    aim = math.log(delta) - 2 * _HAIR
    # In the logarithm of mu, because mu runs over three hundred orders of magnitude.
    log_mu = _root(lambda t: gaussian_log_delta(epsilon, math.exp(t)) - aim)
    return _raised(
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
    mu, aim = _mu(sigma, sensitivity), math.log(delta) - _HAIR
    if gaussian_log_delta(0.0, mu) <= aim:
        return 0.0
    log_epsilon = _root(lambda t: aim - gaussian_log_delta(math.exp(t), mu))
    return _raised(
        math.exp(log_epsilon) * (1 + _SAFE), lambda epsilon: gaussian_log_delta(epsilon, mu) <= aim
    )


def _mu(sigma: float, sensitivity: float) -> float:
    for name, value in (("sigma", sigma), ("sensitivity", sensitivity)):
        if not 0 < value < math.inf:
            raise ValueError(
                f"{name} is {value:g} but must be positive and finite: without it there is "
                "nothing to hide or nothing to hide it with. Check the operator and the units."
            )
    return sensitivity / sigma


def _raised(value: float, private: Callable[[float], bool]) -> float:
    """Return the value, or the next above it that is found to be private; infinity at worst."""
    step = 1e-15
    while value < math.inf and not private(value):
        value *= 1 + step
        step *= 2
    return value


def _root(increasing: Callable[[float], float]) -> float:
    """Return where an increasing function of a logarithm crosses zero, bracketing it first."""
    low, high = -1.0, 1.0
    while increasing(low) > 0 and low > -700:  # exp(-700) is the least that floats hold
        low = max(2 * low, -700.0)
    while increasing(high) < 0 and high < 700:
        high = min(2 * high, 700.0)
    return crossing(increasing, low, high)
