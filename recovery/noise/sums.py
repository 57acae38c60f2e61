"""Secure sums, analyst half: in which shards devices are, whom to trust, and what is promised."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from edge.core.records import Guarantee

from ..fields import check_rules
from ..maps.guarantee import make_pure
from ..maps.sentence import Wording
from . import find_shard_limits

UNPROTECTED = Wording(
    "guarantee.not.sum",
    "that somebody is there and takes part, and when; how many do; and answers beyond these "
    "rounds",
)()
REPLACED = Wording("guarantee.place", "in which of any two places a device is")()
_TRUST = Wording(
    "guarantee.trust.shard",
    "distributed: a device alone adds hardly any noise, so nobody may see less than the sum over "
    "a shard of at least {threshold} devices, of whom at most {colluders} collude with the "
    "gateway, and nobody has a key to its noise. A secure sum sees to that",
)
NONE_OPENED = Wording(
    "map.shards",
    "no shard had enough reports to be opened; wait for more devices, or allow for more that drop "
    "out",
)()
BITS_MOST = 32  # in which a device adds
_WRAPS = 28  # deviations' scale of one shard's noise: once in 2**40 a number is further off


@dataclass(frozen=True, slots=True)
class Shard:
    """How users are shared out: each is in one of the shards, which differ by one at most."""

    shards: int
    threshold: int  # reports without which a sum is not opened
    colluders: int
    largest: int  # devices

    @property
    def divisor(self) -> int:
        """Among how many the noise of a sum is divided."""
        return self.threshold - self.colluders


def shard_of(query: Any) -> Shard:
    """Return the shards of a query; the threshold is that of the smallest.

    Args:
        query: with users, shard, dropout and colluders.

    Raises:
        ValueError: nobody knows how many devices there are.
    """
    if not query.users:
        raise ValueError(
            "users is 0 but the noise is shared among a known number of devices. State how many "
            "answer each round: users in a deployment, --set users=N on the command line."
        )
    shards = -(-query.users // query.shard)
    smallest, largest = query.users // shards, -(-query.users // shards)
    missing, colluding = Fraction(*query.dropout), Fraction(*query.colluders)
    threshold, _ = find_shard_limits(smallest, colluding, missing)
    _, colluders = find_shard_limits(largest, colluding, missing)
    return Shard(shards, threshold, colluders, largest)


def check_shards(query: Any) -> None:
    """Check the fields of a query that its shards come from.

    Raises:
        ValueError: one has no meaning, or nobody is left to bring the noise.
    """
    rules = [
        ("shard", type(query.shard) is int and 1 <= query.shard <= 10**6, "1 to a million"),
        ("dropout", _share(query.dropout), "a share (num, den) from 0 up and below 1"),
        ("colluders", _share(query.colluders), "a share (num, den) from 0 up and below 1"),
    ]
    check_rules(query, rules)
    if query.users and shard_of(query).divisor < 1:
        missing, colluding = ("/".join(map(str, one)) for one in (query.dropout, query.colluders))
        raise ValueError(
            f"of a shard of {query.users // shard_of(query).shards} devices, {missing} may be "
            f"missing and {colluding} may collude, and nobody is left to bring the noise. Ask "
            "more devices, or allow for fewer of both."
        )


def describe_trust(query: Any) -> str:
    """Return whom to trust, in words."""
    shard = shard_of(query)
    return _TRUST(threshold=shard.threshold, colluders=shard.colluders)


def promise(query: Any, one: Fraction, neighbours: str, unit: str) -> Guarantee:
    """Return what the answers to a query promise; `one` is the epsilon of one Round.

    Its rho is the Round's share of what all of epsilon costs. So prices add up as epsilons do, and
    no Round has less than its own epsilon**2 / 2.
    """
    made = make_pure(
        query.epsilon,
        one,
        neighbours=neighbours,
        trust=describe_trust(query),
        unit=unit,
        unprotected=UNPROTECTED,
    )
    return made._replace(rho=(one * Fraction(*query.epsilon) / 2).as_integer_ratio())


def count_bits(shard: Shard, most: int, width: Fraction) -> int:
    """Return in how many bits a sum over a shard is added.

    Args:
        most: what one device marks in a number, at the most.
        width: sensitivity over epsilon, of the number with most noise.

    Raises:
        ValueError: in more than a device adds in.
    """
    noise = int(_WRAPS * width) + 1
    # Reports beyond the divisor bring noise beyond one: never so much as twice their number.
    noise *= shard.largest // shard.divisor + 1
    bits = (2 * (shard.largest * most + noise)).bit_length()
    if bits > BITS_MOST:
        raise ValueError(
            f"a sum needs {bits} bits but a device adds in {BITS_MOST}: so little epsilon, or so "
            "many marks, are beyond it. Ask for more epsilon, or a smaller scale."
        )
    return max(16, bits)


def _share(ratio: object) -> bool:
    if not isinstance(ratio, tuple) or len(ratio) != 2 or not all(type(n) is int for n in ratio):
        return False
    return ratio[1] > 0 and 0 <= ratio[0] < ratio[1]
