"""Budgets on a flash that loses its power at any write, and who remembers what they answered."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from edge.budget import Budget, Lost
from edge.copies import unpack
from edge.entropy import Tape
from edge.host.enrol import provision
from edge.host.rootkeys import first_chain, state_key
from edge.keys import ratchet
from edge.limits import Limits, price
from edge.slots import COUNT
from edge.tightening import looser

ERASED = b"\xff"
ENDINGS = ("old", "none", "erased", "noise")


class PowerCut(BaseException):
    """The device is off in the middle of a write. No handler of errors may see this."""


class Flash:
    """Slots as `edge.slots` wants them, kept through any number of power cuts.

    What a power cut leaves of a write is anything between nothing and all of it: the new bytes up
    to some place, and then the old ones, none, erased ones or noise. What was not flushed
    vanishes.

    kept is what is on the medium. writes counts the writes begun. `fuse` is how many more of
    them are whole before the one in which the power fails; below 0, it does not fail. `drops`
    is how many are done before the flash, worn out, takes no more and does not say so. `rng`
    has the one method `below(n)`.
    """

    def __init__(self, rng: Any) -> None:
        self.kept = [b""] * COUNT
        self.writes = 0
        self.fuse = -1
        self.drops = -1
        self._rng = rng

    def read(self, i: int) -> bytes:
        """Return what slot i holds."""
        return self.kept[i]

    def write(self, i: int, data: bytes) -> None:
        """Write slot i through to the medium, or lose power in the middle of it."""
        self.writes += 1
        if self.fuse == 0:
            self.kept[i] = self.torn(self.kept[i], data)
            raise PowerCut
        self.fuse -= 1
        if self.drops != 0:
            self.kept[i] = bytes(data)
            self.drops -= 1

    def torn(self, old: bytes, new: bytes) -> bytes:
        """Return what a cut may leave of a write, drawn from `rng`: cut at any byte."""
        place = self._rng.below(len(new) + 1)
        rest = len(new) - place
        ending = ENDINGS[self._rng.below(len(ENDINGS))]
        if ending == "old":
            return new[:place] + old[place:]
        if ending == "none":
            return new[:place]
        if ending == "erased":
            return new[:place] + ERASED * rest
        return new[:place] + self._rng.below(1 << (8 * rest)).to_bytes(rest, "big")


class Unflushed:
    """The same flash behind a cache that nobody flushes: read-back sees what a cut forgets."""

    def __init__(self, flash: Flash) -> None:
        self._flash = flash
        self._cached: dict[int, bytes] = {}

    def read(self, i: int) -> bytes:
        """Return what slot i seems to hold."""
        return self._cached.get(i, self._flash.read(i))

    def write(self, i: int, data: bytes) -> None:
        """Put data into the cache, where it stays."""
        self._cached[i] = bytes(data)
        self._flash.writes += 1
        if self._flash.fuse == 0:
            raise PowerCut
        self._flash.fuse -= 1


MOST_WRITES = 12  # before a power cut: some six boots, leases or tightenings
LEASE = 3

Start = Callable[[Flash, bytes], Any]


@dataclass
class Witness:
    """What really happened to one device, whatever the device remembers of it."""

    root: bytes
    limits: Limits  # the tightest that it confirmed
    answered: int = 0  # nano-rho that really left
    blocks: set[tuple[int, int]] = field(default_factory=set)  # of its noise, used so far
    epoch: int = 0
    forgiven: int = 0  # nano-rho that power cuts may have cost it
    closed: bool = False  # it said that its budget is out
    chain: bytes = b""
    faults: list[str] = field(default_factory=list)

    def booted(self, budget: Any) -> None:
        """Hold a device that has just started to all that it did before."""
        self.chain = self.chain or first_chain(self.root)
        for _ in range(max(self.epoch, 1), budget.epoch):
            self.chain = ratchet(self.chain)
        self._hold(budget.epoch > self.epoch, "an epoch came again")
        self._hold(budget.chain == self.chain, "the chain key is not that of its epoch")
        self._hold(budget.spent >= self.answered, "it counts less than it answered")
        over = budget.spent - self.answered - self.forgiven
        self._hold(budget.exhausted or over <= 0, "it counts more than it answered and lost")
        self._hold(
            budget.limits == self.limits or not looser(self.limits, budget.limits),
            "its limits are looser than it confirmed",
        )
        self.epoch, self.limits = budget.epoch, budget.limits

    def sent(self, epoch: int, seq: int, cost: int) -> None:
        """Note an answer that left the device."""
        self._hold((epoch, seq) not in self.blocks, "a block of noise was used twice")
        self._hold(not self.closed, "it answered after its budget was out")
        self.blocks.add((epoch, seq))
        self.answered += cost
        self._hold(self.answered <= self.limits.budget, "it answered more than its budget")

    def _hold(self, holds: bool, fault: str) -> None:
        if not holds:
            self.faults.append(fault)


@dataclass
class Seen:
    """What was seen of many devices."""

    devices: int = 0
    cuts: int = 0
    boots: int = 0
    answers: int = 0
    tightened: int = 0
    ended: int = 0  # devices that used up their budget
    lost: int = 0  # devices that gave up their key
    faults: list[str] = field(default_factory=list)


def live(cuts: int, seed: bytes, start: Start | None = None, spite: int = 0) -> Seen:
    """Return what was seen of devices that lost their power `cuts` times in all.

    A device boots, answers and tightens its limits; at a random write, at a random byte, the power
    fails. The Witness remembers what was really answered and holds the device to it.

    start(flash, state key) makes their budget. spite is how many per cent of the starts find
    their slots spoilt beyond what a power cut does; only then may a device be lost.
    """
    rng = Tape(seed)
    seen = Seen()
    while seen.cuts < cuts and seen.devices < cuts:
        _life(rng, seen, start or (lambda flash, key: Budget(flash, key, LEASE)), spite)
    return seen


def _life(rng: Any, seen: Seen, start: Start, spite: int) -> None:
    """One device, from its enrolment until its budget is out or its key is lost."""
    seen.devices += 1
    root = rng.below(1 << 256).to_bytes(32, "big")
    limits = Limits(1, 4, 1 + rng.below(50), 1 + rng.below(5000), 0, 0)
    limits = limits._replace(budget=price(limits, 4, limits.variance) * (1 + rng.below(60)))
    key, flash, witness = state_key(root), Flash(rng), Witness(root, limits)
    provision(flash, key, first_chain(root), limits)
    copies: list[bytes] = []
    for _ in range(60):
        if rng.below(100) < spite:
            _spoil(flash, key, copies, rng)
        copies += flash.kept
        try:
            flash.fuse = rng.below(MOST_WRITES)
            flash.drops = rng.below(MOST_WRITES) if rng.below(100) < spite else -1
            budget = start(flash, key)
            budget.boot()
            seen.boots += 1
            witness.booted(budget)
            _day(budget, witness, seen, rng)
        except PowerCut:
            seen.cuts += 1
        except Lost as why:
            if not spite:
                witness.faults.append(f"a power cut alone lost the key: {why}")
            if "new key" in str(why):
                seen.lost += 1
                break
        witness.forgiven += LEASE * price(limits, 4, limits.variance)
        if witness.closed and rng.below(4) == 0:
            seen.ended += 1
            break
    seen.faults += witness.faults


def _day(budget: Any, witness: Witness, seen: Seen, rng: Any) -> None:
    """From a start to a power cut: answers at several prices, now and then tighter limits."""
    for seq in range(1, 1 + rng.below(20)):
        now = budget.limits
        if rng.below(12) == 0:
            budget.tighten(
                now._replace(
                    version=now.version + 1,
                    variance=now.variance + rng.below(3),
                    budget=now.budget - rng.below(1 + now.budget // 20),
                )
            )
            witness.limits = budget.limits
            seen.tightened += 1
        cost = price(now, 4, now.variance * (1 + rng.below(3)))
        if budget.charge(cost, seen.answers):
            witness.sent(budget.epoch, seq, cost)
            seen.answers += 1
        else:
            witness.closed = True


def _spoil(flash: Flash, key: bytes, copies: list[bytes], rng: Any) -> None:
    """Cut short, erase or forge some slots, and put back an old copy of one of them.

    Never old copies of two: that a whole flash was put back no device can know.
    """
    alone = all(unpack(kept, key) for kept in flash.kept)
    for i in range(COUNT):
        if rng.below(3) > 0:
            continue
        old = flash.kept[i]
        kind = rng.below(4)
        if kind == 0:
            flash.kept[i] = old[: rng.below(len(old) + 1)]
        elif kind == 1:
            flash.kept[i] = flash.torn(old, old[::-1])
        elif kind == 2 and old:
            flipped = bytearray(old)
            flipped[rng.below(len(old))] ^= 1 << rng.below(8)
            flash.kept[i] = bytes(flipped)
        elif kind == 3 and copies and alone:
            flash.kept[i] = copies[rng.below(len(copies))]
            alone = False
