"""The people of a room file as records: those whose paths are told, recorded ones, visitors."""

from pathlib import Path
from typing import Any

from ...air import ACTIVITIES
from ..records import Arrivals, Person, Point, Walker
from ..traces import read_trace
from .lines import Where
from .source import Source


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
