"""The normal distribution's tail, with nothing but the standard library beneath it.

A gateway prices its rounds with these few numbers; scipy, which has them all, would be half of
its memory and of its start.
"""

import math
from collections.abc import Callable

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


def crossing(increasing: Callable[[float], float], low: float, high: float) -> float:
    """Return where an increasing function crosses zero between low and high, by halving."""
    while high - low > 1e-15 and low < (middle := (low + high) / 2) < high:
        if increasing(middle) < 0:
            low = middle
        else:
            high = middle
    return high
