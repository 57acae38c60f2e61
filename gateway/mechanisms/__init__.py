"""The table of mechanisms, and the whole protocol in five lines.

A mechanism has two halves of one name: `edge/<name>.py` runs on the device and
`recovery/<name>/` where the analyst is. There is no base class; the two protocols
below say what such a module must offer, and the table is an annotated tuple, so that a
missing verb is found before anything runs. No mechanism knows another.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Protocol

import edge.disk
import edge.thermal
import recovery.disk
import recovery.disk.cases
import recovery.thermal
import recovery.thermal.cases

from ..audit.subject import Subject
from ..faults import OperatorFault, suggestion


class DeviceHalf(Protocol):
    """What `edge/<name>.py` offers."""

    NAME: str

    def report(self, round: Any, reading: Any, rng: Any) -> list[int]: ...

    def release(self, round: Any, payloads: Any, rng: Any) -> Any: ...


class AnalystHalf(Protocol):
    """What `recovery/<name>/` offers."""

    def plan(self, query: Any, releases: Any) -> Any: ...

    def recover(self, query: Any, releases: Any) -> Any: ...


class Mechanism(NamedTuple):
    """Four verbs under one name.

    plan(query, releases) -> Round | None       the analyst asks, or is done
    report(round, reading, rng) -> whole numbers   the device answers
    release(round, payloads, rng) -> Release    the gateway folds the answers
    recover(query, releases) -> Heatmap | Unresolved   the analyst draws the map
    """

    name: str
    plan: Callable[[Any, Any], Any]
    report: Callable[[Any, Any, Any], list[int]]
    release: Callable[[Any, Any, Any], Any]
    recover: Callable[[Any, Any], Any]
    subject: Subject | None = None  # what the audit must know of it; without it the audit fails


def joined(device: DeviceHalf, analyst: AnalystHalf, subject: Subject | None) -> Mechanism:
    """Return the mechanism whose two halves are these modules, with what its audit needs."""
    halves = (analyst.plan, device.report, device.release, analyst.recover)
    return Mechanism(device.NAME, *halves, subject)


MECHANISMS: tuple[Mechanism, ...] = (
    joined(edge.thermal, recovery.thermal, recovery.thermal.cases),
    joined(edge.disk, recovery.disk, recovery.disk.cases),
)


def named(name: str) -> Mechanism:
    """Return the mechanism of that name.

    Raises:
        OperatorFault: there is none.
    """
    for mechanism in MECHANISMS:
        if mechanism.name == name:
            return mechanism
    hint = suggestion(name, [mechanism.name for mechanism in MECHANISMS])
    raise OperatorFault(
        f"{name} is not a mechanism of this gateway, which must know how to ask and how to "
        f"draw the map; {hint}"
    )


def play(
    mechanism: Mechanism, query: Any, readings: Callable[[Any], Iterable[Any]], rng: Any
) -> Any:
    """Return the map of one whole protocol, run in memory.

    This is the figure, the test harness and the definition of correct; the service runs
    the same four functions with MQTT between them.

    Args:
        query: what the analyst wants to know; the mechanism's own frozen dataclass.
        readings: gives the private `Reading` of every device for a round.
        rng: the one door for random bits, with the method `below(n)`.
    """
    releases: Sequence[Any] = ()
    while round := mechanism.plan(query, releases):
        payloads = [mechanism.report(round, reading, rng) for reading in readings(round)]
        releases = [*releases, mechanism.release(round, payloads, rng)]
    return mechanism.recover(query, releases)
