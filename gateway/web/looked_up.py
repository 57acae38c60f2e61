"""What the store knows, as the API answers it; every function may wait for the disk."""

from fractions import Fraction
from typing import Any

import msgspec

from ..currency import Unit
from ..terms import unit_in
from . import answers, asks
from .maps import Map, MapHead, Maps
from .parts import Parts
from .refusals import STARTING, missing


def rounds(parts: Parts, asked: asks.Paged) -> answers.Rounds:
    """Return a page of rounds, newest first."""
    reader = reader_of(parts)
    rows, unit = reader.rounds(asked.limit + 1, asked.older), _unit(reader)
    found = [_round(row, unit) for row in rows[: asked.limit]]
    return answers.Rounds(found, found[-1].number if len(rows) > asked.limit else None)


def one_round(parts: Parts, asked: asks.One) -> answers.Round:
    """Return the round of a number."""
    reader = reader_of(parts)
    row = reader.round(asked.number)
    if row is None:
        raise missing(f"round {asked.number}")
    return _round(row, _unit(reader))


def release(parts: Parts, asked: asks.One) -> answers.Release:
    """Return what a round released."""
    values = reader_of(parts).release(asked.number)
    if values is None:
        raise missing(f"release of a round {asked.number}")
    return answers.Release(asked.number, list(values))


def maps(parts: Parts, asked: asks.Paged) -> Maps:
    """Return a page of maps without their pictures, newest first."""
    bodies = reader_of(parts).maps(asked.limit + 1, asked.older)
    found = [msgspec.json.decode(body, type=MapHead) for body in bodies[: asked.limit]]
    return Maps(found, found[-1].number if len(bodies) > asked.limit else None)


def one_map(parts: Parts, asked: asks.One) -> Map:
    """Return the map of a round."""
    return _map(reader_of(parts).map(asked.number), f"map of a round {asked.number}")


def latest_map(parts: Parts, asked: asks.Nothing) -> Map:
    """Return the newest map."""
    return _map(reader_of(parts).map(None), "map yet")


def ledger(parts: Parts, asked: asks.Paged) -> answers.Ledger:
    """Return the promise in words, its budget, and a page of what was charged, newest first."""
    reader, told = reader_of(parts), parts.feed.latest()
    promised, budget = reader.promise()
    unit = unit_in(promised)
    book = None if budget is None else reader.ledger(budget)
    rows = reader.charges(asked.limit + 1, asked.older)
    charges = [
        answers.Charge(
            row.id, row.number, row.device or "", answers.Rho.of(row.rho, unit), row.at_s
        )
        for row in rows[: asked.limit]
    ]
    return answers.Ledger(
        told.get("promise", {}).get("sentences", []),
        (told.get("map") or reader.map(None) or {}).get("guarantee"),
        _rho(book and book.budget, unit),
        _rho(book and book.spent, unit),
        _rho(book and book.left, unit),
        charges,
        charges[-1].id if len(rows) > asked.limit else None,
    )


def refused(parts: Parts, asked: asks.Paged) -> answers.Refusals:
    """Return how many messages did not count, and a page of them, newest first."""
    reader = reader_of(parts)
    rows = reader.refused(asked.limit + 1, asked.older)
    found = [
        answers.Refused(row.id, row.at_s, row.topic, row.kind, row.why, row.size)
        for row in rows[: asked.limit]
    ]
    following = found[-1].id if len(rows) > asked.limit else None
    return answers.Refusals(reader.refused_kinds(), found, following)


def _round(row: Any, unit: Unit) -> answers.Round:
    return answers.Round(
        number=row.number,
        name=row.name_hex,
        mechanism=row.mechanism,
        opened_s=row.opened_s,
        closed_s=row.closed_s,
        reports=row.reports,
        enrolled=row.enrolled,
        rho=answers.Rho.of(row.rho, unit),
        outcome=row.outcome,
    )


def _map(body: Any, what: str) -> Map:
    if body is None:
        raise missing(what)
    return msgspec.convert(body, Map)


def _rho(rho: Fraction | None, unit: Unit) -> answers.Rho | None:
    return None if rho is None else answers.Rho.of(rho, unit)


def _unit(reader: Any) -> Unit:
    promised, _ = reader.promise()
    return unit_in(promised)


def reader_of(parts: Parts) -> Any:
    """Return what reads the store.

    Raises:
        Refusal: it is not there yet.
    """
    if parts.reader is None:
        raise STARTING
    return parts.reader
