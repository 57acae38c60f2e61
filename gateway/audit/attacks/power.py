"""Budgets on a flash that loses its power at any write, and who remembers what they answered."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from edge.board.power import Nap
from edge.core import wire
from edge.core.budget import Budget, Lost, unpack
from edge.core.entropy import Tape
from edge.core.keys import ratchet
from edge.core.limits import Limits, price
from edge.core.records import Reading
from edge.core.slots import COUNT
from edge.core.tightening import looser
from edge.host import post
from edge.host.enrol import provision
from edge.host.rootkeys import first_chain, state_key

from ..bench import SITE, SITE_KEY, Blocks, Device

ERASED = b"\xff"
ENDINGS = ("old", "none", "erased", "noise")


class PowerCut(BaseException):
    """The device is off in the middle of a write. No handler of errors may see this."""


class Flash:
    """Slots as `edge.core.slots` wants them, kept through any number of power cuts.

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


PAID_AHEAD = 8  # answers that are paid for at a time, and numbers that may come again after a cut


class Memory:
    """What outlives a deep sleep and no power cut, as `power.Nap` wants it."""

    def __init__(self, flash: Flash) -> None:
        self.held, self._flash = b"", flash

    def __call__(self, *data: bytes) -> bytes:
        """Return what is held, or hold this, unless the flash's power fails meanwhile."""
        if data:
            if self._flash.fuse == 0:
                raise PowerCut
            self._flash.fuse -= 1
            self.held = bytes(data[0])
        return self.held


class WatchedDevice:
    """A device on a flash, and all that was seen of it.

    He has the site's key and the flash in hand, cuts the power when he likes and turns the clock.
    What may come of that is reckoned here from outside: prices in exact fractions, noise by its
    blocks, and nothing by the device's own word but what it says that it has spent.

    faults: what must not have been. looks: what is to be seen from outside, act by act; it must be
    the same whatever the sensor reads. frames: each, and the signed Round that it answers.
    """

    def __init__(
        self, device: Device, flash: Flash, blocks: Blocks, subject: Any, naps: bool
    ) -> None:
        self.device, self.flash, self.blocks, self.subject = device, flash, blocks, subject
        self.memory = Memory(flash)
        self.nap = Nap(self.memory, device.identity.state_key) if naps else None
        self.now_ms = 0
        self.faults: list[str] = []
        self.looks: list[Any] = []
        self.frames: dict[bytes, bytes] = {}
        self.dead = self.out = self.spoilt = False
        self.answered = Fraction(0)  # nano-rho that really left
        self.most = Fraction(0)  # that it may have charged
        self.ever = self.newest = -1  # Rounds charged: ever, and by this boot
        self.paid = b""  # the Round that was charged and not answered, for its sensor failed
        self.epoch, self.used = 0, set[tuple[int, int]]()
        self.held = device.limits  # that it confirmed
        self.start()

    def start(self) -> None:
        """Start it, whatever its slots and its memory hold, and hold it to all it did before."""
        try:
            self.device.boot(self.nap)
        except Lost:
            self._hold(self.spoilt, "power cuts alone lost the key")
            self.dead = True
            return
        budget, asked = self.device.budget, self.device.asked
        self.most += PAID_AHEAD * asked.cost(self.device.round, budget.limits) + PAID_AHEAD
        self._hold(budget.epoch > self.epoch, "an epoch came again")
        self._hold(budget.spent >= self.answered, "it counts less than it answered")
        over = not (self.spoilt or budget.exhausted) and budget.spent > self.most
        self._hold(not over, "it counts more than it answered and lost")
        self._hold(not self.out or budget.exhausted, "a spent budget came back")
        if budget.limits != self.held:
            self._hold(not asked.looser(self.held, budget.limits), "its limits are looser")
        self.epoch, self.held, self.newest, self.paid = budget.epoch, budget.limits, -1, b""

    def ask(self, asked: Any, values: Any, whole: bool = True, key: bytes = SITE_KEY) -> None:
        """Ask a Round, while the sensor reads this, and hold what comes to all that was promised.

        Args:
            values: what is read; an exception is raised.
            whole: whether that is whole numbers, as many as there are sensors.
            key: the site's, or the Round is forged by somebody who has it not.
        """
        budget, reads = self.device.budget, [0]
        signed = post.pack_round(asked, key, wire.round_topic(SITE, self.device.round.mechanism))

        def read(params: Any) -> Any:
            reads[0] += 1
            if isinstance(values, BaseException):
                raise values
            return values

        before, was_out = budget.spent, budget.exhausted
        self.device.node.prepare()
        frame = self.device.node.answer(signed, read, now_ms=self.now_ms)
        charged = budget.spent - before
        self._see(frame, asked, values)
        if frame in self.frames:
            again = self.frames[frame] == signed and not charged and not reads[0]
            self._hold(again, "a frame that was sent before answers something else")
            return
        if not reads[0]:
            # What is left pays for no such answer: then all of it counts as spent.
            closed = budget.exhausted and not was_out
            self._hold(closed or not charged, "a Round that was not answered was charged")
            self._hold(frame is None, "an answer that nothing was read for")
            return
        self._read_for(asked, signed, charged, key)
        if frame is not None:
            self._hold(whole, "what is no whole number was answered")
            self._left(asked, signed, frame)

    def _read_for(self, asked: Any, signed: bytes, charged: int, key: bytes) -> None:
        """Hold that a Round was within the limits, and was paid at its price, just once."""
        asking, who = self.device.asked, self.device.identity
        self._hold(key == SITE_KEY, "a Round that the site did not sign was read for")
        if signed == self.paid and not charged:
            return
        newest = max(self.newest, self.ever - PAID_AHEAD + 1)
        self.faults += asking.too_much(asked, self.held, self.device.mode, who.sensor, newest)
        cost = asking.cost(asked, self.held)
        self._hold(charged >= cost, "an answer was not charged in full")
        self._hold(charged <= cost * Fraction(1001, 1000) + 1, "a Round cost more than its price")
        self.most += charged
        self.newest, self.paid = asked.number, signed
        self.ever = max(self.ever, asked.number)

    def _left(self, asked: Any, signed: bytes, frame: bytes) -> None:
        """Hold a new frame to what left before it."""
        report, budget = self.device.opened(frame), self.device.budget
        name = report.epoch, report.seq
        self._hold(name not in self.used, "two answers have one stream of noise")
        self._hold(report.epoch == self.epoch, "an answer of another boot")
        self._hold(report.round == wire.name_of(asked), "an answer names another Round")
        self._hold(not self.out, "it answered after its budget was out")
        self.used.add(name)
        self.answered += self.device.asked.cost(asked, self.held)
        self._hold(budget.spent >= self.answered, "it counts less than it answered")
        self._hold(self.answered <= self.held.budget, "it answered more than its budget")
        self.frames[frame], self.paid = signed, b""
        self.blocks.publish(frame)

    def tighten(self, limits: Any, genuine: bool = True) -> None:
        """Send limits, which it may take only if they are tighter and the owner signed them."""
        order = self.device.order(limits)
        said = self.device.node.tighten(order if genuine else order[::-1])
        now = self.device.budget.limits
        self.looks.append(said)
        if now != self.held:
            self._hold(genuine, "limits that nobody signed were taken")
            self._hold(not self.device.asked.looser(self.held, now), "its limits are looser")
            self.held, self.paid = now, b""

    def sleep(self) -> None:
        """Let it fall asleep, deeply, if it ever does; it wakes at its next start."""
        if self.nap is not None:
            self.device.budget.sleep(self.nap)

    def _see(self, frame: bytes | None, asked: Any, values: Any) -> None:
        node = self.device.node
        self.out = self.out or node.state() == "exhausted"
        noise: Sequence[int] = ()
        if frame is not None and frame not in self.frames and self.subject.KIND == "noise":
            reading = Reading(self.device.identity.sensor, values)
            first, meant = self.subject.unblurred(asked, reading)
            sent = self.device.opened(frame).payload[len(first) :]
            noise = [y - x for y, x in zip(sent, meant, strict=False)]
        said = self.device.said(), node.faults, self.device.budget.spent, tuple(self.flash.kept)
        self.looks.append((frame and len(frame), *noise, *said))

    def _hold(self, holds: bool, fault: str) -> None:
        if not holds:
            self.faults.append(fault)


MOST_WRITES = 12  # before a power cut: some six boots, leases or tightenings
LEASE = 3


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
    answers: int = 0
    faults: list[str] = field(default_factory=list)


def live(cuts: int, seed: bytes, spite: int = 0) -> Seen:
    """Return what was seen of devices that lost their power `cuts` times in all.

    A device boots, answers and tightens its limits; at a random write, at a random byte, the power
    fails. The Witness remembers what was really answered and holds the device to it.

    spite is how many per cent of the starts find their slots spoilt beyond what a power cut does;
    only then may a device be lost.
    """
    rng = Tape(seed)
    seen = Seen()
    while seen.cuts < cuts and seen.devices < cuts:
        _life(rng, seen, spite)
    return seen


def _life(rng: Any, seen: Seen, spite: int) -> None:
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
            budget = Budget(flash, key, LEASE)
            budget.boot()
            witness.booted(budget)
            _day(budget, witness, seen, rng)
        except PowerCut:
            seen.cuts += 1
        except Lost as why:
            if not spite:
                witness.faults.append(f"a power cut alone lost the key: {why}")
            if "new key" in str(why):
                break
        witness.forgiven += LEASE * price(limits, 4, limits.variance)
        if witness.closed and rng.below(4) == 0:
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
