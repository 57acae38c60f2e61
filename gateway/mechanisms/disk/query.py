"""From the words of a command line, or of a published file, to a disk query and its releases."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from edge import disk
from edge.records import Release, Round
from recovery.disk import plan
from recovery.disk.query import Query
from recovery.maps.guarantee import from_json

from ...faults import OperatorFault
from ..flags import first_round_of, given, ratio
from ..flags import grid as grid_of

# From the words of a command line to a disk Query, or to a sentence that says why not.

# Fields of the query that --set does not give, and what does.
OTHER_FLAGS = {"grid": "--grid and --length"}


def query(
    *,
    grid: str = "15x15",
    length: float | None = None,
    epsilon: str = "1/1",
    estimator: str = "auto",
    settings: Iterable[str] | None = (),
) -> Query:
    """Return the query that the flags ask for.

    Args:
        settings: "name=value" for any further field, as --set gives it.

    Raises:
        OperatorFault: a flag or a setting has no meaning, alone or beside the others.
    """
    asked: dict[str, Any] = {
        "grid": grid_of(grid, length, "--grid"),
        "epsilon": ratio(epsilon, "--epsilon"),
        "estimator": estimator,
    }
    return checked(asked | given(settings or (), Query, OTHER_FLAGS))


def checked(asked: Mapping[str, Any]) -> Query:
    """Return the Query of these fields.

    Raises:
        OperatorFault: they have no meaning together.
    """
    try:
        return Query(**asked)
    except ValueError as fault:
        raise OperatorFault(str(fault)) from fault


def first_round(query: Query) -> Round:
    """Return what the query asks first.

    Raises:
        OperatorFault: it cannot be asked.
    """
    return first_round_of(query, plan)


# What a file of published readings holds of places: how often each cell was answered.
#
# Values are counts over the outer array, row by row; `params` are those of `edge.footprint`.


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
