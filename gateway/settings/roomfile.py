"""A deployment in a room that has a file: what the file says is not said again, nor otherwise.

The simulator's packages are loaded here, where such a file is named, and nowhere else: who has
none does not pay for them.
"""

import os
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from recovery.maps.heatmap import Heatmap, Unresolved

from ..faults import OperatorFault

# What a room file says, so that the deployment file must not; the rest may only agree.
_SAID = (
    ("room", ("cells", "length_m", "walls", "furniture")),
    ("heat", ("spread_m2", "spread_max_m2")),
    ("sensors", ("count", "adc_step", "adc_behind", "drift_sd")),
    ("rounds", ("calibration",)),
)


class Vacancy(NamedTuple):
    """What must be known of a round in a room with a file, to take the empty room off it."""

    plan: Path
    at_s: float  # when it was answered, of the epoch
    recorded_s: tuple[float | None, ...]  # of each sensor, when its level was; None for unknown
    known: bool  # everybody knows that nobody is there at that hour
    weather: Path | None
    state: bytes | None  # what the last map left


class ClearedMap(NamedTuple):
    """What came of it."""

    found: Heatmap | Unresolved
    state: bytes  # for the next
    notes: tuple[str, ...]  # what is not as it should be, a clause each


def fill_from_room_file(given: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return what a deployment file says, with what its room file says where it names one.

    Args:
        folder: that relative paths count from.

    Raises:
        OperatorFault: the room file is wrong, or the two speak of the same thing.
    """
    room = given.get("room")
    if isinstance(room, dict) and isinstance(room.get("plan"), list):
        raise OperatorFault(
            f"[room] plan names {len(room['plan'])} files, but a gateway serves one room. Write a "
            "deployment file for each room, with a [site] name, a database and a [page] port of "
            "its own"
        )
    if not isinstance(room, dict) or not isinstance(room.get("plan"), str):
        return dict(given)
    path = folder / room["plan"]
    for table, keys in _SAID:
        for key in keys:
            if key in given.get(table, {}):
                raise OperatorFault(
                    f"[{table}] {key} is given together with [room] plan, but the room file "
                    f"{path} determines it, and noise for the wrong room hides nothing. Remove "
                    f"{key}, or remove plan"
                )
    made = {name: dict(table) for name, table in given.items() if isinstance(table, dict)}
    for name, found in _read_tables(path).items():
        for key, said in found.items():
            if (own := made.get(name, {}).get(key, said)) != said:
                raise OperatorFault(
                    f"[{name}] {key} is {own} but the room file {path} says {said}; noise that "
                    f"is made for one would not hide the other. Remove {key} from the deployment "
                    "file, or change it in the room file"
                )
        made[name] = {**made.get(name, {}), **found}
    made["room"]["plan"] = str(path)
    return {**given, **made}


def _read_tables(path: Path) -> dict[str, dict[str, Any]]:
    """Return what a room file says, as the tables of a deployment file."""
    from physics.instruments.presets import find_preset
    from physics.rooms.model import make_grid

    room = _room(path, _stamp(path))
    kinds = [find_preset(one.kind) for one in room.thermometers]
    steps = {(kind.step, kind.behind) for kind in kinds}
    if len(steps) != 1:
        raise OperatorFault(
            f"room {path} has {len(room.thermometers)} kinds of thermometers with {len(steps)} "
            "different resolution steps, but the noise is made for exactly one. Keep one kind"
        )
    cells = make_grid(room)
    found: dict[str, dict[str, Any]] = {
        "room": {"cells": cells.shape, "length_m": cells.shape[0] * cells.cell_mm / 1000},
        "heat": {"spread_m2": None},
        "sensors": {"count": (sum(len(one.places_m) for one in room.thermometers), 1)},
    }
    ((step, behind),) = steps
    if step is not None:
        found["sensors"]["adc_step"] = step.as_integer_ratio()
    if behind:
        found["sensors"]["adc_behind"] = behind.as_integer_ratio()
    if room.privacy is not None:
        people, power_w = room.privacy.people_max, room.privacy.power_max_w
        found["heat"] |= {"sources_max": people, "intensity_max": power_w}
    return found


def read_floor_lines(path: Path) -> dict[str, Any]:
    """Return the lines of a room file for whoever draws its floor, in metres from the corner.

    walls, doors and furniture are rectangles (left, top, right, bottom), windows two points each,
    sensors a point each in their order; what is warm by itself is furniture too.
    """
    from physics.rooms.plan import door_rect, find_door_wall, is_upright, wall_rect

    room = _room(path, _stamp(path))
    long_m, deep_m = room.size_m
    ends: dict[str, Any] = {
        "north": lambda at: (at, 0.0),
        "south": lambda at: (at, deep_m),
        "west": lambda at: (0.0, at),
        "east": lambda at: (long_m, at),
    }
    doors = []
    for door in room.doors:
        wall = find_door_wall(room, door)
        upright = wall is not None and is_upright(room.walls[wall])
        doors.append({"rect": door_rect(room, door), "upright": upright})
    return {
        "walls": [{"rect": wall_rect(wall)} for wall in room.walls],
        "doors": doors,
        "windows": [
            {"from": ends[one.side](one.from_m), "to": ends[one.side](one.to_m)}
            for one in room.windows
        ],
        "furniture": [
            *({"rect": one.rect_m, "name": one.name, "warm": False} for one in room.furniture),
            *({"rect": one.rect_m, "name": "", "warm": True} for one in room.heaters),
        ],
        "sensors": [place for kind in room.thermometers for place in kind.places_m],
    }


def describe_model_difference(path: Path) -> str:
    """Return how the room of a file differs from its plan, on which everything rests."""
    from physics.rooms.plan import describe_redrawing

    found = describe_redrawing(_room(path, _stamp(path)))
    told = "; ".join(found) or "no edge had to be moved"
    return f"walls, doors and furniture of {path} are drawn in steps of 25 mm: {told}"


def has_moving_door(path: Path) -> bool:
    """Return whether a door of the file moves in its day, of which a bound says nothing."""
    from physics.rooms.respond import list_door_days

    return len(list_door_days(_room(path, _stamp(path)))) > 1


def compute_response(path: Path, protect_distance_m: float | None) -> Any:
    """Return the response of the room in a file; once worked out it is kept while we run.

    What proves its bound is found once, and kept beside the room file: the noise is then the same
    on another machine too, and devices that were enrolled for it answer.

    Raises:
        ValueError: the room has none.
    """
    return _compute_response_once(path, _stamp(path), protect_distance_m)


@lru_cache(maxsize=4)
def _compute_response_once(
    path: Path, stamp: tuple[int, int], protect_distance_m: float | None
) -> Any:
    from physics.rooms.respond import compute_response

    room = _room(path, stamp)
    return compute_response(
        room,
        protect_distance_m or room.cell_mm / 1000,
        through_walls=room.privacy is None or room.privacy.through_walls,
        kept=_Beside(path),
    )


class _Beside:
    """Certificates beside the room file that they are of, by the digest of the response."""

    def __init__(self, room: Path) -> None:
        self._room = room

    def get(self, digest: str) -> bytes | None:
        """Return what was kept, None if there is no such file."""
        try:
            return self._locate_bound(digest).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as fault:
            raise OperatorFault(
                f"the file of computed noise bounds {self._locate_bound(digest)} cannot be read "
                f"({fault.strerror}); without it the noise may differ from what devices were "
                "enrolled for. Make it readable, or remove it: it is then computed again"
            ) from fault

    def keep(self, digest: str, raw: bytes) -> None:
        """Keep this; where nothing can be written it is looked for again at the next start."""
        path = self._locate_bound(digest)
        beside = path.with_name(f"{path.name}.{os.getpid()}")
        try:
            beside.write_bytes(raw)
            os.replace(beside, path)
        except OSError:
            with suppress(OSError):
                beside.unlink(missing_ok=True)

    def _locate_bound(self, digest: str) -> Path:
        return self._room.with_suffix(f".{digest}.bound")


@lru_cache(maxsize=4)
def _room(path: Path, stamp: tuple[int, int]) -> Any:
    from physics.rooms.read import read_room

    try:
        return read_room(path)
    except ValueError as fault:
        raise OperatorFault(str(fault)) from fault


def _stamp(path: Path) -> tuple[int, int]:
    """Return what changes when a file does."""
    try:
        found = path.stat()
    except OSError as fault:
        raise OperatorFault(
            f"the room file {path} cannot be read ({fault.strerror}), but the noise rests on it. "
            "Correct [room] plan; relative paths count from the deployment file's folder"
        ) from fault
    return found.st_mtime_ns, found.st_size
