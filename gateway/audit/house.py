"""A gateway's memory and judgement with real devices before it: judge, store and ledger.

The store is a file on a disk; the broker between is left out, and what it could do with messages
is done by hand.
"""

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from edge import wire

from ..intake.genuine import Arrival, authenticate
from ..intake.judge import judge
from ..intake.outcomes import Asked, DeadLetter
from ..ledger import Ledger, price
from ..mqtt.session import Message
from ..rounds import OpenRound, Place
from ..serves.table import wrong_in
from ..storage.store import Store
from .bench import SITE, SITE_KEY, Device, message


class House:
    """A gateway's memory and judgement, with real devices before it."""

    def __init__(self, folder: Path, round: Any, devices: Sequence[Device]) -> None:
        self.folder, self.round, self.devices = folder, round, devices
        known = {
            one.identity.name: SimpleNamespace(
                mac_key=one.identity.mac_key,
                key_id=one.identity.key_id,
                place=Place(one.identity.sensor, 1),
            )
            for one in self.devices
        }
        self.known: Any = SimpleNamespace(site=SITE, site_key=SITE_KEY, by_name=known)
        self.open: OpenRound | None = None
        self.sent: list[Message] = []  # every genuine frame, in order
        self.store = Store(self.folder / "audit.sqlite", SITE)
        self.newest = self.store.newest()

    def restart(self) -> None:
        """Start the gateway: what was in its memory is gone."""
        self.store.close()
        self.store = Store(self.folder / "audit.sqlite", SITE)
        self.newest = self.store.newest()

    def ask(self, number: int) -> str:
        """Open a Round, and have every device answer it; return why it is not opened, or ""."""
        asked, signed = message(self.round, number)
        if why := self.charge(asked, signed):
            return why
        for device in self.devices:
            frame = device.answer(signed, device.seen(5)) or b""
            self.sent.append(Message(topic_of(device), frame, (1, len(self.sent))))
        return ""

    def charge(self, asked: Any, signed: bytes) -> str:
        """Open a Round, which is charged; return why it is not opened, or ""."""
        name, rho = wire.name_of(asked), price(asked.guarantee)
        why = self.store.open_round(Asked(name, name, asked, signed, rho), 1000 * rho)
        if why:
            return why
        places = {one.identity.name: Place(one.identity.sensor, 1) for one in self.devices}
        self.open = OpenRound(asked, name, 1e9, places, wrong=wrong_in(asked))
        return ""

    def deliver(self, messages: Sequence[Message]) -> tuple[int, int, int]:
        """Return how many counted, were absorbed, and were refused and kept."""
        found = [authenticate(one, self.known) for one in messages]
        arrivals = [one for one in found if isinstance(one, Arrival)]
        letters = [one for one in found if isinstance(one, DeadLetter)]
        answers = [(one.report.round, one.report.sender) for one in arrivals]
        known = self.store.known([one.key for one in arrivals], answers)
        verdict = judge(arrivals, self.open, self.newest, known, 0.0)
        letters += verdict.letters
        self.store.keep(verdict.kept, letters, verdict.extra, verdict.heard, verdict.alarms)
        verdict.settle(self.newest)
        counted, refused = len(verdict.kept), len(letters)
        return counted, len(messages) - counted - refused, refused

    @property
    def spent(self) -> Fraction:
        """What the ledger on the disk says is spent."""
        return Ledger(Fraction(0), self.store.charges()).spent


def topic_of(device: Device) -> str:
    """Return the topic that a device's frames come on."""
    return wire.topic(SITE, device.identity.name, "data")


def signed(device: Device, report: Any) -> Message:
    """Return a report as it comes from somebody who has the device's keys."""
    frame = wire.pack_report(report, device.identity.mac_key, topic_of(device), 32)
    return Message(topic_of(device), frame, (1, 1))
