"""A round over all parts, as rows: opened, counted, closed, summed; each in one transaction."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import Engine, func, select

from ..rounds import OpenRound
from ..storage import tallies
from ..storage.schema import refused, reports, rounds
from . import standing
from .fenced import payload_of
from .folds import Fold, combined


class Summed(NamedTuple):
    """What a closed round has come to."""

    release: Any
    devices: Sequence[str]  # whose reports count
    late: int


def opened(engine: Engine, name: bytes, fold: Fold) -> int:
    """Let the reports of a round count; return how many there are already.

    Those that came while there was one gateway, with no parts, have no sums yet: they are made.
    """
    with engine.begin() as connection:
        standing.open_again(connection, name)  # and hold its row: nothing is committed meanwhile
        tallies.forget(connection)
        return _made_good(connection, name, fold)


def came(engine: Engine, name: bytes) -> int:
    """Return how many reports of a round have been committed."""
    with engine.connect() as connection:
        return tallies.came(connection, name)


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
        opened_s = select(rounds.c.opened_s).where(rounds.c.name == round.name).scalar_subquery()
        late = select(func.count()).where(refused.c.kind == "late", refused.c.at_s >= opened_s)
        devices = standing.answered_by(connection, round.name)
        return Summed(release, devices, int(connection.scalar(late) or 0))


def _made_good(connection: Any, name: bytes, fold: Fold) -> int:
    """Return how many reports a round has; where the sums are not of all, make them anew."""
    count = standing.counted(connection, name)
    if count != tallies.came(connection, name):
        tallies.forget(connection, name)
        frames = connection.scalars(select(reports.c.frame).where(reports.c.round == name))
        payloads = [payload_of(frame) for frame in frames]
        tallies.add(connection, name, 0, combined(fold, payloads), len(payloads))
    return count
