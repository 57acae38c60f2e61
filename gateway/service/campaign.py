"""One round after another: plan, charge, ask, gather, release, publish; and the pauses.

Maps are drawn beside the rounds, one at a time and always of all releases: where rounds are
quicker than maps, some have none. The last one has.

What goes out is written first, together with its price, and published from the store by the
`outbox`. A gateway that died in the middle finds the round in the store, pays nothing for it and
takes the answers that are there: a device answers a round it knows with the bytes it sent before.

When a round is paid for depends on where its noise is drawn: see `ledger.is_paid_at_release`.
"""

import threading
import time
from bisect import bisect_left
from collections.abc import Callable
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from datetime import datetime
from queue import Empty, SimpleQueue
from typing import Any

from edge.core import wire
from edge.core.records import Release
from edge.mechanisms.secure_sum import ROUND_BYTES
from recovery.maps.sentence import Wording
from recovery.packed import pack_release

from ..devices.enrol.enrol import Devices, check_may_answer_central
from ..faults import OperatorFault
from ..logs import log
from ..mechanisms import find_mechanism
from ..settings import config
from ..settings.deployment import Deployment, Rounds
from ..store.places import Stopped
from ..store.store import Store
from . import drawing, telling
from .intake.outcomes import AskedRound
from .intake.writer import Gatherer
from .ledger import (
    Charge,
    Ledger,
    compute_budget_rho,
    compute_round_rho,
    find_unit,
    is_distributed,
    is_paid_at_release,
    make_terms,
)
from .operate import schedule
from .sealing import RoundKey, destroy_key_file, list_key_files
from .steps import Outgoing, Steps, make_withdrawal, sign_round, verify_round

GLANCE_S = 0.5  # how often what stands in the way is looked at


class Pause:
    """Knows when the last round opened, by a clock that nobody sets."""

    def __init__(self, opened_s: float | None) -> None:
        """Begin with the last round of all, whoever opened it.

        Args:
            opened_s: when, by the wall's clock; None for never. That clock alone outlives a
                start: where it was set back meanwhile, the whole pause is kept once more.
        """
        self._opened_s: float | None = None
        if opened_s is not None:
            self._opened_s = time.monotonic() - max(time.time() - opened_s, 0)

    def start(self, out_s: float) -> None:
        """Count from the moment at which the broker had a round, by the monotonic clock.

        By that devices reckon when they may be asked again, however long it waited before.
        """
        self._opened_s = out_s

    def compute_wait_s(self, rounds: Rounds) -> float:
        """Return after how long to ask again; 0 when a round may open now."""
        rest_s = 0.0
        if self._opened_s is not None:
            rest_s = self._opened_s + rounds.every_s - time.monotonic()
        left_s = schedule.compute_wait_s(rest_s, rounds.hours, _read_wall_clock())
        return min(left_s, GLANCE_S)  # what is waited for may change meanwhile

    def explain_closed_hours(self, rounds: Rounds) -> str:
        """Return why the hours of the day forbid a round now, or nothing."""
        return schedule.explain_closed_hours(rounds.hours, _read_wall_clock())


def _read_wall_clock() -> datetime:
    """Return what the clock on the wall shows here."""
    return datetime.now().astimezone()


class Changes:
    """What is to change between two rounds; any thread asks, and nothing asked for is lost."""

    def __init__(self) -> None:
        self._asked: SimpleQueue[Callable[[], None]] = SimpleQueue()

    def request(self, change: Callable[[], None]) -> None:
        """Have this called by whoever makes the changes."""
        self._asked.put(change)

    def apply_all(self) -> bool:
        """Make the changes, in the order of asking; return whether there were any."""
        made = 0
        with suppress(Empty):
            while True:
                self._asked.get_nowait()()
                made += 1
        return made > 0


STOPPED = "it was stopped"
UNANSWERED = (
    "nobody has answered the round yet: it stays open, and when the next one is due it is asked "
    "again with the same bytes, which costs nothing; after a few times it is given up%s"
)
UNHEARD = Wording(
    "rounds.silent",
    "nobody answered, or too few for a secure sum, when the devices were last asked; in a row "
    "that is {times} times",
)
_FOR_ANOTHER = " for another"
_AS_LAST = ", and it is the last that the budget is for"
AWAY_S = 86_400.0  # a pause between rounds that is said, where it is longer than theirs
AWAY = (
    "no round was asked for %d days: this gateway was away, or its clock was set. What devices "
    "could have answered meanwhile is in no map, and is asked for no more. Another round is asked "
    "when it is due; a device answers it once enough of its own uptime has passed, whatever the "
    "clock here says"
)
ABANDONED = (
    "the key of the open round is lost, in a power cut or because an older store was put back: "
    "what devices reported to it opens for nobody. It is charged, for it may have been released "
    "before, and another round is asked in its place"
)
TOO_LONG = (
    "round %d would be a message of %d bytes, and devices take in %d: so many squares cannot be "
    "asked, and nothing was spent on it. Set fewer levels, depth, or a higher threshold"
)
LESS = (
    "the file promises less than was promised before; from now on that holds, and no larger "
    "promise is taken on this database again"
)
SPENT = Wording(
    "rounds.spent",
    "no round opens: the budget for any {hours} h is spent for now, and is enough for a round "
    "again at {back} by this gateway's clock",
)
AHEAD = Wording(
    "rounds.ahead",
    "no round opens: the budget for any {hours} h is spent for now, and is enough for a round "
    "again at {back} by this gateway's clock. The last round opened at {at}, which the clock has "
    "not reached: if it is wrong, set it right",
)
_ASKED = Wording("done.asked", "as many rounds as were asked for have been run: {done}")
_EPSILON = Wording("done.epsilon", "all of the budget is spent, in {rounds} round{s}")
_READING = Wording("done.reading", "the 1 round that the budget is for has been asked")
_READINGS = Wording("done.readings", "all {rounds} rounds that the budget is for have been asked")
AGAIN = 3  # times that a round is asked once more, while nobody has answered it
STILL_S = 180.0  # what a solver may take to start and to compile, and more
LINGER_S = 2.0  # for the broker to take the last map, where we end after it


@dataclass
class Campaign:
    """The rounds of one deployment, and what they need.

    say hears how the part "rounds" is, hindrance says why no round may open now, or nothing.
    """

    deployment: Deployment
    devices: Devices
    store: Store
    intake: Gatherer
    solver: drawing.Drawer
    outbox: Outgoing
    tell: Callable[[telling.Event], None]
    say: Callable[[str, bool, str], object] = lambda *_: None
    hindrance: Callable[[], str] = lambda: ""
    stopping: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        """Plan the first round, to know its price.

        Raises:
            OperatorFault: there is none, or its database holds another promise, or a smaller.
        """
        self._mechanism = find_mechanism(self.deployment.rounds.mechanism)
        self._query = config.make_query(self.deployment)
        self._changes = Changes()
        self.steps = Steps(
            self.store, self.intake, self.solver, self.outbox, self.tell, self.stopping
        )
        try:
            self._plan = self._mechanism.plan(self._query, [])
        except ValueError as fault:
            raise OperatorFault(f"no round can be planned: {fault}") from fault
        self._price = compute_round_rho(self._plan.guarantee)
        self._window_h = self.deployment.privacy.window_h
        # Where the ledger refused the next round: until when, by the wall's clock, which it goes
        # by, and when the last one opened.
        self._refused: tuple[float, float] | None = None
        self._unheard = 0  # times in a row, up to now, that nobody answered
        self._before = 0  # rounds whose releases are of earlier windows, and in no map any more
        self._budget = compute_budget_rho(self._plan.guarantee, self.deployment.privacy.readings)
        # Who adds up in a secure sum begins none again: see `Steps.give_up_round`.
        self._adds = is_distributed(self._plan.guarantee)
        # What is due at the release; else it is charged before the round goes out.
        self._due = Charge(self._price) if is_paid_at_release(self._plan.guarantee) else None
        # The key of the open round, under central trust alone.
        self._key = RoundKey(self.deployment) if self._due else None
        check_may_answer_central(self.devices, self._plan)
        promised = make_terms(self._plan.guarantee)
        if self.store.check_promise(promised, self._budget, self.devices.key_ids):
            log.warning(LESS, promised=find_unit(self._plan.guarantee).format_rho(self._budget))

    def stop(self) -> None:
        """Make `run_rounds` return soon. An open round stays open, for the next start."""
        self.stopping.set()
        self.solver.stop()

    def call_between_rounds(self, change: Callable[[], None]) -> None:
        """Have this called on the campaign's thread, before another round opens."""
        self._changes.request(change)

    def apply_changes(self) -> bool:
        """Make the changes that were asked for; return whether there were any."""
        return self._changes.apply_all()

    def replace_deployment(self, deployment: Deployment, devices: Devices) -> None:
        """Go on with another deployment of the same promise; between rounds alone."""
        self.deployment, self.devices = deployment, devices
        self._query = config.make_query(deployment)

    @property
    def moving(self) -> bool:
        """Whether the rounds' thread moves, and a map comes to its end; it may take its time."""
        allowed_s = STILL_S + 2 * self.deployment.rounds.solve_s
        return time.monotonic() - self.steps.shown_s < allowed_s

    def read_ledger(self) -> Ledger:
        """Return the budget of this deployment and what was charged to it."""
        return Ledger(self._budget, self.store.list_charges())

    def run_rounds(self, rounds: int | None) -> str:
        """Run this many rounds, or as many as may be; return the sentence why it ended."""
        try:
            try:
                why = self._run(rounds)
            finally:
                self.outbox.wake()  # what takes the last round back waits there
            self.steps.wait_maps_drawn()
        except Stopped:
            return STOPPED
        self.outbox.wait_empty(LINGER_S)  # what has not gone by then waits for the next start
        return why

    def _run(self, rounds: int | None) -> str:
        releases: list[Any] = []
        done, silent, resumed, kept = 0, 0, False, self.steps.call_until_stored
        opened_s = kept(self.store.find_opened_s)
        pause = Pause(opened_s)
        away_s = 0.0 if opened_s is None else time.time() - opened_s
        if away_s > max(AWAY_S, 2 * self.deployment.rounds.every_s):
            log.warning(AWAY % (away_s // 86_400))
        self._tell_ledger()
        if self._window_h:
            self._before = self._count_older()
        while planned := self._plan_next_round(releases):
            asked = self._asked(planned)
            if stored := kept(self.store.read_release, asked.name):
                releases.append(pack_release(Release(asked.plan, *stored)))
                continue
            known = kept(self.store.find_opened_s, asked.name) is not None
            if known and self._adds:
                releases.append(self.steps.give_up_round(asked, self.devices))
                continue
            if not resumed:
                self._resume(releases, asked if known else None)
                resumed = True
            if rounds is not None and done >= rounds:
                return _ASKED(done=done)
            if not self._may_open(pause, known and not silent, silent):
                continue  # with what has changed
            if self._key is not None and not known:
                asked = sign_round(
                    planned, asked.plan.number, self.devices, self._key.make_key_pair()
                )
            if self._adds and len(asked.message) > ROUND_BYTES:
                return TOO_LONG % (asked.plan.number, len(asked.message), ROUND_BYTES)
            paid, keys = self._due is None, self.devices.key_ids
            if why := kept(self.store.open_round, asked, self._budget, keys=keys, paid=paid):
                if not self._window_h:
                    return why
                back_s = kept(self.store.find_affordable_s, self._budget, asked.rho)
                opened_s = kept(self.store.find_opened_s)
                self._refused = back_s or time.time() + GLANCE_S, opened_s or 0.0
                continue
            if self._refused:
                self._refused = None
                self.say("rounds", True, "")
            self._tell_ledger()
            # Where nothing is paid before the release, to ask anew costs nothing either.
            patient = paid and rounds is None and silent < AGAIN and not self._adds
            gather_s = self.deployment.rounds.gather_s
            closed = self.steps.gather_answers(asked, self.devices, gather_s, patient=patient)
            pause.start(self.steps.out_s)
            if closed is None:  # it is paid for: the same bytes are asked again, when it is time
                silent += 1
                self._unheard += 1
                last = not self._window_h and len(releases) + 1 == self.deployment.privacy.readings
                how = _AS_LAST if last else _FOR_ANOTHER
                log.warning(UNANSWERED % how, number=asked.plan.number, times=silent)
                continue
            silent = 0
            given = self._mechanism, closed, self.devices, self._due, self._key
            releases.append(pack_release(self.steps.release_round(*given)))
            self._tell_ledger()
            self._unheard = 0 if releases[-1].reports else self._unheard + 1
            if releases[-1].reports:  # else there is nothing new to be drawn
                self._draw(releases)
            done += 1
        if not resumed:
            self._resume(releases, None)
        if self._adds:
            return _EPSILON(rounds=len(releases), s="s" * (len(releases) > 1))
        return _READING() if len(releases) == 1 else _READINGS(rounds=len(releases))

    def _explain_refusal(self, closed: str) -> str:
        """Return why the ledger opens no round, by what the clock shows now; "" where it may.

        Args:
            closed: why the hours of the day let none open, which outlasts the ledger's reason.
        """
        if self._refused is None or (closed and self._refused[0] <= time.time()):
            return ""
        back, at = (
            f"{datetime.fromtimestamp(one).astimezone():%Y-%m-%d %H:%M}" for one in self._refused
        )
        if self._refused[1] <= time.time() + STILL_S:
            return SPENT(hours=self._window_h, back=back)
        return AHEAD(hours=self._window_h, back=back, at=at)

    def _explain_silence(self) -> str:
        """Return that nobody answers; "" while somebody does."""
        return UNHEARD(times=self._unheard) if self._unheard else ""

    def _plan_next_round(self, releases: list[Any]) -> Any:
        """Return the next Round as it is planned, or None; releases of earlier windows go."""
        if not self._window_h:
            return self._share(self._mechanism.plan(self._query, releases))
        older = max(len(releases) - self.deployment.privacy.readings, 0)
        del releases[:older]
        self._before += older
        planned = self._share(self._mechanism.plan(self._query, []))
        return planned._replace(number=self._before + len(releases) + 1)

    def _share(self, planned: Any) -> Any:
        """Return a Round that differs from the first in its number alone with the first's parts.

        A release of each is kept and sent to the solver: the parts are kept and sent once.
        """
        first = self._plan
        if planned is None or planned._replace(number=first.number) != first:
            return planned
        return first._replace(number=planned.number)

    def _count_older(self) -> int:
        """Return how many rounds of this promise are in the store, less those of a last window."""
        planned = self._mechanism.plan(self._query, [])

        def known(number: int) -> bool:
            name = wire.name_of(planned._replace(number=number))
            return self.steps.call_until_stored(self.store.find_message, name) is not None

        # They have numbers from 1 on without a gap, of which none is beyond those of the store.
        numbers = range(1, self.steps.call_until_stored(self.store.find_number, b""))
        count = bisect_left(numbers, True, key=lambda number: not known(number))
        return max(count - self.deployment.privacy.readings, 0)

    def _asked(self, planned: Any) -> AskedRound:
        """Return a planned round as it is sent, or was before a start of ours.

        A new one of central trust has its key, and with that its name, when it opens.
        Under central trust a round whose key is lost is given up, for what devices reported to it
        opens for nobody any more: another is asked in its place, which they pay for as well.
        """
        kept, name = self.steps.call_until_stored, wire.name_of(planned)
        if self._key is not None and (message := kept(self.store.find_message, name)):
            asked = verify_round(message, planned.mechanism, self.devices)
            if asked is None:
                raise OperatorFault(
                    "the open round in the store is signed with another site key than the "
                    "devices file has, so its reports cannot be opened. Under [site] devices, "
                    "name the devices file with which it was asked"
                )
            if self._key.has_key_of(asked.plan) or kept(self.store.read_release, asked.name):
                return asked._replace(planned=name)
            kept(self.store.abandon_round, asked.name, Charge(asked.rho))
            self._tell_ledger()
            log.warning(ABANDONED, number=asked.plan.number)
        number = kept(self.store.find_number, name)
        asked = sign_round(planned, number, self.devices)
        if self._window_h and kept(self.store.find_message, name) is None:
            # Names have four bytes: in years of rounds one may come again.
            while kept(self.store.find_opened_s, asked.name) is not None:
                number += 1
                asked = sign_round(planned, number, self.devices)
        return asked

    def _may_open(self, pause: Pause, known: bool, silent: int = 0) -> bool:
        """Wait until a round may open; False when something has changed meanwhile.

        Args:
            known: the round was opened before a start of ours: it need not wait its turn.
            silent: how often it was asked in vain: it waits until it is answered, or is due.
        """
        waited = False
        while True:
            self.steps.show_alive()
            self.steps.keep_drawn_map()
            if self.apply_changes():
                return False
            rounds, why = self.deployment.rounds, self.hindrance()
            soon = known or (silent and (open := self.intake.find_last_round()) and open.reports)
            wait_s = GLANCE_S if why else 0.0 if soon else pause.compute_wait_s(rounds)
            if self._refused and time.time() < self._refused[0]:
                wait_s = GLANCE_S
            closed = pause.explain_closed_hours(rounds)
            said = why or self._explain_refusal(closed)
            note = said or self._explain_silence() or closed
            self.say("rounds", not said, note)
            if not wait_s:
                return True
            if not waited:
                self.outbox.wake()  # nothing takes the place yet of what takes the last round back
            waited = True
            self.stopping.wait(wait_s)

    def _resume(self, releases: list[Any], known: AskedRound | None) -> None:
        """Make good what a gateway that died may not have come to; known: the round it left."""
        own = self._key.find_key_file(known.plan) if self._key and known else None
        # Without a key of our own the folder may be another user's, and holds none of ours.
        with nullcontext() if self._key else suppress(PermissionError):
            for path in list_key_files(self.deployment):
                if path != own:  # no open round of this store owns it
                    destroy_key_file(path)
        if known is None:  # no round is open: devices must not find a released one
            self.steps.publish(make_withdrawal(self._mechanism.name, self.devices))
            self.intake.start()  # nor wait for hours: what comes now answers none, or is a flood
        self.steps.tell_last_map(releases, self.devices)
        self._draw(releases)

    def _draw(self, releases: list[Any]) -> None:
        last = releases[-self.deployment.privacy.readings :] if self._window_h else releases
        self.steps.request_map(self._query, last, self.devices, self.deployment)

    def _tell_ledger(self) -> None:
        ledger = self.steps.call_until_stored(self.read_ledger)
        self.tell(telling.make_budget_event(ledger, self._price, self._plan, self._window_h))
