"""A round that is open: which reports it takes, which it refuses and why.

No socket and no clock in here: `now_s` comes in, an event goes out. Whether a report is
genuine (its MAC) was settled by `edge.wire` before; whether it came before is settled by
the store after. What is left is whether it answers this round, in time, once, for the
sensors its device was enrolled for.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple


class Accepted(NamedTuple):
    """The report counts."""

    sender: str


class Refused(NamedTuple):
    """The report does not count; `why` is a clause that explains it."""

    sender: str
    why: str


class Place(NamedTuple):
    """Which sensors a device reads: `sensors` of them, counted from `sensor`."""

    sensor: int
    sensors: int


@dataclass(frozen=True, slots=True)
class OpenRound:
    """A round that still takes reports, at most one from each sender.

    plan is the `Round`, name its four-byte name on the wire, closes_s the deadline on the
    gateway's own monotonic clock. Devices' clocks are never used.
    """

    plan: Any
    name: bytes
    closes_s: float
    places: Mapping[str, Place]
    reports: Mapping[str, Any] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """True when every enrolled device has answered."""
        return len(self.reports) == len(self.places)

    def take(self, report: Any, now_s: float) -> tuple["OpenRound", Accepted | Refused]:
        """Return the round after this report, and what became of the report."""
        if why := self._refusal(report, now_s):
            return self, Refused(report.sender, why)
        kept = {**self.reports, report.sender: report}
        return replace(self, reports=kept), Accepted(report.sender)

    def _refusal(self, report: Any, now_s: float) -> str:
        number = self.plan.number
        if report.round != self.name:
            asked = f"round {number}, {self.name.hex()}, is open"
            return f"it answers round {report.round.hex()}; {asked}"
        if now_s >= self.closes_s:
            return f"round {number} closed {now_s - self.closes_s:.1f} s ago"
        if report.sender in self.reports:
            return f"{report.sender} has already answered round {number}"
        place = self.places.get(report.sender)
        if place is None:
            return f"{report.sender} is not enrolled for round {number}"
        if list(report.payload[:1]) != [place.sensor] or len(report.payload) != 1 + place.sensors:
            return (
                f"{report.sender} is enrolled for {place.sensors} from sensor {place.sensor} on "
                f"and answered for {len(report.payload) - 1} from {report.payload[:1]} on"
            )
        return ""
