"""A pyramid whose noise the users bring themselves, through a shuffler that nobody need trust.

A simulation, not a service: a broker that orders and names its messages is no shuffler. Each user
gives her parts of every square of every measured level, a share of the noise on each, splits each
sum into shares that tell nothing alone, and sends them; the shuffler mixes all; the analyst adds
what has one coordinate. The noise of all users together is exactly the Laplace that a trusted
gateway draws, and only honest users count for it.

Source: paper 000, Appendix F, after Balle, Bell, Gascon and Nissim 2020.

Differs from the paper:
1. The noise share is the difference of two Polya draws with exp(-epsilon_i / B): one alone is
   never negative and hides nothing below it; and with exp(-epsilon_i), on values that were scaled
   by B, the promise is B times epsilon.
2. What is split into shares is the sum with its noise, not the one without.
3. The modulus is above what sum and noise reach on both sides; B n wraps below nought, and when
   all are in one square. What was added is decoded around nought.
4. Parts are divided so that they add to B exactly; rounded down each, all squares are too small.
5. The list of levels that skips the second is one that does not.
"""

import math
from fractions import Fraction
from typing import Any, NamedTuple

from edge.core.records import Release, Round
from edge.core.shares import polya
from edge.mechanisms.pyramid import (
    NAME,
    epsilons,
    gather_values,
    list_squares,
    params_of,
    unpack_levels,
)

__all__ = [
    "NAME",
    "analyse",
    "choose_modulus",
    "compute_cost",
    "count_shares",
    "list_coordinates",
    "make_messages",
]

_WRAPS = 2.0**-40  # the chance that any sum wraps


class Cost(NamedTuple):
    """What one user sends: messages, how many bits each has, and bytes in all."""

    messages: int
    bits: int
    total_bytes: float


def list_coordinates(round: Round) -> list[tuple[int, int]]:
    """Return every square of every measured level, as (k, square)."""
    p = params_of(round)
    return [
        (k, square)
        for k in range(len(p.weights))
        for square in list_squares(round.grid, p.first + k)
    ]


def choose_modulus(round: Round, users: int) -> int:
    """Return the modulus of the sums: a power of two, beyond all parts and their noise."""
    p = params_of(round)
    least = min(Fraction(num, den) for num, den in epsilons(round))
    tail = math.log(2 * len(list_coordinates(round)) / _WRAPS) / float(least)
    return 1 << math.ceil(math.log2(p.units * users + 2 * p.units * tail))


def count_shares(
    epsilon: float, many: int, users: int, delta: float, modulus: int, printed: bool = False
) -> int:
    """Return into how many shares each of so many sums is split.

    The printed number is that of one reading of Balle et al.; another one fits their published
    example, needs users from 19 on, and is larger. Until that is settled the larger is used.
    """
    sigma = 2 * math.log(math.exp(epsilon) + 1) + 2 * math.log(many / delta) + math.log(modulus)
    own = math.ceil(sigma / math.log(users) + 1)
    if printed:
        return own
    if users < 19:
        raise ValueError(
            f"{users} users came but shares hide a sum among 19 at the least: fewer are not "
            "mixed enough. Take a secure sum, or a gateway that is trusted."
        )
    return max(own, math.ceil(sigma / (math.log(users) - 1) + 2))


def compute_cost(
    epsilon: float, many: int, users: int, delta: float, modulus: int, printed: bool = False
) -> Cost:
    """Return what one user sends of so many sums, each message a coordinate and a share."""
    messages = many * count_shares(epsilon, many, users, delta, modulus, printed)
    bits = math.ceil(math.log2(many * modulus))
    return Cost(messages, bits, messages * bits / 8)


def make_messages(
    round: Round, payload: list[int], users: int, split: int, mod: int, rng: Any
) -> list[tuple[int, int]]:
    """Return what one user sends to the shuffler: (coordinate, share), in any order.

    Args:
        payload: of `edge.mechanisms.pyramid.report`.
        users: how many honest ones bring noise, at the least.
        split, mod: of `count_shares` and `choose_modulus`.
    """
    p = params_of(round)
    own, scales = unpack_levels(round, payload), epsilons(round)
    found = []
    for at, (k, square) in enumerate(list_coordinates(round)):
        num, den = scales[k][0], scales[k][1] * p.units
        noise = polya(users, num, den, rng) - polya(users, num, den, rng)
        rest = own[k].get(square, 0) + noise
        for _ in range(split - 1):
            share = rng.below(mod)
            found.append((at, share))
            rest -= share
        found.append((at, rest % mod))
    return found


def analyse(round: Round, mixed: list[tuple[int, int]], mod: int, users: int) -> Release:
    """Return the Release of what came out of the shuffler: sums decoded around nought."""
    sums = [0] * len(list_coordinates(round))
    for at, share in mixed:
        sums[at] += share
    noisy = {
        place: (total + mod // 2) % mod - mod // 2
        for place, total in zip(list_coordinates(round), sums, strict=True)
    }
    values = gather_values(round, lambda k, squares: [noisy[k, square] for square in squares])
    return Release(round, values, users)
