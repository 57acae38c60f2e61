"""What the store does besides rounds: outbox, filters, quarantine, forgetting, room, backup.

A letter is written in the transaction that makes it true, and goes when the broker has it. So
whatever a kill comes between, what is published is what is in the store.

What is older than the operator keeps is forgotten a little at a time: a report goes once its round
has been closed for so long, a map when it was drawn so long ago and is not the newest. Never
forgotten: what was charged, the rounds and their releases, from which every later map is drawn,
the numbers that devices have used, and alarms.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, Table, and_, delete, exists, func, insert, select, tuple_

from ..service.intake.outcomes import Letter
from . import sqlite
from .identity import Identity
from .message_rows import insert_many
from .places import Place
from .schema import filters, heard, maps, outbox, quarantine, refused, reports, rounds


def post(connection: Any, more: Sequence[Letter], now_s: float) -> None:
    """Put letters in the outbox; a retained one takes the place of those before it."""
    for letter in more:
        row = {"topic": letter.topic, "retain": letter.retain}
        if letter.retain:
            connection.execute(delete(outbox).filter_by(**row))
        row |= {"payload": letter.payload, "at_s": now_s}
        connection.execute(insert(outbox).values(row))


def waiting(connection: Any, limit: int) -> list[Letter]:
    """Return the letters that have not gone, oldest first."""
    wanted = select(outbox.c.id, outbox.c.topic, outbox.c.payload, outbox.c.retain)
    rows = connection.execute(wanted.order_by(outbox.c.id).limit(limit))
    return [Letter(*row) for row in rows]


def gone(connection: Any, ids: Iterable[int]) -> None:
    """Strike out letters that the broker has acknowledged."""
    connection.execute(delete(outbox).where(outbox.c.id.in_(list(ids))))


def filters_of(connection: Any, client: str) -> set[str]:
    """Return what a lasting session at the broker is subscribed to."""
    return set(connection.scalars(select(filters.c.topic).where(filters.c.client == client)))


def keep_filters(connection: Any, client: str, topics: Iterable[str]) -> None:
    """Write what a session is subscribed to, in the place of what stood there."""
    connection.execute(delete(filters).where(filters.c.client == client))
    rows = [(client, topic) for topic in sorted(set(topics))]
    insert_many(connection, filters, ("client", "topic"), rows, "ON CONFLICT DO NOTHING")


def shut(connection: Any, device: str, why: str, now_s: float) -> None:
    """Write that a device is shut out; since when, and why, is said by the first time."""
    row = (device, why, now_s)
    columns = ("device", "why", "since_s")
    insert_many(connection, quarantine, columns, [row], "ON CONFLICT DO NOTHING")


def free(connection: Any, device: str) -> None:
    """Strike a device out of the quarantine."""
    connection.execute(delete(quarantine).where(quarantine.c.device == device))


def shut_out(connection: Any) -> dict[str, tuple[str, float]]:
    """Return why devices are shut out, and since when."""
    rows = connection.execute(select(quarantine))
    return {row.device: (row.why, row.since_s) for row in rows}


SOME = 1000  # rows in one transaction: whoever writes beside it waits no longer than that takes
DAY_S = 86_400

Step = Callable[[Any], int]


def steps(now_s: float, keep_days: float | None, refused_days: float) -> Iterator[Step]:
    """Yield what to do in one transaction each, again as long as it returns SOME."""
    yield _some(refused, refused.c.at_s < now_s - refused_days * DAY_S)
    if keep_days is not None:
        before_s = now_s - keep_days * DAY_S
        answers = exists().where(reports.c.round == rounds.c.name)
        old = select(rounds.c.name).where(rounds.c.closed_s < before_s, answers).limit(1)
        yield _some(reports, reports.c.round.in_(old.scalar_subquery()))
        yield _some(heard, heard.c.at_s < before_s)
        newest = select(func.max(maps.c.at_s)).scalar_subquery()
        yield _some(maps, and_(maps.c.at_s < before_s, maps.c.at_s < newest))


def _some(table: Table, where: Any) -> Step:
    key = tuple_(*table.primary_key.columns)
    which = select(*table.primary_key.columns).where(where).limit(SOME)
    statement = delete(table).where(key.in_(which))

    def step(connection: Any) -> int:
        return int(connection.execute(statement).rowcount)

    return step


PAUSE_S = 0.005  # between two transactions that forget: others are waiting for the file


class Upkeep:
    """The half of a store that any part of the gateway may use at any time."""

    _engine: Engine
    _reads: Engine
    place: Place
    identity: Identity

    def letters(self, limit: int = 100) -> list[Letter]:
        """Return the letters that the broker has not acknowledged, oldest first."""
        with self._reads.connect() as connection:
            return waiting(connection, limit)

    def post(self, letters: Sequence[Letter]) -> None:
        """Put letters in the outbox: what is published without anything new being kept."""
        with self._engine.begin() as connection:
            post(connection, letters, time.time())

    def posted(self, ids: Iterable[int]) -> None:
        """Strike out letters that the broker has acknowledged."""
        with self._engine.begin() as connection:
            gone(connection, ids)

    def filters(self, client: str) -> set[str]:
        """Return what a session that lasts at the broker is subscribed to, as far as we know."""
        with self._reads.connect() as connection:
            return filters_of(connection, client)

    def keep_filters(self, client: str, topics: Iterable[str]) -> None:
        """Keep what a session is subscribed to."""
        with self._engine.begin() as connection:
            keep_filters(connection, client, topics)

    def quarantine(self, name: str, why: str) -> None:
        """Keep that a device is shut out; one that is already stays so for its first reason."""
        with self._engine.begin() as connection:
            shut(connection, name, why, time.time())

    def free(self, name: str) -> None:
        """Keep that a device is no longer shut out."""
        with self._engine.begin() as connection:
            free(connection, name)

    def quarantined(self) -> dict[str, tuple[str, float]]:
        """Return the devices that are shut out: why, and since when, in seconds of the epoch."""
        with self._reads.connect() as connection:
            return shut_out(connection)

    def retain(self, now_s: float, keep_days: float | None, refused_days: float) -> int:
        """Forget what is older than that, in small transactions; return how many rows went."""
        gone = 0
        for step in steps(now_s, keep_days, refused_days):
            some = 1
            while some:
                with self._engine.begin() as connection:
                    some = step(connection)
                gone += some
                time.sleep(PAUSE_S)
        return gone

    def free_bytes(self) -> int | None:
        """Return how much room there is beside the file; None at PostgreSQL."""
        return sqlite.free_bytes(self.place) if isinstance(self.place, Path) else None

    def checkpoint(self) -> bool:
        """Write what is in SQLite's log into the file, and empty the log.

        Returns False, after a second at the most, while a reader needs the log.
        """
        return not isinstance(self.place, Path) or sqlite.checkpoint(self._engine)

    def write_back(self) -> bool:
        """Mark the file anew as this gateway's, and empty its log; as `checkpoint`."""
        self.identity.mark()
        done = self.checkpoint()
        self.identity.check()  # from now on the mark of before is none
        return done

    def backup(self, path: Path) -> None:
        """Write a copy of the file as it stands now, while others write on.

        Raises:
            OperatorFault: there is something already, or it cannot be written; or this is
                PostgreSQL, which has a tool of its own.
        """
        sqlite.backup(self.place, path)
