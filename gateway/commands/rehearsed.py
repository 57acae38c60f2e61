"""What a gateway would have made of recorded messages: real door, judge and mechanism, no I/O.

A round is open from the message that asks it to the empty one that takes it back, as on the
broker. So no clock is needed: what comes after that is late, whatever time it was. The guard,
which goes by the clock, is not asked.
"""

import os
from fractions import Fraction
from math import inf
from typing import Any, NamedTuple

from edge import wire
from edge.entropy import sealed
from edge.records import Release

from ..enrolment.enrol import Devices
from ..intake.door import Door
from ..intake.judge import judge
from ..intake.outcomes import Key, Known, Who, digest
from ..ledger import paid_at_release, price
from ..mechanisms import MECHANISMS, named
from ..mqtt.session import Message
from ..rounds import OpenRound
from ..serves.table import wrong_in
from ..steps import folded


class Outcome(NamedTuple):
    """What became of a message: a word, why it was refused, and the round that it ended."""

    word: str  # opened, closed, taken, again, refused, other
    why: str = ""
    ended: OpenRound | None = None


OTHER = Outcome("other")  # what a gateway does not listen to, such as receipts


class Rehearsal:
    """A gateway without broker, store and clock; it remembers what a store would."""

    def __init__(self, devices: Devices) -> None:
        """Begin with no round open, and nothing heard of any device."""
        self._devices, self._door = devices, Door(devices)
        self._rounds = {wire.round_topic(devices.site, one.name) for one in MECHANISMS}
        self.open: OpenRound | None = None
        self._newest: dict[Who, tuple[int, int]] = {}
        self._seen: dict[Key, dict[bytes, bool]] = {}
        self._prices: dict[bytes, Fraction] = {}
        self._answered: set[tuple[bytes, str]] = set()

    def hear(self, topic: str, payload: bytes) -> Outcome:
        """Return what becomes of the next message."""
        if topic in self._rounds:
            return self._asked(topic, payload) if payload else self.close()
        parts = topic.split("/")
        if len(parts) < 2 or topic != wire.topic(self._devices.site, parts[-2], "data"):
            return OTHER
        return self._reported(Message(topic, payload, (0, 0)))

    def close(self) -> Outcome:
        """End the round that is open, if there is one."""
        ended, self.open = self.open, None
        return Outcome("closed", "", ended)

    def _asked(self, topic: str, payload: bytes) -> Outcome:
        try:
            plan = wire.unpack_round(payload, self._devices.site_key, topic)
            cost = price(plan.guarantee)
        except Exception as fault:  # as for reports: whatever bytes do to a decoder
            return Outcome("refused", f"it is no round that this site has asked: {fault}")
        name = wire.name_of(plan)
        if self.open is not None and self.open.name == name:
            return Outcome("again")  # asked once more, after a start
        if name in self._prices:
            return Outcome("refused", f"round {plan.number} is over; it is not asked twice")
        self._prices[name] = cost
        ended = self.close().ended
        places = {one.name: one.place for one in self._devices.by_name.values()}
        self.open = OpenRound(plan, name, inf, places, wrong=wrong_in(plan))
        return Outcome("opened", "", ended)

    def _reported(self, message: Message) -> Outcome:
        sifted = self._door.sift([message], 0.0)
        if sifted.letters:
            (letter,) = sifted.letters
            return Outcome("refused", f"{letter.kind}: {letter.why}")
        (arrival,) = sifted.arrivals
        answer = (arrival.report.round, arrival.report.sender)
        seen = {key: self._seen[key] for key in [arrival.key] if key in self._seen}
        known = Known(seen, self._prices, self._answered & {answer})
        verdict = judge([arrival], self.open, self._newest, known, 0.0)
        verdict.settle(self._newest)
        if verdict.again:
            return Outcome("again")
        frames = self._seen.setdefault(arrival.key, {})
        frames[digest(message.payload)] = bool(verdict.kept)
        self._answered.add(answer)
        if verdict.letters:
            (letter,) = verdict.letters
            return Outcome("refused", f"{letter.kind}: {letter.why}")
        return Outcome("taken")


def released(ended: OpenRound) -> Release | None:
    """Return the answers of a round that has ended, folded as the gateway does; or None.

    None where the fold draws the noise: two draws for one round would give away what it hides.
    """
    plan: Any = ended.plan
    if paid_at_release(plan.guarantee):
        return None
    return folded(named(plan.mechanism), ended, sealed(os.urandom(32)))
