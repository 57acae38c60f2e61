"""The rows of what devices said: statements, on a connection that the store gives.

What counts is in `reports`, frame and all. What is genuine and does not count is in `heard`, by
its digest: the same bytes that come again are absorbed, and other bytes under the same numbers
are seen for what they are.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import delete, func, select

from ..intake.outcomes import Alarm, Heard, Kept, Key, Seen, Who, digest
from .bulk import insert_many, select_many
from .schema import alarms, heard, newest, reports

HEARD_KEPT = 100_000  # digests; a device gone mad must not fill the disk
KEY = ("device", "key_id", "epoch", "seq")
ROUND = ("round", "device")
_AFTER = "CASE WHEN (excluded.epoch, excluded.seq) > (newest.epoch, newest.seq) THEN excluded"
HIGHER = (
    f"ON CONFLICT (device, key_id) DO UPDATE SET epoch = {_AFTER}.epoch ELSE newest.epoch END, "
    f"seq = {_AFTER}.seq ELSE newest.seq END, reports = newest.reports + excluded.reports, "
    "last_s = COALESCE(excluded.last_s, newest.last_s)"
)


def keep(connection: Any, kept: Sequence[Kept], more: Sequence[Heard], now_s: float) -> None:
    """Keep reports and what was heard beside them, and note which numbers are used up."""
    columns = ("device", "epoch", "seq", "round", "frame", "key_id", "taken_s")
    # Sorted as the table is: its pages are then gone through once.
    insert_many(connection, reports, columns, [(*report, now_s) for report in sorted(kept)])
    if more:
        columns = ("device", "epoch", "seq", "round", "digest", "key_id", "at_s")
        rows = [(*one._replace(frame=digest(one.frame)), now_s) for one in more]
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


def seen(connection: Any, keys: Iterable[Key]) -> Mapping[Key, Seen]:
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
        found[device, key_id, epoch, seq][digest(frame)] = True
    return found


def answered(connection: Any, pairs: Iterable[tuple[bytes, str]]) -> frozenset[tuple[bytes, str]]:
    """Return those of these (round, device) that a genuine message has answered."""
    wanted = list(pairs)
    found = select_many(connection, reports, ROUND, wanted, ROUND)
    found += select_many(connection, heard, ROUND, wanted, ROUND)
    return frozenset((name, device) for name, device in found)


def greatest(connection: Any) -> dict[Who, tuple[int, int]]:
    """Return the greatest (epoch, seq) that each device has used, under each of its keys."""
    rows = connection.execute(select(newest))
    return {(row.device, row.key_id): (row.epoch, row.seq) for row in rows}


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


def raised_alarms(connection: Any) -> dict[Who, tuple[str, int]]:
    """Return why devices need a new key, and how often that was found."""
    rows = connection.execute(select(alarms))
    return {(row.device, row.key_id): (row.why, row.times) for row in rows}
