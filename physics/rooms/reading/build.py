"""From the tables of a room file to the records of a room, with what they leave open filled in."""

import math
from typing import Any

from edge.records import Grid

from ...places import sensor_places
from ..records import (
    SIDES,
    Air,
    Array,
    Clock,
    Door,
    Furniture,
    Heater,
    Point,
    Privacy,
    Room,
    Side,
    Thermometers,
    Wall,
    Window,
)
from .people import people, visitors, walkers
from .source import Source
from .wording import example_of

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
