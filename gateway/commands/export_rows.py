"""The rows of an export: what a store holds, as plain values under names with their units.

Blurred readings are whole grains, as they left the device: a grain is 2**-exponent kelvin (or
units of the interval's model), and to round them otherwise would pretend that they are exact.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from edge import cbor, wire
from edge.thermal import NAME, PARAMS, Params

from ..storage.records import RoundRow

PAGE = 500  # rounds or charges of one question: nobody is kept waiting for longer
GRAINS = "whole numbers; times 2**-exponent kelvin, or units of the unit interval's model"
EPOCH = "seconds since 1970-01-01 UTC, of the gateway's clock"


class Span(NamedTuple):
    """From when on, and before when; None is no bound."""

    since_s: float | None
    until_s: float | None
    site: str = ""  # whose topics they are

    def holds(self, at_s: float) -> bool:
        """Return whether a moment is within."""
        early = self.since_s is not None and at_s < self.since_s
        return not early and (self.until_s is None or at_s < self.until_s)


class Kind(NamedTuple):
    """What can be exported: its columns and their types, its units, and where its rows are."""

    columns: dict[str, type]
    units: dict[str, str]
    of: str
    rows: Callable[[Any, Span], Iterator[list[tuple[Any, ...]]]]  # one list a round, or page


def _reports(reader: Any, span: Span) -> Iterator[list[tuple[Any, ...]]]:
    for row in _rounds(reader, span):
        exponent = _exponent(reader, row)
        found: list[tuple[Any, ...]] = []
        for one in reader.answers(row.number):
            # Its MAC was verified before it was stored, with a key that may be gone by now.
            body = cbor.decode(one.frame[: -wire.MAC_BYTES])
            numbers = (row.number, one.device, one.epoch, one.seq, one.taken_s)
            for place, grains in enumerate(body[4], body[5]):
                found.append((*numbers, place, grains, exponent))
        yield found


def _messages(reader: Any, span: Span) -> Iterator[list[tuple[Any, ...]]]:
    """Give what went over the broker for a round: it is asked, answered, taken back."""
    for row in _rounds(reader, span):
        asked = wire.round_topic(span.site, row.mechanism)
        answers = sorted(reader.answers(row.number), key=lambda one: (one.taken_s, one.device))
        found = [(row.number, row.opened_s, asked, (reader.message(row.number) or b"").hex())]
        for one in answers:
            topic = wire.topic(span.site, one.device, "data")
            found.append((row.number, one.taken_s, topic, one.frame.hex()))
        if row.closed_s is not None:
            found.append((row.number, row.closed_s, asked, ""))
        yield found


def _releases(reader: Any, span: Span) -> Iterator[list[tuple[Any, ...]]]:
    for row in _rounds(reader, span):
        values = reader.release(row.number)
        if values is not None:
            ended = (row.number, row.closed_s, row.reports)
            exponent = _exponent(reader, row)
            yield [(*ended, place, grains, exponent) for place, grains in enumerate(values)]


def _maps(reader: Any, span: Span) -> Iterator[list[tuple[Any, ...]]]:
    for row in _rounds(reader, span):
        body = reader.map(row.number)
        if body is None:
            continue
        mass = body["mass"] or []
        lines = mass if mass and isinstance(mass[0], list) else [mass]
        yield [
            (row.number, row.opened_s, i, j, float(share))
            for i, line in enumerate(lines)
            for j, share in enumerate(line)
        ]


def _ledger(reader: Any, span: Span) -> Iterator[list[tuple[Any, ...]]]:
    pages: list[list[Any]] = []
    before = None
    while page := reader.charges(PAGE, before):
        pages.append([one for one in page if span.holds(one.at_s)])
        before = page[-1].id
    for page in reversed(pages):
        yield [
            (one.number, one.device, str(one.rho), float(one.rho), one.at_s)
            for one in reversed(page)
        ]


def _rounds(reader: Any, span: Span) -> list[RoundRow]:
    """Return the rounds that were opened within, oldest first."""
    found: list[RoundRow] = []
    before = None
    while page := reader.rounds(PAGE, before):
        found += [row for row in page if span.holds(row.opened_s)]
        before = page[-1].number
    return found[::-1]


def _exponent(reader: Any, row: RoundRow) -> int | None:
    """Return what a grain of a round is, or None for a mechanism without."""
    message = reader.message(row.number)
    if row.mechanism != NAME or message is None:
        return None
    return int(Params(*cbor.decode(message[: -wire.MAC_BYTES])[4][:PARAMS]).exponent)


_GRAINS = {"grains": GRAINS, "sensor": "counted from 0", "exponent": "of the grains"}
KINDS = {
    "reports": Kind(
        {
            "round": int,
            "device": str,
            "epoch": int,
            "seq": int,
            "taken_s": float,
            "sensor": int,
            "grains": int,
            "exponent": int,
        },
        {**_GRAINS, "taken_s": EPOCH, "epoch": "boots of the device", "seq": "its messages"},
        "rounds",
        _reports,
    ),
    "releases": Kind(
        {
            "round": int,
            "closed_s": float,
            "reports": int,
            "sensor": int,
            "grains": int,
            "exponent": int,
        },
        {**_GRAINS, "closed_s": EPOCH, "reports": "devices that answered"},
        "rounds",
        _releases,
    ),
    "maps": Kind(
        {"round": int, "opened_s": float, "row": int, "column": int, "mass": float},
        {"opened_s": EPOCH, "mass": "of the cell, as on the map topic; from 0", "row": "from 0"},
        "maps",
        _maps,
    ),
    "messages": Kind(
        {"round": int, "at_s": float, "topic": str, "payload": str},
        {"at_s": EPOCH, "payload": "hex, as it came or went; empty where a round is taken back"},
        "rounds",
        _messages,
    ),
    "ledger": Kind(
        {"round": int, "device": str, "rho": str, "rho_decimal": float, "at_s": float},
        {"rho": "num/den, exact", "device": "empty: the whole fleet was asked", "at_s": EPOCH},
        "pages of charges",
        _ledger,
    ),
}
