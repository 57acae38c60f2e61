"""Who takes the answers of a site: one writer in this process, or the workers, seen by the leader.

The leader gathers from the database what all workers have committed, and sees who is at work,
which parts are nobody's, and which devices the workers suspect.
"""

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from sqlalchemy.exc import DatabaseError

from edge.core import wire
from recovery.maps.sentence import Wording, join_sentences

from ...devices.enrol.enrol import Devices
from ...faults import OperatorFault
from ...mechanisms import find_for_deployment
from ...settings.deployment import Deployment
from ...store.places import Database, describe_fault, retry_until_stored
from ...store.store import Store
from ..intake.door import Guard
from ..intake.outcomes import Alarm, Who
from ..intake.writer import Bearer, Gatherer, Intake
from ..mqtt.connection import Message
from ..operate.health import Chore, Chores, Health
from ..operate.metrics import Metrics
from ..rounds import OpenRound
from ..steps import ForeseenRounds
from . import leases, rounds
from .leases import UNANSWERED, Roll, make_unique_name
from .part import end_old_sessions_quietly
from .worker import Worker

LOOK_S = 1.0


class WorkersHealth(NamedTuple):
    """How the part "workers" is."""

    ok: bool
    why: str


class Overseer:
    """Looks at what is in the database, whichever worker wrote it."""

    def __init__(
        self,
        deployment: Deployment,
        store: Store,
        health: Health | None,
        alarm: Callable[[Sequence[Alarm]], None],
    ) -> None:
        """Begin with the alarms that there are, which are no news.

        Args:
            alarm: hears of devices that need a new key.
        """
        self._workers, self._store = deployment.workers, store
        self._health, self._alarm = health, alarm
        self._alarms: dict[Who, tuple[str, int]] = store.list_alarms()

    def check_workers(self, mark: int) -> None:
        """Say how the workers are, and who needs a new key since the last time.

        Args:
            mark: of the devices that the leader knows.
        """
        shape = self._workers.lease_s, self._workers.partitions
        try:
            found = leases.read_roll(self._store.engine, *shape)
            self._pass_on_new_alarms()
        except DatabaseError as fault:
            self._tell("store", WorkersHealth(False, UNANSWERED(why=describe_fault(fault))))
            return
        self._tell("store", WorkersHealth(True, ""))
        self._tell("workers", describe_workers(found, mark))

    def _pass_on_new_alarms(self) -> None:
        was, self._alarms = self._alarms, self._store.list_alarms()
        news = [
            Alarm(*who, found[0]) for who, found in self._alarms.items() if was.get(who) != found
        ]
        if news:
            self._alarm(news)

    def _tell(self, part: str, said: WorkersHealth) -> None:
        if self._health is not None:
            self._health.set_part(part, *said)


_NONE = Wording("workers.none", "none is at work")()
_NOBODYS = Wording("workers.part", "nobody has part {parts}, whose devices wait at the broker")


def describe_workers(found: Roll, mark: int) -> WorkersHealth:
    """Return how the workers are, in words.

    >>> from .leases import Member
    >>> roll = Roll([Member("ada-1-f00", 7, True, 2), Member("bob-2-f00", 7, False, 0)], [])
    >>> describe_workers(roll, 7).why
    '1 at work: ada-1-f00 has 2 parts; gone without a goodbye: bob-2-f00'
    """
    alive = [one for one in found.members if one.alive]
    each = ", ".join(f"{one.holder} has {one.parts} parts" for one in alive)
    words = [f"{len(alive)} at work: {each}" if alive else _NONE]
    if gone := [one.holder for one in found.members if not one.alive]:
        words.append(f"gone without a goodbye: {', '.join(gone)}")
    wrong: list[str] = []
    if found.nobodys:
        parts = " ".join(map(str, found.nobodys))
        wrong.append(_NOBODYS(parts=parts))
    if old := [one.holder for one in alive if one.mark != mark]:
        wrong.append(
            f"{', '.join(old)} works with another devices file than this gateway: give both the "
            "same, and send them SIGHUP"
        )
    return WorkersHealth(not wrong, join_sentences(wrong + words))


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
        self._fold = rounds.find_fold(deployment.rounds.mechanism)
        self._round: OpenRound | None = None
        self._stopping = threading.Event()
        self._began = self._opened = rounds.find_last_refused(store.engine)
        self._told, self._told_s = (0, 0, 0), 0.0
        self._overseer = Overseer(deployment, store, health, alarm)
        self._worker = Worker(
            deployment, devices, make_unique_name("leader"), store, metrics=metrics, guard=guard
        )
        self._chores = Chores(Chore(LOOK_S, self._oversee_workers))
        self._worker.__enter__()
        self._chores.__enter__()

    def open_round(self, round: OpenRound) -> None:
        """Let reports for this round count from now on, whichever worker they reach."""
        engine = self._store.engine
        self._opened = retry_until_stored(self._stopping, rounds.find_last_refused, engine)
        retry_until_stored(self._stopping, rounds.open_round, engine, round.name, self._fold)
        self._round = round

    def start(self) -> None:
        """Do nothing: workers decide as soon as there is a round in the database."""

    def wait_complete(self, patience_s: float) -> bool:
        """Wait until every enrolled device has answered; False when patience ended before."""
        until_s = time.monotonic() + patience_s
        while (round := self._round) is not None:
            came = retry_until_stored(
                self._stopping, rounds.count_answers, self._store.engine, round.name
            )
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
        found = retry_until_stored(self._stopping, rounds.close_and_sum, engine, round, self._fold)
        self._tell(round, len(found.devices))
        round.reports, round.summed = dict.fromkeys(found.devices), found.release
        return round

    def find_last_round(self) -> OpenRound | None:
        """Return the round that was opened last, open or closed, or None before the first."""
        return self._round

    def take_message(self, bearer: Bearer, message: Message) -> None:
        """Let go of a message that came to the one gateway that there was before.

        There is no receipt for it, so its device sends it again, and its part has it.
        """
        bearer.acknowledge_batch((), [message])

    def set_held(self, held: bool) -> None:
        """Do nothing: how much room there is at PostgreSQL, it knows itself."""

    def set_devices(self, devices: Devices) -> None:
        """Take reports of these devices from now on, and of no others."""
        self._worker.replace_devices(devices)

    def stop(self) -> None:
        """Commit and let go of what has come so far, give our parts back, and end."""
        if not self._stopping.is_set():
            self._stopping.set()
            self._chores.close()
            self._worker.__exit__()

    def _oversee_workers(self) -> None:
        self._overseer.check_workers(leases.hash_devices(self._worker.devices))

    def _tell(self, round: OpenRound, came: int) -> None:
        """Tell how a round stands, when that is news."""
        engine, self._told_s = self._store.engine, time.monotonic()
        found = retry_until_stored(
            self._stopping, rounds.count_refusals, engine, self._began, self._opened
        )
        if (news := (came, *found)) != self._told:
            self._told, round.late = news, found.late
            names = retry_until_stored(self._stopping, rounds.list_senders, engine, round.name)
            round.reports = dict.fromkeys(names)
            self._progress(round, found.refused)


class Taker(Gatherer, Protocol):
    """A gatherer as the service sees it."""

    def take_message(self, bearer: Bearer, message: Message) -> None:
        """Take a message that came on the service's own link; returns at once."""

    def set_held(self, held: bool) -> None:
        """Decide and acknowledge nothing while held."""

    def set_devices(self, devices: Devices) -> None:
        """Take reports of these devices from now on, and of no others."""


def make_taker(
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
    if find_for_deployment(deployment).trust == "distributed":
        if deployment.workers.partitions > 1:
            raise OperatorFault(
                f"{deployment.rounds.mechanism} adds devices up in shards, and [workers] "
                f"partitions is {deployment.workers.partitions}: one gateway alone can gather a "
                "secure sum. Set partitions to 1"
            )
        from ..secure_sum.gathering import SecureSums  # what no other mechanism needs

        return SecureSums(deployment, devices, progress, metrics=metrics, guard=guard)
    if deployment.workers.partitions > 1:
        return Gathering(deployment, store, devices, progress, alarm, **told)
    if isinstance(store.place, Database):  # there may have been workers
        end_old_sessions_quietly(deployment, store)
    foreseen = ForeseenRounds(deployment, devices).find_round
    return Intake(store, devices, progress, alarm, foreseen=foreseen, **told)


def list_topics(deployment: Deployment, devices: Devices) -> tuple[list[str], list[str]]:
    """Return what the service's own session is to be subscribed to, and what no longer."""
    if find_for_deployment(deployment).trust == "distributed":
        return [wire.topic(devices.site, "+", "sum")], []
    all_of_them = [wire.topic(devices.site, "+", "data")]
    return (all_of_them, []) if deployment.workers.partitions == 1 else ([], all_of_them)
