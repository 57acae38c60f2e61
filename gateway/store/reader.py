"""The store read by people: beside a gateway that runs, and never in its way.

It is opened to be read only: nothing is made or changed. Times are in seconds of the epoch.
Each question is a short transaction of its own, on a connection that cannot write: who reads long
would keep SQLite's log from being emptied.
"""

import json
import sqlite3
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import Engine, case, create_engine, event, func, inspect, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from edge.core import wire
from edge.core.records import Grid, Guarantee, Round
from edge.core.window import JUMPED

from ..faults import OlderFault, OperatorFault, UnmadeFault
from ..service.ledger import (
    Ledger,
    Unit,
    compute_budget_rho,
    find_counted_s,
    find_stored_unit,
    make_terms,
)
from ..settings.deployment import Deployment
from . import opening, postgres, round_rows
from .opening import make_unusable_fault
from .places import Database, Place, find_place
from .schema import (
    SCHEMA,
    about,
    alarms,
    charges,
    heard,
    jumped,
    maps,
    newest,
    promises,
    quarantine,
    refused,
    releases,
    reports,
    rounds,
)
from .sqlite import make_read_only_address


class RoundRow(NamedTuple):
    """A round: when it was open, who answered, what it cost."""

    number: int
    name_hex: str
    mechanism: str
    opened_s: float
    closed_s: float | None
    reports: int | None  # None while it is open
    enrolled: int | None  # None where it was not kept
    rho: Fraction
    outcome: str  # open, closed, or why it ended otherwise


class ChargeRow(NamedTuple):
    """A charge; number is None for an answer to a round that is not in the store."""

    id: int
    number: int | None
    device: str  # empty: the whole fleet was asked
    rho: Fraction
    at_s: float


class PromisedUnits(NamedTuple):
    """What prices are told in: those of a promise that was ended in its own unit."""

    charges: Sequence[int]  # the last of each promise that was ended, oldest first
    rounds: Sequence[int]  # the last of each, by its number
    units: Sequence[Unit]  # of each, and then of the present one

    def find_for_charge(self, one: ChargeRow) -> Unit:
        """Return what a charge is told in: that of its round, a second answer too."""
        if one.number is None:
            return self.units[bisect_left(self.charges, one.id)]
        return self.find_for_round(one.number)

    def find_for_round(self, number: int) -> Unit:
        """Return what the price of a round is told in."""
        return self.units[bisect_left(self.rounds, number)]

    def find_first_round(self, number: int) -> int:
        """Return the number from which on rounds are under the promise of this one."""
        before = self.rounds[: bisect_left(self.rounds, number)]
        return before[-1] + 1 if before else 1


class DeviceRow(NamedTuple):
    """A device under one of its keys, as far as it was ever heard of."""

    name: str
    key_id_hex: str
    epoch: int
    seq: int
    reports: int  # that count
    last_s: float | None  # of the last that counts
    alarm: str | None
    quarantine: str | None
    clock: str | None  # what follows, where it jumped in a sleep


class RefusedRow(NamedTuple):
    """A dead letter, without its bytes."""

    id: int
    at_s: float
    topic: str
    kind: str
    why: str
    size: int


class MissingNumbers(NamedTuple):
    """Numbers that a device used in one boot, and that never came."""

    epoch: int
    first: int
    last: int


class AnswerRow(NamedTuple):
    """A report that counts, as the bytes that came."""

    device: str
    key_id: bytes
    epoch: int
    seq: int
    frame: bytes
    taken_s: float


def open_read_engine(place: Place) -> Engine:
    """Return an engine that only reads, on a store that is there.

    Raises:
        OperatorFault: it is not there, is no store, or of another heatveil's schema.
    """
    if isinstance(place, Path) and not place.exists():
        raise _make_unmade_fault(f"at {place}", "[site] database")
    engine = (
        _make_file_engine(place)
        if isinstance(place, Path)
        else postgres.make_engine(place, read_only=True)
    )
    try:
        with engine.connect() as connection:
            if isinstance(place, Database) and not inspect(connection).get_table_names():
                raise _make_unmade_fault(str(place), "[store] postgresql")
            found = connection.scalar(select(about.c.schema))
    except OperatorFault:
        engine.dispose()
        raise
    except SQLAlchemyError as fault:
        engine.dispose()
        raise make_unusable_fault(place, fault) from fault
    if found != SCHEMA:
        engine.dispose()
        older = found is None or found < SCHEMA
        way = "heatveil serve brings it up to date at its start" if older else "Use its version"
        raise (OlderFault if older else OperatorFault)(
            f"the database {place} has schema {found}, and this version of heatveil reads schema "
            f"{SCHEMA}: it would misread what was spent. {way}"
        )
    return engine


def _make_unmade_fault(place: str, key: str) -> UnmadeFault:
    return UnmadeFault(
        f"there is no store {place} yet, so there is nothing to be read; heatveil serve makes it. "
        f"Start that first, or mend {key} in the deployment file"
    )


def _make_file_engine(path: Path) -> Engine:
    def connected() -> Any:
        return sqlite3.connect(
            make_read_only_address(path), uri=True, timeout=5, check_same_thread=False
        )

    engine = create_engine(
        "sqlite://", creator=connected, poolclass=NullPool, hide_parameters=True
    )

    @event.listens_for(engine, "connect")
    def _set_up_connection(connection: Any, _record: Any) -> None:
        connection.isolation_level = None
        connection.execute("PRAGMA query_only=ON")

    @event.listens_for(engine, "begin")
    def _begin_transaction(connection: Any) -> None:
        connection.exec_driver_sql("BEGIN")

    return engine


LIMIT = 100
SLEPT = f"{JUMPED}, after as much uptime of its own; until then it may refuse rounds"


class Reader:
    """A store that is only read."""

    def __init__(self, place: Place) -> None:
        """Open a store that is there.

        Raises:
            OperatorFault: it is not there, is no store, or of another heatveil's schema.
        """
        self._engine, self._place = open_read_engine(place), place

    def close(self) -> None:
        """Let go of it."""
        self._engine.dispose()

    def find_unusable_fault(self) -> OperatorFault | None:
        """Return why no gateway goes on with this store: what it lacks, or that it was emptied."""
        with self._engine.connect() as connection:
            found = round_rows.make_missing_rounds_fault(connection, self._place)
            return found or round_rows.make_deletion_fault(connection, self._place)

    def is_deleted(self) -> bool:
        """Return whether what was gathered here has been deleted."""
        with self._engine.connect() as connection:
            return round_rows.make_deletion_fault(connection, self._place) is not None

    def check_not_deleted(self, what: str) -> None:
        """Check that what is asked for has not been deleted.

        Raises:
            OperatorFault: it has, with all that this site gathered.
        """
        if self.is_deleted():
            raise OperatorFault(
                f"what this site gathered was deleted, and {what} with it; what was charged "
                "stays. See heatveil ledger"
            )

    def count_gathered(self) -> dict[str, int]:
        """Return how many rows a deletion would take, by table."""
        with self._engine.connect() as connection:
            return round_rows.count_gathered(connection)

    def list_rounds(self, limit: int = LIMIT, before: int | None = None) -> list[RoundRow]:
        """Return rounds, newest first, with numbers below `before`."""
        wanted = _ROUNDS if before is None else _ROUNDS.where(rounds.c.number < before)
        return [_make_round_row(row) for row in self._read_rows(wanted.limit(limit))]

    def find_round(self, number: int) -> RoundRow | None:
        """Return one round, or None."""
        found = self._read_rows(_ROUNDS.where(rounds.c.number == number))
        return _make_round_row(found[0]) if found else None

    def read_message(self, number: int) -> bytes | None:
        """Return the signed bytes that asked a round, or None."""
        found = self._read_rows(select(rounds.c.message).where(rounds.c.number == number))
        return found[0][0] if found else None

    def read_plan(self, number: int) -> Round | None:
        """Return a round as it was asked, None where that was deleted."""
        message = self.read_message(number)
        if not message:
            return None
        # It was signed, with a key that may be gone by now.
        body = wire.decode(message[: -wire.MAC_BYTES])
        (columns, rows, cell_mm), promised = body[3], body[5]
        pairs = zip(promised[:6:2], promised[1:6:2], strict=True)
        guarantee = Guarantee(*(None if n is None else (n, d) for n, d in pairs), *promised[6:])
        return Round(body[1], body[2], Grid((columns, rows), cell_mm), tuple(body[4]), guarantee)

    def list_answers(self, number: int) -> list[AnswerRow]:
        """Return the reports that count in a round, by device."""
        columns = (reports.c[name] for name in AnswerRow._fields)
        wanted = select(*columns).join(rounds, rounds.c.name == reports.c.round)
        wanted = wanted.where(rounds.c.number == number).order_by(reports.c.device)
        return [AnswerRow(*row) for row in self._read_rows(wanted)]

    def read_release(self, number: int) -> list[int | None] | None:
        """Return the folded answers of a closed round, or None."""
        wanted = select(releases.c["values"]).join(rounds, rounds.c.name == releases.c.round)
        found = self._read_rows(wanted.where(rounds.c.number == number))
        return json.loads(found[0][0]) if found else None

    def read_map(self, number: int | None = None) -> dict[str, Any] | None:
        """Return the map of a round as it was published, of the newest that has one, or None."""
        wanted = _MAPS if number is None else _MAPS.where(rounds.c.number == number)
        found = self._read_rows(wanted.limit(1))
        return json.loads(found[0][0]) if found else None

    def read_map_at(self, at_s: float | None = None) -> tuple[dict[str, Any], float] | None:
        """Return the newest map of a round that had closed by then, or by now, and when it did."""
        wanted = _MAPS.add_columns(rounds.c.closed_s)
        if at_s is not None:
            wanted = wanted.where(rounds.c.closed_s <= at_s)
        found = self._read_rows(wanted.limit(1))
        return (json.loads(found[0][0]), found[0][1]) if found else None

    def list_maps(self, limit: int = LIMIT, before: int | None = None) -> list[str]:
        """Return maps as published, newest first, of rounds with numbers below `before`."""
        wanted = _MAPS if before is None else _MAPS.where(rounds.c.number < before)
        return [row[0] for row in self._read_rows(wanted.limit(limit))]

    def list_charges(self, limit: int = LIMIT, before: int | None = None) -> list[ChargeRow]:
        """Return charges, newest first, with ids below `before`."""
        row = charges.c
        wanted = select(row.id, rounds.c.number, row.device, row.rho, row.at_s)
        wanted = wanted.outerjoin(rounds, rounds.c.name == row.round).order_by(row.id.desc())
        if before is not None:
            wanted = wanted.where(row.id < before)
        return [
            ChargeRow(one.id, one.number, one.device, Fraction(one.rho), one.at_s)
            for one in self._read_rows(wanted.limit(limit))
        ]

    def read_ledger(self, budget: Fraction) -> Ledger:
        """Return everything that was charged and still counts, against this budget."""
        with self._engine.connect() as connection:
            since_s = find_counted_s(round_rows.read_terms(connection))
            return Ledger(budget, round_rows.list_charges(connection, since_s))

    def list_ended_promises(self) -> list[tuple[str, float, Ledger]]:
        """Return the promises that were ended, when, and what each was charged, oldest first."""
        with self._engine.connect() as connection:
            return round_rows.list_ended_promises(connection)

    def read_units(self) -> PromisedUnits:
        """Return what each charge and each round is told in."""
        last = select(func.max(rounds.c.number)).where(rounds.c.name == charges.c.round)
        with self._engine.connect() as connection:
            ended = connection.execute(select(promises).order_by(promises.c.id)).all()
            numbers = [connection.scalar(last.where(charges.c.id <= one.charge)) for one in ended]
            terms = [*(one.promise for one in ended), round_rows.read_terms(connection)]
        return PromisedUnits(
            [one.charge for one in ended],
            [number or 0 for number in numbers],
            [find_stored_unit(one) for one in terms],
        )

    def read_promise(self) -> tuple[str | None, Fraction | None]:
        """Return what all charges are the price of, and the least budget that was promised."""
        with self._engine.connect() as connection:
            return round_rows.read_terms(connection), round_rows.read_budget(connection)

    def check_promise(self, guarantee: Any, readings: int, keys: Mapping[str, bytes]) -> None:
        """Hold what a deployment promises against what was promised here, as `serve` does.

        Args:
            readings: under [privacy].
            keys: the key of each device, by name.

        Raises:
            OperatorFault: it is another promise or a larger one, or these devices were asked
                under one that was ended.
        """
        terms, budget = make_terms(guarantee), compute_budget_rho(guarantee, readings)
        with self._engine.connect() as connection:
            round_rows.check_promise(connection, terms, budget, keys)

    def list_devices(self, enrolled: Mapping[str, bytes] | None = None) -> list[DeviceRow]:
        """Return devices by name, as far as they were ever heard of.

        Args:
            enrolled: the key of each device, by name: those alone, under that key, heard of or
                not; None for all that ever were, under each of their keys.
        """
        who = (alarms.c.device == newest.c.device) & (alarms.c.key_id == newest.c.key_id)
        slept = case((jumped.c.device.is_not(None), SLEPT))
        wanted = select(newest, alarms.c.why, quarantine.c.why.label("shut"), slept)
        wanted = wanted.outerjoin(alarms, who)
        for table in (quarantine, jumped):
            wanted = wanted.outerjoin(table, table.c.device == newest.c.device)
        found = [
            DeviceRow(name, key_id.hex(), *rest)
            for name, key_id, *rest in self._read_rows(
                wanted.order_by(newest.c.device, newest.c.key_id)
            )
        ]
        if enrolled is None:
            return found
        heard = {row[:2]: row for row in found}
        keys = alarms.c.device, alarms.c.key_id, alarms.c.why
        alarmed = {(name, key): why for name, key, why in self._read_rows(select(*keys))}
        shut = dict(self._read_rows(select(quarantine.c.device, quarantine.c.why)))
        asleep = {row.device: SLEPT for row in self._read_rows(select(jumped))}
        return [
            heard.get((name, key.hex()))
            or DeviceRow(
                name,
                key.hex(),
                0,
                0,
                0,
                None,
                alarmed.get((name, key)),
                shut.get(name),
                asleep.get(name),
            )
            for name, key in sorted(enrolled.items())
        ]

    def list_refused(self, limit: int = LIMIT, before: int | None = None) -> list[RefusedRow]:
        """Return dead letters, newest first, with ids below `before`."""
        wanted = select(*(refused.c[name] for name in RefusedRow._fields))
        if before is not None:
            wanted = wanted.where(refused.c.id < before)
        rows = self._read_rows(wanted.order_by(refused.c.id.desc()).limit(limit))
        return [RefusedRow(*row) for row in rows]

    def count_refused_by_kind(self) -> dict[str, int]:
        """Return how many dead letters of each kind are kept."""
        wanted = select(refused.c.kind, func.count()).group_by(refused.c.kind)
        return {row[0]: row[1] for row in self._read_rows(wanted.order_by(refused.c.kind))}

    def count_refused_by_topic(self) -> dict[tuple[str, str], int]:
        """Return how many dead letters of each topic and kind are kept."""
        what = refused.c.topic, refused.c.kind
        return {
            (a, b): n for a, b, n in self._read_rows(select(*what, func.count()).group_by(*what))
        }

    def list_gaps(self, name: str, limit: int = LIMIT) -> list[MissingNumbers]:
        """Return the numbers of a device that never came, newest first, between those that did."""
        came = [select(t.c.key_id, t.c.epoch, t.c.seq).where(t.c.device == name) for t in _CAME]
        # Reports lie by round: one is looked up in each, where all of them would be gone through.
        counted = came[0].where(reports.c.round.in_(select(rounds.c.name)))
        one = counted.union(came[1]).subquery().c
        last = func.lag(one.seq).over(partition_by=(one.key_id, one.epoch), order_by=one.seq)
        two = select(one.epoch, one.seq, last.label("last")).subquery().c
        wanted = select(two.epoch, two["last"] + 1, two.seq - 1).where(two.seq > two["last"] + 1)
        newest_first = wanted.order_by(two.epoch.desc(), two.seq.desc()).limit(limit)
        return [MissingNumbers(*row) for row in self._read_rows(newest_first)]

    def _read_rows(self, wanted: Any) -> list[Any]:
        with self._engine.connect() as connection:
            return list(connection.execute(wanted))


_CAME = (reports, heard)
_COUNT = releases.c.reports.label("answers")
_MAPS = select(maps.c.body).join(rounds, rounds.c.name == maps.c.round)
_MAPS = _MAPS.order_by(rounds.c.number.desc())
_ROUNDS = (
    select(rounds, _COUNT)
    .outerjoin(releases, releases.c.round == rounds.c.name)
    .order_by(rounds.c.number.desc())
)


def _make_round_row(row: Any) -> RoundRow:
    rho, outcome = Fraction(row.rho or 0), row.outcome or "open"
    name, times = row.name.hex(), (row.opened_s, row.closed_s)
    return RoundRow(
        row.number, name, row.mechanism, *times, row.answers, row.enrolled, rho, outcome
    )


@contextmanager
def open_reader(deployment: Deployment) -> Iterator[Reader]:
    """Open the store of a deployment for reading, for as long as the block lasts.

    Raises:
        OperatorFault: there is none, it cannot be read, or it is of another heatveil or site.
    """
    place = find_place(deployment)
    engine = open_read_engine(place)
    try:
        with engine.connect() as connection:
            opening.check_is_ours(connection, place, deployment.site.name)
    finally:
        engine.dispose()
    reader = Reader(place)
    try:
        yield reader
    finally:
        reader.close()
