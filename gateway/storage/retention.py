"""Forgetting what is older than the operator keeps, a little at a time.

A report goes once its round has been closed for so long, a map when it was drawn so long ago and
is not the newest. Never forgotten: what was charged, the rounds and their releases, from which
every later map is drawn, the numbers that devices have used, and alarms.
"""

from collections.abc import Callable, Iterator
from typing import Any

from sqlalchemy import Table, and_, delete, exists, func, select, tuple_

from .schema import heard, maps, refused, reports, rounds

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
