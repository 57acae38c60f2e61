"""What the gateway remembers: a SQLite file, or PostgreSQL, that survives kill -9 and power cuts.

A method is a transaction. What a method has returned from is on the disk. A letter is written in
the transaction that makes it true, and goes when the broker has it: so whatever a kill comes
between, what is published is what is in the store.

What is older than the operator keeps is forgotten a little at a time: a report goes once its round
has been closed for so long, a map when it was drawn so long ago and is not the newest. Never
forgotten: what was charged, the rounds and, but of a promise for a window, their releases, from
which every later map is drawn, the numbers that devices have used, the keys of ended promises,
and alarms.
"""

import json
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import inf
from pathlib import Path
from types import MappingProxyType
from typing import Any

from sqlalchemy import Engine, Table, and_, bindparam, delete, exists, func, insert, select, tuple_

from ..faults import OperatorFault, OvertakenFault, ReplacedFault
from ..service.intake.outcomes import (
    Alarm,
    AskedRound,
    CountedReport,
    DeadLetter,
    HeardMessage,
    Key,
    KnownFacts,
    Letter,
    SecondAnswer,
    Who,
)
from ..service.ledger import Charge, Ledger, find_counted_s, find_unit, make_terms
from ..settings.deployment import Deployment
from . import message_rows, round_rows, sqlite
from .message_rows import insert_many
from .opening import open_store
from .places import Place, find_place
from .schema import (
    alarms,
    filters,
    heard,
    jumped,
    maps,
    newest,
    outbox,
    quarantine,
    refused,
    releases,
    reports,
    rounds,
)
from .schema import vacant as empty_room

# In one statement: between two, another leader's may come.
NEWER = "ON CONFLICT (round) DO UPDATE SET body = excluded.body, at_s = excluded.at_s"
LATER = "ON CONFLICT (id) DO UPDATE SET at_s = excluded.at_s, state = excluded.state"
_MAP, _EMPTY = ("round", "body", "at_s"), ("id", "at_s", "state")
# With IN, SQLAlchemy leaves ten objects that refer to each other each time, several in a round,
# until Python looks for garbage: seldom, in a gateway.
_STRIKE_OUT = delete(outbox).where(outbox.c.id == bindparam("letter"))

Vacant = tuple[float, bytes]  # when the round was asked, and the state

SOME = 1000  # rows in one transaction: whoever writes beside it waits no longer than that takes
DAY_S = 86_400

Step = Callable[[Any], int]


def _list_forgetting_steps(
    now_s: float,
    keep_days: float | None,
    refused_days: float,
    report_days: float | None,
    windowed: bool,
) -> Iterator[Step]:
    """Yield what to do in one transaction each, again as long as it returns SOME."""
    yield _make_deleting_step(refused, refused.c.at_s < now_s - refused_days * DAY_S)
    if report_days is not None:
        before_s = now_s - report_days * DAY_S
        answers = exists().where(reports.c.round == rounds.c.name)
        old = select(rounds.c.name).where(rounds.c.closed_s < before_s, answers).limit(1)
        yield _make_deleting_step(reports, reports.c.round.in_(old.scalar_subquery()))
        yield _make_deleting_step(heard, heard.c.at_s < before_s)
    if keep_days is not None:
        before_s = now_s - keep_days * DAY_S
        latest = select(func.max(maps.c.at_s)).scalar_subquery()
        yield _make_deleting_step(maps, and_(maps.c.at_s < before_s, maps.c.at_s < latest))
        if windowed:  # no later map is drawn from them
            yield _make_deleting_step(releases, releases.c.at_s < before_s)


def _make_deleting_step(table: Table, where: Any) -> Step:
    key = tuple_(*table.primary_key.columns)
    which = select(*table.primary_key.columns).where(where).limit(SOME)
    statement = delete(table).where(key.in_(which))

    def step(connection: Any) -> int:
        return int(connection.execute(statement).rowcount)

    return step


PAUSE_S = 0.005  # between two transactions that forget: others are waiting for the file


class Store:
    """An open store. Not to be shared between processes that write, but for workers' parts."""

    _charges = 0  # that were there when a round was last charged: they never become fewer

    def __init__(self, place: Place, site: str, report_days: float = inf) -> None:
        """Open the store of a site, or make it.

        Every method that writes may raise a `ReplacedFault`: see `identity`.

        Args:
            report_days: how long what devices said is kept.

        Raises:
            OperatorFault: see `opening.open_store`.
        """
        self.place, self._report_days = place, report_days
        self._engine, self._reads, self.identity = open_store(place, site)

    @classmethod
    def open_for(cls, deployment: Deployment) -> "Store":
        """Return the store that a deployment names.

        Raises:
            OperatorFault: see `opening.open_store`.
        """
        report_days, _ = deployment.kept_days
        return cls(find_place(deployment), deployment.site.name, report_days or inf)

    @property
    def engine(self) -> Engine:
        """What writes; for rows that are no batch, as those of workers are."""
        return self._engine

    def close(self) -> None:
        """Let go of the file."""
        self._engine.dispose()

    def find_number(self, planned: bytes) -> int:
        """Return the number that a planned round was sent under, or the next that is free.

        They only go up, whatever plans there have been: a device refuses a number it has passed.
        """
        with self._reads.connect() as connection:
            return round_rows.find_number(connection, planned)

    def find_message(self, planned: bytes) -> bytes | None:
        """Return the bytes in which a planned round was asked; None where it never was."""
        with self._reads.connect() as connection:
            wanted = select(rounds.c.message).where(rounds.c.planned == planned)
            return connection.scalar(wanted)

    def find_opened_s(self, name: bytes | None = None) -> float | None:
        """Return when a round was first asked, or the last of all; None when it never was."""
        wanted = select(func.max(rounds.c.opened_s))
        with self._reads.connect() as connection:
            return connection.scalar(wanted if name is None else wanted.filter_by(name=name))

    def find_closed_s(self, name: bytes) -> float | None:
        """Return when a round ended, None while it has not."""
        with self._reads.connect() as connection:
            return connection.scalar(select(rounds.c.closed_s).where(rounds.c.name == name))

    def find_answered_s(self, name: bytes) -> float | None:
        """Return when the first report that counts in a round came; None before there is one."""
        with self._reads.connect() as connection:
            wanted = select(func.min(reports.c.taken_s)).where(reports.c.round == name)
            return connection.scalar(wanted)

    def read_known(self, keys: Sequence[Key], answers: Sequence[tuple[bytes, str]]) -> KnownFacts:
        """Return what is in the store of a batch: its keys, and the (round, device) it answers."""
        forgotten_s = time.time() - self._report_days * DAY_S
        with self._reads.connect() as connection:
            prices = round_rows.read_prices(connection, {name for name, _ in answers})
            seen = message_rows.find_seen(connection, keys)
            answered = message_rows.find_answered(connection, answers, forgotten_s)
            return KnownFacts(seen, prices, answered)

    def list_answers(self, name: bytes) -> list[tuple[str, bytes]]:
        """Return (device, frame) of every report that counts in a round."""
        wanted = select(reports.c.device, reports.c.frame).where(reports.c.round == name)
        with self._reads.connect() as connection:
            return [(row[0], row[1]) for row in connection.execute(wanted.order_by("device"))]

    def read_newest_numbers(self) -> dict[Who, tuple[int, int]]:
        """Return the greatest (epoch, seq) that each device has used, under each of its keys."""
        with self._reads.connect() as connection:
            rows = connection.execute(select(newest))
            return {(row.device, row.key_id): (row.epoch, row.seq) for row in rows}

    def list_alarms(self) -> dict[Who, tuple[str, int]]:
        """Return why devices need a new key, and how often that was found."""
        with self._reads.connect() as connection:
            rows = connection.execute(select(alarms))
            return {(row.device, row.key_id): (row.why, row.times) for row in rows}

    def read_release(self, name: bytes) -> tuple[list[int | None], int] | None:
        """Return (values, reports) of a closed round, or None when it is not closed."""
        wanted = select(releases.c["values"], releases.c.reports).where(releases.c.round == name)
        with self._reads.connect() as connection:
            row = connection.execute(wanted).first()
            return None if row is None else (json.loads(row[0]), row[1])

    def read_map(self, name: bytes) -> str | None:
        """Return the map of a round as it was published, or None."""
        with self._reads.connect() as connection:
            return connection.scalar(select(maps.c.body).where(maps.c.round == name))

    def load_empty_room(self) -> bytes | None:
        """Return the empty room as the last map left it, None before there is one."""
        with self._reads.connect() as connection:
            return connection.scalar(select(empty_room.c.state))

    def list_charges(self) -> tuple[Charge, ...]:
        """Return everything that was charged, and still counts in a window."""
        with self._reads.connect() as connection:
            since_s = find_counted_s(round_rows.read_terms(connection))
            return round_rows.list_charges(connection, since_s)

    def find_affordable_s(self, budget: Fraction, rho: Fraction) -> float | None:
        """Return when a round at this price fits into the budget again, by the wall's clock.

        None where it does now, or never will.
        """
        with self._reads.connect() as connection:
            counted_s = find_counted_s(round_rows.read_terms(connection))
            return round_rows.find_affordable_s(connection, counted_s, budget, rho)

    def list_refused(self, limit: int = 100) -> list[DeadLetter]:
        """Return the newest dead letters, newest first."""
        wanted = select(refused.c.topic, refused.c.why, refused.c.frame, refused.c.kind)
        with self._reads.connect() as connection:
            rows = connection.execute(wanted.order_by(refused.c.id.desc()).limit(limit))
            return [DeadLetter(*row) for row in rows]

    def check_promise(self, promised: str, budget: Fraction, keys: Mapping[str, bytes]) -> bool:
        """Hold a promise against what was promised here; return whether less is promised now.

        A smaller promise is kept, and no more is promised again. Before the first charge nothing
        is kept: nobody has been promised anything by then.

        Args:
            promised: as `terms.terms` writes it.
            keys: the key of each device, by name.

        Raises:
            OperatorFault: it is another promise or a larger one, or these devices were asked
                under one that was ended; or rounds are missing here.
        """
        with self._engine.begin() as connection:
            round_rows.lock_charges(connection)
            self._check_whole(connection)
            round_rows.check_promise(connection, promised, budget, keys)
            least = round_rows.read_budget(connection)
            smaller = least is not None and budget < least
            if smaller:
                round_rows.write_terms(connection, promised, budget)
        return smaller

    def check_not_ended(self, keys: Mapping[str, bytes]) -> None:
        """Check that no promise was ended with these keys; see `round_rows.check_not_ended`.

        Raises:
            OperatorFault: one was.
        """
        with self._reads.connect() as connection:
            round_rows.check_not_ended(connection, keys)

    def end_promise(
        self, keys: Mapping[str, bytes] = MappingProxyType({})
    ) -> tuple[int, Fraction] | None:
        """End the promise for another; see `round_rows.end_promise`.

        Raises:
            OperatorFault: a round is open, or rounds are missing here.
        """
        with self._engine.begin() as connection:
            round_rows.lock_charges(connection)
            self._check_whole(connection)
            self._check_paid(connection)
            return round_rows.end_promise(connection, keys, time.time())

    def delete_gathered(self) -> None:
        """Delete what was gathered and drawn, for good; what was charged stays, and ends it all.

        Raises:
            OperatorFault: rounds are missing here, or one is open that is charged when it closes.
        """
        with self._engine.begin() as connection:
            round_rows.lock_charges(connection)
            if fault := round_rows.make_missing_rounds_fault(connection, self.place):
                raise fault
            self._check_paid(connection)
            round_rows.delete_gathered(connection, time.time())

    def _check_paid(self, connection: Any) -> None:
        if round_rows.sum_unpaid_rho(connection):
            raise OperatorFault(
                "a round of the promise that is to end is still open, and is charged only when "
                "it closes. Let heatveil serve close it first, with the former deployment file"
            )

    def open_round(
        self,
        asked: AskedRound,
        budget: Fraction,
        *,
        keys: Mapping[str, bytes] = MappingProxyType({}),
        paid: bool = True,
    ) -> str:
        """Charge a round and keep its bytes; return why it must not be opened, or nothing.

        A round that is in the store already was charged then and is not charged again: the
        devices answer it with the same bytes.

        Args:
            keys: of each device that is asked, by name.
            paid: False where the gateway draws the noise: nothing is told before the round
                closes, and it is charged then. What it will cost is held back until then.

        Raises:
            OperatorFault: see `check_promise`.
            OvertakenFault: another gateway has opened this one meanwhile, under a key of its own.
        """
        now_s, promised = time.time(), make_terms(asked.plan.guarantee)
        with self._engine.begin() as connection:
            round_rows.lock_charges(connection)
            self._check_whole(connection)
            round_rows.check_promise(connection, promised, budget, keys)
            if round_rows.is_opened(connection, asked.name):
                return ""
            if round_rows.is_opened_as_another(connection, asked):
                raise OvertakenFault
            held, charged = (
                Charge(round_rows.sum_unpaid_rho(connection)),
                round_rows.list_charges(connection, find_counted_s(promised)),
            )
            known = round_rows.count_charges(connection)
            if known < self._charges:
                raise ReplacedFault(
                    f"the ledger in {self.place} has {known} charges, but had "
                    f"{self._charges} before: an older copy has replaced it"
                )
            self._charges = known
            ledger = Ledger(budget, charged).add_charges([held])
            unit = find_unit(asked.plan.guarantee)
            if why := ledger.explain_refusal(asked.plan.number, asked.rho, unit):
                return why
            round_rows.insert_round(connection, asked, len(keys) or None, now_s)
            if paid:
                round_rows.insert_charge(connection, asked.name, Charge(asked.rho), now_s)
            round_rows.write_terms(connection, promised, budget)
        return ""

    def record_found_round(self, asked: AskedRound, found: str) -> None:
        """Hold the ledger against a round that was asked with the site's key.

        Args:
            found: where it was found, as the beginning of a sentence.

        Raises:
            ForgottenFault: the ledger does not know it; from then on whatever writes here, too.
        """
        with self._engine.begin() as connection:
            round_rows.lock_charges(connection)
            if round_rows.has_round(connection, asked.name):
                return
            round_rows.insert_found_round(connection, asked, time.time())
            fault = round_rows.make_missing_rounds_fault(connection, self.place, found)
        if fault is not None:
            self.identity.declare_lost(fault)

    def _check_whole(self, connection: Any) -> None:
        for look in (round_rows.make_missing_rounds_fault, round_rows.make_deletion_fault):
            if fault := look(connection, self.place):
                raise fault

    def find_missing_rounds(self) -> round_rows.MissingRounds | None:
        """Return what the ledger lacks, as far as it was found out, or None."""
        with self._reads.connect() as connection:
            return round_rows.find_missing_rounds(connection)

    def charge_lost_rounds(
        self,
        lost: Sequence[AskedRound],
        promised: str,
        budget: Fraction,
        keys: Mapping[str, bytes] = MappingProxyType({}),
    ) -> None:
        """Have rounds charged that the ledger lacks, which may be more than the budget holds.

        Args:
            lost: of one whose rho is nought only the number is used up.
            promised, budget, keys: of the deployment, as for `check_promise`.
        """
        now_s = time.time()
        with self._engine.begin() as connection:
            round_rows.lock_charges(connection)
            round_rows.check_promise(connection, promised, budget, keys)
            for one in lost:
                round_rows.insert_found_round(connection, one, now_s, round_rows.LOST)
                if one.rho:
                    round_rows.insert_charge(connection, one.name, Charge(one.rho), now_s)
                    round_rows.write_terms(connection, promised, budget)

    def keep_batch(
        self,
        kept: Sequence[CountedReport],
        letters: Sequence[DeadLetter] = (),
        extra: Sequence[SecondAnswer] = (),
        more: Sequence[HeardMessage] = (),
        alarms: Sequence[Alarm] = (),
    ) -> None:
        """Keep a batch: what counts, dead letters, charges for second answers, the rest.

        Args:
            more: genuine messages that do not count.
        """
        now_s = time.time()
        with self._engine.begin() as connection:
            self._prepare_batch(connection, kept)
            message_rows.insert_reports(connection, kept, more, now_s)
            message_rows.insert_dead_letters(connection, letters, now_s)
            round_rows.charge_second_answers(connection, extra, now_s)
            message_rows.raise_alarms(connection, alarms, now_s)

    def _prepare_batch(self, connection: Any, kept: Sequence[CountedReport]) -> None:
        """Do what must be done in the transaction that keeps a batch: a part's store does."""

    def close_round(
        self,
        name: bytes,
        values: Sequence[int | None],
        count: int,
        *,
        charge: Charge | None = None,
        letters: Sequence[Letter] = (),
        outcome: str = "closed",
        summed: int | None = None,
        closed_s: float | None = None,
    ) -> bool:
        """Keep the release of a round, what it cost, and what is to be published of it.

        All of it or nothing; where a round was closed before, nothing, and False is returned:
        what stands is what was published.

        Args:
            charge: for a round that was opened with paid=False.
            summed: of how many devices the reports were added up, by workers; the round was
                closed for it.
            closed_s: what it is dated to; now, where no noise was drawn for it here.

        Raises:
            OvertakenFault: another gateway has opened the round again since it was summed, so it
                is that one's to release; or has given it up, and may have asked another for it.
        """
        now_s = time.time() if closed_s is None else closed_s
        with self._engine.begin() as connection:
            round_rows.lock_charges(connection)
            if round_rows.is_abandoned(connection, name) or (
                summed is not None
                and (
                    round_rows.is_open(connection, name)
                    or round_rows.count_answered(connection, name) != summed
                )
            ):
                raise OvertakenFault
            if not round_rows.close_round(connection, name, values, count, outcome, now_s):
                return False
            if charge is not None:
                round_rows.insert_charge(connection, name, charge, now_s)
            _insert_letters(connection, letters, now_s)
        return True

    def abandon_round(self, name: bytes, charge: Charge) -> None:
        """Give up an open round, of which nothing will be released from here, and charge it.

        For it may have been: a store that was put back does not know what it lacks.
        """
        now_s = time.time()
        with self._engine.begin() as connection:
            round_rows.lock_charges(connection)
            if round_rows.abandon_round(connection, name, now_s):
                round_rows.insert_charge(connection, name, charge, now_s)

    def keep_map(
        self,
        name: bytes,
        body: str,
        letters: Sequence[Letter] = (),
        empty_state: Vacant | None = None,
    ) -> None:
        """Keep a round's map, what is to be published of it, and the empty room that it left."""
        now_s = time.time()
        with self._engine.begin() as connection:
            insert_many(connection, maps, _MAP, [(name, body, now_s)], NEWER)
            if empty_state is not None:
                insert_many(connection, empty_room, _EMPTY, [(1, *empty_state)], LATER)
            _insert_letters(connection, letters, now_s)

    def list_letters(self, limit: int = 100) -> list[Letter]:
        """Return the letters that the broker has not acknowledged, oldest first."""
        wanted = select(outbox.c.id, outbox.c.topic, outbox.c.payload, outbox.c.retain)
        with self._reads.connect() as connection:
            rows = connection.execute(wanted.order_by(outbox.c.id).limit(limit))
            return [Letter(*row) for row in rows]

    def add_letters(self, letters: Sequence[Letter]) -> None:
        """Put letters in the outbox: what is published without anything new being kept."""
        with self._engine.begin() as connection:
            _insert_letters(connection, letters, time.time())

    def mark_posted(self, ids: Iterable[int]) -> None:
        """Strike out letters that the broker has acknowledged."""
        if gone := [{"letter": one} for one in ids]:
            with self._engine.begin() as connection:
                connection.execute(_STRIKE_OUT, gone)

    def list_filters(self, client: str) -> set[str]:
        """Return what a session that lasts at the broker is subscribed to, as far as we know."""
        with self._reads.connect() as connection:
            wanted = select(filters.c.topic).where(filters.c.client == client)
            return set(connection.scalars(wanted))

    def keep_filters(self, client: str, topics: Iterable[str]) -> None:
        """Keep what a session is subscribed to, in the place of what stood there."""
        rows = [(client, topic) for topic in sorted(set(topics))]
        columns = ("client", "topic")
        with self._engine.begin() as connection:
            connection.execute(delete(filters).where(filters.c.client == client))
            insert_many(connection, filters, columns, rows, "ON CONFLICT DO NOTHING")

    def quarantine(self, name: str, why: str) -> None:
        """Keep that a device is shut out; one that is already stays so for its first reason."""
        columns, row = ("device", "why", "since_s"), (name, why, time.time())
        with self._engine.begin() as connection:
            insert_many(connection, quarantine, columns, [row], "ON CONFLICT DO NOTHING")

    def let_back(self, name: str) -> None:
        """Keep that a device is no longer shut out."""
        with self._engine.begin() as connection:
            connection.execute(delete(quarantine).where(quarantine.c.device == name))

    def list_quarantined(self) -> dict[str, tuple[str, float]]:
        """Return the devices that are shut out: why, and since when, in seconds of the epoch."""
        with self._reads.connect() as connection:
            return message_rows.list_shut_out(connection)

    def keep_jumped_clocks(self, names: Collection[str]) -> None:
        """Keep whose clocks jumped in a sleep, in place of what was kept before."""
        with self._engine.begin() as connection:
            connection.execute(delete(jumped))
            insert_many(connection, jumped, ("device",), [(name,) for name in sorted(names)])

    def list_jumped_clocks(self) -> set[str]:
        """Return the devices whose clocks jumped in a sleep."""
        with self._reads.connect() as connection:
            return set(connection.scalars(select(jumped.c.device)))

    def forget_older(
        self,
        now_s: float,
        keep_days: float | None,
        refused_days: float,
        report_days: float | None = None,
        *,
        windowed: bool = False,
    ) -> int:
        """Forget what is older than that, in small transactions; return how many rows went.

        Args:
            keep_days: maps, and reports where nothing shorter is said of them.
            windowed: releases as well: of a promise for a window, whose maps are of the last one.
        """
        gone = 0
        for step in _list_forgetting_steps(
            now_s, keep_days, refused_days, report_days or keep_days, windowed
        ):
            some = 1
            while some:
                with self._engine.begin() as connection:
                    some = step(connection)
                gone += some
                time.sleep(PAUSE_S)
        return gone

    def measure_free_bytes(self) -> int | None:
        """Return how much room there is beside the file; None at PostgreSQL."""
        return sqlite.measure_free_bytes(self.place) if isinstance(self.place, Path) else None

    def truncate_wal(self) -> bool:
        """Write what is in SQLite's log into the file, and empty the log.

        Returns False, after a second at the most, while a reader needs the log.
        """
        return not isinstance(self.place, Path) or sqlite.truncate_wal(self._engine)

    def write_back(self) -> bool:
        """Mark the file anew as this gateway's, and empty its log; as `truncate_wal`."""
        self.identity.write_mark()
        done = self.truncate_wal()
        self.identity.check()  # from now on the mark of before is none
        return done

    def backup(self, path: Path) -> None:
        """Write a copy of the file as it stands now, while others write on.

        Raises:
            OperatorFault: there is something already, or it cannot be written; or this is
                PostgreSQL, which has a tool of its own.
        """
        sqlite.backup_store(self.place, path)


def _insert_letters(connection: Any, more: Sequence[Letter], now_s: float) -> None:
    """Put letters in the outbox; a retained one takes the place of those before it."""
    for letter in more:
        row = {"topic": letter.topic, "retain": letter.retain}
        if letter.retain:
            connection.execute(delete(outbox).filter_by(**row))
        row |= {"payload": letter.payload, "at_s": now_s}
        connection.execute(insert(outbox).values(row))
