"""The noise of many devices at once, exactly, as the devices of a shard would draw it together.

A device adds its part of `edge.core.shares`; the sum over all parts of one noise is a difference
of two geometric numbers. The sum of S geometric numbers is drawn by binary digits: digit i of one
of them is 1 with probability 1 / (1 + exp(2**i t)), independent of all others, so S of them have a
binomial number of ones. Above the last digit that is worth while the rest is geometric again,
seldom more than none. What does not make up a whole noise is drawn by `edge.core.noise` itself.

Whole numbers decide all of it. A binomial number is found where 64 random bits fall among bounds
from below and from above; bits that fall between two bounds are followed by 64 more. The bits are
SHAKE-256 over a key from `rng`.

Source: the digits of a geometric number are elementary; Knuth, volume 2, section 3.4.1.
"""

import hashlib
from bisect import bisect_right
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edge.core import noise, shares
from edge.mechanisms.footprint import exp_floor

Whole = NDArray[np.int64]
_AT_ONCE = 256  # of more the bounds are long numbers
_RARE = 24  # exponent from which on a digit is left to the tail


def draw_noise_sums(length: int, parts: int, divisor: int, num: int, den: int, rng: Any) -> Whole:
    """Return the noise of `parts` devices on each of so many numbers, `divisor` to one noise.

    The law of `edge.core.shares.draw_shares` with `pieces=parts`, in a time that hardly grows
    with the devices.
    """
    whole, rest = divmod(parts, divisor)
    found = np.zeros(length, dtype=np.int64)
    if whole:
        bits = _Bits(rng)
        found += _draw_geometric_sums(length, whole, num, den, bits, rng)
        found -= _draw_geometric_sums(length, whole, num, den, bits, rng)
    if rest:
        found += np.array(
            shares.draw_shares(length, divisor, num, den, rng, pieces=rest), dtype=np.int64
        )
    return found


class _Bits:
    """Random words without end from a key that the one door gave."""

    def __init__(self, rng: Any) -> None:
        self._key, self._calls = rng.below(1 << 256).to_bytes(32, "big"), 0

    def words(self, count: int) -> NDArray[np.uint64]:
        self._calls += 1
        seed = b"heatveil-crowd-v1" + self._key + self._calls.to_bytes(8, "big")
        return np.frombuffer(hashlib.shake_256(seed).digest(8 * count), dtype=np.uint64)


def _draw_geometric_sums(
    length: int, many: int, num: int, den: int, bits: _Bits, rng: Any
) -> Whole:
    """Return sums of so many independent geometric numbers."""
    digits = 0
    while num << digits < _RARE * den:
        digits += 1
    found = np.zeros(length, dtype=np.int64)
    while many:
        some = min(many, _AT_ONCE)
        many -= some
        for digit in range(digits):
            found += _draw_binomials(length, some, num << digit, den, True, bits) << digit
        tails = _draw_binomials(length, some, num << digits, den, False, bits)
        for place in np.flatnonzero(tails):
            for _ in range(int(tails[place])):
                found[place] += (1 + noise.geometric(num << digits, den, rng)) << digits
    return found


def _draw_binomials(length: int, many: int, num: int, den: int, odds: bool, bits: _Bits) -> Whole:
    """Return binomial numbers, of probability w / (1 + w) or w, w = exp(-num/den)."""
    low, high = _bound_binomial_cdf(many, num, den, odds, 64)
    words = bits.words(length)
    # How many cumulated chances lie at or below the word; one that lies within it is not decided.
    found = np.searchsorted(np.array(low, dtype=np.uint64), words, side="right")
    surely = np.searchsorted(np.array(high, dtype=np.uint64), words, side="right")
    # Beside the last word there may be a chance that does not fit into one.
    for place in np.flatnonzero((found != surely) | (words == np.iinfo(np.uint64).max)):
        width, value = 64, int(words[place])
        at, least = -1, -2
        while at != least:
            width += 64
            value = value << 64 | int(bits.words(1)[0])
            more, less = _bound_binomial_cdf(many, num, den, odds, width)
            at, least = bisect_right(more, value), bisect_right(less, value)
        found[place] = at
    return found.astype(np.int64)


@lru_cache(maxsize=256)
def _bound_binomial_cdf(
    many: int, num: int, den: int, odds: bool, width: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the chances of none, of up to one, and so on, times 2**width, from two sides.

    The first are the least words that may be at or above the chance, the second those that surely
    are; chances of all together are left out.
    """
    scale = 1 << (width + 64 + 2 * many.bit_length() + 2 * _RARE)
    inverse = exp_floor(num % den, den, scale)  # e**x for the part of x below 1
    whole = num // den
    e_low = exp_floor(1, 1, scale)
    low, high = inverse, inverse + 2
    for _ in range(whole):
        low, high = low * e_low // scale, -(-high * (e_low + 2) // scale)
    # One with w, against one without: 1 to e**x, or 1 to e**x - 1.
    rest = (low, high) if odds else (low - scale, high - scale)
    below = _cumulate(many, scale, min(rest), width, False)
    return below, _cumulate(many, scale, max(rest), width, True)


def _cumulate(many: int, one: int, failure: int, width: int, above: bool) -> tuple[int, ...]:
    """Return the cumulated chances of 0 to many - 1 successes, rounded to one side.

    Args:
        one, failure: the weights of a success and of a failure. The heavier a failure, the
            likelier are few successes: for chances from below it is the least it can be.
    """
    # No success has a chance of 2**-many at the least, which needs its digits too.
    fine = width + many + 64
    chance = ((failure << fine) + (one + failure - 1) * above) // (one + failure)
    term = 1 << fine
    for _ in range(many):
        term = (term * chance >> fine) + above
    upto, found = 0, []
    for k in range(many):
        upto += term
        found.append(min((upto >> (fine - width)) + above, (1 << width) - 1))
        term = term * one * (many - k) // (failure * (k + 1)) + above
    return tuple(found)
