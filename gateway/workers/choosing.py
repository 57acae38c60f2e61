"""Who takes the answers of a site: one writer in this process, or as many workers as there are."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from edge import wire

from ..asking import Foreseen
from ..deployment import Deployment
from ..devices.enrol.enrol import Devices
from ..intake.batches import Bearer
from ..intake.door import Guard
from ..intake.gatherer import Gatherer
from ..intake.outcomes import Alarm
from ..intake.writer import Intake
from ..mqtt.session import Message
from ..operate.health import Health
from ..operate.metrics import Metrics
from ..rounds import OpenRound
from ..storage.places import Database
from ..storage.store import Store
from . import retiring
from .gathering import Gathering


class Taker(Gatherer, Protocol):
    """A gatherer as the service sees it."""

    def put(self, bearer: Bearer, message: Message) -> None:
        """Take a message that came on the service's own link; returns at once."""

    def hold(self, held: bool) -> None:
        """Decide and acknowledge nothing while held."""

    def know(self, devices: Devices) -> None:
        """Take reports of these devices from now on, and of no others."""


def taker(
    deployment: Deployment,
    store: Store,
    devices: Devices,
    progress: Callable[[OpenRound | None, int], None],
    alarm: Callable[[Sequence[Alarm]], None],
    *,
    metrics: Metrics | None = None,
    guard: Guard | None = None,
    health: Health | None = None,
) -> Taker:
    """Return who gathers for this deployment, at work.

    Raises:
        OperatorFault: its mechanism cannot be gathered in parts.
    """
    told: Any = {"metrics": metrics, "guard": guard, "health": health}
    if deployment.workers.partitions > 1:
        return Gathering(deployment, store, devices, progress, alarm, **told)
    if isinstance(store.place, Database):  # there may have been workers
        retiring.begin(deployment, store)
    foreseen = Foreseen(deployment, devices).find
    return Intake(store, devices, progress, alarm, foreseen=foreseen, **told)


def topics(deployment: Deployment, devices: Devices) -> tuple[list[str], list[str]]:
    """Return what the service's own session is to be subscribed to, and what no longer."""
    all_of_them = [wire.topic(devices.site, "+", "data")]
    return (all_of_them, []) if deployment.workers.partitions == 1 else ([], all_of_them)
