"""A map from readings that are public already: `heatveil recover`, and the file `play` writes.

    {"schema": 1, "mechanism": "thermal", "query": {...},
     "rounds": [{"number": 1, "params": [...], "guarantee": {...}, "values": [...]}, ...]}

Values and `params` are the mechanism's own, ratios are text such as "1/2", and a grid is
[columns, rows, millimetres of a cell].
"""

import json
from collections.abc import Sequence
from dataclasses import fields
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import typer

from edge.core.records import Grid, Release
from recovery.maps.guarantee import to_json
from recovery.maps.heatmap import Heatmap, to_npz

from .. import mechanisms
from ..faults import OperatorFault
from ..mechanisms import Mechanism, find_for_query, find_mechanism
from ..mechanisms.flags import convert_recovery_faults, make_query_from_fields, read_text_file
from ..mechanisms.flags import parse_value as field_of
from ..output import Writer, check_writable, write_all
from . import flags

SCHEMA = 1
_IN_PYTHON = (
    "import heatveil; query = heatveil.ThermalQuery(heatveil.Grid((100, 1), 0), sensors=(50,), "
    "spread_m2=0.05, epsilon=(4, 1)); asked = heatveil.plan(query); "
    "found = heatveil.recover(query, [heatveil.release(asked, payloads)])"
)


def pack_public_file(query: Any, releases: Sequence[Release]) -> dict[str, Any]:
    """Return the file's contents: nothing that has not passed the veil.

    Raises:
        OperatorFault: the query holds what such a file does not.
    """
    mechanism = find_for_query(query)
    return {
        "schema": SCHEMA,
        "mechanism": mechanism.name,
        "query": {name: _pack_query_field(name, query) for name in mechanism.public_fields(query)},
        "rounds": [
            {
                "number": release.round.number,
                "params": list(release.round.params),
                "guarantee": json.loads(to_json(release.round.guarantee)),
                "values": list(release.values),
                # Where values are noised as sums they do not say how many reports came.
                **({} if mechanism.trust == "local" else {"reports": release.reports}),
            }
            for release in releases
        ],
    }


def read_public_file(path: Path) -> tuple[Mechanism, Any, list[Release]]:
    """Return the mechanism, the query and what came of it: what a published file says.

    Raises:
        OperatorFault: it cannot be read, is not such a file, or holds an impossible reading.
    """
    contents = read_text_file(path)
    try:
        found = json.loads(contents, parse_constant=_refuse_constant, parse_int=_parse_whole)
        if found["schema"] != SCHEMA:
            raise ValueError(f"it is {found['mechanism']!r} of schema {found['schema']!r}")
        mechanism = find_mechanism(found["mechanism"])
        query = _parse_query(mechanism, found["query"])
        releases = [mechanism.read_release(query, written) for written in found["rounds"]]
        if not releases:
            raise ValueError("there is no round in it")
        # Who is trusted with a sum may ask several rounds for one map; its recover counts them.
        if mechanism.trust == "local" and len(releases) > query.readings:
            raise ValueError(f"{len(releases)} rounds share a promise for {query.readings}")
    except OperatorFault as fault:
        raise OperatorFault(f"{path}: {fault}") from fault
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as fault:
        why = f"{fault} is missing" if isinstance(fault, KeyError) else str(fault)
        if isinstance(fault, json.JSONDecodeError):
            why = f"line {fault.lineno} is not JSON"
        raise OperatorFault(
            f"{path} is no file of published readings ({why}); it must be what heatveil play "
            "--published writes, for a map needs the room and the noise beside the readings. "
            "Write it anew; for other readings, payloads = [[sensor, grains], ...] with "
            f"2**asked.params[1] grains a kelvin, say room and noise in Python: {_IN_PYTHON}"
        ) from fault
    for release in releases:
        mechanism.check_possible(release, path)
    return mechanism, query, releases


def _parse_query(mechanism: Mechanism, written: Any) -> Any:
    asked: dict[str, Any] = {}
    for name, value in written.items():
        if name == "grid":
            columns, rows, cell_mm = value
            asked[name] = Grid((columns, rows), cell_mm)
        elif name == "sensors":
            asked[name] = tuple(value)
        elif name == "furniture":
            asked[name] = tuple(tuple(rectangle) for rectangle in value)
        elif value is None:
            asked[name] = None
        elif value == "0/1":  # a ratio that is nought, which no flag takes
            asked[name] = 0, 1
        else:
            asked[name] = field_of(name, str(value), name, mechanism)
    return make_query_from_fields(mechanism, asked)


def _pack_query_field(name: str, query: Any) -> Any:
    """Return a field as JSON can write it."""
    value = getattr(query, name)
    if isinstance(value, Grid):
        return [*value.shape, value.cell_mm]
    if isinstance(value, Fraction):
        return f"{value.numerator}/{value.denominator}"
    if isinstance(value, tuple) and name not in ("sensors", "furniture"):
        return f"{value[0]}/{value[1]}"
    return value


def _refuse_constant(name: str) -> None:
    raise ValueError(f"it holds {name}, which is no number")


def _parse_whole(digits: str) -> int:
    if len(digits) > 300:  # of no use to anybody, and slow
        raise ValueError(f"it holds a whole number of {len(digits)} digits")
    return int(digits)


def recover(
    file: Annotated[Path, typer.Argument(help="What play --published wrote.")],
    estimator: flags.Estimator = "",
    out: flags.Out = None,
    plot: flags.Plot = None,
) -> None:
    """Draw the map of readings that are public already, by another estimator if you like."""
    check_writable([place for place in (out, plot) if place], [file])
    mechanism, query, releases = read_public_file(file)
    if estimator:
        known = {field.name: getattr(query, field.name) for field in fields(query)}
        query = make_query_from_fields(mechanism, known | {"estimator": estimator})
    with convert_recovery_faults():
        found = mechanisms.recover(query, releases)
    writers: dict[Path, Writer] = {}
    if plot:
        writers[plot] = mechanism.redraw(query, releases, found, file.name)
    if out and isinstance(found, Heatmap):
        writers[out] = lambda half: to_npz(found, half)
    write_all(writers)
    if out and not isinstance(found, Heatmap):
        out.unlink(missing_ok=True)  # an older map would be taken for this one
    lines = [
        *mechanism.format_lines(found),
        *mechanism.silent_lines(releases),
        *mechanism.promise(query, found.guarantee),
    ]
    typer.echo("\n".join(lines))
