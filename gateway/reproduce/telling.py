"""A figure in words: the lines that are printed, and the object that goes into a file."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

from .record import Figure, Mark, Order, Panel


def lines(figure: Figure) -> Iterator[str]:
    """Yield what is printed: each panel as a table, the paper's trend, and ours beside it."""
    yield f"{figure.name}: {figure.title}"
    for panel in figure.panels:
        yield ""
        yield from _panel(panel)
    for table in figure.tables:
        yield ""
        yield table.title
        yield from rows(table.columns, table.rows)
    yield ""
    yield f"the paper: {figure.paper}"
    for sentence in figure.found:
        yield f"here: {sentence}"
    for sentence in figure.notes:
        yield f"note: {sentence}"


def as_object(figure: Figure, order: Order) -> dict[str, Any]:
    """Return the figure as what JSON can hold: numbers that are none become null."""
    found = asdict(figure)
    found["panels"] = [
        {**given, "lines": {name: [one._asdict() for one in line] for name, line in kept.items()}}
        for given, kept in ((asdict(panel), panel.lines) for panel in figure.panels)
    ]
    how = {"runs": order.runs, "seed": order.seed, "scale": order.scale}
    plain: dict[str, Any] = _plain({"figure": figure.name, **how, **found})
    return plain


def rows(columns: Sequence[str], body: Iterable[Sequence[Any]]) -> Iterator[str]:
    """Yield lines of a table whose columns are aligned, the first to the left."""
    table = [list(columns), *([_cell(one) for one in row] for row in body)]
    widths = [max(len(row[at]) for row in table) for at in range(len(columns))]
    for row in table:
        first, *rest = zip(row, widths, strict=True)
        yield "  " + first[0].ljust(first[1]) + "".join(f"  {c:>{w}}" for c, w in rest)


def _panel(panel: Panel) -> Iterator[str]:
    yield f"{panel.title}: {panel.up} +- half of the 95 % interval, by {panel.across}"
    places = sorted({one.at for line in panel.lines.values() for one in line})
    body = []
    for name, line in panel.lines.items():
        at = {one.at: one for one in line}
        body.append([name, *(_score(at.get(place)) for place in places)])
    yield from rows(["", *(f"{place:g}" for place in places)], body)
    private = [[name, *_private(line, places)] for name, line in panel.lines.items()]
    shown = [row for row in private if any(row[1:])]
    if shown:
        yield "  local privacy in cells / worst log-ratio:"
        yield from rows(["", *(f"{place:g}" for place in places)], shown)


def _score(one: Mark | None) -> str:
    if one is None:
        return "-"
    half = "" if math.isnan(one.half_width) else f" +-{one.half_width:.3f}"
    return f"{one.mean:.3f}{half}"


def _private(line: Sequence[Mark], places: Sequence[float]) -> Iterator[str]:
    at = {one.at: one for one in line}
    for place in places:
        one = at.get(place)
        if one is None or math.isnan(one.worst_log_ratio):
            yield ""
        elif math.isnan(one.local_privacy_cells):
            yield f"- / {one.worst_log_ratio:.2f}"
        else:
            yield f"{one.local_privacy_cells:.2f} / {one.worst_log_ratio:.2f}"


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return "-" if math.isnan(value) else f"{value:.3f}"
    return str(value)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
