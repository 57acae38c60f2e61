"""The leader's side: it gathers from the database what all workers have committed."""

import threading
import time
from collections.abc import Callable, Sequence

from ..deployment import Deployment
from ..enrolment.enrol import Devices
from ..intake.batches import Bearer
from ..intake.door import Guard
from ..intake.outcomes import Alarm
from ..mqtt.session import Message
from ..operate.metrics import Metrics
from ..rounds import OpenRound
from ..storage.patience import patiently
from ..storage.store import Store
from . import folds, summing
from .naming import holder
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
    ) -> None:
        """Begin to work, and to look.

        Args:
            progress: hears how the round stands, now and then.
            alarm: hears of devices that need a new key, whichever worker found out.

        Raises:
            OperatorFault: the mechanism of the deployment cannot be gathered in parts.
        """
        self._store, self._progress, self._alarm = store, progress, alarm
        self._fold = folds.named(deployment.rounds.mechanism)
        self._round: OpenRound | None = None
        self._stopping = threading.Event()
        self._told, self._told_s = 0, 0.0
        self._alarms = {who: times for who, (_, times) in store.alarms().items()}
        self._worker = Worker(
            deployment, devices, holder("leader"), store, metrics=metrics, guard=guard
        )
        self._worker.__enter__()

    def open(self, round: OpenRound) -> None:
        """Let reports for this round count from now on, whichever worker they reach."""
        engine = self._store.engine
        self._told = patiently(self._stopping, summing.opened, engine, round.name, self._fold)
        self._round = round

    def begin(self) -> None:
        """Do nothing: workers decide as soon as there is a round in the database."""

    def wait_complete(self, patience_s: float) -> bool:
        """Wait until every enrolled device has answered; False when patience ended before."""
        until_s = time.monotonic() + patience_s
        while (round := self._round) is not None:
            came = patiently(self._stopping, summing.came, self._store.engine, round.name)
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
        round.reports = dict.fromkeys(found.devices)
        round.summed, round.late = found.release, found.late
        self._progress(round, 0)
        self._look()
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
            self._worker.__exit__()

    def _tell(self, round: OpenRound, came: int) -> None:
        """Tell how a round stands and who needs a new key, when that is news and not too often."""
        now_s = time.monotonic()
        if came == self._told or now_s - self._told_s < TELL_S:
            return
        self._told, self._told_s = came, now_s
        names = patiently(self._stopping, summing.answered_by, self._store.engine, round.name)
        round.reports = dict.fromkeys(names)
        self._progress(round, 0)
        self._look()

    def _look(self) -> None:
        found = patiently(self._stopping, self._store.alarms)
        news = [
            Alarm(*who, why)
            for who, (why, times) in found.items()
            if times != self._alarms.get(who)
        ]
        self._alarms = {who: times for who, (_, times) in found.items()}
        if news:
            self._alarm(news)
