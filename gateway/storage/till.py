"""The rows of what was charged: statements, on a connection that the store gives."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

from sqlalchemy import insert, select, update

from ..intake.outcomes import Again, digest
from ..ledger import Charge
from ..terms import check_budget, check_terms, unit_in
from .bulk import insert_many
from .schema import about, charges


def lock(connection: Any) -> None:
    """Let nobody else charge until this transaction ends.

    SQLite has one writer at a time as it is, and leaves the lock out.
    """
    connection.execute(select(about.c.schema).with_for_update())


def charge(connection: Any, name: bytes, one: Charge, now_s: float, answer: bytes = b"") -> None:
    """Charge a round, or one answer to it."""
    row = {"device": one.device, "rho": str(one.rho), "at_s": now_s, "answer": answer}
    connection.execute(insert(charges).values(round=name, **row))


def charge_again(connection: Any, extra: Sequence[Again], now_s: float) -> None:
    """Charge second answers; the same bytes once, however often they are delivered."""
    rows = [(name, one.device, digest(frame), str(one.rho), now_s) for name, one, frame in extra]
    columns = ("round", "device", "answer", "rho", "at_s")
    insert_many(connection, charges, columns, rows, "ON CONFLICT DO NOTHING")


def charged(connection: Any) -> tuple[Charge, ...]:
    """Return everything that was charged, oldest first."""
    rows = connection.execute(select(charges.c.rho, charges.c.device).order_by(charges.c.id))
    return tuple(Charge(Fraction(rho), device) for rho, device in rows)


def prices(connection: Any, names: Iterable[bytes]) -> dict[bytes, Fraction]:
    """Return what an answer to these rounds costs; rounds that we never asked are left out."""
    wanted = select(charges.c.round, charges.c.rho).where(charges.c.device == "")
    rows = connection.execute(wanted.where(charges.c.round.in_(list(names))))
    return {row[0]: Fraction(row[1]) for row in rows}


def promise(connection: Any) -> str | None:
    """Return the terms of all charges, as `terms.terms` wrote them; None before the first."""
    found: str | None = connection.scalar(select(about.c.promise))
    return found


def budget(connection: Any) -> Fraction | None:
    """Return the least budget that was ever promised here; None before the first charge."""
    found = connection.scalar(select(about.c.budget))
    return None if found is None else Fraction(found)


def check(connection: Any, terms: str, most: Fraction) -> None:
    """Check that a charge under these terms, within this budget, may be added to the others.

    Raises:
        OperatorFault: it may not.
    """
    check_terms(promise(connection), terms)
    check_budget(budget(connection), most, unit_in(terms))


def hold_to(connection: Any, terms: str, budget: Fraction) -> None:
    """Let all charges from now on be under these terms, and within this budget."""
    connection.execute(update(about).values(promise=terms, budget=str(budget)))
