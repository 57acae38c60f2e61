"""A round over all parts, as rows: opened, counted, closed, summed; each in one transaction.

A mechanism whose release is made of sums over reports says so in its record (`ReportFold`); the
sums are taken by the workers as the reports come, and by the database when the round closes.

The leader closes a round by writing its row; a worker that commits reports holds the row against
that until its commit is done. So a report is either in before the close, and in its sum, or the
worker hears that the round is over and judges again. A part of a worker sees the store fenced:
whose lease has passed to another commits nothing more.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Engine, exists, func, select, update

from edge.core import wire

from ... import mechanisms
from ...faults import OperatorFault
from ...mechanisms.record import ReportFold as ReportFold
from ...store import message_rows, round_rows
from ...store.message_rows import SlotSum
from ...store.schema import refused, releases, reports, rounds
from ...store.store import Store
from ..intake.outcomes import CountedReport
from ..rounds import OpenRound
from . import leases
from .leases import NOW_S, Lease


def sum_payloads(fold: ReportFold, payloads: Iterable[Sequence[int]]) -> dict[int, SlotSum]:
    """Return the sums of some reports, on the way to the database.

    >>> sums = sum_payloads(find_fold("thermal"), [[0, 5, -3], [2, 7]])
    >>> {slot: (one.amount, one.reports) for slot, one in sums.items()}
    {0: (5, 1), 1: (-3, 1), 2: (7, 1)}
    """
    sums: dict[int, tuple[int, int]] = {}
    for payload in payloads:
        for slot, amount in fold.slots(payload):
            so_far, count = sums.get(slot, (0, 0))
            sums[slot] = so_far + amount, count + 1
    return {slot: SlotSum(*row) for slot, row in sums.items()}


def find_fold(mechanism: str) -> ReportFold:
    """Return the fold of a mechanism.

    Raises:
        OperatorFault: it has none.
    """
    fold = mechanisms.find_serving(mechanism).fold
    if fold is None:
        raise OperatorFault(
            f"several workers cannot gather {mechanism} together, because its release is not a "
            "sum over reports. Set partitions = 1 under [workers]"
        )
    return fold


class RoundOver(Exception):
    """The round was closed after a batch was judged and before it was written."""


class LastRound(NamedTuple):
    """The round that was asked last."""

    name: bytes
    mechanism: str
    message: bytes
    closed_s: float | None  # None while reports count


def find_last_round(connection: Any) -> LastRound | None:
    """Return the round that was asked last, or None before the first."""
    columns = rounds.c.name, rounds.c.mechanism, rounds.c.message, rounds.c.closed_s
    row = connection.execute(select(*columns).order_by(rounds.c.number.desc()).limit(1)).first()
    return None if row is None else LastRound(*row)


def hold_rounds_open(connection: Any, names: Iterable[bytes]) -> None:
    """Keep these rounds from being closed until this transaction ends.

    Raises:
        RoundOver: one is closed already.
    """
    held = select(rounds.c.closed_s).where(rounds.c.name.in_(list(names)))
    rows = connection.scalars(held.with_for_update(read=True)).all()
    if any(closed_s is not None for closed_s in rows):
        raise RoundOver


def stop_counting(connection: Any, name: bytes) -> None:
    """Let no report count any more; waits for commits that are under way."""
    open_now = rounds.c.name == name, rounds.c.closed_s.is_(None)
    connection.execute(update(rounds).where(*open_now).values(closed_s=NOW_S))


def reopen_round(connection: Any, name: bytes) -> None:
    """Let reports count again, in a round that its leader left before the release was kept."""
    released = exists().where(releases.c.round == name)
    again = update(rounds).where(rounds.c.name == name, ~released)
    connection.execute(again.values(closed_s=None))


def list_answered(connection: Any, name: bytes) -> list[str]:
    """Return the devices whose reports count in a round."""
    return list(connection.scalars(select(reports.c.device).where(reports.c.round == name)))


def count_reports(connection: Any, name: bytes) -> int:
    """Return how many reports count in a round."""
    wanted = select(func.count()).select_from(reports).where(reports.c.round == name)
    return int(connection.scalar(wanted) or 0)


class PartStore(Store):
    """What a part keeps, as long as its lease is ours; on the engine of another store."""

    def __init__(self, store: Store, lease: Lease, fold: ReportFold, idle_s: float) -> None:
        """Share the engine of a store, which stays the caller's to close.

        Args:
            idle_s: how long the database bears with a transaction that says nothing.
        """
        self.place, self._engine, self._reads = store.place, store._engine, store._reads
        self.identity, self._report_days = store.identity, store._report_days
        self._lease, self._fold, self._idle_s = lease, fold, idle_s

    def find_last_round(self) -> LastRound | None:
        """Return the round that was asked last, open or closed."""
        with self._reads.connect() as connection:
            return find_last_round(connection)

    def list_answered(self, name: bytes) -> list[str]:
        """Return the devices, of whatever part, whose reports count in a round."""
        with self._reads.connect() as connection:
            return list_answered(connection, name)

    def _prepare_batch(self, connection: Any, kept: Sequence[CountedReport]) -> None:
        """Hold our lease and the round; add what counts to its sums.

        Raises:
            LeaseLost: another worker has the part.
            RoundOver: what was to count came too late.
        """
        leases.hold_lease(connection, self._lease, self._idle_s)
        answers: dict[bytes, list[list[int]]] = defaultdict(list)
        for report in kept:
            answers[report.round].append(read_payload(report.frame))
        if answers:
            hold_rounds_open(connection, answers)
        for name, payloads in answers.items():
            sums = sum_payloads(self._fold, payloads)
            message_rows.add_slot_sums(connection, name, self._lease.part, sums, len(payloads))


def read_payload(frame: bytes) -> list[int]:
    """Return the payload of a frame that has been found genuine."""
    body = wire.decode(frame[: -wire.MAC_BYTES])
    return [body[5], *body[4]]


class Refusals(NamedTuple):
    """How many messages did not count, and how many of them were late for the last round."""

    refused: int
    late: int


class Summed(NamedTuple):
    """What a closed round has come to."""

    release: Any
    devices: Sequence[str]  # whose reports count


def open_round(engine: Engine, name: bytes, fold: ReportFold) -> None:
    """Let the reports of a round count.

    Those that came while there was one gateway, with no parts, have no sums yet: they are made.
    """
    with engine.begin() as connection:
        round_rows.lock_charges(connection)  # or a release that is written now would not be seen
        reopen_round(connection, name)  # and hold its row: nothing is committed meanwhile
        message_rows.delete_sums(connection)
        _make_good(connection, name, fold)


def count_answers(engine: Engine, name: bytes) -> int:
    """Return how many reports of a round have been committed."""
    with engine.connect() as connection:
        return message_rows.count_added(connection, name)


def find_last_refused(engine: Engine) -> int:
    """Return the number of the newest dead letter.

    By numbers and not by times, for each row has the clock of the machine that wrote it.
    """
    with engine.connect() as connection:
        return int(connection.scalar(select(func.max(refused.c.id))) or 0)


def count_refusals(engine: Engine, began: int, opened: int) -> Refusals:
    """Return how many messages did not count.

    Args:
        began, opened: `find_last_refused` when the gateway began, and when the round was opened.
    """
    late = func.count().filter(refused.c.kind == "late", refused.c.id > opened)
    with engine.connect() as connection:
        found = select(func.count(), late).where(refused.c.id > began)
        return Refusals(*connection.execute(found).one())


def list_senders(engine: Engine, name: bytes) -> list[str]:
    """Return the devices whose reports count in a round."""
    with engine.connect() as connection:
        return list_answered(connection, name)


def close_and_sum(engine: Engine, round: OpenRound, fold: ReportFold) -> Summed:
    """Close a round and return its release; every commit is in it, or hears that it is over."""
    with engine.begin() as connection:
        stop_counting(connection, round.name)
        _make_good(connection, round.name, fold)
        release = fold.release(round.plan, *message_rows.sum_slots(connection, round.name))
        devices = list_answered(connection, round.name)
        return Summed(release, devices)


def _make_good(connection: Any, name: bytes, fold: ReportFold) -> None:
    """Where the sums are not of all reports of a round, make them anew."""
    if count_reports(connection, name) != message_rows.count_added(connection, name):
        message_rows.delete_sums(connection, name)
        frames = connection.scalars(select(reports.c.frame).where(reports.c.round == name))
        payloads = [read_payload(frame) for frame in frames]
        message_rows.add_slot_sums(
            connection, name, 0, sum_payloads(fold, payloads), len(payloads)
        )
