"""The round that is open, as a row that everybody sees: who writes it and who reads it.

The leader closes a round by writing its row; a worker that commits reports holds the row against
that until its commit is done. So a report is either in before the close, and in its sum, or the
worker hears that the round is over and judges again.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from sqlalchemy import exists, func, select, update

from ..storage.leases import NOW_S
from ..storage.schema import releases, reports, rounds


class RoundOver(Exception):
    """The round was closed after a batch was judged and before it was written."""


class Standing(NamedTuple):
    """The round that was asked last."""

    name: bytes
    mechanism: str
    message: bytes
    closed_s: float | None  # None while reports count


def last(connection: Any) -> Standing | None:
    """Return the round that was asked last, or None before the first."""
    columns = rounds.c.name, rounds.c.mechanism, rounds.c.message, rounds.c.closed_s
    row = connection.execute(select(*columns).order_by(rounds.c.number.desc()).limit(1)).first()
    return None if row is None else Standing(*row)


def hold_open(connection: Any, names: Iterable[bytes]) -> None:
    """Keep these rounds from being closed until this transaction ends.

    Raises:
        RoundOver: one is closed already.
    """
    held = select(rounds.c.closed_s).where(rounds.c.name.in_(list(names)))
    rows = connection.scalars(held.with_for_update(read=True)).all()
    if any(closed_s is not None for closed_s in rows):
        raise RoundOver


def close(connection: Any, name: bytes) -> None:
    """Let no report count any more; waits for commits that are under way."""
    open_now = rounds.c.name == name, rounds.c.closed_s.is_(None)
    connection.execute(update(rounds).where(*open_now).values(closed_s=NOW_S))


def open_again(connection: Any, name: bytes) -> None:
    """Let reports count again, in a round that its leader left before the release was kept."""
    released = exists().where(releases.c.round == name)
    again = update(rounds).where(rounds.c.name == name, ~released)
    connection.execute(again.values(closed_s=None))


def answered_by(connection: Any, name: bytes) -> list[str]:
    """Return the devices whose reports count in a round."""
    return list(connection.scalars(select(reports.c.device).where(reports.c.round == name)))


def counted(connection: Any, name: bytes) -> int:
    """Return how many reports count in a round."""
    wanted = select(func.count()).select_from(reports).where(reports.c.round == name)
    return int(connection.scalar(wanted) or 0)
