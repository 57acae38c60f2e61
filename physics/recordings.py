"""An operator's own recordings, from two CSV files: the readings, and where the thermometers are.

One line a reading, in any order, of as many experiments as there are. Times are seconds of the
experiment's own, or of any clock; only differences count.
"""

import csv
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from .air import ACTIVITIES
from .experiments import Experiment, stepped

COLUMNS = ("experiment", "day", "at_s", "node", "temp_c", "people", "activity", "door_open")
_EXAMPLE = "monday-1,2026-03-02,12.5,3,21.42,2,office,0"


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
    places = {
        line["node"]: [_number(nodes, at, line, axis) for axis in ("x_m", "y_m", "z_m")]
        for at, line in _lines(nodes, ("node", "x_m", "y_m", "z_m"), "3,2.38,3.45,2.25")
    }
    kept: dict[tuple[str, str], list[tuple[float, str, float, float, float]]] = {}
    for at, line in _lines(recording, COLUMNS, _EXAMPLE):
        people, activity = _number(recording, at, line, "people"), line["activity"]
        if people and activity not in ACTIVITIES:
            raise _fault(
                recording, at, f"activity {activity!r}", f"one of {', '.join(ACTIVITIES)}"
            )
        if line["node"] not in places:
            raise _fault(recording, at, f"node {line['node']!r}", f"one that {nodes.name} places")
        watts = people * ACTIVITIES[activity].air_w if people else 0.0
        values = [_number(recording, at, line, name) for name in ("at_s", "temp_c", "door_open")]
        kept.setdefault((line["experiment"], line["day"]), []).append(
            (values[0], line["node"], values[1], watts, values[2])
        )
    found = []
    for (name, day), lines in kept.items():
        at_s, names, temp_c, watts_w, doors = (np.array(row) for row in zip(*lines, strict=True))
        node = np.array([list(places).index(one) for one in names])
        found.append(
            stepped(
                room + name,
                day,
                (np.array(size_m, dtype=float), np.array(list(places.values()))),
                (at_s, node, temp_c),
                (watts_w, doors),
            )
        )
    return tuple(found)


def _lines(path: Path, columns: Sequence[str], example: str) -> list[tuple[int, dict[str, str]]]:
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        missing = [name for name in columns if name not in (reader.fieldnames or ())]
        if missing:
            raise ValueError(
                f"{path}, line 1: no column {', '.join(missing)} but expected the columns "
                f"{','.join(columns)}. A line looks like: {example}"
            )
        return list(enumerate(reader, start=2))


def _number(path: Path, at: int, line: dict[str, str], name: str) -> float:
    try:
        number = float(line[name])
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise _fault(path, at, f"{name} {line[name]!r}", "a finite number, such as 21.42")
    return number


def _fault(path: Path, at: int, given: str, expected: str) -> ValueError:
    return ValueError(
        f"{path}, line {at}: {given} but expected {expected}, for a reading counts only where "
        f"its place, time and people are known. A line looks like: {_EXAMPLE}"
    )
