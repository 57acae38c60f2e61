"""The rows of what devices said: statements, on a connection that the store gives.

Many rows go in one statement, and many keys in one question: SQLite takes one prepared statement
many times; PostgreSQL takes columns as arrays. Both are measured in `tests/bench`: SQLAlchemy's
own way costs three times as much a row.

What counts is in `reports`, frame and all. What is genuine and does not count is in `heard`, by
its digest: the same bytes that come again are absorbed, and other bytes under the same numbers
are seen for what they are. Dead letters have a table of their own.

Each worker adds up a batch before it writes it (a slot is a sensor, or a cell that a mechanism
counts), in the transaction that keeps the reports: either both are there or neither is. What a
round has come to is then one SUM over the parts, however many reports there were.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import chain
from operator import attrgetter
from typing import Any, NamedTuple

from sqlalchemy import (
    BigInteger,
    Boolean,
    Float,
    Integer,
    LargeBinary,
    String,
    Table,
    and_,
    bindparam,
    cast,
    delete,
    exists,
    func,
    or_,
    select,
)

from ..service.intake.outcomes import (
    Alarm,
    CountedReport,
    DeadLetter,
    HeardMessage,
    Key,
    Seen,
    Who,
    hash_frame,
)
from .schema import (
    alarms,
    heard,
    newest,
    quarantine,
    refused,
    releases,
    reports,
    rounds,
    tallies,
)

AT_ONCE = 512  # keys in one question to SQLite, which bounds the values of a statement
ARRAYS = {Boolean: "bool[]", Float: "float8[]", LargeBinary: "bytea[]", String: "text[]"}


def insert_many(
    connection: Any,
    table: Table,
    columns: tuple[str, ...],
    rows: Sequence[tuple[Any, ...]],
    conflict: str = "",
) -> int:
    """Insert rows; return how many were written.

    Args:
        conflict: what to do with a row that is there: the statement's last clause.
    """
    if not rows:
        return 0
    postgres = connection.dialect.name == "postgresql"
    statement = _insert(table, columns, conflict, postgres)
    given: Any = tuple(map(list, zip(*rows, strict=True))) if postgres else list(rows)
    return int(connection.exec_driver_sql(statement, given).rowcount)


def select_many(
    connection: Any,
    table: Table,
    columns: tuple[str, ...],
    keys: Sequence[tuple[Any, ...]],
    wanted: tuple[str, ...],
) -> list[tuple[Any, ...]]:
    """Return these columns of the rows under one of the keys; a row may come more than once."""
    if not keys:
        return []
    if connection.dialect.name == "postgresql":
        arrays = tuple(map(list, zip(*keys, strict=True)))
        rows = connection.exec_driver_sql(_compose_select(table, columns, wanted, 0), arrays)
        return [tuple(row) for row in rows]
    found: list[tuple[Any, ...]] = []
    for first in range(0, len(keys), AT_ONCE):
        some = list(keys[first : first + AT_ONCE])
        size = 1 << (len(some) - 1).bit_length()  # few texts, so that each is prepared once
        some += [some[0]] * (size - len(some))
        statement = _compose_select(table, columns, wanted, size)
        rows = connection.exec_driver_sql(statement, tuple(chain.from_iterable(some)))
        found += [tuple(row) for row in rows]
    return found


@cache
def _insert(table: Table, columns: tuple[str, ...], conflict: str, postgres: bool) -> str:
    into = f"INSERT INTO {table.name} ({_format_names(columns)}) "
    if postgres:
        arrays = ", ".join(_format_array(table, column) for column in columns)
        return f"{into}SELECT * FROM unnest({arrays}) {conflict}"
    return f"{into}VALUES ({', '.join('?' * len(columns))}) {conflict}"


@cache
def _compose_select(
    table: Table, columns: tuple[str, ...], wanted: tuple[str, ...], size: int
) -> str:
    names, asked = _format_names(columns), _format_names(wanted)
    if not size:
        arrays = ", ".join(_format_array(table, column) for column in columns)
        return (
            f"SELECT {asked} FROM {table.name} JOIN unnest({arrays}) "
            f"AS asked ({names}) USING ({names})"
        )
    # CROSS keeps the keys in front: SQLite would else go through the whole table for them.
    keys = [f"key_{n}" for n in range(len(columns))]
    row = f"({', '.join('?' * len(columns))})"
    same = " AND ".join(f'"{column}" = {key}' for column, key in zip(columns, keys, strict=True))
    return (
        f"WITH asked ({', '.join(keys)}) AS (VALUES {', '.join([row] * size)}) "
        f"SELECT {asked} FROM asked CROSS JOIN {table.name} ON {same}"
    )


def _format_names(columns: tuple[str, ...]) -> str:
    return ", ".join(f'"{column}"' for column in columns)


def _format_array(table: Table, column: str) -> str:
    kind = table.c[column].type
    named = "int8[]" if isinstance(kind, Integer) else ARRAYS[type(kind)]
    return f"%b::{named}"


HEARD_KEPT = 100_000  # digests; a device gone mad must not fill the disk
KEY = ("device", "key_id", "epoch", "seq")
ROUND = ("round", "device")
_AFTER = "CASE WHEN (excluded.epoch, excluded.seq) > (newest.epoch, newest.seq) THEN excluded"
HIGHER = (
    f"ON CONFLICT (device, key_id) DO UPDATE SET epoch = {_AFTER}.epoch ELSE newest.epoch END, "
    f"seq = {_AFTER}.seq ELSE newest.seq END, reports = newest.reports + excluded.reports, "
    "last_s = COALESCE(excluded.last_s, newest.last_s)"
)


def insert_reports(
    connection: Any, kept: Sequence[CountedReport], more: Sequence[HeardMessage], now_s: float
) -> None:
    """Keep reports and what was heard beside them, and note which numbers are used up."""
    columns = ("device", "epoch", "seq", "round", "frame", "key_id", "taken_s")
    # Sorted as the table is: its pages are then gone through once.
    in_order = sorted(kept, key=attrgetter("round", "device"))
    insert_many(connection, reports, columns, [(*report, now_s) for report in in_order])
    if more:
        columns = ("device", "epoch", "seq", "round", "digest", "key_id", "at_s")
        rows = [(*one._replace(frame=hash_frame(one.frame)), now_s) for one in more]
        insert_many(connection, heard, columns, rows, "ON CONFLICT DO NOTHING")
        oldest = (connection.scalar(select(func.max(heard.c.id))) or 0) - HEARD_KEPT
        connection.execute(delete(heard).where(heard.c.id <= oldest))
    used: dict[Who, list[Any]] = {}
    for count, ones in ((1, kept), (0, more)):
        for device, epoch, seq, _, _, key_id in ones:
            last = used.setdefault((device, key_id), [epoch, seq, 0, None])
            if (epoch, seq) > (last[0], last[1]):
                last[:2] = epoch, seq
            if count:
                last[2:] = last[2] + 1, now_s
    numbers = (*KEY, "reports", "last_s")
    # In one order, so that two writers never wait for each other crosswise.
    rows = [(*who, *used[who]) for who in sorted(used)]
    insert_many(connection, newest, numbers, rows, HIGHER)


def find_seen(connection: Any, keys: Iterable[Key]) -> Mapping[Key, Seen]:
    """Return what came before under these keys."""
    wanted = list(keys)
    found: dict[Key, dict[bytes, bool]] = defaultdict(dict)
    for device, key_id, epoch, seq, known in select_many(
        connection, heard, KEY, wanted, (*KEY, "digest")
    ):
        found[device, key_id, epoch, seq][known] = False
    for device, key_id, epoch, seq, frame in select_many(
        connection, reports, KEY, wanted, (*KEY, "frame")
    ):
        found[device, key_id, epoch, seq][hash_frame(frame)] = True
    return found


def find_answered(
    connection: Any, pairs: Iterable[tuple[bytes, str]], forgotten_s: float
) -> frozenset[tuple[bytes, str]]:
    """Return those of these (round, device) that a genuine message has answered, or may have.

    Of a closed round whose reports are forgotten nobody knows: all are taken to have answered.

    Args:
        forgotten_s: of a round that ended before, late answers may be forgotten too.
    """
    wanted = list(pairs)
    found = select_many(connection, reports, ROUND, wanted, ROUND)
    found += select_many(connection, heard, ROUND, wanted, ROUND)
    kept = exists().where(reports.c.round == rounds.c.name)
    old = or_(rounds.c.closed_s < forgotten_s, and_(rounds.c.outcome == "closed", ~kept))
    names = {name for name, _ in wanted}
    ended = select(rounds.c.name).where(rounds.c.name.in_(names), old)
    forgotten = set(connection.scalars(ended))
    found += [(name, device) for name, device in wanted if name in forgotten]
    return frozenset((name, device) for name, device in found)


def raise_alarms(connection: Any, raised: Sequence[Alarm], now_s: float) -> None:
    """Note which devices need a new key."""
    times = Counter((device, key_id) for device, key_id, _ in raised)
    why = {(device, key_id): why for device, key_id, why in raised}
    insert_many(
        connection,
        alarms,
        ("device", "key_id", "why", "times", "at_s"),
        [(*who, why[who], times[who], now_s) for who in sorted(why)],
        "ON CONFLICT (device, key_id) DO UPDATE SET why = excluded.why, "
        "times = alarms.times + excluded.times, at_s = excluded.at_s",
    )


def list_shut_out(connection: Any) -> dict[str, tuple[str, float]]:
    """Return why devices are shut out, and since when."""
    rows = connection.execute(select(quarantine))
    return {row.device: (row.why, row.since_s) for row in rows}


REFUSED_KEPT = 100_000  # dead letters in all, and on one topic:
REFUSED_EACH = 1000  # whoever has one device's password must not flush the evidence of others
EVIDENCE_BYTES = 512  # of a refused frame
LONGEST = 512  # of a topic or a reason: a broker lets topics of 65,535 bytes through

_SPARE = (
    select(refused.c.id)
    .where(refused.c.topic == bindparam("of_topic"))
    .order_by(refused.c.id.desc())
    .offset(bindparam("each"))
    .limit(1)
)


def insert_dead_letters(connection: Any, letters: Sequence[DeadLetter], now_s: float) -> None:
    """Keep dead letters as evidence, the newest of each topic."""
    if not letters:
        return
    insert_many(
        connection,
        refused,
        ("at_s", "topic", "why", "size", "frame", "kind"),
        [
            (
                now_s,
                _format_plain_text(topic),
                _format_plain_text(why),
                len(frame),
                frame[:EVIDENCE_BYTES],
                kind,
            )
            for topic, why, frame, kind in letters
        ],
    )
    ids = refused.c.id
    for topic in {_format_plain_text(letter.topic) for letter in letters}:
        oldest = connection.scalar(_SPARE, {"of_topic": topic, "each": REFUSED_EACH})
        if oldest is not None:
            connection.execute(delete(refused).where(refused.c.topic == topic, ids <= oldest))
    oldest = (connection.scalar(select(func.max(ids))) or 0) - REFUSED_KEPT
    connection.execute(delete(refused).where(ids <= oldest))


def _format_plain_text(text: str) -> str:
    """Return a text that every database takes and every terminal shows as it is, cut short.

    Whoever may publish names the topic: nothing of it may move a cursor, end a line, turn the
    direction of writing, or fill the disk.
    """
    return "".join(one if one.isprintable() else "\ufffd" for one in text[:LONGEST])


REPORTS = -1  # the slot that counts reports


class SlotSum(NamedTuple):
    """What one slot has come to, and from how many."""

    amount: int
    reports: int


ADDED = (
    "ON CONFLICT (round, part, slot) DO UPDATE SET amount = tallies.amount + excluded.amount, "
    "count = tallies.count + excluded.count"
)


def add_slot_sums(
    connection: Any, round: bytes, part: int, sums: Mapping[int, SlotSum], reports: int
) -> None:
    """Add these sums of so many reports to what a part has for a round."""
    rows = [(round, part, REPORTS, 0, reports)]
    rows += [(round, part, slot, *sums[slot]) for slot in sorted(sums)]
    insert_many(connection, tallies, ("round", "part", "slot", "amount", "count"), rows, ADDED)


def sum_slots(connection: Any, round: bytes) -> tuple[dict[int, SlotSum], int]:
    """Return what each slot of a round has come to over all parts, and how many reports."""
    amount = cast(func.sum(tallies.c.amount), BigInteger)
    count = cast(func.sum(tallies.c["count"]), BigInteger)
    wanted = select(tallies.c.slot, amount, count).where(tallies.c.round == round)
    rows = connection.execute(wanted.group_by(tallies.c.slot))
    sums = {slot: SlotSum(amount, count) for slot, amount, count in rows}
    return sums, sums.pop(REPORTS, SlotSum(0, 0)).reports


def count_added(connection: Any, round: bytes) -> int:
    """Return how many reports of a round have been added."""
    reports = func.coalesce(func.sum(tallies.c["count"]), 0)
    wanted = select(cast(reports, BigInteger))
    found: int = connection.scalar(
        wanted.where(tallies.c.round == round, tallies.c.slot == REPORTS)
    )
    return found


def delete_sums(connection: Any, round: bytes | None = None) -> None:
    """Remove the sums of a round, or of all that have been released."""
    released = tallies.c.round.in_(select(releases.c.round))
    connection.execute(
        delete(tallies).where(released if round is None else tallies.c.round == round)
    )
