"""Who is in a shard of a secure sum, and beside whom: the owner draws it, away from the gateway.

Each device is told its own neighbours and their public keys, under a key that no gateway has: so
nobody else can invent devices, choose who is beside whom, or let shards overlap. Versions only
rise. Whoever steals devices after seeing the graph is not covered.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from edge import cbor
from edge.compat import sha256
from edge.entropy import sealed
from edge.host import rootkeys
from edge.secure_sum import Roster, pack_roster
from edge.wire import topic

from ...faults import OperatorFault
from ...service.secure_sum.ciphers import Secret
from ...service.secure_sum.collecting import Shard
from . import keyfile
from .degrees import FULL, Degree, degree_of, gap
from .enrol import Enrolment, join_sums

_SWITCHES = 5  # of each edge, on average
_TRIES = 20


@dataclass(frozen=True)
class Drawn:
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
    promise: str = "curious",
) -> list[Drawn]:
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
    names = _shuffled(sorted(roots), rng)
    return [
        _drawn(site, roots, names[at::shards], version, at, bits, rng, colluding, missing, promise)
        for at in range(shards)
    ]


def enrolled(made: Enrolment, query: Any) -> tuple[Enrolment, list[Drawn]]:
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
    return join_sums(made, rosters), drawn


def _check_users(query: Any, devices: int) -> None:
    if query.users != devices:
        raise OperatorFault(
            f"users is {query.users} and there are {devices} devices; by users the noise is "
            "shared out, and each device refuses a share for others than those of its shard. "
            "Leave users out"
        )


HOLDS = "shards"
FILE = "shards.json"  # beside the devices file


def save_shards(devices_path: Path, site: str, drawn: Iterable[Drawn]) -> None:
    """Write who is in which shard, for the gateway.

    Raises:
        OperatorFault: it cannot be written.
    """
    rows = [asdict(one.shard) for one in drawn]
    keyfile.write(devices_path.with_name(FILE), HOLDS, site, rows)


def load_shards(devices_path: Path, site: str) -> list[Shard]:
    """Return the shards of a site.

    Raises:
        OperatorFault: they cannot be read.
    """

    def made(_: keyfile.Row, row: keyfile.Row) -> Shard:
        near = tuple(tuple(map(int, some)) for some in row["neighbours"])
        own = {
            "members": tuple(map(str, row["members"])),
            "neighbours": near,
            "digest": keyfile.parse_key(row, "digest"),
        }
        return Shard(**{**row, **own})

    return keyfile.read(devices_path.with_name(FILE), HOLDS, site, made)[1]


def check_shards(shards: Sequence[Shard], query: Any, names: Iterable[str]) -> None:
    """Check that devices were shared out for this query, each in a shard.

    Raises:
        OperatorFault: they would refuse what it asks, or one is in none.
    """
    if strangers := set(names).difference(*(shard.members for shard in shards)):
        raise OperatorFault(
            f"device {min(strangers)} is in no shard of the secure sum, so nothing that it says "
            "could be added. Enrol the fleet again, in a new folder"
        )
    users = sum(len(shard.members) for shard in shards)
    _check_users(query, users)
    ratios = Fraction(*query.colluders), Fraction(*query.dropout)
    fits = len(shards) == -(-users // query.shard) and all(
        (shard.threshold, shard.divisor) == (wanted.threshold, wanted.divisor)
        for shard in shards
        for wanted in [degree_of(len(shard.members), *ratios)]
    )
    if not fits:
        raise OperatorFault(
            f"the devices were enrolled for other shards than shard = {query.shard}, dropout = "
            f"{ratios[1]} and colluders = {ratios[0]} ask for: they would refuse every round, and "
            "its epsilon would be spent. Go back to what they were enrolled with, or enrol the "
            "fleet again, in a new folder"
        )


def _drawn(
    site: str,
    roots: Mapping[str, bytes],
    names: list[str],
    version: int,
    number: int,
    bits: int,
    rng: Any,
    colluding: Fraction,
    missing: Fraction,
    promise: str,
) -> Drawn:
    wanted = degree_of(len(names), colluding, missing, promise)
    near = graph(len(names), wanted.k, rng)
    publics = [Secret(rootkeys.static_key(roots[name])).public for name in names]
    digest = digest_of(version, number, wanted, bits, names, publics, near)
    shard = Shard(
        version,
        number,
        tuple(names),
        near,
        wanted.t,
        wanted.threshold,
        wanted.divisor,
        bits,
        digest,
    )
    messages = []
    for place, name in enumerate(names):
        statics = tuple(publics[j] for j in near[place])
        own = roster_of(shard, place, statics)
        key = rootkeys.roster_key(roots[name])
        messages.append(bytes(pack_roster(own, key, topic(site, name, "roster"))))
    return Drawn(shard, tuple(messages))


def roster_of(shard: Shard, place: int, statics: tuple[bytes, ...]) -> Roster:
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


def digest_of(
    version: int,
    number: int,
    wanted: Degree,
    bits: int,
    names: list[str],
    publics: list[bytes],
    near: tuple[tuple[int, ...], ...],
) -> bytes:
    """Return the 32 bytes that stand for the whole shard."""
    numbers = [version, number, wanted.k, wanted.t, wanted.threshold, wanted.divisor, bits]
    each = [
        [name, public, list(some)] for name, public, some in zip(names, publics, near, strict=True)
    ]
    return bytes(sha256(cbor.encode([numbers, each])))


def graph(n: int, k: int, rng: Any) -> tuple[tuple[int, ...], ...]:
    """Return each place's neighbours: all others up to FULL, else a random graph of degree k.

    A ring under new names, with edges switched in pairs; drawn again where it hangs together worse
    than it should, by its second eigenvalue.
    """
    if n <= FULL or k == n - 1:
        return tuple(tuple(j for j in range(n) if j != i) for i in range(n))
    for _ in range(_TRIES):
        near = _switched(n, k, rng)
        if second(near) <= gap(n, k):
            return tuple(tuple(_shuffled(sorted(some), rng)) for some in near)
    raise ValueError(
        f"{_TRIES} graphs of {n} devices with {k} neighbours each hang together too badly. Take "
        "another degree."
    )


def second(near: list[set[int]]) -> float:
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


def _switched(n: int, k: int, rng: Any) -> list[set[int]]:
    names = _shuffled(list(range(n)), rng)
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


def _shuffled(items: list[Any], rng: Any) -> list[Any]:
    for last in range(len(items) - 1, 0, -1):
        other = rng.below(last + 1)
        items[last], items[other] = items[other], items[last]
    return items
