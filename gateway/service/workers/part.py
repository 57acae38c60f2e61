"""One part at work: its session at the broker, its writer, and until when it surely is ours.

A part is a lasting MQTT session of its own with exactly the data topics of its devices. When its
worker dies the broker goes on filling that session's queue, and whoever takes its client id over
drains it. A shared subscription ($share) cannot do this: what waits for a dead member of the group
waits until that member comes back, or is lost with its session.

The writer looks up which round is open, for the leader may be elsewhere. Sessions of parts that
there are no more are ended, or the broker would fill their queues for ever; what waits in one had
no receipt, so its device sends it again to its new part.
"""

import hashlib
import math
import threading
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from sqlalchemy import delete, or_, select
from sqlalchemy.exc import DatabaseError

from edge.core import wire

from ...devices.enrol.enrol import Devices
from ...faults import LinkFault
from ...logs import log
from ...mechanisms import find_serving
from ...settings.deployment import Deployment
from ...store.places import Stopped
from ...store.schema import leases
from ...store.store import Store
from ..intake.door import Guard, Sifted
from ..intake.judge import Verdict
from ..intake.outcomes import Alarm
from ..intake.writer import Intake
from ..mqtt.connection import Message
from ..mqtt.pump import Pump
from ..mqtt.service import Link
from ..operate.metrics import Metrics
from ..rounds import OpenRound
from ..steps import ForeseenRounds
from .leases import FREE, NOW_S, Lease
from .rounds import LastRound, PartStore, ReportFold, RoundOver


def find_part(device: str, partitions: int) -> int:
    """Return the part of a device; the same on every machine and in every version of Python.

    >>> [find_part(f"node-{n}", 4) for n in range(6)]
    [2, 2, 2, 0, 2, 2]
    """
    return int.from_bytes(hashlib.sha256(device.encode()).digest()[:8], "big") % partitions


def select_devices(devices: Devices, part: int, partitions: int) -> Devices:
    """Return the devices of one part."""
    mine = {
        name: device
        for name, device in devices.by_name.items()
        if find_part(name, partitions) == part
    }
    return devices._replace(by_name=mine)


def make_session_name(site: str, part: int) -> str:
    """Return the name of a part's session, before `access.make_client_id` marks it."""
    return f"heatveil-{site}-part-{part}"


def list_data_topics(devices: Devices) -> list[str]:
    """Return the data topics of these devices, each by itself: no part hears another's."""
    return [wire.topic(devices.site, name, "data") for name in sorted(devices.by_name)]


def end_old_sessions_quietly(deployment: Deployment, store: Store) -> None:
    """Begin to end them, on a thread of its own: the broker may be away, and nobody waits."""
    words = (deployment, store)
    threading.Thread(
        target=_end_old_sessions_or_warn, args=words, name="retiring", daemon=True
    ).start()


def end_old_sessions(deployment: Deployment, store: Store) -> list[int]:
    """Return the parts beyond those of the deployment whose sessions have been ended.

    Raises:
        LinkFault: the broker is not there, or will not have us.
    """
    partitions = deployment.workers.partitions
    free = or_(leases.c.holder == FREE, leases.c.until_s < NOW_S)
    beyond = leases.c.part >= (partitions if partitions > 1 else 0), free
    with store.engine.connect() as connection:
        parts = list(connection.scalars(select(leases.c.part).where(*beyond)))
    if not parts:
        return []
    with Pump("retiring") as pump:
        for part in parts:
            client = make_session_name(deployment.site.name, part)
            Link(deployment.mqtt, client, pump, lasting=False).wait_connected().close()
            store.keep_filters(client, [])
            with store.engine.begin() as connection:
                connection.execute(delete(leases).where(*beyond, leases.c.part == part))
    return sorted(parts)


def _end_old_sessions_or_warn(deployment: Deployment, store: Store) -> None:
    try:
        if parts := end_old_sessions(deployment, store):
            log.info(
                "removed the broker sessions of old partitions",
                part=" ".join(map(str, parts)),
            )
    except (LinkFault, DatabaseError) as fault:  # they are still there at the next start
        log.warning(
            "broker sessions of old partitions remain; the next start tries again to remove them",
            why=str(fault),
        )


class PartIntake(Intake):
    """An `Intake` whose round is the one in the database, looked up before every batch.

    A device may answer before anybody could have told us that it was asked, and the round may be
    closed while we judge: then the batch is judged again, and is late.
    """

    _store: PartStore

    def _judge_and_commit(self, sifted: Sifted) -> Verdict:
        while True:
            if sifted.arrivals:
                self._follow(self._store.find_last_round())
            try:
                return super()._judge_and_commit(sifted)
            except RoundOver:
                continue

    def _follow(self, found: LastRound | None) -> None:
        """Open or close the round as the database says."""
        ours = self._round
        if found is None:
            return
        closed = found.closed_s is not None
        if ours is None or ours.name != found.name:
            round = read_round(found, self._devices)
            mine = self._devices.by_name
            answered = self._store.list_answered(found.name)
            round.reports.update(dict.fromkeys(name for name in answered if name in mine))
            self.open_round(round)
        elif not closed:
            ours.closes_s = math.inf  # if it was closed, its leader has opened it again
        if closed:
            self.close_round()


def read_round(found: LastRound, devices: Devices) -> OpenRound:
    """Return a round of the database, open until the database says that it is closed.

    Raises:
        OperatorFault: it is of a mechanism that is not known here.
        Stopped: it is not signed with the key that we have: then nothing must be decided here.
    """
    topic = wire.round_topic(devices.site, found.mechanism)
    places = {name: device.place for name, device in devices.by_name.items()}
    try:
        plan = wire.unpack_round(found.message, devices.site_key, topic)
    except ValueError as fault:
        log.error(
            "a round in the database is not signed with this worker's site key, so nothing is "
            "taken: give the worker the devices file that its gateway has",
            why=str(fault),
        )
        time.sleep(1)  # it is the same for the next batch
        raise Stopped from fault
    wrong = find_serving(plan.mechanism).payload_fault(plan)
    return OpenRound(plan, found.name, math.inf, places, wrong=wrong)


GOODBYE_S = 0.5  # for receipts that are on their way, and for DISCONNECT


class Surroundings(NamedTuple):
    """What the parts of a worker share."""

    deployment: Deployment
    devices: Devices
    store: Store
    pump: Pump
    fold: ReportFold
    alarm: Callable[[Sequence[Alarm]], None]
    metrics: Metrics | None = None
    guard: Guard | None = None
    linked: Callable[[bool], None] = lambda up: None  # hears of every link, on the pump's thread


class Part:
    """A part that this worker has; `close` before the lease is given back."""

    def __init__(self, lease: Lease, sure_until_s: float, around: Surroundings) -> None:
        """Begin to connect and to take what the broker has kept for the part.

        Args:
            sure_until_s: of our monotonic clock: nobody else can have the part before that.
        """
        self.lease, self.sure_until_s = lease, sure_until_s
        self._listens = False
        deployment, store = around.deployment, around.store
        workers, site = deployment.workers, around.devices.site
        self.devices = mine = select_devices(around.devices, lease.part, workers.partitions)
        client, topics = make_session_name(site, lease.part), list_data_topics(mine)
        self._others = frozenset(list_data_topics(around.devices)).difference(topics)
        self._heard = around.linked
        # The session has them from before, for as long as the broker keeps it.
        stale = sorted(store.list_filters(client) - set(topics))
        store.keep_filters(client, [*topics, *stale])
        fenced = PartStore(store, lease, around.fold, workers.lease_s / 2)
        self._intake = PartIntake(
            fenced,
            mine,
            lambda *_: None,
            around.alarm,
            metrics=around.metrics,
            guard=around.guard,
            foreseen=ForeseenRounds(deployment, around.devices).find_round,
        )
        self._intake.start()
        self._link = Link(
            deployment.mqtt,
            client,
            around.pump,
            subscribe=topics,
            unsubscribe=stale,
            on_message=self._take_message,
            may_connect=self.is_surely_ours,
            on_state=self._take_link_state,
        )

    def is_surely_ours(self) -> bool:
        """Return whether nobody else can have the part.

        Asked before every attempt to connect: a worker that was stopped and wakes up would else
        throw its successor off the broker, for whoever has a client id last has the session.
        """
        return time.monotonic() < self.sure_until_s

    def _take_message(self, link: Link, message: Message) -> None:
        """Take a message; let go of one that waited here since there were other parts.

        It has no receipt, so its device sends it again, and the part that it is in now has it.
        """
        if message.topic in self._others:
            link.acknowledge(message)
        else:
            self._intake.take_message(link, message)

    def _take_link_state(self, up: bool, why: str) -> None:
        """Say that the broker keeps what comes for the part from now on."""
        self._heard(up)
        if up and not self._listens:
            self._listens = True
            log.info("a partition receives messages", part=self.lease.part)

    def close(self) -> None:
        """Commit and let go of what has come, if the part is still ours; say goodbye."""
        self._intake.stop()
        self._link.close(GOODBYE_S)
