"""Budgets on a flash that loses its power at any write, and who remembers what they answered."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from edge.board.power import Nap
from edge.core import wire
from edge.core.budget import COUNT, Lost
from edge.core.records import Reading
from edge.host import post

from ..bench import SITE, SITE_KEY, Blocks, Device

ERASED = b"\xff"
ENDINGS = ("old", "none", "erased", "noise")


class PowerCut(BaseException):
    """The device is off in the middle of a write. No handler of errors may see this."""


class Flash:
    """Slots as `edge.core.budget` wants them, kept through any number of power cuts.

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
            self.kept[i] = self.tear(self.kept[i], data)
            raise PowerCut
        self.fuse -= 1
        if self.drops != 0:
            self.kept[i] = bytes(data)
            self.drops -= 1

    def tear(self, old: bytes, new: bytes) -> bytes:
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
        self.start_and_check()

    def start_and_check(self) -> None:
        """Start it, whatever its slots and its memory hold, and hold it to all it did before."""
        try:
            self.device.boot(self.nap)
        except Lost:
            self._hold(self.spoilt, "power cuts alone lost the key")
            self.dead = True
            return
        budget, asked = self.device.budget, self.device.asked
        self.most += PAID_AHEAD * asked.compute_cost(self.device.round, budget.limits) + PAID_AHEAD
        self._hold(budget.epoch > self.epoch, "an epoch came again")
        self._hold(budget.spent >= self.answered, "it counts less than it answered")
        over = not (self.spoilt or budget.exhausted) and budget.spent > self.most
        self._hold(not over, "it counts more than it answered and lost")
        self._hold(not self.out or budget.exhausted, "a spent budget came back")
        if budget.limits != self.held:
            self._hold(not asked.list_loosened(self.held, budget.limits), "its limits are looser")
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
            self._check_sent(asked, signed, frame)

    def _read_for(self, asked: Any, signed: bytes, charged: int, key: bytes) -> None:
        """Hold that a Round was within the limits, and was paid at its price, just once."""
        asking, who = self.device.asked, self.device.identity
        self._hold(key == SITE_KEY, "a Round that the site did not sign was read for")
        if signed == self.paid and not charged:
            return
        newest = max(self.newest, self.ever - PAID_AHEAD + 1)
        self.faults += asking.list_violations(
            asked, self.held, self.device.mode, who.sensor, newest
        )
        cost = asking.compute_cost(asked, self.held)
        self._hold(charged >= cost, "an answer was not charged in full")
        self._hold(charged <= cost * Fraction(1001, 1000) + 1, "a Round cost more than its price")
        self.most += charged
        self.newest, self.paid = asked.number, signed
        self.ever = max(self.ever, asked.number)

    def _check_sent(self, asked: Any, signed: bytes, frame: bytes) -> None:
        """Hold a new frame to what left before it."""
        report, budget = self.device.open_frame(frame), self.device.budget
        name = report.epoch, report.seq
        self._hold(name not in self.used, "two answers have one stream of noise")
        self._hold(report.epoch == self.epoch, "an answer of another boot")
        self._hold(report.round == wire.name_of(asked), "an answer names another Round")
        self._hold(not self.out, "it answered after its budget was out")
        self.used.add(name)
        self.answered += self.device.asked.compute_cost(asked, self.held)
        self._hold(budget.spent >= self.answered, "it counts less than it answered")
        self._hold(self.answered <= self.held.budget, "it answered more than its budget")
        self.frames[frame], self.paid = signed, b""
        self.blocks.publish(frame)

    def tighten(self, limits: Any, genuine: bool = True) -> None:
        """Send limits, which it may take only if they are tighter and the owner signed them."""
        order = self.device.sign_limits(limits)
        said = self.device.node.tighten(order if genuine else order[::-1])
        now = self.device.budget.limits
        self.looks.append(said)
        if now != self.held:
            self._hold(genuine, "limits that nobody signed were taken")
            self._hold(
                not self.device.asked.list_loosened(self.held, now), "its limits are looser"
            )
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
            first, meant = self.subject.split_payload(asked, reading)
            sent = self.device.open_frame(frame).payload[len(first) :]
            noise = [y - x for y, x in zip(sent, meant, strict=False)]
        said = (
            self.device.describe(),
            node.faults,
            self.device.budget.spent,
            tuple(self.flash.kept),
        )
        self.looks.append((frame and len(frame), *noise, *said))

    def _hold(self, holds: bool, fault: str) -> None:
        if not holds:
            self.faults.append(fault)
