"""An operator's own recordings, from two CSV files: the readings, and where the thermometers are.

One line a reading, in any order, of as many experiments as there are. Times are seconds of the
experiment's own, or of any clock; only differences count.
"""

import csv
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..air import ACTIVITIES
from ..places import Floats
from .experiments import Experiment, stepped

COLUMNS = ("experiment", "day", "at_s", "node", "temp_c", "people", "activity", "door_open")
_EXAMPLE = "monday-1,2026-03-02,12.5,3,21.42,2,office,0"
_NODE = "3,2.38,3.45,2.25"


def read(
    recording: Path, nodes: Path, size_m: Sequence[float], room: str = ""
) -> tuple[Experiment, ...]:
    """Return the experiments of a recording, one line a reading.

    Args:
        recording: a CSV file with the columns experiment, day, at_s, node, temp_c, people,
            activity (a name of `physics.air.ACTIVITIES`, or empty while nobody is there) and
            door_open (0 or 1).
        nodes: a CSV file with the columns node, x_m, y_m, z_m.
        size_m: of the room: x, y and height.
        room: goes before the names of the experiments.

    Raises:
        ValueError: a file, its line, what was expected there, and an example.
    """
    size = np.array(size_m, dtype=float)
    if size.shape != (3,) or not ((size > 0) & np.isfinite(size)).all():
        raise ValueError(
            f"size_m is {size_m} but must be x, y and height of the room, all positive, for its "
            "air is what people warm. Give metres, such as 4.7, 3.4, 2.9."
        )
    places = _places(nodes, size)
    kept: dict[tuple[str, str], list[tuple[float, int, float, float, float]]] = {}
    for at, line in _lines(recording, COLUMNS, _EXAMPLE):
        at_s, temp_c, people, door = (
            _number(recording, at, line, name)
            for name in ("at_s", "temp_c", "people", "door_open")
        )
        activity, names = line["activity"], ", ".join(ACTIVITIES)
        for good, given, expected in (
            (line["node"] in places, f"node {line['node']!r}", f"one that {nodes.name} places"),
            (-40 < temp_c < 60, f"temp_c {temp_c:g}", "degrees Celsius of a room"),
            (people >= 0 and people % 1 == 0, f"people {people:g}", "a whole number from 0"),
            (not people or activity in ACTIVITIES, f"activity {activity!r}", f"one of {names}"),
            (door in (0, 1), f"door_open {door:g}", "0 or 1"),
        ):
            if not good:
                raise _fault(recording, at, given, expected)
        watts = people * ACTIVITIES[activity].air_w if people else 0.0
        node = list(places).index(line["node"])
        kept.setdefault((line["experiment"], line["day"]), []).append(
            (at_s, node, temp_c, watts, door)
        )
    if not kept:
        raise _fault(recording, 2, "the end of the file", "a reading")
    found = []
    for (name, day), lines in kept.items():
        times_s, sent_by, read_c, power_w, doors = (
            np.array(row) for row in zip(*lines, strict=True)
        )
        try:
            room_of = (size, np.array(list(places.values())))
            found.append(
                stepped(room + name, day, room_of, (times_s, sent_by, read_c), (power_w, doors))
            )
        except ValueError as fault:
            raise ValueError(f"{recording}: {fault}") from fault
    return tuple(found)


def _places(nodes: Path, size_m: Floats) -> dict[str, list[float]]:
    """Return where each thermometer is."""
    places: dict[str, list[float]] = {}
    for at, line in _lines(nodes, ("node", "x_m", "y_m", "z_m"), _NODE):
        place = [_number(nodes, at, line, axis, _NODE) for axis in ("x_m", "y_m", "z_m")]
        if not all(0 <= one <= side for one, side in zip(place, size_m, strict=True)):
            sides = " x ".join(f"{side:g}" for side in size_m)
            raise _fault(nodes, at, f"place {place}", f"metres inside a room of {sides} m", _NODE)
        if line["node"] in places:
            raise _fault(nodes, at, f"node {line['node']!r} again", "each node once", _NODE)
        places[line["node"]] = place
    return places


def _lines(path: Path, columns: Sequence[str], example: str) -> list[tuple[int, dict[str, str]]]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file)
            lines = [(reader.line_num, line) for line in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise _fault(path, 1, f"{error}", "a CSV file in UTF-8", example) from error
    missing = [name for name in columns if name not in (reader.fieldnames or ())]
    if missing:
        raise ValueError(
            f"{path}, line 1: no column {', '.join(missing)} but expected the columns "
            f"{','.join(columns)}, for a reading counts only where its place, time and people "
            f"are known. A line looks like: {example}"
        )
    return lines


def _number(
    path: Path, at: int, line: dict[str, str], name: str, example: str = _EXAMPLE
) -> float:
    try:
        number = float(line[name])
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise _fault(path, at, f"{name} {line[name]!r}", "a finite number", example)
    return number


def _fault(path: Path, at: int, given: str, expected: str, example: str = _EXAMPLE) -> ValueError:
    return ValueError(
        f"{path}, line {at}: {given} but expected {expected}, for a reading counts only where "
        f"its place, time and people are known. A line looks like: {example}"
    )
