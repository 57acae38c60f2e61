"""The rows of rounds that were asked and that the ledger does not know: statements.

An older copy of a store lacks rounds that people have paid for. Whoever meets one of them, signed
with the site's key, has its row written with the outcome FOUND, and as long as there is such a
row nothing is asked: over every start. Charged to this ledger it is LOST, and known from then on.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from sqlalchemy import delete, func, insert, or_, select

from ..faults import ForgottenFault
from ..intake.outcomes import Asked, digest
from . import till
from .places import Place
from .schema import rounds

FOUND, LOST = "found", "lost"
_KNOWN = or_(rounds.c.outcome.is_(None), rounds.c.outcome != FOUND)


class Lack(NamedTuple):
    """What a ledger lacks: rounds up to the greatest that was found."""

    last: int  # the greatest number that it knows
    found: Mapping[int, tuple[str, bytes]]  # mechanism and signed Round of those that were found


def knows(connection: Any, name: bytes) -> bool:
    """Return whether a round is in the ledger: asked from this store, or charged to it since."""
    there = connection.scalar(select(rounds.c.name).where(rounds.c.name == name, _KNOWN))
    return there is not None or name in till.prices(connection, [name])


def lack(connection: Any) -> Lack | None:
    """Return what the ledger lacks, as far as it was found out; None where it lacks nothing."""
    wanted = select(rounds.c.number, rounds.c.mechanism, rounds.c.message)
    rows = connection.execute(wanted.where(rounds.c.outcome == FOUND)).all()
    if not rows:
        return None
    last = connection.scalar(select(func.max(rounds.c.number)).where(_KNOWN)) or 0
    return Lack(last, {row.number: (row.mechanism, row.message) for row in rows})


def fault(connection: Any, place: Place, found: str = "") -> ForgottenFault | None:
    """Return what to raise where the ledger lacks something that anybody has found.

    Args:
        found: how, as the beginning of a sentence.
    """
    if (lacks := lack(connection)) is None:
        return None
    number = max(lacks.found)
    found = found or f"round {number} was found to be asked with this site's key"
    return ForgottenFault(place, found, lacks.last, number)


def note(connection: Any, asked: Asked, now_s: float, outcome: str = FOUND) -> None:
    """Write the row of a round that was found, under its number, or the next where it is taken."""
    was = rounds.c.name == asked.name, rounds.c.outcome == FOUND
    connection.execute(delete(rounds).where(*was))
    taken = connection.scalar(select(rounds.c.name).where(rounds.c.number == asked.plan.number))
    last = connection.scalar(select(func.max(rounds.c.number))) or 0
    number = asked.plan.number if taken is None else last + 1
    row = {"number": number, "mechanism": asked.plan.mechanism, "message": asked.message}
    row |= {"opened_s": now_s, "closed_s": now_s, "outcome": outcome, "name": asked.name}
    # No plan of ours is to find it: what comes next is asked under a number of its own.
    row |= {"planned": digest(b"lost" + asked.name)[:4], "rho": str(asked.rho)}
    connection.execute(insert(rounds).values(row))
