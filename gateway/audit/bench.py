"""Real devices on a bench: what they are asked, what they see, and who listens to them.

Nothing of a device is imitated here. A device is enrolled as any other, keeps its budget in its
slots, gets Rounds as signed messages and answers with signed frames, which are opened with the
gateway's half of its keys and folded by the mechanism's own release.
"""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from numpy.typing import NDArray

from edge.core import entropy, tightening, wire
from edge.core.node import Node
from edge.core.records import SealedRound
from edge.core.window import open_budget
from edge.core.window import pack_first as first_window
from edge.host import post, rootkeys
from edge.host.enrol import Ram, provision

from ..mechanisms import find_mechanism
from .arithmetic.accountant import decimal_mu
from .claim import Effort

SITE, SITE_KEY = "audit", bytes(range(64, 96))
Whole = NDArray[np.int64]


class Device:
    """One device, from its enrolment on.

    Args:
        round: what it will be asked; its limits let just this through, and no less noise.
        root: its 32-byte root key.
        name: in its topics and its noise.
        sensors, first: how many sensors it reads, and the first of them.
        slots: where its budget is kept; in memory if None.
        budget: nano-rho for its life; so much that it does not end, if none is given.
        tables: whether it may draw noise from tables.
        mode: sealed or keyholder; that which the Round is for if not given.
        held: its first limits, where they are not to be those.
        window: seconds of its window, 0 for a budget that lasts for its life.
        uptime: what that ages by.
        identity: what it was enrolled as, where that is not made of all these.
        node(identity, budget): what answers, a `Node` if not given.
    """

    def __init__(
        self,
        round: Any,
        root: bytes,
        *,
        name: str = "bench-1",
        sensors: int = 1,
        first: int = 0,
        slots: Any = None,
        budget: int = (1 << 63) - 1,
        tables: bool = False,
        mode: str = "",
        held: Any = None,
        window: int = 0,
        uptime: Any = None,
        identity: Any = None,
        node: Callable[[Any, Any], Any] | None = None,
    ) -> None:
        self.uptime, self.round, self.tables = uptime, round, tables
        self._node = node or partial(Node, tables=tables, mechanism=round.mechanism)
        if identity is None:
            self.asked = subject_of(round)
            self.mode = mode or self.asked.find_mode(round)
            identity = rootkeys.identity(SITE, name, root, SITE_KEY, first, self.mode, sensors)
        self.identity = identity
        self.limits = self.asked.make_limits(round, budget) if held is None else held
        self.slots = Ram() if slots is None else slots
        kept = first_window(window, self.limits.budget) if window else b""
        chain = rootkeys.first_chain(root)
        provision(self.slots, self.identity.state_key, chain, self.limits, kept)
        self.boot()

    def boot(self, nap: Any = None) -> None:
        """Start it anew: what was in its memory is gone, what was in its slots is not.

        Args:
            nap: its `board.power.Nap`, if it sleeps deeply.
        """
        self.budget = open_budget(self.slots, self.identity.state_key, uptime=self.uptime)
        self.budget.boot(nap)
        self.node: Any = self._node(self.identity, self.budget)

    def answer(self, message: bytes, values: Any) -> bytes | None:
        """Return the frame that answers a Round's message, or None: see `node.refusal`."""
        self.node.prepare()
        frame: bytes | None = self.node.answer(message, lambda asked: values)
        return frame

    def ask(self, number: int, values: Any = None, round: Any = None) -> bytes | None:
        """Return the frame that answers its Round under this number, or None: see `node.refusal`.

        Args:
            values: what it reads; if None, what it may hold under this number.
            round: another Round than that which it was made for.
        """
        _, signed = sign_round_as(self.round if round is None else round, number)
        return self.answer(signed, self.make_readings(number) if values is None else values)

    def make_readings(self, number: int) -> tuple[int, ...]:
        """Return what its sensors may hold, something else for every number."""
        found: tuple[int, ...] = self.asked.make_readings(
            self.round, number, self.identity.sensors
        )
        return found

    def describe(self) -> str:
        """Return all that it says of itself."""
        return str((self.node.refusal, self.node.state(), self.node.meta()))

    def sign_limits(self, asked: Any) -> bytes:
        """Return the signed message that gives it other limits."""
        return post.pack_limits(
            asked, self.identity.config_key, tightening.topic(SITE, self.identity.name)
        )

    def open_frame(self, frame: bytes | None) -> Any:
        """Return the Report in a frame, as the gateway reads it.

        Raises:
            RuntimeError: there is no frame, where one was expected.
        """
        if frame is None:
            raise RuntimeError(f"the device did not answer: {self.node.refusal}")
        topic = wire.topic(SITE, self.identity.name, "data")
        return post.unpack_report(frame, self.identity.mac_key, topic, self.identity.name)


def subject_of(round: Any) -> Any:
    """Return what the audit knows of asking such Rounds, by the mechanism that they name."""
    subject: Any = find_mechanism(round.mechanism).subject
    return subject.asked


def sign_round_as(
    round: Any, number: int, site: str = SITE, site_key: bytes = SITE_KEY
) -> tuple[Any, bytes]:
    """Return the Round under another number, and the site's signed message of it."""
    asked = round._replace(number=number)
    return asked, post.pack_round(asked, site_key, wire.round_topic(site, round.mechanism))


def draw_sealing_key(rng: Any) -> X25519PrivateKey:
    """Return a private key that reports of a Round may be sealed for."""
    return X25519PrivateKey.from_private_bytes(rng.bits(256).to_bytes(32, "big"))


def seal_round(round: Any, key: X25519PrivateKey) -> Any:
    """Return a Round whose reports are sealed for a key."""
    parts: list[Any] = [*round, key.public_key().public_bytes_raw()]
    return SealedRound(*parts)


def run_rounds(
    release: Callable[[Any, Any, Any], Any],
    devices: Sequence[Device],
    round: Any,
    numbers: Sequence[int],
    readings: Whole,
    rng: Any,
) -> Whole:
    """Return what is released of so many Rounds, (rounds, sensors), by the whole way there.

    Args:
        release: the mechanism's.
        devices: who answer, each for its own sensors.
        numbers: of the Rounds, rising.
        readings: what all sensors see each time, in grains, (sensors,).
        rng: what `release` is given; it must draw nothing.
    """
    rows, seen = [], tuple(readings.tolist())
    for number in numbers:
        asked, signed = sign_round_as(round, number)
        payloads = []
        for device in devices:
            own = slice(device.identity.sensor, device.identity.sensor + device.identity.sensors)
            payloads.append(device.open_frame(device.answer(signed, seen[own])).payload)
        rows.append(release(asked, payloads, rng).values)
    return np.array(rows, dtype=np.int64)


Floats = NDArray[np.float64]

STRETCH = 2.5  # sigmas apart; far above, as many samples as there are could prove no more
BOOTS = 2


class Scenes(NamedTuple):
    """A Round, two neighbours, and how far apart the promise lets them be.

    The scenes are the two neighbours that are hardest to hide, their difference stretched: noise
    is added, so a stretched difference must be told apart exactly as well as the promise says, and
    no better, and 20,000 samples a side then catch a sigma that is 10 % off.
    """

    name: str
    round: Any
    below: Whole  # readings of two neighbours, (sensors,)
    above: Whole
    mu: float  # sigmas between the neighbours, at most, by the promise
    sigma: float  # of the noise, in grains


class Plan(NamedTuple):
    """A Round of one of a mechanism's rooms, with a clamp that nothing here comes near."""

    name: str
    round: Any


class Seen(NamedTuple):
    """What came of two scenes: releases (tries, sensors), and the noise that was in them."""

    below: Floats
    above: Floats
    apart: Floats  # the difference of the two scenes, (sensors,)
    middle: Floats  # half-way between them
    mu: float  # how far apart the two may be, by the promise
    noise: Floats  # (boots, tries, sensors)


def list_plans(mechanism: Any) -> list[Plan]:
    """Return a Round for each room of a mechanism."""
    roomy = mechanism.subject.asked.widen_clamp
    return [
        Plan(name, roomy(mechanism.plan(query, ())))
        for name, query in mechanism.subject.list_queries()
    ]


def list_scenes(mechanism: Any) -> list[Scenes]:
    """Return two neighbours for each room of a mechanism."""
    found = []
    for name, query in mechanism.subject.list_queries():
        round = mechanism.plan(query, ())
        below, above = mechanism.subject.find_neighbours(query, round)
        # What one reading may tell, by epsilon and delta and by rho as well.
        promise = round.guarantee
        epsilon, delta, rho = (
            num / den for num, den in (promise.epsilon, promise.delta, promise.rho)
        )
        together = float(decimal_mu(epsilon, delta))
        mu = min(together / math.sqrt(query.readings), math.sqrt(2 * rho))
        roomy = mechanism.subject.asked.widen_clamp(round)
        found.append(Scenes(name, roomy, below, above, mu, math.sqrt(round.params[4])))
    return found


def make_far_scenes(room: Scenes) -> tuple[Whole, Whole, float]:
    """Return two scenes about STRETCH sigmas apart, and how far the promise lets them be."""
    times = max(1, round(STRETCH / room.mu))
    difference = times * (room.above - room.below)
    below = (room.below + room.above) // 2 - difference // 2
    return below, below + difference, times * room.mu


def make_single_scenes(room: Scenes) -> tuple[Whole, Whole, float]:
    """Return two scenes where every sensor by itself is about STRETCH sigmas apart."""
    times = math.ceil(STRETCH * room.sigma)
    below = np.full(len(room.below), -times // 2)
    return below, below + times, times / room.sigma


def sample_releases(
    room: Scenes,
    pair: tuple[Whole, Whole, float],
    devices: list[Device],
    release: Any,
    effort: Effort,
    tries: int,
) -> Seen:
    """Return what is released of a pair of scenes, so many times a side and over two boots."""
    below, above, mu = pair
    half, given = tries // BOOTS, []
    for boot in range(BOOTS):
        for device in devices if boot else ():
            device.boot()
        for side, scene in enumerate((below, above)):
            first = 1 + (2 * boot + side) * half
            given.append(
                run_rounds(
                    release, devices, room.round, range(first, first + half), scene, effort.tape()
                ).astype(float)
            )
    noise = [one - scene for one, scene in zip(given, (below, above) * BOOTS, strict=True)]
    return Seen(
        np.concatenate(given[0::2]),
        np.concatenate(given[1::2]),
        (above - below).astype(float),
        (above + below) / 2,
        mu,
        np.stack([np.concatenate(noise[i : i + 2]) for i in range(0, 2 * BOOTS, 2)]),
    )


Block = tuple[bytes, bytes]  # key, and prefix with counter


class Blocks:
    """The blocks of noise computed, and those that went into a frame which was published.

    A stream of noise is HMAC-SHA256 over a prefix and a counter. While a Blocks is open it hears
    the input of every HMAC of edge.core.entropy, so that a block which serves two frames cannot
    hide behind numbers that only look random. It counts the numbers drawn as well: a block
    holds many small ones, and a frame for which none was drawn is made of another one's.
    """

    def __init__(self) -> None:
        self.fresh: set[Block] = set()  # computed since the last frame was published
        self.count = 0  # of all blocks computed
        self.published: dict[Block, bytes] = {}  # and by which frame
        self.frames: set[bytes] = set()
        self.twice = 0  # blocks that two different frames were made of
        self.numbers = 0  # drawn since the last frame was published
        self.bare = 0  # frames for which no number was drawn

    def add_block(self, key: bytes, data: bytes) -> None:
        """Note one block."""
        self.count += 1
        self.fresh.add((key, data))

    @property
    def faults(self) -> list[str]:
        """What is wrong with what was published, in words, once for each time."""
        return ["a block of noise was used twice"] * self.twice + [
            "a frame was made without a draw of its own"
        ] * self.bare

    def publish(self, frame: bytes) -> None:
        """Note that a frame left the device; the same bytes again are no second use."""
        if frame in self.frames:
            return
        self.frames.add(frame)
        self.bare += not self.numbers
        self.numbers = 0
        for block in self.fresh:
            self.twice += self.published.setdefault(block, frame) != frame
        self.fresh.clear()


# What a key of one job is derived by: it comes again at each boot, and no noise is made of it.
# A sealed stream is: were boot and entropy left out of it, its label would be all there is.
_LABEL = re.compile(rb"heatveil-(?!sealed)[a-z-]+-v\d")


@contextmanager
def record_blocks(*deaf: Any) -> Iterator[Blocks]:
    """Give a Blocks that hears all of edge.core.entropy but these streams of the audit's own.

    A block is heard where its HMAC is computed: as one, or by its two hashes, of which the outer
    one is known by the digest of the inner one at its end.
    """
    blocks, inner = Blocks(), [b""]
    names: dict[str, Any] = vars(entropy)
    hmac, sha256, stream_of = names["hmac_sha256"], names.get("sha256"), names["Stream"]
    bits, below = stream_of.bits, stream_of.below
    own = [False]  # whether a stream of the audit's own is at work

    def heard(key: bytes, data: bytes) -> bytes:
        if not own[0] and not _LABEL.fullmatch(data):
            blocks.add_block(bytes(key), bytes(data))
        digest: bytes = hmac(key, data)
        return digest

    def hashed(data: bytes) -> bytes:
        if not own[0] and data[-len(inner[0]) :] != inner[0]:
            blocks.add_block(b"", bytes(data))
        inner[0] = sha256(data) if sha256 else b""
        return inner[0]

    def worked(stream: Any, count: int) -> int:
        before, own[0] = own[0], any(stream is one for one in deaf)
        try:
            found: int = bits(stream, count)
        finally:
            own[0] = before
        return found

    def drawn(stream: Any, n: int) -> int:
        blocks.numbers += all(stream is not one for one in deaf)
        number: int = below(stream, n)
        return number

    with ExitStack() as stack:
        stack.enter_context(replace_attribute(entropy, "hmac_sha256", heard))
        if sha256:
            stack.enter_context(replace_attribute(entropy, "sha256", hashed))
        stack.enter_context(replace_attribute(stream_of, "bits", worked))
        stack.enter_context(replace_attribute(stream_of, "below", drawn))
        yield blocks


@contextmanager
def replace_attribute(module: Any, name: str, value: Any) -> Iterator[None]:
    """Put another thing in the place of a module's, and the old one back."""
    whole = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, whole)
