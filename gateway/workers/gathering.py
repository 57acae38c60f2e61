"""The leader's side: it gathers from the database what all workers have committed."""

import threading
import time
from collections.abc import Callable, Sequence

from ..deployment import Deployment
from ..devices.enrol.enrol import Devices
from ..intake.batches import Bearer
from ..intake.door import Guard
from ..intake.outcomes import Alarm
from ..mqtt.session import Message
from ..operate.chores import Chore, Chores
from ..operate.health import Health
from ..operate.metrics import Metrics
from ..rounds import OpenRound
from ..storage.patience import patiently
from ..storage.store import Store
from . import folds, roll, summing
from .naming import holder
from .overseeing import LOOK_S, Overseer
from .worker import Worker

POLL_S = 0.05  # how often the sums are looked at while a round is open
TELL_S = 0.5  # and how often it is told what they have come to


class Gathering:
    """A `Gatherer` over SQL; it is one of the workers itself, so that one process will do."""

    def __init__(
        self,
        deployment: Deployment,
        store: Store,
        devices: Devices,
        progress: Callable[[OpenRound | None, int], None],
        alarm: Callable[[Sequence[Alarm]], None],
        *,
        metrics: Metrics | None = None,
        guard: Guard | None = None,
        health: Health | None = None,
    ) -> None:
        """Begin to work, and to look.

        Args:
            progress: hears how the round stands, and how many messages it refused, now and then.
            alarm: hears of devices that need a new key, whichever worker found out.

        Raises:
            OperatorFault: the mechanism of the deployment cannot be gathered in parts.
        """
        self._store, self._progress = store, progress
        self._fold = folds.named(deployment.rounds.mechanism)
        self._round: OpenRound | None = None
        self._stopping = threading.Event()
        self._began = self._opened = summing.last_refused(store.engine)
        self._told, self._told_s = (0, 0, 0), 0.0
        self._overseer = Overseer(deployment, store, health, alarm)
        self._worker = Worker(
            deployment, devices, holder("leader"), store, metrics=metrics, guard=guard
        )
        self._chores = Chores(Chore(LOOK_S, self._oversee))
        self._worker.__enter__()
        self._chores.__enter__()

    def open(self, round: OpenRound) -> None:
        """Let reports for this round count from now on, whichever worker they reach."""
        engine = self._store.engine
        self._opened = patiently(self._stopping, summing.last_refused, engine)
        patiently(self._stopping, summing.opened, engine, round.name, self._fold)
        self._round = round

    def begin(self) -> None:
        """Do nothing: workers decide as soon as there is a round in the database."""

    def wait_complete(self, patience_s: float) -> bool:
        """Wait until every enrolled device has answered; False when patience ended before."""
        until_s = time.monotonic() + patience_s
        while (round := self._round) is not None:
            came = patiently(self._stopping, summing.came, self._store.engine, round.name)
            if time.monotonic() - self._told_s >= TELL_S:
                self._tell(round, came)
            if came >= len(round.places):
                return True
            left_s = until_s - time.monotonic()
            if left_s <= 0 or self._stopping.wait(min(POLL_S, left_s)):
                break
        return self._stopping.is_set()

    def close_round(self) -> OpenRound | None:
        """Return the round with its release; what is committed from now on is late."""
        if (round := self._round) is None:
            return None
        round.closes_s = min(round.closes_s, time.monotonic())
        engine = self._store.engine
        found = patiently(self._stopping, summing.closed, engine, round, self._fold)
        self._tell(round, len(found.devices))
        round.reports, round.summed = dict.fromkeys(found.devices), found.release
        return round

    def standing(self) -> OpenRound | None:
        """Return the round that was opened last, open or closed, or None before the first."""
        return self._round

    def put(self, bearer: Bearer, message: Message) -> None:
        """Let go of a message that came to the one gateway that there was before.

        There is no receipt for it, so its device sends it again, and its part has it.
        """
        bearer.settle((), [message])

    def hold(self, held: bool) -> None:
        """Do nothing: how much room there is at PostgreSQL, it knows itself."""

    def know(self, devices: Devices) -> None:
        """Take reports of these devices from now on, and of no others."""
        self._worker.reload(devices)

    def stop(self) -> None:
        """Commit and let go of what has come so far, give our parts back, and end."""
        if not self._stopping.is_set():
            self._stopping.set()
            self._chores.close()
            self._worker.__exit__()

    def _oversee(self) -> None:
        self._overseer.look(roll.mark_of(self._worker.devices))

    def _tell(self, round: OpenRound, came: int) -> None:
        """Tell how a round stands, when that is news."""
        engine, self._told_s = self._store.engine, time.monotonic()
        found = patiently(self._stopping, summing.refusals, engine, self._began, self._opened)
        if (news := (came, *found)) != self._told:
            self._told, round.late = news, found.late
            names = patiently(self._stopping, summing.answered_by, engine, round.name)
            round.reports = dict.fromkeys(names)
            self._progress(round, found.refused)
