"""Who is in a shard of a secure sum, and beside whom: the owner draws it, away from the gateway.

Each device is told its own neighbours and their public keys, under a key that no gateway has: so
nobody else can invent devices, choose who is beside whom, or let shards overlap. Versions only
rise. Whoever steals devices after seeing the graph is not covered.

How many neighbours a device of a secure sum needs, and how many shares open a secret.

Of n devices C collude, and D may vanish at any stage; who colludes and says nothing is one of D.
hyp(N, K, k) is how many are marked among k drawn from N with K marked. Tails of it are exact; the
bound on connection is a float in logarithms, where a sixth digit decides nothing.

    c      least with (n - C) P[hyp(n - 1, C, k) > c] <= 2**-40: colluders beside an honest device
    d      least with n P[hyp(n - 1, D, k) > d] <= 2**-30: neighbours that vanish
    then   c < t <= k - d

So it holds against a gateway that follows the protocol, and pools what it sees with C devices that
do more.

Source: after Bell, Bonawitz and others 2020, with bounds of our own: Tanner 1984 for how far few
devices reach.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from math import comb, inf, lgamma, log, sqrt
from pathlib import Path
from typing import Any

import numpy as np

from edge.core import wire
from edge.core.compat import sha256
from edge.core.entropy import sealed
from edge.core.wire import topic
from edge.host import rootkeys
from edge.host.post import pack_roster
from edge.mechanisms.secure_sum import Roster
from recovery.noise import find_shard_limits

from ...faults import OperatorFault
from ...service.secure_sum.ciphers import Secret
from ...service.secure_sum.collecting import Shard
from . import keyfile
from .enrol import Enrolment, add_rosters

FULL = 64  # devices of which each is beside each
GAP = 2.2  # the second eigenvalue is at most so many times that of a random graph


@dataclass(frozen=True)
class GraphDegree:
    """k neighbours, t shares that open, and among how many noise may be divided at the most."""

    k: int
    t: int
    divisor: int
    threshold: int


def find_degree(n: int, colluding: Fraction, missing: Fraction) -> GraphDegree:
    """Return the least even degree that keeps the promise, with its greatest t.

    Raises:
        ValueError: no degree does.
    """
    threshold, colluders = find_shard_limits(n, colluding, missing)
    gone = n - threshold
    if colluders + gone < n - 1:
        for k in (n - 1,) if n <= FULL else range(2, n, 2):
            corrupt = _bound_hypergeometric(
                n - 1, colluders, k, Fraction(1, (n - colluders) << 40)
            )
            t = k - _bound_hypergeometric(n - 1, gone, k, Fraction(1, n << 30))
            if max(1, corrupt) < t and (n <= FULL or _is_connected(n, colluders + gone, k)):
                return GraphDegree(k, t, threshold - colluders, threshold)
    raise ValueError(
        f"among {n} devices, {colluders} that collude and {gone} that may vanish, no secure sum "
        "keeps its promise: its secrets would be known to too many, or could not be opened. Ask "
        "more devices, or allow for fewer of both."
    )


def bound_second_eigenvalue(n: int, k: int) -> float:
    """Return the most that the second eigenvalue of a graph may be."""
    return GAP * sqrt((k - 1) * (1 - k / n))


def _bound_hypergeometric(total: int, marked: int, drawn: int, bound: Fraction) -> int:
    """Return the least c with P[hyp > c] <= bound."""
    every, above, c = comb(total, drawn), 0, min(marked, drawn)
    while c >= 0:
        above += comb(marked, c) * comb(total - marked, drawn - c)
        if above * bound.denominator > bound.numerator * every:
            return c
        c -= 1
    return 0


def _is_connected(n: int, lost: int, k: int) -> bool:
    """Say whether honest devices that stay are one piece, but for 2**-40."""
    part = min(bound_second_eigenvalue(n, k) / k, 1.0) ** 2
    total = 0.0
    for s in range(1, (n - lost) // 2 + 1):
        around = max(k - s + 1, -int(-(s / (part + (1 - part) * s / n)) // 1) - s)
        if around <= lost:
            chance = (
                _log_comb(n, s) + _log_comb(n - s - around, lost - around) - _log_comb(n, lost)
            )
            total += 2.0 ** min(chance, 0)
            if total > 2.0**-40:
                return False
    return True


def _log_comb(n: int, k: int) -> float:
    if not 0 <= k <= n:
        return -inf
    return (lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)) / log(2)


_SWITCHES = 5  # of each edge, on average
_TRIES = 20


@dataclass(frozen=True)
class DrawnShard:
    """A shard, for the gateway, and the signed message of each of its devices, in its order."""

    shard: Shard
    rosters: tuple[bytes, ...]


def draw_rosters(
    site: str,
    roots: Mapping[str, bytes],
    version: int,
    shards: int,
    bits: int,
    rng: Any,
    colluding: Fraction = Fraction(1, 10),
    missing: Fraction = Fraction(1, 10),
) -> list[DrawnShard]:
    """Return shards that differ by one device at the most, each device in one of them.

    Args:
        roots: of every device, by its name.
        bits: the least that numbers are added with, 16 or 32.
        rng: a sealed stream; whoever repeats it knows the graph.

    Raises:
        ValueError: there is no way to keep the promise with shards of this size, or two names
            have one key: that device would be in two shards, and seen twice for one price.
    """
    if len(set(roots.values())) < len(roots):
        raise ValueError(
            f"{len(roots)} names have {len(set(roots.values()))} keys, so a device would be in "
            "two shards and pay once. Enrol each device under one name"
        )
    everybody, found = _shuffle(sorted(roots), rng), []
    for number in range(shards):
        names = everybody[number::shards]
        wanted = find_degree(len(names), colluding, missing)
        near = draw_neighbours(len(names), wanted.k, rng)
        publics = [Secret(rootkeys.static_key(roots[name])).public for name in names]
        # The whole shard is known by a digest, which is in the name of each of its sums.
        numbers = [version, number, wanted.k, wanted.t, wanted.threshold, wanted.divisor, bits]
        each = [list(one) for one in zip(names, publics, map(list, near), strict=True)]
        digest = bytes(sha256(wire.encode([numbers, each])))
        shard = Shard(
            *(version, number, tuple(names), near, wanted.t, wanted.threshold),
            *(wanted.divisor, bits, digest),
        )
        messages = []
        for place, name in enumerate(names):
            own = make_roster(shard, place, b"".join(publics[j] for j in near[place]))
            key = rootkeys.roster_key(roots[name])
            messages.append(bytes(pack_roster(own, key, topic(site, name, "roster"))))
        found.append(DrawnShard(shard, tuple(messages)))
    return found


def enrol_in_shards(made: Enrolment, query: Any) -> tuple[Enrolment, list[DrawnShard]]:
    """Return newly enrolled devices with their rosters, and the shards that they are in.

    Args:
        query: what they will be asked; says how large a shard is, and who may fail in it.

    Raises:
        OperatorFault: there is no secure sum among so few.
    """
    size = len(made.roots)
    _check_users(query, size)
    given = -(-size // query.shard), 16, sealed(os.urandom(32))
    shares = Fraction(*query.colluders), Fraction(*query.dropout)
    try:
        drawn = draw_rosters(made.secrets.site, made.roots, 1, *given, *shares)
    except ValueError as fault:
        raise OperatorFault(str(fault)) from fault
    rosters = {
        name: message
        for one in drawn
        for name, message in zip(one.shard.members, one.rosters, strict=True)
    }
    return add_rosters(made, rosters), drawn


def _check_users(query: Any, devices: int) -> None:
    if query.users != devices:
        raise OperatorFault(
            f"users is {query.users} but there are {devices} devices; users says among how many "
            "the noise is divided, and devices refuse a round with another number than their "
            "shard has. Leave users out"
        )


HOLDS = "shards"
FILE = "shards.json"  # beside the devices file


def save_shards(devices_path: Path, site: str, drawn: Iterable[DrawnShard]) -> None:
    """Write who is in which shard, for the gateway.

    Raises:
        OperatorFault: it cannot be written.
    """
    rows = [asdict(one.shard) for one in drawn]
    keyfile.write_key_file(devices_path.with_name(FILE), HOLDS, site, rows)


def load_shards(devices_path: Path, site: str) -> list[Shard]:
    """Return the shards of a site.

    Raises:
        OperatorFault: they cannot be read.
    """

    def make_shard(_: keyfile.Row, row: keyfile.Row) -> Shard:
        near = tuple(tuple(map(int, some)) for some in row["neighbours"])
        own = {
            "members": tuple(map(str, row["members"])),
            "neighbours": near,
            "digest": keyfile.parse_key(row, "digest"),
        }
        return Shard(**{**row, **own})

    return keyfile.read_key_file(devices_path.with_name(FILE), HOLDS, site, make_shard)[1]


def check_shards(shards: Sequence[Shard], query: Any, names: Iterable[str]) -> None:
    """Check that devices were shared out for this query, each in a shard.

    Raises:
        OperatorFault: they would refuse what it asks, or one is in none.
    """
    if strangers := set(names).difference(*(shard.members for shard in shards)):
        raise OperatorFault(
            f"device {min(strangers)} is in no shard of the secure sum, so its reports could not "
            "be added. Enrol the fleet again, in a new folder"
        )
    users = sum(len(shard.members) for shard in shards)
    _check_users(query, users)
    ratios = Fraction(*query.colluders), Fraction(*query.dropout)
    fits = len(shards) == -(-users // query.shard) and all(
        (shard.threshold, shard.divisor) == (wanted.threshold, wanted.divisor)
        for shard in shards
        for wanted in [find_degree(len(shard.members), *ratios)]
    )
    if not fits:
        raise OperatorFault(
            f"the devices were enrolled for other shards than shard = {query.shard}, dropout = "
            f"{ratios[1]} and colluders = {ratios[0]} ask for: they would refuse every round, and "
            "its epsilon would be spent all the same. Go back to the values that they were "
            "enrolled with, or enrol the fleet again, in a new folder"
        )


def make_roster(shard: Shard, place: int, statics: bytes) -> Roster:
    """Return what one device is told of its shard."""
    return Roster(
        shard.version,
        shard.number,
        place,
        len(shard.members),
        shard.k,
        shard.t,
        shard.threshold,
        shard.divisor,
        shard.bits,
        shard.neighbours[place],
        statics,
        shard.digest,
    )


def draw_neighbours(n: int, k: int, rng: Any) -> tuple[tuple[int, ...], ...]:
    """Return each place's neighbours: all others up to FULL, else a random graph of degree k.

    A ring under new names, with edges switched in pairs; drawn again where it hangs together worse
    than it should, by its second eigenvalue.
    """
    if n <= FULL or k == n - 1:
        return tuple(tuple(j for j in range(n) if j != i) for i in range(n))
    for _ in range(_TRIES):
        near = _switch(n, k, rng)
        if compute_second_eigenvalue(near) <= bound_second_eigenvalue(n, k):
            return tuple(tuple(_shuffle(sorted(some), rng)) for some in near)
    raise ValueError(
        f"{_TRIES} graphs of {n} devices with {k} neighbours each hang together too badly. Take "
        "another degree."
    )


def compute_second_eigenvalue(near: list[set[int]]) -> float:
    """Return the second eigenvalue of a regular graph, or the last, by which is further off 0."""
    from scipy.sparse import csr_array  # the service reads shards, and draws none
    from scipy.sparse.linalg import LinearOperator, eigsh

    n, k = len(near), len(near[0])
    ends = np.repeat(np.arange(n), k), np.concatenate([sorted(some) for some in near])
    edges = csr_array((np.ones(n * k), ends), shape=(n, n))
    rest = LinearOperator((n, n), lambda v: edges @ v - k * v.mean(), dtype=np.float64)
    start = np.cos(np.arange(n) + 1.0)  # any fixed vector that is not even
    found = eigsh(rest, 1, which="LM", v0=start, return_eigenvectors=False)
    return float(abs(found[0]))


def _switch(n: int, k: int, rng: Any) -> list[set[int]]:
    names = _shuffle(list(range(n)), rng)
    near: list[set[int]] = [set() for _ in range(n)]
    edges = []
    for at in range(n):
        for step in range(1, k // 2 + 1):
            a, b = names[at], names[(at + step) % n]
            near[a].add(b)
            near[b].add(a)
            edges.append((a, b))
    for _ in range(_SWITCHES * len(edges)):
        one, other = rng.below(len(edges)), rng.below(2 * len(edges))
        (a, b), (c, d) = edges[one], edges[other >> 1]
        if other & 1:
            c, d = d, c
        if len({a, b, c, d}) < 4 or d in near[a] or b in near[c]:
            continue
        for x, y, z in ((a, b, d), (b, a, c), (c, d, b), (d, c, a)):
            near[x].remove(y)
            near[x].add(z)
        edges[one], edges[other >> 1] = (a, d), (c, b)
    return near


def _shuffle(items: list[Any], rng: Any) -> list[Any]:
    for last in range(len(items) - 1, 0, -1):
        other = rng.below(last + 1)
        items[last], items[other] = items[other], items[last]
    return items
