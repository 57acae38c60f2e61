"""The rows of rounds: statements, on a connection that the store gives."""

import json
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from sqlalchemy import func, insert, select, update

from ..intake.outcomes import Asked
from .bulk import insert_many
from .schema import charges, maps, releases, reports, rounds, vacant

# In one statement: between two, another leader's may come.
NEWER = "ON CONFLICT (round) DO UPDATE SET body = excluded.body, at_s = excluded.at_s"
LATER = "ON CONFLICT (id) DO UPDATE SET at_s = excluded.at_s, state = excluded.state"

Vacant = tuple[float, bytes]  # when the round was asked, and the state


def number_of(connection: Any, planned: bytes) -> int:
    """Return the number that a planned round was sent under, or the next that is free."""
    sent = connection.scalar(select(rounds.c.number).where(rounds.c.planned == planned))
    return sent or 1 + (connection.scalar(select(func.max(rounds.c.number))) or 0)


def known(connection: Any, name: bytes) -> bool:
    """Return whether a round was opened before."""
    return connection.scalar(select(rounds.c.name).where(rounds.c.name == name)) is not None


def write(connection: Any, asked: Asked, enrolled: int | None, now_s: float) -> None:
    """Write a round that opens now."""
    planned, name, plan, message, rho = asked
    row = {"number": plan.number, "mechanism": plan.mechanism, "opened_s": now_s}
    row |= {"planned": planned, "name": name, "message": message, "rho": str(rho)}
    connection.execute(insert(rounds).values(row | {"enrolled": enrolled}))


def owed(connection: Any) -> Fraction:
    """Return what the open rounds cost that are charged when they close."""
    paid = select(charges.c.round).where(charges.c.device == "")
    wanted = select(rounds.c.rho).where(rounds.c.closed_s.is_(None), rounds.c.name.not_in(paid))
    return sum((Fraction(rho or 0) for rho in connection.scalars(wanted)), Fraction(0))


def close(
    connection: Any,
    name: bytes,
    values: Sequence[int | None],
    count: int,
    outcome: str,
    now_s: float,
) -> bool:
    """Write the release of a round; return False, and write nothing, where there is one."""
    columns = ("round", "values", "reports", "at_s")
    row = (name, json.dumps(list(values)), count, now_s)
    if not insert_many(connection, releases, columns, [row], "ON CONFLICT DO NOTHING"):
        return False
    ended = update(rounds).where(rounds.c.name == name)
    connection.execute(ended.values(closed_s=now_s, outcome=outcome))
    return True


def abandon(connection: Any, name: bytes, now_s: float) -> None:
    """Write that a round was given up; what was planned may be asked anew, as another."""
    ended = update(rounds).where(rounds.c.name == name)
    connection.execute(ended.values(closed_s=now_s, outcome="abandoned", planned=name))


def is_open(connection: Any, name: bytes) -> bool:
    """Return whether reports may count in a round."""
    wanted = select(rounds.c.name).where(rounds.c.name == name, rounds.c.closed_s.is_(None))
    return connection.scalar(wanted) is not None


def answered(connection: Any, name: bytes) -> int:
    """Return how many devices' reports count in a round."""
    wanted = select(func.count(reports.c.device.distinct())).where(reports.c.round == name)
    return int(connection.scalar(wanted) or 0)


def released(connection: Any, name: bytes) -> tuple[list[int | None], int] | None:
    """Return (values, reports) of a closed round, or None."""
    wanted = select(releases.c["values"], releases.c.reports).where(releases.c.round == name)
    row = connection.execute(wanted).first()
    return None if row is None else (json.loads(row[0]), row[1])


def draw(
    connection: Any, name: bytes, body: str, now_s: float, left: Vacant | None = None
) -> None:
    """Write the map of a round, and the empty room that it left; a later one replaces it."""
    insert_many(connection, maps, ("round", "body", "at_s"), [(name, body, now_s)], NEWER)
    if left is not None:
        insert_many(connection, vacant, ("id", "at_s", "state"), [(1, *left)], LATER)
