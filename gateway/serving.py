"""The gateway, put together and taken apart again."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from math import prod

import structlog

from edge import wire

from . import config, telling
from .campaign import Campaign
from .deployment import Deployment
from .enrolment import tightened
from .enrolment.enrol import Devices, check_fleet
from .enrolment.granting import check_held, check_pace
from .intake.outcomes import Alarm
from .intake.writer import Intake
from .ledger import Ledger
from .mqtt import access
from .mqtt.pump import Pump
from .mqtt.service import Link
from .rounds import OpenRound
from .solver import Solver
from .storage.alone import alone
from .storage.store import Store

log = structlog.get_logger()


class Service:
    """The gateway of one site; a context manager. `run` it on any thread, `stop` it from any."""

    def __init__(
        self,
        deployment: Deployment,
        devices: Devices,
        *,
        on_event: Callable[[telling.Event], None] | None = None,
    ) -> None:
        """Lock and open the store, start the solver, connect.

        Args:
            on_event: hears everything in `telling`, on our threads; it must return at once.

        Raises:
            OperatorFault: something about the deployment, the store or the broker.
        """
        sensors = prod(deployment.sensors.count)
        check_fleet(devices, sensors, keyholder=deployment.privacy.keyholder)
        self._on_event = on_event
        self._last: dict[str, telling.Event] = {}
        with ExitStack() as stack:
            stack.enter_context(alone(deployment.site.database))
            store = Store(deployment.site.database, devices.site)
            stack.callback(store.close)
            solver = stack.enter_context(Solver(deployment.rounds.solve_s))
            pump = stack.enter_context(Pump("gateway"))
            # They stay until the device has a new key, over every start of ours.
            keys = {(one.name, one.key_id) for one in devices.by_name.values()}
            self._alarms = {who: found for who, found in store.alarms().items() if who in keys}
            self._intake = intake = Intake(store, devices, self._progress, self._alarmed)
            stack.callback(intake.stop)
            # The name is the session's: with another site's filters it must be another session.
            link = Link(
                deployment.mqtt,
                f"heatveil-{devices.site}",
                pump,
                subscribe=[wire.topic(devices.site, "+", "data")],
                on_message=intake.put,
            )
            stack.callback(link.close)
            stack.callback(intake.stop)  # commit and send receipts before saying goodbye
            self._campaign = Campaign(
                deployment, devices, store, intake, solver, link.publish, self._tell
            )
            known = tightened.load(deployment.site.devices, devices)
            held = {who: one.limits for who, one in known.items()}
            check_held(config.query(deployment), held)
            check_pace(deployment.rounds.every_s, held)
            link.wait()
            self._resources = stack.pop_all()
        if deployment.mqtt.insecure:
            log.warning(access.IN_THE_CLEAR)
        self._tell(telling.ready(deployment, len(devices.by_name)))
        if self._alarms:
            self._tell(telling.alarmed(self._alarms))

    def __enter__(self) -> "Service":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._resources.close()

    def run(self, rounds: int | None = None) -> str:
        """Run rounds, this many or as many as may be; return the sentence why it ended."""
        why = self._campaign.run(rounds)
        self._intake.begin()  # with no round at all, what comes is refused, not kept waiting
        self._tell({"kind": "done", "why": why})
        return why

    def stop(self) -> None:
        """Make `run` return soon. An open round stays open, for the next start."""
        self._campaign.stop()

    def state(self) -> dict[str, telling.Event]:
        """Return the last event of each kind, for a page that was opened just now."""
        return dict(self._last)

    def ledger(self) -> Ledger:
        """Return the budget of this deployment and what was charged to it."""
        return self._campaign.ledger()

    def _progress(self, round: OpenRound | None, refused: int) -> None:
        if round is not None:
            self._tell(telling.came(round, refused))

    def _alarmed(self, raised: Sequence[Alarm]) -> None:
        for device, key_id, why in raised:
            log.error("alarm", device=device, why=why)
            _, times = self._alarms.get((device, key_id), ("", 0))
            self._alarms[device, key_id] = why, times + 1
        self._tell(telling.alarmed(self._alarms))

    def _tell(self, event: telling.Event) -> None:
        """Remember an event, log what it is, and pass it on."""
        self._last[event["kind"]] = event
        dull = {"values", "mass", "guarantee", "kind", "alarms", "credible", "certified"}
        log.info(event["kind"], **{key: event[key] for key in event if key not in dull})
        if event["kind"] == "release" and not event["reports"]:
            log.warning(telling.SILENCE, number=event["number"])
        if self._on_event is not None:
            try:
                self._on_event(event)
            except Exception:  # who listens must not stop who works
                log.exception("a listener failed")
