"""The gateway, put together and taken apart again; and its one link to the broker."""

import json
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any

from sqlalchemy.exc import DBAPIError

from edge.core import wire
from edge.core.window import JUMPED
from recovery.maps.sentence import Wording, describe_sentence

from ..devices.enrol.check import check_devices_fit, describe_untold
from ..devices.enrol.enrol import Devices
from ..faults import LinkFault, RefusedFault, ReplacedFault
from ..logs import log
from ..settings.deployment import Deployment
from ..store.identity import Identity
from ..store.places import find_place, is_disk_fault
from ..store.store import Store
from . import telling
from .campaign import Campaign
from .homeassistant import Announcer
from .ledger import Ledger
from .mqtt import access
from .mqtt.connection import Message
from .mqtt.pump import Pump
from .mqtt.service import Link, Taker
from .operate.health import GONE, PARTS, Chore, Chores, Health, Vitals, make_chores
from .operate.metrics import Metrics
from .operate.quarantine import make_guard, start_quarantine
from .outbox import Outbox
from .solver import Solver
from .steps import make_last_round_topic, verify_round
from .telling import Teller
from .workers.gathering import list_topics, make_taker
from .workers.leases import hold_lead

_META, _DEVICES = 4096, 100_000  # bytes of a message that is looked at; how many are kept
READ_S = 1.0  # for a broker that has us already to let us read
LOOK_S = 1.0  # how often the disk is looked at
BEHIND_S = 0.2  # what is retained comes with the word that we are subscribed, or right behind it

AWAITED = Wording(
    "rounds.awaited",
    "no round opens: it is not known yet which round the broker retains",
)()
_HINDERED = Wording("rounds.hindered", "no round opens while this does not work: {parts}")
_FAILED = Wording("rounds.failed", "the rounds have failed: see the log")()
UNREAD = (
    "the broker does not let the gateway read which round it retains, so that a ledger which is "
    "older than that round is not found out by it; let the gateway's user read "
    "heatveil/1/<site>/round/#, as gateway/README says under The broker"
)


class Uplink:
    """The link, and who tells Home Assistant over it. `close` says goodbye."""

    def __init__(
        self,
        deployment: Deployment,
        devices: Devices,
        store: Store,
        pump: Pump,
        take: Taker,
        on_state: Callable[[bool, str], None],
    ) -> None:
        """Begin to connect.

        Args:
            take: is given each report, on the pump's thread.
            on_state: hears whether the link is up and why it is not, on the pump's thread.
        """
        site = deployment.site.name
        self._take, self._on_state, self._up = take, on_state, False
        self._store, self._deployment, self._pump = store, deployment, pump
        self._devices = devices
        self._client = access.make_gateway_session(site)
        self._announcer = Announcer(deployment, self._announce)
        wanted, unwanted = list_topics(deployment, devices)
        # When devices say that their levels were recorded, in seconds of the epoch, by name.
        self.recorded_s: dict[str, float] = {}
        asked = deployment.room.plan or deployment.privacy.window_h
        self._metas = wire.topic(site, "+", "meta") if asked else ""
        # Whose clock did, and the log says so; and what the store has of it.
        self._known_jumped = store.list_jumped_clocks()
        self._jumped = set(self._known_jumped) if self._metas else set[str]()
        self._wanted = {*wanted, *self._announcer.births, *([self._metas] if self._metas else ())}
        # A session that lasts keeps filters that nobody wants any more. Until they are gone from
        # there the store remembers both.
        kept = store.list_filters(self._client)
        self._tidied = kept == self._wanted
        if not self._tidied:
            store.keep_filters(self._client, kept | self._wanted)
        self.link = Link(
            deployment.mqtt,
            self._client,
            pump,
            subscribe=sorted(self._wanted),
            unsubscribe=sorted({*kept, *unwanted} - self._wanted),
            on_message=self._route_message,
            will=self._announcer.will,
            on_state=self._take_link_state,
        )

    def tell_home_assistant(self, event: dict[str, object]) -> None:
        """Pass an event on to Home Assistant, as far as it is for there."""
        self._announcer.take_event(event)

    def record_session_and_jumps(self) -> None:
        """Remember what the session is subscribed to, once it is, and whose clock has jumped.

        Not on the pump's thread.
        """
        if self._up and not self._tidied:
            self._store.keep_filters(self._client, self._wanted)
            self._tidied = True
        jumped = set(self._jumped) & self._devices.by_name.keys()
        if jumped != self._known_jumped:
            try:
                self._store.keep_jumped_clocks(jumped)
                self._known_jumped = jumped
            except DBAPIError as fault:  # no round and no start waits for it; the next look does
                if not is_disk_fault(fault):
                    raise

    def replace_deployment(self, deployment: Deployment, devices: Devices) -> None:
        """Announce what another deployment says is to be seen."""
        self._devices = devices
        self._announcer = Announcer(deployment, self._announce)
        if self._up:
            self._announcer.announce_all()

    def close(self) -> None:
        """Say goodbye; the session stays, and the broker keeps what comes."""
        self._announcer.publish_offline()
        self.link.close()

    def check_rounds_known(self, devices: Devices) -> bool:
        """Hold the ledger against the rounds that the broker retains; return whether that is done.

        Of the round that is open, and of the one that was asked last.

        Raises:
            ForgottenFault: we have asked it, and the ledger does not know of it.
        """
        site, mechanism = self._deployment.site.name, self._deployment.rounds.mechanism
        places, messages = (
            [wire.round_topic(site, mechanism), make_last_round_topic(site, mechanism)],
            [],
        )
        while places:
            try:
                messages = self._read_retained_rounds(places)
                break
            except RefusedFault as fault:
                if len(places) > 1:  # rights of before allow the open one alone, perhaps
                    log.warning(UNREAD, why=str(fault))
                places.pop()
            except LinkFault:
                return False  # the link was lost just now: when it is back
        for message in messages:
            asked = verify_round(message, mechanism, devices)
            if asked is not None:
                number = asked.plan.number
                found = f"the broker retains round {number}, signed with this site's key"
                self._store.record_found_round(asked, found)
            else:
                log.warning(
                    "the broker retains a round that this site has not signed", until="the next"
                )
        return True

    def _read_retained_rounds(self, places: Sequence[str]) -> list[bytes]:
        """Return the rounds that the broker retains for us at these topics.

        On a connection of its own: on the session that lasts it would wait behind what has come
        for us, and a broker that lets us read no rounds would refuse that session as a whole.

        Raises:
            LinkFault: there is no answer, or a no: a `RefusedFault`.
        """
        site, came = self._deployment.site.name, SimpleQueue[bytes]()

        def take(link: Link, message: Message) -> None:
            link.acknowledge(message)
            came.put(message.payload)

        told: dict[str, Any] = {"subscribe": list(places), "lasting": False, "on_message": take}
        broker = self._deployment.mqtt.model_copy(update={"version": str(self.link.version)})
        link = Link(broker, f"heatveil-{site}-reads", self._pump, **told).wait_connected(READ_S)
        found: list[bytes] = []
        try:
            while len(found) < len(places):
                found.append(came.get(timeout=BEHIND_S))
        except Empty:
            pass  # nothing is open, or nothing was asked yet
        finally:
            link.close()
        return found

    def _announce(self, topic: str, payload: bytes, retain: bool) -> None:
        self.link.publish(topic, payload, retain=retain)

    def _route_message(self, link: Link, message: Message) -> None:
        if message.topic in self._announcer.births:
            self._announcer.take_message(message.topic, message.payload)
            link.acknowledge(message)
        elif self._metas and message.topic.endswith("/meta"):
            self._note(message.topic.split("/")[-2], message.payload)
            link.acknowledge(message)
        else:
            self._take(link, message)

    def _note(self, name: str, meta: bytes) -> None:
        """Note when a device says that its level was recorded, and whether its clock jumped.

        Whoever lies spoils a map, or what is said of its own clock.
        """
        self.recorded_s.pop(name, None)
        if (at_s := read_level_time_s(meta)) and len(self.recorded_s) < _DEVICES:
            self.recorded_s[name] = at_s
        if not has_clock_jumped(meta):
            self._jumped.discard(name)
        elif name not in self._jumped and len(self._jumped) < _DEVICES:
            self._jumped.add(name)  # it says so for as long as it runs
            log.warning("a device's sleep was not counted", device=name, why=JUMPED)

    def _take_link_state(self, up: bool, why: str) -> None:
        self._up = up
        self._on_state(up, why)
        if up:
            self._announcer.announce_all()


def read_level_time_s(meta: bytes) -> float | None:
    """Return when a device's level was recorded, by its `meta`; None where it does not say."""
    at_ms = _read(meta).get("recorded_ms")
    return at_ms / 1000 if type(at_ms) is int and 0 < at_ms < 1 << 48 else None


def has_clock_jumped(meta: bytes) -> bool:
    """Return whether a device says, by its `meta`, that its clock jumped in its last sleep."""
    limits = _read(meta).get("limits")
    return isinstance(limits, dict) and limits.get("clock") == JUMPED


def _read(meta: bytes) -> dict[str, Any]:
    try:
        said = json.loads(meta) if len(meta) < _META else None
    except (ValueError, RecursionError):
        said = None
    return said if isinstance(said, dict) else {}


PATIENCE_S = 3.0  # for a broker, where one must be there


class Service:
    """The gateway of one site; a context manager. Any thread may call `run_rounds`, or `stop`.

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
        check_devices_fit(deployment, devices)
        if untold := describe_untold(deployment, devices):
            log.warning("devices were not told of the file's limits", why=untold)
        self._deployment, self._over = deployment, False
        self._teller = teller = Teller(on_event)
        self._vitals = vitals = Vitals(health or Health(*PARTS), teller.tell)
        with ExitStack() as stack:
            stack.enter_context(hold_lead(find_place(deployment), vitals.set_part))
            self._store = store = Store.open_for(deployment)
            stack.callback(store.close)
            # Whose promise was ended has another broker, and letters here are not for that.
            store.check_not_ended(devices.key_ids)
            vitals.set_part("store", True)
            self._solver = solver = stack.enter_context(
                Solver(deployment.rounds.solve_s, partial(vitals.set_part, "solver"))
            )
            vitals.set_part("solver", True)
            self._pump = pump = stack.enter_context(Pump("gateway"))
            # They stay until the device has a new key, over every start of ours.
            keys = {(one.name, one.key_id) for one in devices.by_name.values()}
            alarms = {who: found for who, found in store.list_alarms().items() if who in keys}
            self._guard = guard = make_guard(deployment, devices.by_name, store.find_opened_s())
            told: Any = deployment, store, devices, teller.tell_progress, teller.tell_alarms
            kept: Any = {"metrics": metrics, "guard": guard, "health": vitals.health}
            self._intake = intake = make_taker(*told, **kept)
            stack.callback(intake.stop)
            self._outbox: Outbox | None = None
            self._uplink = uplink = Uplink(
                deployment, devices, store, pump, intake.take_message, self._take_link_state
            )
            stack.callback(uplink.close)
            teller.add_listener(uplink.tell_home_assistant)
            # Before the outbox empties or replaces it, and before there is another.
            look = partial(uplink.check_rounds_known, devices)
            self._outbox = stack.enter_context(Outbox(store, uplink.link.publish, may_begin=look))
            start_quarantine(stack, deployment, store, guard, pump, teller.tell)
            if vitals.health.list_parts()["broker"].ok:
                self._outbox.set_open(True)
            stack.callback(intake.stop)  # commit and send receipts before saying goodbye
            runs = (
                intake,
                solver,
                self._outbox,
                teller.tell,
                vitals.set_part,
                self._explain_hindrance,
            )
            self._campaign = Campaign(deployment, devices, store, *runs)
            store.identity.call_on_loss(self.stop)
            self._campaign.steps.recorded_s = uplink.recorded_s
            vitals.watch_threads()
            self._look()
            chores = make_chores(deployment, store, metrics)
            stack.enter_context(Chores(Chore(LOOK_S, self._look), *chores))
            self._resources = stack.pop_all()
        if deployment.mqtt.insecure:
            log.warning(access.IN_THE_CLEAR)
        teller.tell_start(telling.make_ready_event(deployment, len(devices.by_name)), alarms)

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
        self._uplink.link.wait_connected(patience_s)
        return self

    def run_rounds(self, rounds: int | None = None) -> str:
        """Run rounds, this many or as many as may be; return the sentence why it ended.

        Raises:
            ReplacedFault: the store was taken away meanwhile, or lacks what was asked before.
        """
        try:
            self.identity.check()  # by now it is heard by us
            why = self._campaign.run_rounds(rounds)
        except BaseException:
            self._vitals.set_part("rounds", False, _FAILED)
            raise
        self.identity.check()
        self._over = True
        self._campaign.apply_changes()  # what was asked for while the last round ended
        self._intake.start()  # with no round at all, what comes is refused, not kept waiting
        self._vitals.set_part("rounds", True, why)
        self._teller.tell({"kind": "done", **describe_sentence(why)})
        return why

    def stop(self) -> None:
        """Make `run_rounds` return soon. An open round stays open, for the next start."""
        self._campaign.stop()

    @property
    def identity(self) -> Identity:
        """What says whether the store still is the one that was opened."""
        return self._store.identity

    def read_ledger(self) -> Ledger:
        """Return the budget and what was charged to it."""
        return self._campaign.read_ledger()

    def replace_deployment(self, deployment: Deployment, devices: Devices) -> None:
        """Go on with what `operate.supervision.reread_files` lets pass, from the next round on."""

        def change() -> None:
            self._campaign.replace_deployment(deployment, devices)
            self._intake.set_devices(devices)
            self._guard.replace_limits(deployment.guard, devices.by_name)
            self._solver.set_limit_s(deployment.rounds.solve_s)
            self._uplink.replace_deployment(deployment, devices)
            self._teller.tell(telling.make_ready_event(deployment, len(devices.by_name)))

        self._campaign.call_between_rounds(change)
        if self._over:  # there will be no other round
            self._campaign.apply_changes()

    def is_moving(self) -> bool:
        """Return whether the threads that must move have moved lately."""
        rounds = self._over or self._campaign.moving
        return rounds and self._pump.moving and getattr(self._intake, "moving", True)

    def _explain_hindrance(self) -> str:
        """Return why no round may open now, or nothing."""
        if parts := self._vitals.list_hindering_parts():
            return _HINDERED(parts=", ".join(parts))
        begun = self._outbox is None or self._outbox.wait_open()
        return "" if begun else AWAITED

    def _take_link_state(self, up: bool, why: str) -> None:
        if self._outbox is not None:  # it is told how things stand when it begins
            self._outbox.set_open(up)
        self._vitals.set_part("broker", up, "" if up else why or GONE)

    def _look(self) -> None:
        """Look at what changes by itself: the store's file, room on the disk, how parts are."""
        try:
            self.identity.check()
        except ReplacedFault:  # whoever is to end for it has been told, and threads end by it
            return
        enough = self._vitals.set_free_bytes(
            self._store.measure_free_bytes(), self._deployment.store.reserve_mb
        )
        self._intake.set_held(not enough)
        self._vitals.check_threads()
        self._uplink.record_session_and_jumps()
