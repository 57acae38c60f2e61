"""Sums of what came, by round, part and slot, written with the reports themselves.

Each worker adds up a batch before it writes it (a slot is a sensor, or a cell that a mechanism
counts), in the transaction that keeps the reports: either both are there or neither is. What a
round has come to is then one SUM over the parts, however many reports there were.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from sqlalchemy import BigInteger, cast, delete, func, select

from .bulk import insert_many
from .schema import releases, tallies

REPORTS = -1  # the slot that counts reports


class Sum(NamedTuple):
    """What one slot has come to, and from how many."""

    amount: int
    reports: int


ADDED = (
    "ON CONFLICT (round, part, slot) DO UPDATE SET amount = tallies.amount + excluded.amount, "
    "count = tallies.count + excluded.count"
)


def add(connection: Any, round: bytes, part: int, sums: Mapping[int, Sum], reports: int) -> None:
    """Add these sums of so many reports to what a part has for a round."""
    rows = [(round, part, REPORTS, 0, reports)]
    rows += [(round, part, slot, *sums[slot]) for slot in sorted(sums)]
    insert_many(connection, tallies, ("round", "part", "slot", "amount", "count"), rows, ADDED)


def summed(connection: Any, round: bytes) -> tuple[dict[int, Sum], int]:
    """Return what each slot of a round has come to over all parts, and how many reports."""
    amount = cast(func.sum(tallies.c.amount), BigInteger)
    count = cast(func.sum(tallies.c["count"]), BigInteger)
    wanted = select(tallies.c.slot, amount, count).where(tallies.c.round == round)
    rows = connection.execute(wanted.group_by(tallies.c.slot))
    sums = {slot: Sum(amount, count) for slot, amount, count in rows}
    return sums, sums.pop(REPORTS, Sum(0, 0)).reports


def came(connection: Any, round: bytes) -> int:
    """Return how many reports of a round have been added."""
    reports = func.coalesce(func.sum(tallies.c["count"]), 0)
    wanted = select(cast(reports, BigInteger))
    found: int = connection.scalar(
        wanted.where(tallies.c.round == round, tallies.c.slot == REPORTS)
    )
    return found


def forget(connection: Any, round: bytes | None = None) -> None:
    """Remove the sums of a round, or of all that have been released."""
    released = tallies.c.round.in_(select(releases.c.round))
    connection.execute(
        delete(tallies).where(released if round is None else tallies.c.round == round)
    )
