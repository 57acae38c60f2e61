"""A secure sum in process: its devices, its gateway, what passes between them, and how it ends."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

from edge.core.compat import sha256
from edge.core.entropy import Identity, Tape
from edge.core.wire import topic
from edge.host import rootkeys
from edge.mechanisms.secure_sum import CHUNK, Terms, read_roster
from edge.mechanisms.sum_member import Member, Refused
from gateway.devices.enrol.roster import DrawnShard, draw_rosters
from gateway.service.secure_sum import ciphers
from gateway.service.secure_sum.collecting import ABANDONED, RELEASED, Link, ShardSum

# A whole secure sum in process: every device and the gateway, every message, no broker.

STAGES = ("join", "shares", "masked", "confirm", "reveal")
Numbers = Callable[[int], Sequence[int]]


@dataclass
class Play:
    """What became of a sum: how it ended, who refused what, and what it took."""

    total: list[int] | None
    state: int
    refused: dict[int, str] = field(default_factory=dict)
    up: dict[int, int] = field(default_factory=dict)  # bytes of each device
    down: dict[int, int] = field(default_factory=dict)
    members_s: float = 0.0
    gateway_s: float = 0.0


def played(
    members: Mapping[int, Member],
    collecting: ShardSum,
    terms: Terms,
    body: bytes,
    numbers: Callable[[int], Numbers],
    rng: Callable[[int], Any],
    vanish: Mapping[int, str] | None = None,
) -> Play:
    """Return what becomes of a round in which some devices vanish before they send a step.

    numbers: of each place, what its device calls for its numbers; vanish: a place's stage.
    """
    gone = vanish or {}
    play = Play(None, collecting.state)
    began = time.process_time()
    waiting: list[tuple[int, list[bytes]]] = []
    for place, member in members.items():
        ask = partial(member.begin, body, terms, numbers(place), rng(place))
        waiting.append((place, _answered(play, place, ask)))
    play.members_s += time.process_time() - began
    for stage in STAGES:
        began = time.process_time()
        for place, frames in waiting:
            if place not in gone or STAGES.index(gone[place]) > STAGES.index(stage):
                for frame in frames:
                    play.up[place] = play.up.get(place, 0) + len(frame)
                    collecting.take_frame(place, frame)
        sent = collecting.end_step()
        play.gateway_s += time.process_time() - began
        began, waiting = time.process_time(), []
        for to, message in sent:
            for place in members if to is None else (to,):
                play.down[place] = play.down.get(place, 0) + len(message)
                ask = partial(members[place].handle, message, to is None)
                waiting.append((place, _answered(play, place, ask)))
        play.members_s += time.process_time() - began
        if collecting.state in (ABANDONED, RELEASED):
            break
    play.state = collecting.state
    if collecting.total is not None:
        play.total = collecting.total.tolist()
    return play


def _answered(play: Play, place: int, ask: Callable[[], list[bytes]]) -> list[bytes]:
    try:
        return ask()
    except Refused as why:
        play.refused[place] = str(why)
        return []


# A shard of a secure sum, in process: its devices, its gateway, and what passes between them.

SITE, SITE_KEY, BODY = "lab", bytes(range(32)), b"the map of a Round"


def root_of(name: str) -> bytes:
    return bytes(sha256(name.encode()))


def who_is(name: str) -> Identity:
    return rootkeys.identity(SITE, name, root_of(name), SITE_KEY, 0)


@lru_cache
def drawn(n: int, missing: int = 10, shards: int = 1) -> list[DrawnShard]:
    """Return shards of n devices in all, of which so many in a hundred may vanish."""
    roots = {f"n{i:03}": root_of(f"n{i:03}") for i in range(n)}
    return draw_rosters(SITE, roots, 1, shards, 16, Tape(b"graph"), missing=Fraction(missing, 100))


@dataclass
class Town:
    """A shard with its devices; numbers of device i are i, 2 i, 3 i and so on, less 5."""

    drawn: DrawnShard
    length: int = 5
    bits: int = 16
    chunk: int = CHUNK
    adjacency: str = "replace-one"

    def __post_init__(self) -> None:
        shard = self.drawn.shard
        self.shard = shard
        self.members = {place: self.member(place) for place in range(len(shard.members))}
        self.charged: list[tuple[int, int]] = []

    def member(self, place: int, newest: int = -1, suite: Any = ciphers) -> Member:
        name = self.shard.members[place]
        key, where = rootkeys.roster_key(root_of(name)), topic(SITE, name, "roster")
        roster = read_roster(self.drawn.rosters[place], key, where)
        static = rootkeys.static_key(root_of(name))
        return Member(who_is(name), roster, static, suite, newest, self.chunk)

    def terms(self, number: int = 1, **other: Any) -> Terms:
        found = Terms(number, self.shard.divisor, self.bits, self.length, self.adjacency)
        return found._replace(**other)

    def collecting(self) -> ShardSum:
        keys = {i: who_is(name) for i, name in enumerate(self.shard.members)}
        links = {i: Link(one.mac_key, one.config_key) for i, one in keys.items()}
        return ShardSum(
            self.shard, BODY, self.bits, self.length, SITE, SITE_KEY, links, self.chunk
        )

    def numbers(self, place: int) -> Callable[[int], Sequence[int]]:
        def charge(divisor: int) -> list[int]:
            self.charged.append((place, divisor))
            return [place * (at + 1) - 5 for at in range(self.length)]

        return charge

    def play(self, vanish: Mapping[int, str] | None = None, gateway: Any = None) -> Play:
        return played(
            self.members,
            gateway or self.collecting(),
            self.terms(),
            BODY,
            self.numbers,
            lambda place: Tape(b"device %d" % place),
            vanish,
        )

    def sum_of(self, places: Sequence[int]) -> list[int]:
        return [
            sum(i * (at + 1) - 5 for i in places) % (1 << self.bits) for at in range(self.length)
        ]


@dataclass
class Talk:
    """A round that a test steps through, and in which it changes what it likes."""

    town: Town

    def __post_init__(self) -> None:
        self.gateway = self.town.collecting()
        self.up = {i: self.begin(i) for i in self.town.members}
        self.down: list[tuple[int | None, bytes]] = []

    def begin(self, place: int) -> list[bytes]:
        town = self.town
        rng = Tape(b"device %d" % place)
        found = town.members[place].begin(BODY, town.terms(), town.numbers(place), rng)
        return list(found)

    def to(self, place: int) -> bytes:
        """Return what the gateway sends this device."""
        return next(message for to, message in self.down if to in (place, None))

    def give(self, but: Sequence[int] = ()) -> None:
        """Bring all frames but those of these to the gateway, and let the step's time be over."""
        for place, frames in self.up.items():
            for frame in () if place in but else frames:
                assert self.gateway.take_frame(place, frame) == ""
        self.down = self.gateway.end_step()
        self.up = {}

    def hear(self, but: Sequence[int] = ()) -> None:
        """Bring all messages but those to these to their devices."""
        for to, message in self.down:
            for place in self.town.members if to is None else (to,):
                if place not in but:
                    self.up[place] = self.town.members[place].handle(message, to is None)

    def until(self, steps: int) -> "Talk":
        """Return itself when so many steps were given, and heard by all."""
        for _ in range(steps):
            self.give()
            self.hear()
        return self
