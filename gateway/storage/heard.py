"""The rows of what devices said: statements, on a connection that the store gives.

What counts is in `reports`, frame and all. What is genuine and does not count is in `heard`, by
its digest: the same bytes that come again are absorbed, and other bytes under the same numbers
are seen for what they are.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Table, delete, func, select, tuple_

from ..intake.outcomes import Alarm, DeadLetter, Heard, Kept, Key, Seen, Who, digest
from .schema import alarms, heard, newest, refused, reports

HEARD_KEPT = 100_000  # digests; a device gone mad must not fill the disk
REFUSED_KEPT = 100_000  # dead letters in all, and on one topic:
REFUSED_EACH = 1000  # whoever has one device's password must not flush the evidence of others
EVIDENCE_BYTES = 512  # of a refused frame


def keep(connection: Any, kept: Sequence[Kept], more: Sequence[Heard], now_s: float) -> None:
    """Keep reports and what was heard beside them, and note which numbers are used up."""
    if kept:
        connection.exec_driver_sql(
            "INSERT INTO reports (device, epoch, seq, round, frame, key_id, taken_s) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            [(*report, now_s) for report in kept],
        )
    if more:
        last = connection.scalar(select(func.max(heard.c.id))) or 0
        connection.exec_driver_sql(
            "INSERT INTO heard (device, epoch, seq, round, digest, key_id, at_s) "
            "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            [(*one._replace(frame=digest(one.frame)), now_s) for one in more],
        )
        oldest = last + len(more) - HEARD_KEPT
        connection.execute(delete(heard).where(heard.c.id <= oldest))
    used: list[Kept | Heard] = [*kept, *more]
    if used:
        connection.exec_driver_sql(
            "INSERT INTO newest (device, key_id, epoch, seq) VALUES (?, ?, ?, ?) "
            "ON CONFLICT (device, key_id) DO UPDATE SET epoch = excluded.epoch, "
            "seq = excluded.seq WHERE (excluded.epoch, excluded.seq) > (newest.epoch, newest.seq)",
            [(one.device, one.key_id, one.epoch, one.seq) for one in used],
        )


def refuse(connection: Any, letters: Sequence[DeadLetter], now_s: float) -> None:
    """Keep dead letters as evidence, the newest of each topic."""
    if not letters:
        return
    connection.exec_driver_sql(
        "INSERT INTO refused (at_s, topic, why, size, frame) VALUES (?, ?, ?, ?, ?)",
        [
            (now_s, one.topic, one.why, len(one.frame), one.frame[:EVIDENCE_BYTES])
            for one in letters
        ],
    )
    ids, topics = refused.c.id, {letter.topic for letter in letters}
    for topic in topics:
        of_topic = refused.c.topic == topic
        spare = select(ids).where(of_topic).order_by(ids.desc()).offset(REFUSED_EACH).limit(1)
        oldest = connection.scalar(spare)
        if oldest is not None:
            connection.execute(delete(refused).where(of_topic, ids <= oldest))
    oldest = (connection.scalar(select(func.max(ids))) or 0) - REFUSED_KEPT
    connection.execute(delete(refused).where(ids <= oldest))


def seen(connection: Any, keys: Iterable[Key]) -> Mapping[Key, Seen]:
    """Return what came before under these keys."""
    wanted = list(keys)
    found: dict[Key, dict[bytes, bool]] = defaultdict(dict)
    for row in connection.execute(_under(heard, heard.c.digest, wanted)):
        found[row[0], row[1], row[2], row[3]][row[4]] = False
    for row in connection.execute(_under(reports, reports.c.frame, wanted)):
        found[row[0], row[1], row[2], row[3]][digest(row[4])] = True
    return found


def answered(connection: Any, pairs: Iterable[tuple[bytes, str]]) -> frozenset[tuple[bytes, str]]:
    """Return those of these (round, device) that a genuine message has answered."""
    found: set[tuple[bytes, str]] = set()
    wanted = list(pairs)
    for table in (reports, heard):
        pair = tuple_(table.c.round, table.c.device)
        rows = connection.execute(select(*pair.clauses).where(pair.in_(wanted)))
        found |= {(row[0], row[1]) for row in rows}
    return frozenset(found)


def greatest(connection: Any) -> dict[Who, tuple[int, int]]:
    """Return the greatest (epoch, seq) that each device has used, under each of its keys."""
    rows = connection.execute(select(newest))
    return {(row.device, row.key_id): (row.epoch, row.seq) for row in rows}


def raise_alarms(connection: Any, raised: Sequence[Alarm], now_s: float) -> None:
    """Note which devices need a new key."""
    if raised:
        connection.exec_driver_sql(
            "INSERT INTO alarms (device, key_id, why, times, at_s) VALUES (?, ?, ?, 1, ?) "
            "ON CONFLICT (device, key_id) DO UPDATE SET why = excluded.why, times = times + 1, "
            "at_s = excluded.at_s",
            [(*alarm, now_s) for alarm in raised],
        )


def raised_alarms(connection: Any) -> dict[Who, tuple[str, int]]:
    """Return why devices need a new key, and how often that was found."""
    rows = connection.execute(select(alarms))
    return {(row.device, row.key_id): (row.why, row.times) for row in rows}


def _under(table: Table, column: Any, keys: list[Key]) -> Any:
    key = tuple_(table.c.device, table.c.key_id, table.c.epoch, table.c.seq)
    return select(*key.clauses, column).where(key.in_(keys))
