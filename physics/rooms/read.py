"""A room file, read: what it says, or the lines in which it says something wrong."""

import csv
import re
import tomllib
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NoReturn

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from edge.core.records import Grid

from ..places import sensor_places
from .check import check_room
from .records import (
    SIDES,
    Air,
    Arrivals,
    Clock,
    Door,
    Frames,
    Furniture,
    Heater,
    Person,
    Point,
    Privacy,
    Room,
    Side,
    Thermometers,
    Walker,
    Wall,
    Window,
)
from .source import Source, describe_table, find_lines
from .tables import Document, HeaterTable, RoomTable, ThermometersTable, WalkerTable

# A fault often brings others with it; who has mended so many reads the file again.
_AT_ONCE = 5
# The factors of more take gigabytes.
_MOST_CELLS = 300_000
_WEEK = ((0.0, 168 * 3600.0),)
# What people switch or open: never public, so never read.
_ANSWERS = re.compile(r"thermostat|setpoint|contact|presence|(^|_)meter")


def read_room(path: str | Path) -> Room:
    """Return the room that a file tells of.

    Raises:
        ValueError: what in it cannot be, five faults at most, in the order of their lines as
            far as they were found together: the file, the line, what was given, what was
            expected and why.
    """
    source = _load_source(Path(path))
    try:
        document = Document.model_validate(source.document)
    except ValidationError as wrong:
        told_of = sorted(
            (_find_error_line(source, it), _tell(source, it)) for it in wrong.errors()
        )
        _refuse([said for _, said in told_of])
    room = _build(document, source)
    faults = [str(fault) for fault in check_room(room, source)]
    if faults:
        _refuse(faults)
    return room


def read_sample() -> str:
    """Return the text of the sample room, every key of which is explained."""
    return (Path(__file__).parent / "office.toml").read_text(encoding="utf-8")


def _refuse(faults: Sequence[str]) -> NoReturn:
    more = len(faults) - _AT_ONCE
    rest = [f"and {more} more"] if more > 0 else []
    raise ValueError("\n".join([*faults[:_AT_ONCE], *rest]))


def _load_source(path: Path) -> Source:
    try:
        text = path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
        return Source(path, tomllib.loads(text), find_lines(text))
    except OSError as error:
        what = f"{path} cannot be read ({error.strerror})"
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        what = f"{path} line {line}: a byte {error.object[error.start]:#04x} is no UTF-8"
    except tomllib.TOMLDecodeError as error:
        # The line is at the end of what tomllib says; at the end of the file it names none.
        says, _, place = str(error).partition(" (at ")
        known = re.match(r"line (\d+)", place)
        line = int(known[1]) if known else text.count("\n") + 1
        row = text.split("\n")[line - 1].strip()
        what = f"{path} line {line}: {row[:60]!r} cannot be read ({says})"
    raise ValueError(
        f"{what}, but a room file must be TOML in UTF-8, for the room is built from it. Mend it, "
        "or begin with: heatveil simulate --sample > room.toml"
    )


def _find_error_line(source: Source, error: ErrorDetails) -> int:
    return source.find_line((*error["loc"], *error.get("ctx", {}).get("at", ())))


def _tell(source: Source, error: ErrorDetails) -> str:
    """Return what is said of a value that will not do."""
    where, kind = error["loc"], error["type"]
    at = error.get("ctx", {}).get("at", ())
    spec: type[BaseModel] = Document
    table = where[: 1 + any(isinstance(it, int) for it in where[1:2])]
    if len(where) > len(table) or (len(where) > 1 and kind == "missing"):
        spec = _list_tables()[str(where[0])]
    key = str(where[len(table)]) if len(where) > len(table) else ""
    names = list(spec.model_fields)
    if kind == "extra_forbidden":
        near = get_close_matches(str(where[-1]), names, 1)
        meant = f"; is it {near[0]}?" if near else ""
        why = "what is not understood would be left out of the room"
        if _ANSWERS.search(str(where[-1])):
            why = "it answers people: what it tells of them the promise does not count"
        if where[-1] in ("array", "arrays", "thermopile", "camera"):
            meant = "; thermometers alone are simulated in a room"
            why = (
                "what a pixel sees from afar is not simulated: let an array be one virtual device "
                "in physics.fleet, or provision a real one with amg8833"
            )
        given = (
            f"{describe_table(table)} has an unknown key {key}"
            if key
            else f"there is {where[0]!r}"
        )
        known = f"the {'keys' if key else 'tables'} are {', '.join(names)}{meant}"
        return str(source.make_fault(where, given, known, why))
    if not key:
        name = str(where[0])
        if kind == "missing":
            return str(
                source.make_fault(
                    where, f"there is no [{name}]", "it is needed", "all else is in it"
                )
            )
        if kind == "room_file":
            given = f"{describe_table(table)} has {error['ctx']['has']}"
            expected, why = error["msg"], "two could contradict each other, and none says nothing"
        else:
            many = "tuple" in str(Document.model_fields[name].annotation)
            given = f"{name} is {_describe_written_form(error['input'])}"
            expected = f"it must be written {f'[[{name}]]' if many else f'[{name}]'}"
            why = "a table is read as one"
        return str(source.make_fault((*where, *at), given, expected, why))
    field = spec.model_fields[key]
    value = error["input"]
    for part in at:
        value = value[part]
    given, expected = (
        f"{key} of {describe_table(table)} is {repr(value)[:60]}",
        _describe_expected(error),
    )
    if kind == "missing" and len(where) == len(table) + 1:
        given, expected = f"{describe_table(table)} has no {key}", "it is needed"
    fault = source.make_fault((*where, *at), given, expected, str(field.description))
    return f"{fault} Write {key} = {(field.examples or [''])[0]}"


def _describe_written_form(value: Any) -> str:
    if isinstance(value, dict):
        return "written as if there were one"
    return "written as if there were several" if isinstance(value, list) else "no table"


# What a value must be, where pydantic's words for it are those of a programmer.
_KINDS = {
    "bool_type": "it must be true or false",
    "float_type": "it must be a number",
    "int_type": "it must be a whole number",
    "missing": "it must have more entries",
    "string_pattern_mismatch": "it must not be empty",
    "string_type": "it must be a text in quotes",
    "too_long": "it must have fewer entries",
    "tuple_type": "it must be a list in square brackets",
}


def _describe_expected(error: ErrorDetails) -> str:
    usual = error["msg"].replace("Input should be", "it must be")
    usual = usual.replace("greater than or equal to", "at least")
    return _KINDS.get(error["type"], usual.replace("less than or equal to", "at most"))


def _list_tables() -> dict[str, type[BaseModel]]:
    """Return the tables of a room file by their names."""
    found: dict[str, type[BaseModel]] = {}
    for name, field in Document.model_fields.items():
        (found[name],) = _find_models(field.annotation)
    return found


def _find_models(kind: Any) -> list[type[BaseModel]]:
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return [kind]
    return [model for part in getattr(kind, "__args__", ()) for model in _find_models(part)]


def _build(document: Document, source: Source) -> Room:
    """Return the room of a file, every value of the right kind but not yet held against others.

    Raises:
        ValueError: sides that are no whole cells or too many, seats without visitors, a
            recording that cannot be read.
    """
    room = document.room
    calm = ((0.0, room.baseline_c),)
    grid = _make_grid(room, source)
    if document.seat and document.arrivals is None:
        raise source.make_fault(
            ("seat", 0),
            "there is a [[seat]] and no [arrivals]",
            "seats need visitors",
            "nobody else takes one",
        )
    sides = {side: getattr(document, side) for side in SIDES}
    return Room(
        room.name,
        room.size_m,
        room.height_m,
        room.cell_mm,
        Air(
            room.mixing_m2_per_s,
            room.air_changes_per_h,
            room.capacity_factor,
            room.baseline_c,
            room.supply_c or calm,
        ),
        Clock(room.start, room.duration_h, room.step_s),
        {
            name: Side(side.u_w_per_m2k, side.outside_c) if side else Side(0.0, calm)
            for name, side in sides.items()
        },
        tuple(Wall(**dict(wall)) for wall in document.wall),
        tuple(Door(it.at_m, it.width_m, it.thickness_mm, it.open) for it in document.door),
        tuple(
            Window(**{**dict(it), "height_m": it.height_m or room.height_m})
            for it in document.window
        ),
        tuple(Furniture(**dict(piece)) for piece in document.furniture),
        tuple(_make_heater(it, room.cell_mm / 1000) for it in document.heater),
        tuple(Person(it.name, it.activity or "", it.air_w, it.path) for it in document.person),
        tuple(_load_walker(it, nth, room, source) for nth, it in enumerate(document.walker)),
        _make_arrivals(document),
        tuple(
            _make_thermometers(it, nth, grid, source)
            for nth, it in enumerate(document.thermometers)
        ),
        None if document.privacy is None else Privacy(**dict(document.privacy)),
    )


def _make_grid(room: RoomTable, source: Source) -> Grid:
    columns, rows = (max(1, round(1000 * side / room.cell_mm)) for side in room.size_m)
    right = (columns * room.cell_mm / 1000, rows * room.cell_mm / 1000)
    if max(abs(a - b) for a, b in zip(room.size_m, right, strict=True)) > 1e-9:
        raise source.make_fault(
            ("room", "cell_mm"),
            f"size_m is [{room.size_m[0]:g}, {room.size_m[1]:g}] and cell_mm {room.cell_mm}",
            "each side must be a whole number of cells, as in a room of "
            f"[{right[0]:g}, {right[1]:g}]",
            "the room is made of square cells",
        )
    if columns * rows > _MOST_CELLS:
        raise source.make_fault(
            ("room", "cell_mm"),
            f"the room has {columns} x {rows} cells of {room.cell_mm} mm",
            f"{_MOST_CELLS:,} at most can be simulated: cells must be larger",
            "each step works out the warmth of every one",
        )
    return Grid((columns, rows), room.cell_mm)


def _make_heater(heater: HeaterTable, cell_m: float) -> Heater:
    x, y = heater.at_m or (0.0, 0.0)
    half = cell_m / 2  # a place stands for a cell's worth of floor
    rect = heater.rect_m or (x - half, y - half, x + half, y + half)
    return Heater(rect, heater.power_w, _WEEK if heater.on is None else heater.on)


def _make_arrivals(document: Document) -> Arrivals | None:
    told = document.arrivals
    if told is None:
        return None
    seats = tuple(seat.at_m for seat in document.seat)
    return Arrivals(
        told.per_h, told.stay_min, told.air_w, told.speed_m_per_s, told.entrance_m, seats
    )


def _load_walker(walker: WalkerTable, nth: int, room: RoomTable, source: Source) -> Walker:
    path = source.path.parent / walker.trace
    if not path.is_file():
        raise source.make_fault(
            ("walker", nth, "trace"),
            f"trace is {walker.trace!r}, and there is no such file in {path.parent}",
            "it must name a CSV, from the folder of the room file",
            "walkers go where people were recorded",
        )
    left, top, right, bottom = walker.rect_m or (0.0, 0.0, *room.size_m)
    wide, deep = walker.frame_px
    frames = tuple(
        (
            frame,
            tuple(
                (left + (right - left) * x / wide, top + (bottom - top) * y / deep)
                for x, y in places
            ),
        )
        for frame, places in read_recorded_people(path, walker.frame_px, walker.sequence)
    )
    kept = (walker.frames_per_s, walker.jump_m, walker.gap_frames, walker.at)
    return Walker(walker.name, walker.air_w, frames, *kept)


def _make_thermometers(
    group: ThermometersTable, nth: int, grid: Grid, source: Source
) -> Thermometers:
    if group.count is None:
        return Thermometers(group.kind, group.places_m or ())
    if min(grid.shape) < 2:
        raise source.make_fault(
            ("thermometers", nth, "count"),
            f"count is {list(group.count)} in a room of {grid.shape[0]} x {grid.shape[1]} cells",
            "a room of one row is told its places one by one, with places_m",
            "they are spread evenly over rows and columns",
        )
    places = sensor_places(group.count, grid).tolist()
    return Thermometers(group.kind, tuple((x, y) for x, y in places))


# Recorded positions: who was where in each frame, from CSV.

_COLUMNS = ("frame", "x_px", "y_px")
_EXAMPLE = "sequence,frame,people,x_px,y_px\n    office,0,1,7.25,3.1875"


def read_recorded_people(path: Path, frame_px: Point, sequence: str | None = None) -> Frames:
    """Return the places of people in each frame of a recording, in pixels, in frame order.

    Args:
        path: a CSV with the columns frame, x_px and y_px, and sequence where there are several;
            a row for each person in each frame, or one with empty places where nobody is.
        frame_px: how many pixels a frame has, across and down; places go from 0 to there.
        sequence: which recording; the first one in the file without.

    Raises:
        ValueError: no such file or recording, no frame in it, or a row that makes no sense; it
            names the file and the line.
    """
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            rows = [(reader.line_num, row) for row in reader]
            columns = [name or "" for name in reader.fieldnames or ()]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise _make_trace_fault(path, 1, f"{error}", "a CSV of positions is needed") from error
    if not set(_COLUMNS) <= set(columns):
        raise _make_trace_fault(
            path, 1, f"the header is {','.join(columns)!r}", f"it needs {', '.join(_COLUMNS)}"
        )
    if sequence is None and rows and "sequence" in columns:
        sequence = rows[0][1]["sequence"]
    frames: dict[int, list[Point]] = {}
    for line, row in rows:
        if sequence is None or row.get("sequence") == sequence:
            frame, place = _parse_row(path, line, row, frame_px)
            frames.setdefault(frame, []).extend(place)
    if not any(frames.values()):
        which = f" of {sequence!r}" if sequence is not None else ""
        raise _make_trace_fault(path, 1, f"there is no position{which}", "at least one is needed")
    return tuple((frame, tuple(frames[frame])) for frame in sorted(frames))


def _parse_row(
    path: Path, line: int, row: dict[str, str], frame_px: Point
) -> tuple[int, tuple[Point, ...]]:
    words = [(row.get(name) or "").strip() for name in _COLUMNS]
    try:
        frame = int(words[0])
        if words[1:] == ["", ""]:
            return frame, ()
        x, y = float(words[1]), float(words[2])
    except ValueError as error:
        raise _make_trace_fault(
            path, line, f"{','.join(words)!r}", "must be a frame and two numbers"
        ) from error
    if not (0 <= x <= frame_px[0] and 0 <= y <= frame_px[1]):
        raise _make_trace_fault(
            path,
            line,
            f"a place at {x:g}, {y:g}",
            f"must be within {frame_px[0]:g} by {frame_px[1]:g} px (frame_px of the [[walker]])",
        )
    return frame, ((x, y),)


def _make_trace_fault(path: Path, line: int, given: str, needed: str) -> ValueError:
    return ValueError(
        f"{path} line {line}: {given}, but {needed}, for walkers go where people were recorded. "
        f"For example:\n    {_EXAMPLE}"
    )
