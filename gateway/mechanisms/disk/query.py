"""What a disk query asks first, and its releases in published files and exports."""

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from edge.core.records import Grid, Release, Round
from edge.mechanisms import disk, footprint
from recovery.disk import plan
from recovery.disk.query import Query
from recovery.maps.guarantee import from_json

from ..flags import first_round_of
from ..record import Tail


def first_round(query: Query) -> Round:
    """Return what the query asks first.

    Raises:
        OperatorFault: it cannot be asked.
    """
    return first_round_of(query, plan)


# What a file of published readings holds of places: how often each cell was answered.
#
# Values are counts over the outer array, row by row; `params` are those of the device.


def read_release(query: Query, written: Any) -> Release:
    """Return the release that a round of the file holds.

    Raises:
        ValueError: it has not the shape of one.
    """
    number, params, values = written["number"], tuple(written["params"]), list(written["values"])
    if not all(type(part) is int for part in (number, *params)):
        raise ValueError(f"the params of round {number!r} are not all whole numbers")
    guarantee = from_json(json.dumps(written["guarantee"]))
    round = Round(number, disk.NAME, query.grid, params, guarantee)
    table = disk.Table(round)
    if len(values) != table.columns * table.rows:
        raise ValueError(
            f"round {number} has {len(values)} counts for {table.columns} x {table.rows} cells "
            "that can be answered"
        )
    for cell, value in enumerate(values):
        if type(value) is not int or value < 0:
            raise ValueError(f"cell {cell} was answered {value!r} times, which is no count")
    return Release(round, values, sum(values))


def _cell(body: Any) -> Callable[[int], Tail]:
    columns, _, left, above = footprint.outer(Grid(tuple(body[3][:2]), body[3][2]), body[4][0])
    return lambda cell: (cell, cell // columns - above, cell % columns - left)


def export_reports(body: Any) -> Callable[[Sequence[int], int], Iterable[Tail]]:
    """Return what gives the rows of reports: a cell, and where on the map it is."""
    where = _cell(body)
    return lambda values, first: map(where, values)


def export_counts(body: Any) -> Callable[[Sequence[int | None]], Iterable[Tail]]:
    """Return what gives the rows of a release: how often each cell was answered."""
    where = _cell(body)
    return lambda values: [(*where(cell), count) for cell, count in enumerate(values)]


def reporter(round: Round) -> Callable[[Any, Any], list[int]]:
    """Return the device's own report, with the Round's table made once and not by each device."""
    table = disk.Table(round)
    return lambda reading, rng: disk.report(round, reading, rng, table)
