"""Numbers between two whole numbers: probabilities that are proved, not rounded.

A probability is a whole number of parts, ONE = 2**BITS of them; what is not a whole number is
given by a bound from below and one from above. Nothing here is a float, so a law that does not
fit does not fit, however small the difference.
"""

from functools import cache
from typing import NamedTuple

BITS = 256
ONE = 1 << BITS


class Bounds(NamedTuple):
    """A number of parts that is at least `low` and at most `high`."""

    low: int
    high: int


@cache
def decay(num: int, den: int) -> Bounds:
    """Return exp(-num/den), for num/den >= 0.

    By the series of exp(num/den), whose terms are all positive: each is rounded down for the
    one bound and up for the other, and the rest is less than a geometric series.
    """
    if num >= 2 * BITS * den:  # exp(-512) is less than one part
        return Bounds(0, 1)
    low = high = term_low = term_high = ONE
    n = 1
    while term_high > 1 or n * den < 2 * num:
        term_low = term_low * num // (den * n)
        term_high = -(-term_high * num // (den * n))
        low, high, n = low + term_low, high + term_high, n + 1
    high += 2 * term_high  # beyond n = 2 x each term is at most half of the one before
    return Bounds(ONE * ONE // high, -(-ONE * ONE // low))


def times(*factors: Bounds) -> Bounds:
    """Return the product of probabilities."""
    low = high = ONE
    for factor in factors:
        low = low * factor.low >> BITS
        high = -(-high * factor.high >> BITS)
    return Bounds(low, high)


def over(numerator: Bounds, denominator: Bounds) -> Bounds:
    """Return a quotient; the denominator is at least one part."""
    low = (numerator.low << BITS) // denominator.high
    return Bounds(low, -(-(numerator.high << BITS) // denominator.low))


def less(number: Bounds) -> Bounds:
    """Return one less the number."""
    return Bounds(ONE - number.high, ONE - number.low)


def ratio(num: int, den: int) -> Bounds:
    """Return num/den."""
    return Bounds((num << BITS) // den, -((-num << BITS) // den))


def number(parts: int) -> float:
    """Return parts as a float, to be shown."""
    return parts / ONE
