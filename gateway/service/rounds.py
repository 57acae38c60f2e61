"""A round that is open: which reports it takes, which it refuses and why.

No socket and no clock in here: `now_s` comes in, an event goes out. Whether a report is
genuine (its MAC) was settled by `edge.core.wire` before; whether it came before is settled by
the store after. What is left is whether it answers this round, in time, once, for the
sensors its device was enrolled for.

Asking and taking are two steps: a batch is judged by `find_refusal`, committed, and only then
taken by `add_reports`. So a batch that the disk refused leaves the round as it was, and a round of
many devices costs no copy of all their answers.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class Refused(NamedTuple):
    """The report does not count; `why` is a clause that explains it, `kind` its word."""

    sender: str
    why: str
    kind: str


class Place(NamedTuple):
    """Which sensors a device reads: `sensors` of them, counted from `sensor`."""

    sensor: int
    sensors: int


def _find_nothing_wrong(payload: Sequence[int]) -> str:
    """Return "": any payload of the right length may have come of the mechanism."""
    return ""


@dataclass(slots=True)
class OpenRound:
    """A round that still takes reports, at most one from each sender.

    plan is the `Round`, name its four-byte name on the wire, closes_s the deadline on the
    gateway's own monotonic clock. Devices' clocks are never used. late counts reports that came
    after that, or for a round before this one.
    """

    plan: Any
    name: bytes
    closes_s: float
    places: Mapping[str, Place]
    reports: dict[str, Any] = field(default_factory=dict)
    late: int = 0
    before: frozenset[str] = frozenset()  # who has answered under a key that is no more
    summed: Any = None  # the release, where it was summed up as the reports came
    wrong: Callable[[Sequence[int]], str] = (
        _find_nothing_wrong  # of a payload: why none can say that, or ""
    )
    gather_s: float = 0.0  # how long it takes answers, once it is out
    sealed: int = 0  # bytes of a report of central trust; 0 where reports are open

    @property
    def complete(self) -> bool:
        """True when every enrolled device has answered, under whatever key."""
        return len(self.reports) + len(self.before) == len(self.places)

    def add_reports(self, taken: Mapping[str, Any], late: int = 0) -> None:
        """Take reports by their senders, which `find_refusal` let pass and which are committed."""
        self.reports.update(taken)
        self.late += late

    def find_refusal(
        self, report: Any, now_s: float, taken: Mapping[str, Any] | None = None
    ) -> Refused | None:
        """Return why a report does not count, or None; nothing changes.

        Args:
            taken: what was let pass in the same batch, by its senders.
        """
        sender, payload = report.sender, report.payload
        if report.round != self.name:
            open_now = f"round {self.plan.number} ({self.name.hex()}) is open"
            why = f"it answers round {report.round.hex()}; {open_now}"
            return Refused(sender, why, "other-round")
        if now_s >= self.closes_s:
            ago_s = now_s - self.closes_s
            return Refused(sender, f"round {self.plan.number} closed {ago_s:.1f} s ago", "late")
        if sender in self.reports or sender in self.before or (taken and sender in taken):
            why = f"{sender} has already answered round {self.plan.number}"
            return Refused(sender, why, "second")
        place = self.places.get(sender)
        if place is None:
            return Refused(
                sender, f"{sender} is not enrolled for round {self.plan.number}", "place"
            )
        if self.sealed or isinstance(payload, bytes):
            if isinstance(payload, bytes) and len(payload) == self.sealed:
                return None
            needed = f"{self.sealed} bytes to its key" if self.sealed else "no sealed report"
            return Refused(sender, f"round {self.plan.number} takes {needed}", "sealed")
        if len(payload) != 1 + place.sensors or payload[0] != place.sensor:
            why = (
                f"{sender} is enrolled for {place.sensors} from sensor {place.sensor} on "
                f"and answered for {len(payload) - 1} from {payload[:1]} on"
            )
            return Refused(sender, why, "place")
        if wrong := self.wrong(payload):
            return Refused(sender, wrong, "place")
        return None
