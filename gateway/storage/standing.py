"""The rows of what stands until it is changed: filters of a session, devices that are shut out."""

from collections.abc import Iterable
from typing import Any

from sqlalchemy import delete, select

from .bulk import insert_many
from .schema import filters, quarantine


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
