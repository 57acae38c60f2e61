"""One shard's sum, step by step: messages in, messages out; no clock, no broker, no disk.

    open, sharing, masking  store what is genuine and in time; at the deadline ask the next step,
                            or abandon the round where fewer than the threshold are left
    fixed                   everybody is told the set U: one U a round, for ever
    revealing               tags are forwarded, shares come; where all secrets have t: the sum

Who vanishes before its shares is masked with by nobody. Who vanishes before its numbers are whole
has its masks with others rebuilt from sigma, held against S. Whoever comes later stays in U, and
its own mask is rebuilt from b, held against its commitment. Numbers that come late are refused: b
keeps them shut.

Nothing is on a disk. Whoever ends in a round must not go on with it: two sets U of one round would
open the difference of two sums, which may be one device's numbers.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edge.core.compat import same_bytes, sha256
from edge.core.wire import Fault, Words, open_message, topic
from edge.mechanisms import secure_sum as agreed
from edge.mechanisms.secure_sum import (
    BOX,
    BOXES,
    CONFIRM,
    JOIN,
    MASKED,
    REVEAL,
    SHARE,
    SHARES,
    TAG,
    TAGS,
)
from edge.mechanisms.sum_member import shard_topic

from . import ciphers
from .opening import decode_shares
from .opening import open_secret as secret_of

OPEN, SHARING, MASKING, FIXED, REVEALING, RELEASED, ABANDONED = range(7)
_STEPS = {OPEN: JOIN, SHARING: SHARES, MASKING: MASKED, FIXED: CONFIRM, REVEALING: REVEAL}
Sent = list[tuple[int | None, bytes]]  # to a place, or to all of the shard
Near = dict[int, list[int]]


@dataclass(frozen=True)
class Shard:
    """What the owner tells a gateway of a shard: who is in it, beside whom, and its numbers."""

    version: int
    number: int
    members: tuple[str, ...]
    neighbours: tuple[tuple[int, ...], ...]
    t: int
    threshold: int
    divisor: int
    bits: int
    digest: bytes

    @property
    def k(self) -> int:
        """How many neighbours each device has."""
        return len(self.neighbours[0])


@dataclass(frozen=True)
class Link:
    """The keys by which a gateway and one device know each other's messages."""

    mac_key: bytes
    config_key: bytes


@dataclass
class _Device:
    """What one device sent."""

    keys: bytes = b""
    commit: bytes = b""
    boxes: dict[int, bytes] = field(default_factory=dict)  # by neighbour
    parts: dict[int, bytes] = field(default_factory=dict)  # numbers, by the first one's index
    bearing: bytes = b""
    knowing: bytes = b""
    given: bytes = b""
    frames: dict[tuple[int, int], bytes] = field(default_factory=dict)


class ShardSum:
    """A shard's sum in one round. state says how far it is; total is the sum once released.

    A share that does not fit may be its giver's lie or its dealer's, who can deal a neighbour a
    wrong one. So `liars` are suspects: their shares are not used. `proven` are those whose shares
    do not fit with t of their dealers, of whom one is honest: fewer than t of anybody's neighbours
    collude. Where nearly all must stay, nobody can be proven. `barred` dealt what cannot be
    opened, if their neighbours say the truth.
    """

    def __init__(
        self,
        shard: Shard,
        body: bytes,
        bits: int,
        length: int,
        site: str,
        site_key: bytes,
        links: Mapping[int, Link],
        chunk: int = agreed.CHUNK,
    ) -> None:
        """Open a round, by its map."""
        self.shard, self.bits, self.length, self.chunk = shard, bits, length, chunk
        self.sid = agreed.sid_of(body, shard.digest)
        self.state = OPEN if shard.members else ABANDONED
        self.total: NDArray[Any] | None = None
        self.liars: set[int] = set()
        self.proven: set[int] = set()
        self.barred: set[int] = set()
        self._site, self._site_key, self._links = site, site_key, links
        self._devices = {place: _Device() for place in links}
        self._order = [{j: at for at, j in enumerate(near)} for near in shard.neighbours]
        # Who is left after each step, with its neighbours that are left too, in its own order.
        self._joined: Near = {}
        self._dealt: Near = {}
        self._fixed: Near = {}

    def take_frame(self, place: int, frame: bytes) -> str:
        """Store a frame of a device; return "" or the name of why it is not stored."""
        if place not in self._devices:
            return "unknown"
        name = self.shard.members[place]
        key = self._links[place].mac_key
        try:
            body = open_message(frame, key, topic(self._site, name, "sum"), agreed.LONGEST)
        except Fault:
            return "forged"
        if body.get(2) != self.sid[:4]:
            return "replayed"
        device, step, first = self._devices[place], body.get(1), body.get(4)
        at = (step, first if step == MASKED and type(first) is int else 0)
        if at in device.frames:
            same = same_bytes(sha256(frame), device.frames[at])
            return "repeated" if same else ("joined-twice" if step == JOIN else "changed")
        if self.state not in _STEPS or step != _STEPS[self.state]:
            return "late"
        stores = (self._join, self._share, self._mask, self._confirm, self._reveal)
        try:
            why = stores[step - 1](place, device, body)
        except (KeyError, TypeError, ValueError):
            why = "wrong-length"
        if not why:
            device.frames[at] = sha256(frame)
        return why

    @property
    def present(self) -> tuple[int, int]:
        """How many devices have done this step, and how many may."""
        done, may = self._list_done_and_awaited()
        return len(done), len(may)

    def _list_done_and_awaited(self) -> tuple[list[int], list[int]]:
        """Return who has done this step, and who may."""
        devices = self._devices
        knowing = [i for i in self._fixed if (CONFIRM, 0) in devices[i].frames]
        asked: Mapping[int, tuple[Iterable[int], Callable[[int], object]]] = {
            OPEN: (devices, lambda i: devices[i].keys),
            SHARING: (self._joined, lambda i: devices[i].commit),
            MASKING: (self._dealt, lambda i: not self._has_missing_chunk(i)),
            FIXED: (self._fixed, knowing.__contains__),
            REVEALING: (knowing, lambda i: devices[i].given),
        }
        may, did = asked.get(self.state, ((), bool))
        return [i for i in may if did(i)], list(may)

    @property
    def counted(self) -> list[int]:
        """The places whose numbers are, or may still come, in the sum."""
        left = self._fixed or self._dealt or self._joined
        return list(left or (i for i, one in self._devices.items() if one.keys))

    def end_step(self) -> Sent:
        """Return what goes out at a step's deadline; abandon the round where too few are left."""
        if self.state not in _STEPS:
            return []
        if self.state == REVEALING:
            self._unmask_sum()
            return []
        left = self._list_left_neighbours(self._list_done_and_awaited()[0])
        if self.state == FIXED:
            self.state = REVEALING
            return [(i, self._pack_tags(i, left)) for i in left]
        if len(left) < self.shard.threshold:
            self.abandon()
            return []
        self.state += 1
        devices = self._devices
        if self.state == SHARING:
            self._joined = left
            return [
                (i, self._pack_told_message(i, JOIN, left[i], [devices[j].keys for j in left[i]]))
                for i in left
            ]
        if self.state == MASKING:
            self._dealt = left
            return [
                (
                    i,
                    self._pack_told_message(
                        i, BOXES, left[i], [devices[j].boxes[i] for j in left[i]]
                    ),
                )
                for i in left
            ]
        self._fixed = left
        where = shard_topic(self._site, self.shard.number)
        fields = {3: agreed.pack_places(left, len(self.shard.members))}
        return [(None, agreed.pack(agreed.SET, self.sid, fields, self._site_key, where))]

    def abandon(self) -> None:
        """Give the round up, and forget what came."""
        self.state, self.total = ABANDONED, None
        self._devices = {place: _Device() for place in self._links}

    def _list_left_neighbours(self, some: Iterable[int]) -> Near:
        those = set(some)
        near = self.shard.neighbours
        return {i: [j for j in near[i] if j in those] for i in sorted(those)}

    def _pack_told_message(
        self,
        i: int,
        step: int,
        near: list[int],
        each: list[bytes],
        *more: tuple[list[int], list[bytes]],
    ) -> bytes:
        """Return a message to one device: which of its neighbours, and what of each."""
        fields, order = {}, self._order[i]
        for at, (some, data) in enumerate(((near, each), *more)):
            fields[3 + 2 * at] = agreed.pack_places([order[j] for j in some], len(order))
            fields[4 + 2 * at] = b"".join(data)
        where = topic(self._site, self.shard.members[i], "told")
        return bytes(agreed.pack(step, self.sid, fields, self._links[i].config_key, where))

    def _pack_tags(self, i: int, known: Near) -> bytes:
        """Return what i's neighbours told it: that they bear masks, and what the set is."""

        def tag(joined: bytes, near: list[int]) -> bytes:
            return joined[TAG * near.index(i) :][:TAG]

        devices, bear, know = self._devices, self._fixed[i], known[i]
        borne = [tag(devices[j].bearing, self._dealt[j]) for j in bear]
        return self._pack_told_message(
            i, TAGS, bear, borne, (know, [tag(devices[j].knowing, self._fixed[j]) for j in know])
        )

    def _join(self, place: int, device: _Device, body: dict[int, Any]) -> str:
        (device.keys,) = agreed.split_pieces(body[3], 1, agreed.KEYS)
        return ""

    def _share(self, place: int, device: _Device, body: dict[int, Any]) -> str:
        if place not in self._joined:
            return "late"
        near = self._joined[place]
        boxes = agreed.split_pieces(body[4], len(near), BOX)
        (device.commit,) = agreed.split_pieces(body[3], 1, 16)
        device.boxes = dict(zip(near, boxes, strict=True))
        return ""

    def _mask(self, place: int, device: _Device, body: dict[int, Any]) -> str:
        if place not in self._dealt:
            return "late"
        first, words = body[4], body[5]
        size = self.bits // 8
        count = min(self.chunk, self.length - first)
        if first < 0 or first % self.chunk or count < 1 or not isinstance(words, Words):
            return "wrong-length"
        if words.bits != self.bits or len(words.packed) != count * size:
            return "wrong-length"
        if not first:
            device.bearing = b"".join(agreed.split_pieces(body[3], len(self._dealt[place]), TAG))
        device.parts[first] = words.packed
        return ""

    def _has_missing_chunk(self, i: int) -> bool:
        """Say whether a device's numbers miss a chunk."""
        return len(self._devices[i].parts) < -(-self.length // self.chunk)

    def _confirm(self, place: int, device: _Device, body: dict[int, Any]) -> str:
        if place not in self._fixed:
            return "late"
        device.knowing = b"".join(agreed.split_pieces(body[3], len(self._fixed[place]), TAG))
        return ""

    def _reveal(self, place: int, device: _Device, body: dict[int, Any]) -> str:
        if place not in self._fixed:
            return "late"
        device.given = b"".join(agreed.split_pieces(body[3], len(self._dealt[place]), SHARE))
        return ""

    def _list_share_points(self) -> dict[int, list[tuple[int, int]]]:
        """Return the shares of each device's secret, with the dealer's own x for the giver."""
        points: dict[int, list[tuple[int, int]]] = {i: [] for i in self._dealt}
        for j in self._fixed:
            given = self._devices[j].given
            if not given:
                continue
            for at, i in enumerate(self._dealt[j]):
                y = int.from_bytes(given[SHARE * at :][:SHARE], "big")
                if y:
                    points[i].append((1 + self._order[i][j], y))
        return points

    def _unmask_sum(self) -> None:
        """Open all secrets, and take the masks off; abandon the round where one has too few."""
        points, inside = self._list_share_points(), set(self._fixed)
        secrets: dict[int, int] = {}
        waiting = sorted(points, key=lambda i: -len(points[i]))
        for _ in range(2):  # again, for a liar that was found may have spoilt an earlier one
            spoilt = []
            for i in waiting:
                near = self.shard.neighbours[i]
                honest = [(x, y) for x, y in points[i] if near[x - 1] not in self.liars]
                if len(honest) < self.shard.t:
                    self._convict_liars(points, secrets)
                    return self.abandon()
                found = secret_of(honest, self.shard.t, self._make_secret_check(i, i in inside))
                if found is None:
                    spoilt.append(i)
                    continue
                secrets[i] = found[0]
                self.liars.update(near[x - 1] for x in found[1])
            waiting = spoilt
        self._convict_liars(points, secrets)
        if waiting:
            self.abandon()
            self.barred.update(waiting)  # their shares do not fit each other
            return None
        self._take_off(secrets, inside)
        return None

    def _convict_liars(
        self, points: Mapping[int, list[tuple[int, int]]], secrets: Mapping[int, int]
    ) -> None:
        """Find whose shares do not fit with so many dealers that it is they who lie.

        Who colludes can bend a dealer's line through t - 1 honest shares and all of its own; so
        the line is the dealer's where one honest share more is on it.
        """
        shard, against = self.shard, Counter[int]()
        sure = shard.t + shard.threshold - shard.divisor
        for i in secrets if self.liars and shard.k >= sure else ():
            found = decode_shares(points[i], shard.t)
            if found and found[0] == secrets[i] and len(points[i]) - len(found[1]) >= sure:
                against.update(shard.neighbours[i][x - 1] for x in found[1])
        self.proven = {j for j, dealers in against.items() if dealers >= shard.t}

    def _make_secret_check(self, i: int, alive: bool) -> Callable[[int], bool]:
        """Return whether a secret is the one that a device committed itself to."""
        one = self._devices[i]
        if alive:
            return lambda b: same_bytes(agreed.commitment(b, self.sid, i), one.commit)
        return lambda sigma: same_bytes(self._make_scalar(sigma, i).public, one.keys[32:])

    def _make_scalar(self, sigma: int, i: int) -> ciphers.Secret:
        return ciphers.Secret(agreed.derive_scalar(sigma, self.sid, i))

    def _take_off(self, secrets: Mapping[int, int], inside: set[int]) -> None:
        word: Any = np.dtype("<u4" if self.bits == 32 else "<u2")
        total = np.zeros(self.length, word)
        blocks = agreed.make_counters(0, self.length * self.bits // 8)

        def mask(key: bytes) -> Any:
            return np.frombuffer(ciphers.aes(key, blocks), word)[: self.length]

        for i in self._fixed:
            parts = self._devices[i].parts
            sent = b"".join(parts[first] for first in sorted(parts))
            total += np.frombuffer(sent, word)
            total -= mask(agreed.self_key(secrets[i], self.sid, i))
        for j in self._dealt.keys() - inside:
            scalar = self._make_scalar(secrets[j], j)
            for i in inside.intersection(self._dealt[j]):
                shared = scalar.agree(self._devices[i].keys[32:])
                off = mask(agreed.mask_key(shared, self.sid, i, j))
                total = total - off if j > i else total + off
        self.total, self.state = total, RELEASED
        self._devices = {place: _Device() for place in self._links}
