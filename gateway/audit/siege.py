"""Who attacks one device, act by act: what they do is drawn, and never from what a sensor read."""

from typing import Any

from edge.budget import Lost
from edge.limits import objection

from ..ledger import price
from ..mqtt.session import Message
from .bench import message
from .besieged import Besieged
from .flash import PowerCut
from .house import House, topic_of

WRITES = 6  # before a power cut, at most
RUBBISH: tuple[Any, ...] = (0.5, 1e12 + 0.5, 7.0, float("inf"), -1e9, float("nan"), "7", None)


class Siege:
    """Who attacks one device: every act draws from `fate` alone, and from nothing that is read."""

    def __init__(self, life: Besieged, fate: Any, told: int, house: House | None) -> None:
        self.life, self.fate, self.told, self.house = life, fate, told, house
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

    def values(self) -> Any:
        """Return what is read next, which is the secret: of the two lives it is not the same."""
        self.reads += 1
        sensors = self.life.device.identity.sensors
        return self.asking.seen(self.round, (1 + 17 * self.told) * self.reads, sensors)

    def ask(self) -> None:
        """Ask the next Round, as the gateway would."""
        self.number = max(self.number, self.life.ever) + 1
        self.last, signed = message(self.round, self.number)
        if self.house is not None and not self.house.charge(self.last, signed):
            self.opened, self.counted = self.opened + 1, 0
        self.life.ask(self.last, self.values())

    def again(self) -> None:
        """Ask the last Round once more."""
        self.life.ask(self.last, self.values())

    def old(self) -> None:
        """Ask a Round of before."""
        self.life.ask(message(self.round, self.fate.below(self.number + 1))[0], self.values())

    def fail(self) -> None:
        """Ask a Round while the sensor fails, and says with what."""
        self.number = max(self.number, self.life.ever) + 1
        self.last = message(self.round, self.number)[0]
        self.life.ask(self.last, OSError(str(self.values())))

    def rubbish(self) -> None:
        """Ask a Round while the sensor gives what is no whole number."""
        self.number = max(self.number, self.life.ever) + 1
        self.last = message(self.round, self.number)[0]
        which = RUBBISH[(self.fate.below(len(RUBBISH)) + 3 * self.told) % len(RUBBISH)]
        count = len(self.values())
        self.life.ask(self.last, (which,) * count, whole=False)

    def forge(self) -> None:
        """Forge a Round that is worse, most times, with the site's key."""
        self.life.ask(self.asking.forged(self.round, self.fate, self.life.ever), self.values())

    def twin(self) -> None:
        """Forge a Round under the number of the last one, with something else in it."""
        forged = self.asking.forged(self.round, self.fate, self.life.ever)
        self.life.ask(forged._replace(number=self.last.number), self.values())

    def stranger(self) -> None:
        """Forge a Round without the site's key."""
        self.number = max(self.number, self.life.ever) + 1
        self.life.ask(message(self.round, self.number)[0], self.values(), key=bytes(32))

    def cut(self) -> None:
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
        self.life.start()

    def sleep(self) -> None:
        """Let it sleep, and wake."""
        self.life.sleep()
        self.life.start()

    def lose(self) -> None:
        """Let it sleep, and lose or spoil what the sleep left."""
        self.life.sleep()
        held = bytearray(self.life.memory.held)
        if held and self.fate.below(2):
            held[self.fate.below(len(held))] ^= 1 << self.fate.below(8)
            self.life.memory.held = bytes(held)
        else:
            self.life.memory.held = b""
        self.life.start()

    def back(self) -> None:
        """Put one slot back to what it once held; the others are as they are, or spoilt."""
        kept, torn = self.life.flash.kept, self.life.flash.torn
        old = self.fate.below(len(kept))
        for i, held in enumerate(kept):
            beside = held, b"", torn(held, held[::-1]), b"\xff" * len(held)
            kept[i] = beside[self.fate.below(len(beside))]
        kept[old] = self.kept[old][self.fate.below(len(self.kept[old]))]
        self.life.spoilt = True
        self.life.memory.held = b""
        self.life.start()

    def tighten(self) -> None:
        """Send limits: a little tighter, near those in force, from before, or signed by nobody."""
        held, kind = self.life.held, self.fate.below(6)
        if kind < 3:
            paced = held._replace(version=held.version + 1, pace_ms=held.pace_ms + kind)
            self.order = paced._replace(budget=held.budget - held.budget // 100 * kind)
        elif kind == 3 and not objection(near := self.asking.near(held, self.fate)):
            self.order = near
        self.life.tighten(self.order, genuine=kind < 5)

    def clock(self) -> None:
        """Turn the clock, on or back."""
        self.life.now_ms += self.fate.below(1 << 40) - (1 << 38)

    def gather(self) -> None:
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
        charged = self.house.spent >= self.opened * price(self.round.guarantee)
        self._hold(charged, "the gateway forgot what it had charged")

    def _hold(self, holds: bool, fault: str) -> None:
        if not holds:
            self.life.faults.append(fault)
