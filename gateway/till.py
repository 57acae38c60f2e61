"""The rows of what was charged: statements, on a connection that the store gives."""

import hashlib
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

from sqlalchemy import insert, select, tuple_

from .ledger import Charge
from .outcomes import Again
from .schema import charges, reports


def charge(connection: Any, name: bytes, one: Charge, now_s: float, answer: bytes = b"") -> None:
    """Charge a round, or one answer to it."""
    row = {"device": one.device, "rho": str(one.rho), "at_s": now_s, "answer": answer}
    connection.execute(insert(charges).values(round=name, **row))


def charge_again(connection: Any, extra: Sequence[Again], now_s: float) -> None:
    """Charge second answers; the same bytes once, however often they are delivered."""
    for name, one, frame in extra:
        answer = hashlib.sha256(frame).digest()
        row = {"round": name, "device": one.device, "answer": answer}
        if connection.execute(select(charges.c.id).filter_by(**row)).first() is None:
            charge(connection, name, one, now_s, answer)


def charged(connection: Any) -> tuple[Charge, ...]:
    """Return everything that was charged, oldest first."""
    rows = connection.execute(select(charges.c.rho, charges.c.device).order_by(charges.c.id))
    return tuple(Charge(Fraction(rho), device) for rho, device in rows)


def prices(connection: Any, names: Iterable[bytes]) -> dict[bytes, Fraction]:
    """Return what an answer to these rounds costs; rounds that we never asked are left out."""
    wanted = select(charges.c.round, charges.c.rho).where(charges.c.device == "")
    rows = connection.execute(wanted.where(charges.c.round.in_(list(names))))
    return {row[0]: Fraction(row[1]) for row in rows}


def answered(connection: Any, pairs: Iterable[tuple[bytes, str]]) -> frozenset[tuple[bytes, str]]:
    """Return those of these (round, device) that have a report that counts."""
    pair = tuple_(reports.c.round, reports.c.device)
    rows = connection.execute(select(*pair.clauses).where(pair.in_(list(pairs))))
    return frozenset((row[0], row[1]) for row in rows)
