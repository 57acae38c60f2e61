"""Somebody who remembers what a device really answered, and holds every start of it to that.

Prices are reckoned here in exact fractions and limits compared in kelvin, not by the device's own
arithmetic; noise is known by its blocks.
"""

from fractions import Fraction
from typing import Any

from .bench import Device, asked_of, message
from .flash import Flash
from .watch import Blocks

ANSWERS = 45  # that the budget of one device is for


class Witness:
    """One device on a flash, and what really came of it."""

    def __init__(self, round: Any, root: bytes, flash: Flash, blocks: Blocks) -> None:
        price = asked_of(round).cost(round, Device(round, root).limits)
        self.blocks, self.flash, self.round = blocks, flash, round
        self.device = Device(round, root, slots=flash, budget=int(price * ANSWERS) + 1)
        self.held: Any = self.device.limits  # the tightest that it confirmed
        self.answered = Fraction(0)  # nano-rho that really left
        self.number, self.epoch, self.starts = 0, 0, 0
        self.out = False  # it said that its budget is out
        self.now: set[int] = set()  # the Rounds answered since the last start
        self.faults: list[str] = []
        self._started()

    def start(self) -> None:
        """Start the device, and hold it to all that it did before."""
        self.device.boot()
        self._started()

    def _started(self) -> None:
        budget = self.device.budget
        self.starts, self.now = self.starts + 1, set()
        self._hold(budget.epoch > self.epoch, "an epoch came again")
        self._hold(budget.spent >= self.answered, "it counts less than it answered")
        self._hold(not self.out or budget.exhausted, "a spent budget came back")
        if budget.limits != self.held:
            # What was written before the cut and never confirmed counts, if it is tighter.
            self._hold(
                not self.device.asked.looser(self.held, budget.limits),
                "its limits are looser than before",
            )
        self.epoch, self.held = budget.epoch, budget.limits

    def ask(self, again: bool = False) -> None:
        """Ask the next Round, or the last one once more, and remember what came."""
        self.number += not again
        asked, signed = message(self.round, self.number)
        spent = self.device.budget.spent
        frame = self.device.answer(signed, self.device.seen(self.starts + self.number))
        if frame is None:
            self.out = self.out or self.device.node.state() == "exhausted"
        elif frame not in self.blocks.frames:
            self._hold(not self.out, "it answered after its budget was out")
            price = self.device.asked.cost(asked, self.held)
            self._hold(self.device.budget.spent - spent >= price, "an answer was not charged")
            self.answered += price
            self._hold(self.answered <= self.held.budget, "it answered more than its budget")
            self._hold(asked.number not in self.now, "a Round was answered anew in one boot")
            self.now.add(asked.number)
            self.blocks.publish(frame)

    def tighten(self) -> None:
        """Let it take limits that are a little tighter."""
        asked = self.held._replace(version=self.held.version + 1, pace_ms=self.held.pace_ms + 1)
        if self.device.node.tighten(self.device.order(asked))["taken"]:
            self.held = self.device.budget.limits

    def _hold(self, holds: bool, fault: str) -> None:
        if not holds:
            self.faults.append(fault)
