"""The rows of an export: what a store holds, as plain values under names with their units.

What a device answered, and what became of all answers, each mechanism has its own names for: see
`export_own`. All else is alike.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from edge import cbor, wire

from ..storage.records import RoundRow
from .act import Exported

PAGE = 500  # rounds or charges of one question: nobody is kept waiting for longer


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


def reports(own: Exported, reader: Any, span: Span) -> Iterator[list[tuple[Any, ...]]]:
    for row in _rounds(reader, span):
        tails = own.reported(_asked(reader, row))
        found: list[tuple[Any, ...]] = []
        for one in reader.answers(row.number):
            # Its MAC was verified before it was stored, with a key that may be gone by now.
            body = cbor.decode(one.frame[: -wire.MAC_BYTES])
            numbers = (row.number, one.device, one.epoch, one.seq, one.taken_s)
            found += [(*numbers, *tail) for tail in tails(body[4], body[5])]
        yield found


def messages(reader: Any, span: Span) -> Iterator[list[tuple[Any, ...]]]:
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


def releases(own: Exported, reader: Any, span: Span) -> Iterator[list[tuple[Any, ...]]]:
    for row in _rounds(reader, span):
        values = reader.release(row.number)
        if values is not None:
            ended = (row.number, row.closed_s, row.reports)
            yield [(*ended, *tail) for tail in own.released(_asked(reader, row))(values)]


def maps(own: Exported, reader: Any, span: Span) -> Iterator[list[tuple[Any, ...]]]:
    for row in _rounds(reader, span):
        body = reader.map(row.number)
        if body is None:
            continue
        lines = _lines(body["mass"])
        sds = _lines(body.get("sd")) or [[None] * len(line) for line in lines]
        yield [
            (row.number, row.opened_s, i, j, float(share), *([sds[i][j]] * own.sure))
            for i, line in enumerate(lines)
            for j, share in enumerate(line)
        ]


def _lines(values: Any) -> Any:
    if not values:
        return []
    return values if isinstance(values[0], list) else [values]


def ledger(reader: Any, span: Span) -> Iterator[list[tuple[Any, ...]]]:
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


def _asked(reader: Any, row: RoundRow) -> Any:
    """Return the body of what asked a round: it was signed, with a key that may be gone by now."""
    return cbor.decode(reader.message(row.number)[: -wire.MAC_BYTES])
