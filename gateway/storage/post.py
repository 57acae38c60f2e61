"""The rows of the outbox: statements, on a connection that the store gives.

A letter is written in the transaction that makes it true, and goes when the broker has it. So
whatever a kill comes between, what is published is what is in the store.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import delete, insert, select

from ..intake.outcomes import Letter
from .schema import outbox


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
