"""Layer: no sequence of attacks gets more out of a device than was promised, nor out of a gateway.

The other layers try one danger at a time; here they come one after the other, drawn at random
and as written down: sensors that fail, Rounds forged under a number that is paid for, power that
is cut at a write, a sleep whose memory is lost, a slot put back to an older day, a clock that is
turned, limits, messages that come again. Each life is led twice, by devices that read different
things: nothing that is seen of them may differ. What it cannot see: two slots, or the memory of
a sleep, put back to one true day, which no device can know of.
"""

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from edge.core import entropy
from edge.core.budget import Lost, objection

from ...service.ledger import compute_round_rho
from ...service.mqtt.connection import Message
from ..bench import Device, list_plans, record_blocks, replace_attribute, sign_round_as, subject_of
from ..claim import Claim, Effort, claim_fact, claim_none
from .gateway import House, topic_of
from .power import Flash, PowerCut, WatchedDevice

WRITES = 6  # before a power cut, at most
RUBBISH: tuple[Any, ...] = (0.5, 1e12 + 0.5, 7.0, float("inf"), -1e9, float("nan"), "7", None)


class Siege:
    """Who attacks one device: every act draws from `fate` alone, and from nothing that is read."""

    def __init__(self, life: WatchedDevice, fate: Any, secret: int, house: House | None) -> None:
        self.life, self.fate, self.secret, self.house = life, fate, secret, house
        self.round, self.asking = life.device.round, life.device.asked
        self.number = self.reads = self.opened = self.counted = 0
        self.last = self.round  # that was asked
        self.kept = [[held] for held in life.flash.kept]  # what each slot ever held
        self.order = life.held  # limits that were sent last

    def act(self, name: str) -> None:
        """Do one thing; a power cut in the middle of it is followed by a start."""
        try:
            getattr(self, name)()
        except PowerCut:
            self.life.flash.fuse = -1
            self.restart()
        except Lost:
            self.restart()  # it sleeps, or was stopped in the middle of a write
        for copies, held in zip(self.kept, self.life.flash.kept, strict=True):
            if held not in copies:
                copies.append(held)

    def read_values(self) -> Any:
        """Return what is read next, which is the secret: of the two lives it is not the same."""
        self.reads += 1
        sensors = self.life.device.identity.sensors
        return self.asking.make_readings(self.round, (1 + 17 * self.secret) * self.reads, sensors)

    def _advance_number(self) -> int:
        self.number = max(self.number, self.life.ever) + 1
        return self.number

    def ask(self) -> None:
        """Ask the next Round, as the gateway would."""
        self.last, signed = sign_round_as(self.round, self._advance_number())
        if self.house is not None and not self.house.charge(self.last, signed):
            self.opened, self.counted = self.opened + 1, 0
        self.life.ask(self.last, self.read_values())

    def repeat(self) -> None:
        """Ask the last Round once more."""
        self.life.ask(self.last, self.read_values())

    def ask_old(self) -> None:
        """Ask a Round of before."""
        self.life.ask(
            self.round._replace(number=self.fate.below(self.number + 1)), self.read_values()
        )

    def ask_failing(self) -> None:
        """Ask a Round while the sensor fails, and says with what."""
        self.last = self.round._replace(number=self._advance_number())
        self.life.ask(self.last, OSError(str(self.read_values())))

    def ask_garbage(self) -> None:
        """Ask a Round while the sensor gives what is no whole number."""
        self.last = self.round._replace(number=self._advance_number())
        which = RUBBISH[(self.fate.below(len(RUBBISH)) + 3 * self.secret) % len(RUBBISH)]
        count = len(self.read_values())
        self.life.ask(self.last, (which,) * count, whole=False)

    def ask_forged_round(self) -> None:
        """Forge a Round that is worse, most times, with the site's key."""
        self.life.ask(
            self.asking.forge_round(self.round, self.fate, self.life.ever), self.read_values()
        )

    def ask_forged_twin(self) -> None:
        """Forge a Round under the number of the last one, with something else in it."""
        forged = self.asking.forge_round(self.round, self.fate, self.life.ever)
        self.life.ask(forged._replace(number=self.last.number), self.read_values())

    def ask_keyless_round(self) -> None:
        """Forge a Round without the site's key."""
        strange = self.round._replace(number=self._advance_number())
        self.life.ask(strange, self.read_values(), key=bytes(32))

    def cut_power(self) -> None:
        """Cut the power at a write, now or soon; what a sleep left is gone with it."""
        self.life.flash.fuse = self.fate.below(WRITES)
        for act in ("ask", "sleep", "ask", "tighten", "restart"):
            if self.life.flash.fuse >= 0 and not self.life.dead:
                getattr(self, act)()

    def restart(self) -> None:
        """Start the device, and the gateway, without what was in their memories."""
        if self.fate.below(2):
            self.life.memory.held = b""
        if self.house is not None and not self.fate.below(4):
            self.house.restart()
        self.life.start_and_check()

    def sleep(self) -> None:
        """Let it sleep, and wake."""
        self.life.sleep()
        self.life.start_and_check()

    def lose_sleep(self) -> None:
        """Let it sleep, and lose or spoil what the sleep left."""
        self.life.sleep()
        held = bytearray(self.life.memory.held)
        if held and self.fate.below(2):
            held[self.fate.below(len(held))] ^= 1 << self.fate.below(8)
            self.life.memory.held = bytes(held)
        else:
            self.life.memory.held = b""
        self.life.start_and_check()

    def put_slot_back(self) -> None:
        """Put one slot back to what it once held; the others are as they are, or spoilt."""
        kept, torn = self.life.flash.kept, self.life.flash.tear
        old = self.fate.below(len(kept))
        for i, held in enumerate(kept):
            beside = held, b"", torn(held, held[::-1]), b"\xff" * len(held)
            kept[i] = beside[self.fate.below(len(beside))]
        kept[old] = self.kept[old][self.fate.below(len(self.kept[old]))]
        self.life.spoilt = True
        self.life.memory.held = b""
        self.life.start_and_check()

    def tighten(self) -> None:
        """Send limits: a little tighter, near those in force, from before, or signed by nobody."""
        held, kind = self.life.held, self.fate.below(6)
        if kind < 3:
            paced = held._replace(version=held.version + 1, pace_ms=held.pace_ms + kind)
            self.order = paced._replace(budget=held.budget - held.budget // 100 * kind)
        elif kind == 3 and not objection(near := self.asking.vary_limits(held, self.fate)):
            self.order = near
        self.life.tighten(self.order, genuine=kind < 5)

    def turn_clock(self) -> None:
        """Turn the clock, on or back."""
        self.life.now_ms += self.fate.below(1 << 40) - (1 << 38)

    def deliver_frames(self) -> None:
        """Let the gateway hear all frames so far, in any order and some of them twice."""
        if self.house is None:
            return
        frames = list(self.life.frames)
        for place in range(len(frames)):
            other = self.fate.below(len(frames))
            frames[place], frames[other] = frames[other], frames[place]
        topic = topic_of(self.life.device)
        messages = [Message(topic, one, (1, n)) for n, one in enumerate(frames + frames[:3])]
        self.counted += self.house.deliver(messages)[0]
        self._hold(self.counted <= 1, "the gateway counted two answers to one Round")
        charged = self.house.spent >= self.opened * compute_round_rho(self.round.guarantee)
        self._hold(charged, "the gateway forgot what it had charged")

    def _hold(self, holds: bool, fault: str) -> None:
        if not holds:
            self.life.faults.append(fault)


ANSWERS = 45  # that the budget of one device is for
ACTS = 45  # of one life drawn at random
# One act of these, each as likely; and lives led as written, each for a mistake once made.
DRAWN = (
    "ask ask ask ask repeat repeat ask_old ask_failing ask_failing ask_garbage "
    "ask_forged_round ask_forged_twin ask_forged_twin ask_keyless_round cut_power cut_power "
    "restart sleep lose_sleep put_slot_back tighten tighten turn_clock deliver_frames"
)
WRITTEN = (
    "ask ask_failing ask_forged_twin ask_forged_twin ask_forged_twin ask_forged_twin repeat ask",
    "ask_failing tighten repeat ask ask_failing tighten repeat",
    "ask_garbage ask " * 7 + "ask_garbage",
    "ask " * 12 + "put_slot_back put_slot_back put_slot_back put_slot_back ask",
    "ask sleep " * 20 + "ask lose_sleep ask restart ask sleep lose_sleep ask",
    "ask restart " * 6 + "deliver_frames repeat deliver_frames restart ask_old deliver_frames",
)


def claims(mechanism: Any, effort: Effort) -> Iterator[Claim]:
    """Yield what is wrong of what devices did, and what could be told of what they had read."""
    plan = list_plans(mechanism)[0]
    for mode, asked in subject_of(plan.round).list_modes(plan.round):
        faults: list[str] = []
        unlike: list[str] = []
        answered = acts = 0
        count = effort.pick(16, 600)
        for number in range(count + 4 * len(WRITTEN)):
            script = WRITTEN[number % len(WRITTEN)].split() if number >= count else None
            lives = [
                _play_life(mechanism, asked, mode, effort, number, script, secret)
                for secret in (0, 1)
            ]
            faults += [fault for life in lives for fault in (*life.faults, *life.blocks.faults)]
            if lives[0].looks != lives[1].looks:
                unlike.append(f"in life {number}")
            answered += sum(len(life.frames) for life in lives)
            acts += sum(len(life.looks) for life in lives)
            if effort.first and (faults or unlike):
                break
        sentence = (
            f"{mode}: no sequence of attacks uses noise twice, is answered beyond the limits, is "
            "forgotten, counts twice, or costs more than its price"
        )
        yield claim_none(sentence, faults, "faults", samples=acts)
        yield claim_none(
            f"{mode}: two devices that read different things look alike, whatever is done to them",
            unlike,
            samples=acts,
        )
        sentence = f"{mode}: devices under attack answer as long as they may"
        yield claim_fact(sentence, answered > 3 * count, samples=answered)


def _play_life(
    mechanism: Any, asked: Any, mode: str, effort: Effort, number: int, script: Any, secret: int
) -> WatchedDevice:
    """Return what came of one device; two that differ in their secret have one fate."""
    fate, torn, system = (effort.tape(what, mode, number) for what in ("fate", "torn", "system"))
    root = fate.bits(256).to_bytes(32, "big")
    flash = Flash(torn)
    with ExitStack() as stack:
        blocks = stack.enter_context(record_blocks(fate, torn, system))
        given = lambda count: system.bits(8 * count).to_bytes(count, "big")  # noqa: E731
        stack.enter_context(replace_attribute(entropy, "os_entropy", given))
        asking = subject_of(asked)
        budget = int(asking.compute_cost(asked, asking.make_limits(asked, 0)) * ANSWERS) + 1
        device = Device(asked, root, slots=flash, mode=mode, budget=budget, sensors=asking.SENSORS)
        life = WatchedDevice(device, flash, blocks, mechanism.subject, naps=number % 2 == 0)
        house = None
        if number % 4 == 3 or script:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            house = House(folder, asked, [device])
            stack.callback(lambda: house.store.close())
        siege, acts = Siege(life, fate, secret, house), DRAWN.split()
        for act in script or (acts[fate.below(len(acts))] for _ in range(ACTS)):
            if life.dead:
                break
            siege.act(act)
        return life
