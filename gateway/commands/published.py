"""Readings that are public already: a file that `play` writes and `recover` reads.

    {"schema": 1, "mechanism": "thermal", "query": {...},
     "rounds": [{"number": 1, "params": [...], "guarantee": {...}, "values": [...]}, ...]}

Values are whole grains by sensor, null where none came; `params` are those of `edge.thermal`,
ratios are text such as "1/2", and a grid is [columns, rows, millimetres of a cell].
"""

import json
import math
from collections.abc import Sequence
from dataclasses import fields
from fractions import Fraction
from pathlib import Path
from typing import Any

from edge import thermal
from edge.records import Grid, Release, Round
from edge.thermal import PARAMS, Params, params_of
from recovery.guarantee import from_json, to_json
from recovery.thermal import Query

from ..faults import OperatorFault
from .choices import checked
from .settings import value as field_of

SCHEMA = 1
# A reading this many standard deviations outside what a sensor can read is no accident.
_FAR = 40


def as_public(query: Query, releases: Sequence[Release]) -> dict[str, Any]:
    """Return the file's contents: nothing that has not passed the veil."""
    if query.response is not None:
        why = "hold no response of a room, without which there is no map; leave --published out"
        raise OperatorFault(f"published readings {why}")
    left = ("response", "sampler")[: 1 + (query.sampler == "exact")]  # older readers know the rest
    written = [field.name for field in fields(query) if field.name not in left]
    return {
        "schema": SCHEMA,
        "mechanism": releases[0].round.mechanism,
        "query": {name: _plain(name, query) for name in written},
        "rounds": [
            {
                "number": release.round.number,
                "params": list(release.round.params),
                "guarantee": json.loads(to_json(release.round.guarantee)),
                "values": list(release.values),
            }
            for release in releases
        ],
    }


def read(path: Path) -> tuple[Query, list[Release]]:
    """Return what a published file says.

    Raises:
        OperatorFault: it cannot be read, is not such a file, or holds an impossible reading.
    """
    contents = text(path)
    try:
        found = json.loads(contents, parse_constant=_no_number, parse_int=_whole)
        if (found["schema"], found["mechanism"]) != (SCHEMA, thermal.NAME):
            raise ValueError(f"it is {found['mechanism']!r} of schema {found['schema']!r}")
        query = _query(found["query"])
        releases = [_release(query, written) for written in found["rounds"]]
        if not releases:
            raise ValueError("there is no round in it")
        if len(releases) > query.readings:
            raise ValueError(f"{len(releases)} rounds share a promise for {query.readings}")
    except OperatorFault as fault:
        raise OperatorFault(f"{path}: {fault}") from fault
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as fault:
        why = f"{fault} is missing" if isinstance(fault, KeyError) else str(fault)
        raise OperatorFault(
            f"{path} is no file of published readings ({why}); it must be what heatveil play "
            "--published writes, for a map needs the room and the noise beside the readings. "
            "Write it anew, or give a CSV with the header sensor,reading"
        ) from fault
    for release in releases:
        check_possible(release, path)
    return query, releases


def check_possible(release: Release, path: Path) -> None:
    """Refuse what no sensor and no noise can have made; a little below nought is only noise.

    Raises:
        OperatorFault: a reading is too far out.
    """
    params = params_of(release.round)
    slack = _FAR * (math.isqrt(params.variance) + 1)
    low, high = params.low - slack, params.high + slack
    for sensor, value in enumerate(release.values):
        if value is not None and not low <= value <= high:
            given, *bounds = (
                f"{math.ldexp(grains, -params.exponent):.4g}" for grains in (value, low, high)
            )
            raise OperatorFault(
                f"{path}: sensor {sensor} published {given}, but with this noise it lies between "
                f"{bounds[0]} and {bounds[1]}; readings below nought are no fault, for noise goes "
                "both ways, but this one is of another unit, room or noise. Leave it out"
            )


def text(path: Path) -> str:
    """Return what a file says.

    Raises:
        OperatorFault: it cannot be read.
    """
    try:
        return path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as fault:
        why = getattr(fault, "strerror", None) or "it is not UTF-8 text"
        raise OperatorFault(
            f"{path} cannot be read ({why}); it must hold published readings, for there is "
            "nothing else to draw a map from. Check the name"
        ) from fault


def _release(query: Query, written: Any) -> Release:
    number, params, values = written["number"], tuple(written["params"]), list(written["values"])
    sensors = math.prod(query.sensors)
    whole = all(type(part) is int for part in (number, *params))
    held = PARAMS + (query.sampler == "table")
    if not whole or len(params) != held or Params(*params[:PARAMS]).sensors != sensors:
        raise ValueError(f"the params of round {number!r} are {params!r} for {sensors} sensors")
    if not -64 <= params[1] <= 64 or params[4] < 1:
        raise ValueError(f"the params {params!r} have no usable grain or no noise")
    if len(values) != sensors:
        raise ValueError(
            f"round {number} has {len(values)} values for {sensors} sensors, of which a silent "
            "one is null"
        )
    for sensor, value in enumerate(values):
        if value is not None and type(value) is not int:
            raise ValueError(f"sensor {sensor} has {value!r}, which is no whole number of grains")
    guarantee = from_json(json.dumps(written["guarantee"]))
    round = Round(number, thermal.NAME, query.grid, params, guarantee)
    return Release(round, values, sum(value is not None for value in values))


def _query(written: Any) -> Query:
    asked: dict[str, Any] = {}
    for name, value in written.items():
        if name == "grid":
            columns, rows, cell_mm = value
            asked[name] = Grid((columns, rows), cell_mm)
        elif name == "sensors":
            asked[name] = tuple(value)
        elif name == "furniture":
            asked[name] = tuple(tuple(rectangle) for rectangle in value)
        else:
            asked[name] = field_of(name, "none" if value is None else str(value), name)
    return checked(asked)


def _plain(name: str, query: Query) -> Any:
    """Return a field as JSON can write it."""
    value = getattr(query, name)
    if isinstance(value, Grid):
        return [*value.shape, value.cell_mm]
    if isinstance(value, Fraction):
        return f"{value.numerator}/{value.denominator}"
    if isinstance(value, tuple) and name not in ("sensors", "furniture"):
        return f"{value[0]}/{value[1]}"
    return value


def _no_number(name: str) -> None:
    raise ValueError(f"it holds {name}, which is no number")


def _whole(digits: str) -> int:
    if len(digits) > 300:  # of no use to anybody, and slow
        raise ValueError(f"it holds a whole number of {len(digits)} digits")
    return int(digits)
