"""A round over all parts, as rows: opened, counted, closed, summed; each in one transaction."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import Engine, func, select

from ..rounds import OpenRound
from ..storage import tallies, till
from ..storage.schema import refused, reports
from . import standing
from .fenced import payload_of
from .folds import Fold, combined


class Refusals(NamedTuple):
    """How many messages did not count, and how many of them were late for the last round."""

    refused: int
    late: int


class Summed(NamedTuple):
    """What a closed round has come to."""

    release: Any
    devices: Sequence[str]  # whose reports count


def opened(engine: Engine, name: bytes, fold: Fold) -> None:
    """Let the reports of a round count.

    Those that came while there was one gateway, with no parts, have no sums yet: they are made.
    """
    with engine.begin() as connection:
        till.lock(connection)  # or a release that is written now would not be seen
        standing.open_again(connection, name)  # and hold its row: nothing is committed meanwhile
        tallies.forget(connection)
        _made_good(connection, name, fold)


def came(engine: Engine, name: bytes) -> int:
    """Return how many reports of a round have been committed."""
    with engine.connect() as connection:
        return tallies.came(connection, name)


def last_refused(engine: Engine) -> int:
    """Return the number of the newest dead letter.

    By numbers and not by times, for each row has the clock of the machine that wrote it.
    """
    with engine.connect() as connection:
        return int(connection.scalar(select(func.max(refused.c.id))) or 0)


def refusals(engine: Engine, began: int, opened: int) -> Refusals:
    """Return how many messages did not count.

    Args:
        began, opened: `last_refused` when the gateway began, and when the round was opened.
    """
    late = func.count().filter(refused.c.kind == "late", refused.c.id > opened)
    with engine.connect() as connection:
        found = select(func.count(), late).where(refused.c.id > began)
        return Refusals(*connection.execute(found).one())


def answered_by(engine: Engine, name: bytes) -> list[str]:
    """Return the devices whose reports count in a round."""
    with engine.connect() as connection:
        return standing.answered_by(connection, name)


def closed(engine: Engine, round: OpenRound, fold: Fold) -> Summed:
    """Close a round and return its release; every commit is in it, or hears that it is over."""
    with engine.begin() as connection:
        standing.close(connection, round.name)
        _made_good(connection, round.name, fold)
        release = fold.release(round.plan, *tallies.summed(connection, round.name))
        devices = standing.answered_by(connection, round.name)
        return Summed(release, devices)


def _made_good(connection: Any, name: bytes, fold: Fold) -> None:
    """Where the sums are not of all reports of a round, make them anew."""
    if standing.counted(connection, name) != tallies.came(connection, name):
        tallies.forget(connection, name)
        frames = connection.scalars(select(reports.c.frame).where(reports.c.round == name))
        payloads = [payload_of(frame) for frame in frames]
        tallies.add(connection, name, 0, combined(fold, payloads), len(payloads))
