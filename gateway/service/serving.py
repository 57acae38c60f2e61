"""The gateway, put together and taken apart again."""

from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial
from typing import Any

import structlog

from ..devices.enrol.check import check_together
from ..devices.enrol.enrol import Devices
from ..faults import ReplacedFault
from ..settings.deployment import Deployment
from ..store.identity import Identity
from ..store.places import place_of
from ..store.store import Store
from . import telling
from .campaign import Campaign
from .ledger import Ledger
from .mqtt import access
from .mqtt.pump import Pump
from .operate.health import PARTS, Health, Vitals
from .operate.keeping import Chore, Chores, keeping
from .operate.metrics import Metrics
from .operate.quarantine import guard_of, quarantine_of
from .outbox import Outbox
from .solver import Solver
from .telling import Teller
from .uplink import Uplink
from .workers.gathering import taker, topics
from .workers.leading import leading

PATIENCE_S = 3.0  # for a broker, where one must be there
LOOK_S = 1.0  # how often the disk is looked at

log = structlog.get_logger()


class Service:
    """The gateway of one site; a context manager. `run` it on any thread, `stop` it from any.

    It needs no broker to begin: it joins one when it can, and until then opens no round.
    """

    def __init__(
        self,
        deployment: Deployment,
        devices: Devices,
        *,
        on_event: Callable[[telling.Event], None] | None = None,
        health: Health | None = None,
        metrics: Metrics | None = None,
    ) -> None:
        """Lock and open the store, start the solver, begin to connect.

        Args:
            on_event: hears what is told, on our threads; it must return at once.

        Raises:
            OperatorFault: something about the deployment or the store.
        """
        check_together(deployment, devices)
        self._deployment, self._over = deployment, False
        self._teller = teller = Teller(on_event)
        self._vitals = vitals = Vitals(health or Health(*PARTS), teller.tell)
        with ExitStack() as stack:
            stack.enter_context(leading(place_of(deployment), vitals.say))
            self._store = store = Store.of(deployment)
            stack.callback(store.close)
            vitals.say("store", True)
            self._solver = solver = stack.enter_context(
                Solver(deployment.rounds.solve_s, vitals.solver)
            )
            vitals.solver(True)
            self._pump = pump = stack.enter_context(Pump("gateway"))
            # They stay until the device has a new key, over every start of ours.
            keys = {(one.name, one.key_id) for one in devices.by_name.values()}
            alarms = {who: found for who, found in store.alarms().items() if who in keys}
            self._guard = guard = guard_of(deployment, devices.by_name, store.opened_s())
            told: Any = deployment, store, devices, teller.progress, teller.alarmed
            kept: Any = {"metrics": metrics, "guard": guard, "health": vitals.health}
            self._intake = intake = taker(*told, **kept)
            stack.callback(intake.stop)
            self._outbox: Outbox | None = None
            self._uplink = uplink = Uplink(
                deployment, store, pump, intake.put, self._linked, topics(deployment, devices)
            )
            stack.callback(uplink.close)
            teller.listen(uplink.tell)
            # Before the outbox empties or replaces it, and before there is another.
            look = partial(uplink.remembered, devices)
            self._outbox = stack.enter_context(Outbox(store, uplink.link.publish, may_begin=look))
            quarantine_of(stack, deployment, store, guard, pump, teller.tell)
            if vitals.health.parts()["broker"].ok:
                self._outbox.switch(True)
            stack.callback(intake.stop)  # commit and send receipts before saying goodbye
            runs = intake, solver, self._outbox, teller.tell, vitals.say, self._hindrance
            self._campaign = Campaign(deployment, devices, store, *runs)
            store.identity.on_loss(self.stop)
            self._campaign.steps.recorded_s = uplink.recorded_s
            vitals.watch()
            self._look()
            chores = keeping(deployment.store, store, metrics)
            stack.enter_context(Chores(Chore(LOOK_S, self._look), *chores))
            self._resources = stack.pop_all()
        if deployment.mqtt.insecure:
            log.warning(access.IN_THE_CLEAR)
        teller.begin(telling.ready(deployment, len(devices.by_name)), alarms)

    def __enter__(self) -> "Service":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._resources.close()

    def wait_connected(self, patience_s: float = PATIENCE_S) -> "Service":
        """Return once the broker has us: for who must not wait for one that never comes.

        Raises:
            LinkFault: nobody answers, or one of us will not have the other.
        """
        self._uplink.link.wait(patience_s)
        return self

    def run(self, rounds: int | None = None) -> str:
        """Run rounds, this many or as many as may be; return the sentence why it ended.

        Raises:
            ReplacedFault: the store was taken away meanwhile, or lacks what was asked before.
        """
        try:
            self.identity.check()  # by now it is heard by us
            why = self._campaign.run(rounds)
        except BaseException:
            self._vitals.say("rounds", False, "the rounds have failed: see the log")
            raise
        self.identity.check()
        self._over = True
        self._campaign.changed()  # what was asked for while the last round ended
        self._intake.begin()  # with no round at all, what comes is refused, not kept waiting
        self._vitals.say("rounds", True, why)
        self._teller.tell({"kind": "done", "why": why})
        return why

    def stop(self) -> None:
        """Make `run` return soon. An open round stays open, for the next start."""
        self._campaign.stop()

    def state(self) -> dict[str, telling.Event]:
        """Return the last event of each kind, for a page that was opened just now."""
        return dict(self._teller.last)

    @property
    def identity(self) -> Identity:
        """What says whether the store still is the one that was opened."""
        return self._store.identity

    def ledger(self) -> Ledger:
        """Return the budget and what was charged to it."""
        return self._campaign.ledger()

    def renew(self, deployment: Deployment, devices: Devices) -> None:
        """Go on with what `operate.reloading.reread` lets pass, from the next round on."""

        def change() -> None:
            self._campaign.renew(deployment, devices)
            self._intake.know(devices)
            self._guard.renew(deployment.guard, devices.by_name)
            self._solver.allow(deployment.rounds.solve_s)
            self._uplink.renew(deployment)
            self._teller.tell(telling.ready(deployment, len(devices.by_name)))

        self._campaign.between_rounds(change)
        if self._over:  # there will be no other round
            self._campaign.changed()

    def moving(self) -> bool:
        """Return whether the threads that must move have moved lately."""
        rounds = self._over or self._campaign.moving
        return rounds and self._pump.moving and getattr(self._intake, "moving", True)

    def _hindrance(self) -> str:
        """Return why no round may open now, or nothing."""
        if why := self._vitals.hindrance():
            return why
        begun = self._outbox is None or self._outbox.wait_begun()
        return "" if begun else "it is not known yet which round the broker retains"

    def _linked(self, up: bool, why: str) -> None:
        if self._outbox is not None:  # it is told how things stand when it begins
            self._outbox.switch(up)
        self._vitals.broker(up, why)

    def _look(self) -> None:
        """Look at what changes by itself: the store's file, room on the disk, how parts are."""
        with suppress(ReplacedFault):  # whoever is to end for it has been told
            self.identity.check()
        enough = self._vitals.room(self._store.free_bytes(), self._deployment.store.reserve_mb)
        self._intake.hold(not enough)
        self._vitals.look()
        self._uplink.tidy()
