"""From the tables of a room file to the records of a room, with what they leave open filled in."""

import math
from pathlib import Path
from typing import Any

from edge.records import Grid

from ...air import ACTIVITIES
from ...places import sensor_places
from ..records import (
    SIDES,
    Air,
    Array,
    Arrivals,
    Clock,
    Door,
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
from ..traces import read_trace
from .lines import Where
from .source import Source, example_of

# The people of a room file as records: those whose paths are told, recorded ones, visitors.


def _power_w(source: Source, name: str, where: Where, told: dict[str, Any]) -> float:
    source.one_of(name, where, told, "activity", "power_w")
    if told["power_w"] is not None:
        return float(told["power_w"])
    return ACTIVITIES[told["activity"]].air_w


def people(source: Source) -> tuple[Person, ...]:
    """Return the people of a file.

    Raises:
        ValueError: a key that is unknown, missing or of another kind.
    """
    return tuple(
        Person(
            told["name"],
            told["activity"] or "",
            _power_w(source, "person", ("person", index), told),
            told["path"],
        )
        for index, told in enumerate(source.tables("person"))
    )


def walkers(source: Source, size_m: Point) -> tuple[Walker, ...]:
    """Return the recorded people of a file, with their recordings in metres of the room.

    Raises:
        ValueError: as `people`, or a recording that cannot be read.
    """
    found = []
    for index, told in enumerate(source.tables("walker")):
        power_w = _power_w(source, "walker", ("walker", index), told)
        path = source.path.parent / Path(told["trace"])
        if not path.is_file():
            raise source.fault(
                ("walker", index, "trace"),
                f"trace is {told['trace']!r}, and there is no such file in {path.parent}",
                "it must name a CSV, from the folder of the room file",
                "walkers go where people were recorded",
                'trace = "positions.csv"',
            )
        recorded = read_trace(path, told["frame_px"], told["sequence"])
        left, top, right, bottom = told["rect_m"] or (0.0, 0.0, *size_m)
        wide, deep = told["frame_px"]
        frames = tuple(
            (
                frame,
                tuple(
                    (left + (right - left) * x / wide, top + (bottom - top) * y / deep)
                    for x, y in places
                ),
            )
            for frame, places in recorded
        )
        kept = (told["frames_per_s"], told["jump_m"], told["gap_frames"], told["at"])
        found.append(Walker(told["name"], power_w, frames, *kept))
    return tuple(found)


def visitors(source: Source, told: dict[str, Any], seats: tuple[Point, ...]) -> Arrivals:
    """Return the visitors by chance, from the values of [arrivals].

    Raises:
        ValueError: it says both what they do and what they give off, or neither.
    """
    power_w = _power_w(source, "arrivals", ("arrivals",), told)
    kept = (told["speed_m_per_s"], told["entrance_m"], seats)
    return Arrivals(told["per_h"], told["stay_min"], power_w, *kept)


# Its factors take some gigabytes.
_MOST_CELLS = 1_000_000
_WEEK = ((0.0, 168 * 3600.0),)


def build(source: Source) -> Room:
    """Return the room of a file, every value of the right kind but not yet held against others.

    Raises:
        ValueError: no [room], keys that exclude each other, sides that are no whole cells or too
            many; a recording that cannot be read.
    """
    told = source.table("room")
    if told is None:
        raise source.fault(
            (),
            "there is no [room]",
            "one table [room] is needed",
            "it says how large the room is",
            example_of("room"),
        )
    size_m = _whole_cells(source, told)
    calm = ((0.0, told["baseline_c"]),)
    air = Air(
        told["mixing_m2_per_s"],
        told["air_changes_per_h"],
        told["capacity_factor"],
        told["baseline_c"],
        told["supply_c"] or calm,
    )
    sides = {side: source.table(side) for side in SIDES}
    windows = source.tables("window")
    for window in windows:
        window["height_m"] = window["height_m"] or told["height_m"]
    arrivals, privacy = source.table("arrivals"), source.table("privacy")
    seats = tuple(seat["at_m"] for seat in source.tables("seat"))
    if seats and arrivals is None:
        raise source.fault(
            ("seat", 0),
            "there is a [[seat]] and no [arrivals]",
            "seats need visitors",
            "nobody else takes one",
            example_of("arrivals"),
        )
    return Room(
        told["name"],
        size_m,
        told["height_m"],
        told["cell_mm"],
        air,
        Clock(told["start"], told["duration_h"], told["step_s"]),
        {name: Side(**side) if side else Side(0.0, calm) for name, side in sides.items()},
        tuple(Wall(**wall) for wall in source.tables("wall")),
        tuple(
            Door(it["at_m"], it["width_m"], it["thickness_mm"], it["open"])
            for it in source.tables("door")
        ),
        tuple(Window(**window) for window in windows),
        tuple(Furniture(**piece) for piece in source.tables("furniture")),
        _heaters(source, told["cell_mm"] / 1000),
        people(source),
        walkers(source, size_m),
        None if arrivals is None else visitors(source, arrivals, seats),
        _thermometers(source, Grid(_cells(size_m, told["cell_mm"]), told["cell_mm"])),
        tuple(Array(**array) for array in source.tables("array")),
        None if privacy is None else Privacy(**privacy),
    )


def _whole_cells(source: Source, told: dict[str, Any]) -> Point:
    size_m: Point = told["size_m"]
    cell_mm = told["cell_mm"]
    columns, rows = _cells(size_m, cell_mm)
    right = (columns * cell_mm / 1000, rows * cell_mm / 1000)
    if max(abs(a - b) for a, b in zip(size_m, right, strict=True)) > 1e-9:
        fit = _fitting_mm(size_m, cell_mm)
        also = f", as with cell_mm {' or '.join(map(str, sorted(fit)))}" if fit else ""
        raise source.fault(
            ("room", "cell_mm" if fit else "size_m"),
            f"size_m is [{size_m[0]:g}, {size_m[1]:g}] and cell_mm {cell_mm}",
            f"each side must be a whole number of cells{also}",
            "the room is made of square cells",
            f"cell_mm = {fit[0]}" if fit else f"size_m = [{right[0]:g}, {right[1]:g}]",
        )
    if columns * rows > _MOST_CELLS:
        coarse = math.ceil(1000 * math.sqrt(size_m[0] * size_m[1] / _MOST_CELLS))
        raise source.fault(
            ("room", "cell_mm"),
            f"the room has {columns} x {rows} cells of {cell_mm} mm",
            f"{_MOST_CELLS:,} at most can be simulated",
            "each step works out the warmth of every one",
            f"cell_mm = {100 * math.ceil(coarse / 100)}",
        )
    return size_m


def _fitting_mm(size_m: Point, cell_mm: int) -> list[int]:
    """Return sides of cells that divide the room, three at most, the nearest one first.

    None is more than three times as large or as small as what was asked for.
    """
    whole = [round(1000 * size) for size in size_m]
    if max(abs(1000 * a - b) for a, b in zip(size_m, whole, strict=True)) > 1e-6:
        return []
    common = math.gcd(*whole)
    sides = [it for it in range(25, 3 * cell_mm + 1, 25) if common % it == 0 and 3 * it >= cell_mm]
    return sorted(sides, key=lambda it: abs(it - cell_mm))[:3]


def _cells(size_m: Point, cell_mm: int) -> tuple[int, int]:
    columns, rows = (max(1, round(1000 * size / cell_mm)) for size in size_m)
    return columns, rows


def _heaters(source: Source, cell_m: float) -> tuple[Heater, ...]:
    heaters = []
    for index, told in enumerate(source.tables("heater")):
        source.one_of("heater", ("heater", index), told, "rect_m", "at_m")
        rect = told["rect_m"]
        if rect is None:  # a cell's worth of floor
            x, y = told["at_m"]
            rect = (x - cell_m / 2, y - cell_m / 2, x + cell_m / 2, y + cell_m / 2)
        on = _WEEK if told["on"] is None else told["on"]
        heaters.append(Heater(rect, told["power_w"], on))
    return tuple(heaters)


def _thermometers(source: Source, grid: Grid) -> tuple[Thermometers, ...]:
    groups = []
    for index, told in enumerate(source.tables("thermometers")):
        source.one_of("thermometers", source.group(index), told, "count", "places_m")
        places = told["places_m"]
        if places is None and min(grid.shape) < 2:
            raise source.fault(
                ("thermometers", "count"),
                f"count is {list(told['count'])} in a room of {grid.shape[0]} x {grid.shape[1]} "
                "cells",
                "a room of one row is told its places one by one",
                "they are spread evenly over rows and columns",
                f"places_m = [[{grid.shape[0] * grid.cell_mm / 2000:g}, "
                f"{grid.shape[1] * grid.cell_mm / 2000:g}]]",
            )
        if places is None:
            places = tuple((x, y) for x, y in sensor_places(told["count"], grid).tolist())
        groups.append(Thermometers(told["kind"], places))
    return tuple(groups)
