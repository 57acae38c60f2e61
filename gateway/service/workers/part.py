"""One part at work: its session at the broker, its writer, and until when it surely is ours.

The writer looks up which round is open, for the leader may be elsewhere.
"""

import math
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import structlog

from edge import wire

from ...devices.enrol.enrol import Devices
from ...mechanisms import serving
from ...settings.deployment import Deployment
from ...store.leases import Lease
from ...store.patience import Stopped
from ...store.store import Store
from ..asking import Foreseen
from ..intake.door import Guard, Sifted
from ..intake.judge import Verdict
from ..intake.outcomes import Alarm
from ..intake.writer import Intake
from ..mqtt.connection import Message
from ..mqtt.pump import Pump
from ..mqtt.service import Link
from ..operate.metrics import Metrics
from ..rounds import OpenRound
from .folds import Fold
from .parts import devices_of, session_of, topics_of
from .rounds import PartStore, RoundOver, Standing


class PartIntake(Intake):
    """An `Intake` whose round is the one in the database, looked up before every batch.

    A device may answer before anybody could have told us that it was asked, and the round may be
    closed while we judge: then the batch is judged again, and is late.
    """

    _store: PartStore

    def _decided(self, sifted: Sifted) -> Verdict:
        while True:
            if sifted.arrivals:
                self._follow(self._store.standing())
            try:
                return super()._decided(sifted)
            except RoundOver:
                continue

    def _follow(self, found: Standing | None) -> None:
        """Open or close the round as the database says."""
        ours = self._round
        if found is None:
            return
        closed = found.closed_s is not None
        if ours is None or ours.name != found.name:
            round = asked(found, self._devices)
            mine = self._devices.by_name
            answered = self._store.answered_by(found.name)
            round.reports.update(dict.fromkeys(name for name in answered if name in mine))
            self.open(round)
        elif not closed:
            ours.closes_s = math.inf  # if it was closed, its leader has opened it again
        if closed:
            self.close_round()


def asked(found: Standing, devices: Devices) -> OpenRound:
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
    wrong = serving(plan.mechanism).payload_fault(plan)
    return OpenRound(plan, found.name, math.inf, places, wrong=wrong)


GOODBYE_S = 0.5  # for receipts that are on their way, and for DISCONNECT

log = structlog.get_logger()


class Surroundings(NamedTuple):
    """What the parts of a worker share."""

    deployment: Deployment
    devices: Devices
    store: Store
    pump: Pump
    fold: Fold
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
        self.devices = mine = devices_of(around.devices, lease.part, workers.partitions)
        client, topics = session_of(site, lease.part), topics_of(mine)
        self._others = frozenset(topics_of(around.devices)).difference(topics)
        self._heard = around.linked
        # The session has them from before, for as long as the broker keeps it.
        stale = sorted(store.filters(client) - set(topics))
        store.keep_filters(client, [*topics, *stale])
        fenced = PartStore(store, lease, around.fold, workers.lease_s / 2)
        self._intake = PartIntake(
            fenced,
            mine,
            lambda *_: None,
            around.alarm,
            metrics=around.metrics,
            guard=around.guard,
            foreseen=Foreseen(deployment, around.devices).find,
        )
        self._intake.begin()
        self._link = Link(
            deployment.mqtt,
            client,
            around.pump,
            subscribe=topics,
            unsubscribe=stale,
            on_message=self._came,
            may_connect=self.surely_ours,
            on_state=self._linked,
        )

    def surely_ours(self) -> bool:
        """Return whether nobody else can have the part.

        Asked before every attempt to connect: a worker that was stopped and wakes up would else
        throw its successor off the broker, for whoever has a client id last has the session.
        """
        return time.monotonic() < self.sure_until_s

    def _came(self, link: Link, message: Message) -> None:
        """Take a message; let go of one that waited here since there were other parts.

        It has no receipt, so its device sends it again, and the part that it is in now has it.
        """
        if message.topic in self._others:
            link.ack(message)
        else:
            self._intake.put(link, message)

    def _linked(self, up: bool, why: str) -> None:
        """Say that the broker keeps what comes for the part from now on."""
        self._heard(up)
        if up and not self._listens:
            self._listens = True
            log.info("a part listens", part=self.lease.part)

    def close(self) -> None:
        """Commit and let go of what has come, if the part is still ours; say goodbye."""
        self._intake.stop()
        self._link.close(GOODBYE_S)
