"""The steps of one round, signed to drawn: each is on the disk before anybody sees it.

And a round of ours that is met elsewhere: retained by the broker, or answered by a device.
"""

import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import partial
from math import ceil, inf
from typing import Any, NamedTuple, ParamSpec, Protocol, TypeVar

from sqlalchemy.exc import DBAPIError

from edge.core import wire
from edge.core.entropy import sealed
from edge.core.records import Release, SealedRound
from edge.host import post
from edge.mechanisms.secure_sum import ROUND_BYTES

from ..devices.enrol.enrol import Devices
from ..faults import OperatorFault
from ..logs import log
from ..mechanisms import Mechanism, find_serving, plan_first_round
from ..settings import config
from ..settings.deployment import Deployment
from ..settings.roomfile import Vacancy
from ..store.places import Stopped, describe_fault, is_disk_fault, retry_until_stored
from ..store.round_rows import MissingRounds
from ..store.store import Store
from . import drawing, telling
from .intake.door import Arrival, authenticate
from .intake.outcomes import AskedRound, Letter
from .intake.writer import Gatherer
from .ledger import Charge, compute_round_rho, is_distributed
from .mqtt.connection import Message
from .rounds import OpenRound
from .sealing import RoundKey, count_sealed_bytes

LOST_KEY = (
    "the key of round {} is gone from the folder round_keys under [store] while the round was "
    "open, and without it nothing that devices reported opens. Nothing is released or charged "
    "yet, and what they reported is kept: put the key back before the next start, or that gives "
    "the round up, charges it, and asks another"
)
NEAR = 4096  # so many lost rounds are known again, and can be charged at once


def sign_round(planned: Any, number: int, devices: Devices, key: bytes = b"") -> AskedRound:
    """Return a planned round as it is sent, under a number that no device has passed.

    Args:
        key: the public key of a round of central trust.
    """
    plan = planned._replace(number=number)
    if key:
        plan = SealedRound(*(*plan, key))
    topic = wire.round_topic(devices.site, plan.mechanism)
    message = post.pack_round(plan, devices.site_key, topic)
    return AskedRound(
        wire.name_of(planned), wire.name_of(plan), plan, message, compute_round_rho(plan.guarantee)
    )


def open_round(
    asked: AskedRound, devices: Devices, stored: Iterable[tuple[str, bytes]], closes_s: float
) -> OpenRound:
    """Return the open round, with the answers (device, frame) that were stored before a start.

    An answer under a key that is no more does not count, and its device has answered all the same.
    """
    stored = list(stored)
    places = {name: device.place for name, device in devices.by_name.items()}
    found = [
        authenticate(Message(wire.topic(devices.site, name, "data"), frame, (0, 0)), devices)
        for name, frame in stored
    ]
    answers = {one.report.sender: one.report for one in found if isinstance(one, Arrival)}
    before = frozenset(name for name, _ in stored if name in places) - answers.keys()
    how: Any = {"sealed": count_sealed_bytes(asked.plan)}
    how["wrong"] = find_serving(asked.plan.mechanism).payload_fault(asked.plan)
    return OpenRound(asked.plan, asked.name, closes_s, places, answers, before=before, **how)


def make_opening(asked: AskedRound, devices: Devices) -> Letter:
    """Return the letter that asks a round, of whoever comes as long as it is open."""
    return Letter(0, wire.round_topic(devices.site, asked.plan.mechanism), asked.message, True)


def make_last_round_topic(site: str, mechanism: str) -> str:
    """Return where the round that was asked last stays, answered or not; no device hears it."""
    return f"{wire.round_topic(site, mechanism)}/last"


def make_round_proof(asked: AskedRound, devices: Devices) -> Letter:
    """Return the letter that proves to an older ledger, when nothing is open, what was asked."""
    return Letter(
        0, make_last_round_topic(devices.site, asked.plan.mechanism), asked.message, True
    )


def make_withdrawal(mechanism: str, devices: Devices) -> Letter:
    """Return the letter after which nothing is asked any more."""
    return Letter(0, wire.round_topic(devices.site, mechanism), b"", True)


def verify_round(message: bytes, mechanism: str, devices: Devices) -> AskedRound | None:
    """Return the round in a message, or None where this site did not sign it."""
    try:
        topic = wire.round_topic(devices.site, mechanism)
        plan = wire.unpack_round(message, devices.site_key, topic, ROUND_BYTES)
        rho = compute_round_rho(plan.guarantee)
    except (*wire.BROKEN, ArithmeticError):
        return None
    name = wire.name_of(plan)
    return AskedRound(name, name, plan, message, rho) if rho > 0 else None


class ForeseenRounds:
    """The rounds that a deployment asks, by the four bytes that devices call them in answers."""

    def __init__(self, deployment: Deployment, devices: Devices) -> None:
        self._deployment, self._devices = deployment, devices
        self._next, self._numbers = 0, dict[bytes, int]()
        self._plan: Any = None

    def find_round(self, name: bytes, next: int) -> AskedRound | None:
        """Return the round of this name, where its number is within `NEAR` of the next one."""
        if self._next != next:
            query = None if self._plan else config.make_query(self._deployment)
            self._plan = self._plan or plan_first_round(self._deployment, query)
            numbers = range(max(next - NEAR, 1), next + NEAR)
            self._numbers = {wire.name_of(self._plan._replace(number=n)): n for n in numbers}
            self._next = next
        number = self._numbers.get(name)
        return None if number is None else sign_round(self._plan, number, self._devices)


def find_lost_rounds(lack: MissingRounds, devices: Devices) -> list[AskedRound]:
    """Return the rounds that a ledger lacks; between those that were found, they are as the next.

    Raises:
        OperatorFault: they are more than there can be, or not signed with the site's key.
    """
    number = max(lack.found)
    if number - lack.last > NEAR:
        raise OperatorFault(
            f"round {number} was found but the ledger ends with round {lack.last}; a gap of more "
            f"than {NEAR} rounds is not charged, because somebody who stole the site's key may "
            "have forged it. Enrol again, in a new folder"
        )
    rounds, one = list[AskedRound](), None
    for at in range(number, lack.last, -1):
        if at in lack.found:
            mechanism, message = lack.found[at]
            one = verify_round(message, mechanism, devices)
            if one is None:
                raise OperatorFault(
                    f"round {number} is signed with another site key than the devices file of "
                    "this deployment has, so it is not charged to it. Under [site] devices, name "
                    "the devices file with which it was asked"
                )
        elif one is not None:
            one = sign_round(one.plan, at, devices)
        rounds += [one] if one else []
    return rounds[::-1]


GLANCE_S = 0.1  # how often a gathering looks whether it is to stop
TICK_S = 1.0  # longer than most draws of a release's noise
AGAIN_S = 2.0  # until a map that the disk refused is tried again, while a round is open
MAP_WAITS = "a map waits for the store, which is tried again; it is shown once it is kept"
P = ParamSpec("P")
T = TypeVar("T")


class Outgoing(Protocol):
    """Publishes what the store's outbox holds."""

    def wake(self) -> None: ...

    def wait_empty(self, patience_s: float) -> bool: ...


class Drawing(NamedTuple):
    """A map that is being drawn: of which round, less which empty room, and since when."""

    name: bytes
    vacant: Vacancy | None
    drawn: Future[drawing.DrawnMap | None]
    since_s: float


@dataclass
class Steps:
    """What the steps of a round need; on the campaign's thread."""

    store: Store
    intake: Gatherer
    solver: drawing.Drawer
    outbox: Outgoing
    tell: Callable[[telling.Event], None]
    stopping: threading.Event = field(default_factory=threading.Event)
    moved_s: float = field(default_factory=time.monotonic)  # when the thread last showed itself
    out_s: float = 0.0  # when the broker had the round that was asked last
    # When devices say that their levels were recorded, in seconds of the epoch, by name.
    recorded_s: Mapping[str, float] = field(default_factory=dict)
    late: int = 0  # reports that came after the end of the round that was gathered last
    _due: Callable[[], None] | None = None  # begins the map that is drawn next
    _drawing: Drawing | None = None
    _newest: bytes = b""  # of which round the map is that we published last

    def publish(self, *letters: Letter) -> None:
        """Publish something, as soon as may be."""
        self.call_until_stored(self.store.add_letters, letters)
        self.outbox.wake()

    def gather_answers(
        self, asked: AskedRound, devices: Devices, gather_s: float, *, patient: bool = False
    ) -> OpenRound | None:
        """Ask a round that is written, and return it with its answers, closed.

        Args:
            patient: where nobody has answered, it stays retained and open, and None is returned.

        Raises:
            Stopped: the round stays retained and open, for the next start.
        """
        round = open_round(
            asked, devices, self.call_until_stored(self.store.list_answers, asked.name), inf
        )
        # It has no deadline before it is out: who cannot be asked is not late. And it is open
        # before it is out: who answers at once would else answer no round.
        round.gather_s = gather_s
        standing = self.intake.find_last_round()
        if standing and (standing.name, standing.closes_s) == (asked.name, inf):
            standing.places = round.places  # asked again, and its answers have not stopped coming
        else:
            self.intake.open_round(round)
        self.publish(make_round_proof(asked, devices), make_opening(asked, devices))
        while not self.outbox.wait_empty(GLANCE_S):
            self.show_alive()
            self.keep_drawn_map()
        self.out_s = time.monotonic()
        closes_s = self.out_s + gather_s
        if standing := self.intake.find_last_round():
            self.tell(telling.make_round_event(standing, gather_s))
        again_s = 0.0
        while (left_s := closes_s - time.monotonic()) > 0:
            if self.intake.wait_complete(min(GLANCE_S, left_s)):
                break
            self.show_alive()
            if time.monotonic() < again_s:
                continue
            try:
                self._take_drawn()
            except DBAPIError as fault:  # no round is held open for a map that cannot be kept yet
                if not is_disk_fault(fault):
                    raise
                log.warning(MAP_WAITS, why=describe_fault(fault))
                again_s = time.monotonic() + AGAIN_S
        self.show_alive()
        if patient and self.call_until_stored(self.store.find_answered_s, asked.name) is None:
            return None
        closed = self.intake.close_round()
        if closed is None:
            raise Stopped
        self.late = closed.late
        return closed

    def release_round(
        self,
        mechanism: Mechanism,
        closed: OpenRound,
        devices: Devices,
        due: Charge | None,
        key: RoundKey | None = None,
    ) -> Release:
        """Return the answers, folded, kept and paid for.

        That the round is no longer asked is written, and goes out once the outbox is woken. A
        round that opens before that takes its place, and devices are sent one message less.

        Args:
            due: what is charged now, in the one transaction: see `ledger.is_paid_at_release`.
            key: of a round of central trust; it is gone when this returns.

        Raises:
            OperatorFault: the round's key is gone.
            OvertakenFault: another gateway has the round now.
            Stopped: we are told to stop.
        """
        closed_s = time.time()  # before noise is drawn: no time on the disk tells how long it took
        if key is not None:
            began_s = time.monotonic()
            release = self._fold_sealed_round(mechanism, closed, devices, key)
            self._wait_for_tick(began_s)
        elif (release := closed.summed) is None:
            release = fold_round(mechanism, closed, sealed(os.urandom(32)))
        adds = is_distributed(closed.plan.guarantee)  # and no report is in the store
        written = self.call_until_stored(
            self.store.close_round,
            closed.name,
            release.values,
            release.reports,
            charge=due if key is None or release.reports else None,  # who answers can be seen
            letters=[make_withdrawal(closed.plan.mechanism, devices)],
            outcome="closed" if release.reports else "silent",
            summed=None if closed.summed is None or adds else len(closed.reports),
            closed_s=closed_s,
        )
        if not written:  # it was before: what is on the disk is what was seen
            stored = self.call_until_stored(self.store.read_release, closed.name)
            release = Release(closed.plan, *(stored or ()))
        if key is not None:
            key.destroy_key(closed.plan)
        self.tell(telling.make_release_event(release, closed.late))
        return release

    def _wait_for_tick(self, began_s: float) -> None:
        """Wait until whole ticks have passed: when a release appears must not tell its noise."""
        took_s = time.monotonic() - began_s
        self.stopping.wait(ceil(took_s / TICK_S) * TICK_S - took_s)
        self.show_alive()

    def give_up_round(self, asked: AskedRound, devices: Devices) -> Release:
        """Return the empty release of a secure sum that was open when a gateway ended.

        It is charged, and not gone on with: devices that were told one set of a sum must never be
        told another, and what was sent is forgotten with the process.
        """
        back = [make_withdrawal(asked.plan.mechanism, devices)]
        self.call_until_stored(
            self.store.close_round, asked.name, [], 0, letters=back, outcome="silent"
        )
        self.outbox.wake()
        log.warning(
            "a secure sum was cut short by an end; it is asked again", name=asked.name.hex()
        )
        return Release(
            asked.plan, *self.call_until_stored(self.store.read_release, asked.name) or ([], 0)
        )

    def _fold_sealed_round(
        self, mechanism: Mechanism, closed: OpenRound, devices: Devices, key: RoundKey
    ) -> Release:
        """Return sealed answers as one release, with the gateway's noise; the others are refused.

        How many devices had nothing to report is in no number of it but by way of the noise.
        """
        if not key.has_key_of(closed.plan):
            if self.call_until_stored(self.store.read_release, closed.name):
                return Release(closed.plan, [], 0)  # it was another gateway's; its numbers count
            raise OperatorFault(LOST_KEY.format(closed.plan.number))
        found, letters = key.unseal_reports(closed, devices)
        if letters:
            self.call_until_stored(self.store.keep_batch, [], letters)
            for letter in letters:
                log.warning("a sealed report was refused", why=letter.why)
        if not found.reports:
            return Release(closed.plan, [], 0)
        return fold_round(mechanism, found, sealed(os.urandom(32)))

    def request_map(
        self,
        query: Any,
        releases: Sequence[Any],
        devices: Devices,
        deployment: Deployment,
    ) -> None:
        """Have the map of all releases so far drawn, in place of one that is not begun yet.

        It is drawn beside the rounds; `keep_drawn_map` begins it, keeps it and publishes it, once.
        """
        heard = drawing.select_answered_releases(releases)
        if heard and wire.name_of(heard[-1].round) != self._newest:
            counts = heard[-1].reports, len(devices.by_name), self.late, deployment.rounds.quorum
            turnout, recorded_s = drawing.Turnout(*counts), dict(self.recorded_s)
            given = query, list(releases), turnout, devices, deployment, recorded_s
            self._due = partial(self._begin, *given)

    def tell_last_map(self, releases: Sequence[Any], devices: Devices) -> None:
        """Tell the newest map that is kept, where it is of an earlier round than the last.

        A page that was opened after a start would show none until the map that is owed is drawn.
        What is kept may be why there was no map: then it is the one before.
        """
        if self._newest:  # a run before this one in the same process has told what there is
            return
        for at, release in enumerate(reversed(drawing.select_answered_releases(releases))):
            name = wire.name_of(release.round)
            body = self.call_until_stored(self.store.read_map, name)
            if not body:
                continue
            event = drawing.republish_map(devices.site, release.round.mechanism, body).event
            if event["status"] != "unresolved":
                if at:  # that of the last round is published again, as what is due
                    self.tell(
                        event
                        | {"closed_s": self.call_until_stored(self.store.find_closed_s, name)}
                    )
                return

    def wait_maps_drawn(self) -> None:
        """Return when no map is left to be drawn.

        Raises:
            Stopped: the next start draws it.
        """
        self.keep_drawn_map()
        while self._drawing is not None:
            wait([self._drawing.drawn], GLANCE_S)
            self.show_alive()
            self.keep_drawn_map()

    def keep_drawn_map(self) -> None:
        """Keep and publish the map that is drawn, if one is, and begin the one that is due.

        Raises:
            Stopped: we are to stop, and the disk will not.
        """
        self.call_until_stored(self._take_drawn)

    def _take_drawn(self) -> None:
        """Do so in steps, each of which is done when the store has let it be done."""
        if self._drawing is not None:
            if not self._drawing.drawn.done():
                return
            name, vacant, drawn, _ = self._drawing
            if found := drawn.result():  # else it was stopped; the next start draws it
                state = None
                if vacant is not None and found.state is not None:
                    state = vacant.at_s, found.state
                self._keep(name, found, state)
            self._drawing = None
        if self._due is not None:
            self._due()
            self._due = None

    def _begin(
        self,
        query: Any,
        releases: Sequence[Any],
        turnout: drawing.Turnout,
        devices: Devices,
        deployment: Deployment,
        recorded_s: Mapping[str, float],
    ) -> None:
        """Begin to draw a map, or publish it again where it is drawn already."""
        last, site = drawing.select_answered_releases(releases)[-1].round, devices.site
        name = wire.name_of(last)
        if body := self.store.read_map(name):
            found = drawing.republish_map(site, last.mechanism, body)
            if found.event["status"] != "unresolved":  # another start may have luck
                self._keep(name, found)
                return
        # Only now, for the map before has just left the empty room as it is gone on from.
        vacant = drawing.find_vacancy(deployment, devices, self.store, recorded_s, name)
        job = self.solver, site, query, releases, turnout, vacant
        # It draws and no more: what is asked of the store is asked on the campaign's thread.
        thread = ThreadPoolExecutor(1, "map")
        drawn = thread.submit(drawing.draw_map, *job)
        thread.shutdown(wait=False)  # it ends with this map
        self._drawing = Drawing(name, vacant, drawn, time.monotonic())

    def _keep(
        self, name: bytes, found: drawing.DrawnMap, state: tuple[float, bytes] | None = None
    ) -> None:
        # A map that is told again, after a start, is as old as its round.
        event = found.event | {"closed_s": self.store.find_closed_s(name)}
        self.store.keep_map(name, found.body, letters=[found.letter], empty_state=state)
        self.outbox.wake()
        self.tell(event)
        self._newest = name

    @property
    def shown_s(self) -> float:
        """When thread and drawing last showed themselves, whichever is longer ago."""
        one = self._drawing
        return self.moved_s if one is None or one.drawn.done() else min(self.moved_s, one.since_s)

    def show_alive(self) -> None:
        """Show that we live, and look whether we are to stop.

        Raises:
            Stopped: we are.
        """
        self.moved_s = time.monotonic()
        if self.stopping.is_set():
            raise Stopped

    def call_until_stored(self, do: Callable[P, T], *args: P.args, **words: P.kwargs) -> T:
        """Ask the store, and ask again while the disk will not.

        Raises:
            Stopped: we are to stop, and the disk still will not.
        """

        def attempt() -> T:
            self.moved_s = time.monotonic()
            return do(*args, **words)

        return retry_until_stored(self.stopping, attempt)


def fold_round(mechanism: Mechanism, closed: OpenRound, rng: Any) -> Release:
    """Return the answers of a round as one release, in the order of their senders' names."""
    payloads = [closed.reports[sender].payload for sender in sorted(closed.reports)]
    release: Release = mechanism.release(closed.plan, payloads, rng)
    return release
