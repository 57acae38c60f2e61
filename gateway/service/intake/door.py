"""The door: which messages of a batch are genuine reports, and which are refused there.

A guard, if there is one, is asked before a message is decoded. What does not pass is not worth a
row each: one dead letter a minute and device says that there was a flood, the others are counted.
"""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple, Protocol

from ...devices.enrol.enrol import Devices
from ..mqtt.connection import Message
from .genuine import Arrival, nobodys, opened, senders
from .outcomes import DeadLetter

MINUTE_S = 60.0
FORGERY = {"garbled", "forged", "version", "oversized"}  # no frame of the device on whose topic


class Guard(Protocol):
    """Says which devices are still listened to; `now_s` is of the monotonic clock."""

    def passes(self, device: str, size: int, now_s: float) -> bool: ...

    def forged(self, device: str, now_s: float) -> None: ...

    def blocked(self, device: str) -> str: ...


class Sifted(NamedTuple):
    """What came through the door, what is refused with a row, and what only is counted."""

    arrivals: list[Arrival]
    letters: list[DeadLetter]
    unheard: Counter[str]


class Door:
    """Keeps the bad messages out; asked on one thread."""

    def __init__(self, devices: Devices, guard: Guard | None = None) -> None:
        self._guard = guard
        self.know(devices)
        self._noted_s: dict[str, float] = {}  # when a device's flood had a row of its own

    def know(self, devices: Devices) -> None:
        """Let these devices in from now on, and no others."""
        self._devices, self._senders = devices, senders(devices)

    def whose(self, topic: str) -> str:
        """Return the enrolled device that speaks on a topic, "" where none does."""
        sender = self._senders.get(topic)
        return sender.device.name if sender is not None else ""

    def sift(self, messages: Iterable[Message], now_s: float, *, guarded: bool = True) -> Sifted:
        """Return what becomes of messages, in the order they came.

        Args:
            guarded: False for messages that the guard has let pass before.
        """
        sifted = Sifted([], [], Counter())
        guard, by_topic = self._guard if guarded else None, self._senders
        for message in messages:
            sender = by_topic.get(message.topic)
            # On a topic that is nobody's, whoever is named in it has said nothing.
            name = sender.device.name if sender is not None else ""
            if guard is not None and not guard.passes(name, len(message.payload), now_s):
                self._unheard(sifted, guard, name, message, now_s)
                continue
            if message.retained:
                found: Arrival | DeadLetter = _retained(message, name)
            elif sender is not None:
                found = opened(message, name, sender)
            else:
                found = nobodys(message, self._devices)
            if isinstance(found, Arrival):
                sifted.arrivals.append(found)
                continue
            sifted.letters.append(found)
            if guard is not None and found.kind in FORGERY:
                guard.forged(name, now_s)
        return sifted

    def _unheard(
        self, sifted: Sifted, guard: Guard, sender: str, message: Message, now_s: float
    ) -> None:
        blocked = guard.blocked(sender)
        kind = "quarantined" if blocked else "flood"
        who = sender if sender in self._devices.by_name else ""  # strangers share one row
        if now_s - self._noted_s.get(who, -MINUTE_S) < MINUTE_S:
            sifted.unheard[kind] += 1
            return
        self._noted_s[who] = now_s
        why = f"{who or 'a stranger'} is not listened to: " + (
            blocked or "it says more than [guard] messages_per_s and burst allow"
        )
        more = "; more of the same within a minute is counted and not kept"
        sifted.letters.append(DeadLetter(message.topic, why + more, message.payload, kind))


def _retained(message: Message, name: str) -> DeadLetter:
    """Return the refusal of what a broker kept: no report, for those come once, and again unkept.

    Heard anew at each start, it would pass for a device that was set back once its row is gone.
    """
    why = (
        f"{name or 'a stranger'} had its broker retain what it said, which heatveil's devices do "
        "not. Take it off the broker: publish an empty retained message there, as that device"
    )
    return DeadLetter(message.topic, why, message.payload, "retained")
