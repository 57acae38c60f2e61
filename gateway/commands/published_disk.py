"""What a file of published readings holds of places: how often each cell was answered.

Values are counts over the outer array, row by row; `params` are those of `edge.footprint`.
"""

import json
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from edge import disk
from edge.records import Release, Round
from recovery.disk.query import Query
from recovery.maps.guarantee import from_json


def written(query: Query) -> Sequence[str]:
    """Return the names of the fields that the file holds."""
    return [field.name for field in fields(query)]


def opened(query: Query, written: Any) -> Release:
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
