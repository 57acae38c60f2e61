"""A deployment in a room that has a file: what the file says is not said again, nor otherwise.

The simulator's packages are loaded here, where such a file is named, and nowhere else: who has
none does not pay for them.
"""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from .faults import OperatorFault

# What a room file says, so that the deployment file must not; the rest may only agree.
_SAID = (
    ("room", ("cells", "length_m", "walls", "furniture")),
    ("heat", ("spread_m2", "spread_max_m2")),
    ("sensors", ("count", "adc_step", "drift_sd")),
    ("rounds", ("calibration",)),
)


def filled(given: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return what a deployment file says, with what its room file says where it names one.

    Args:
        folder: that relative paths count from.

    Raises:
        OperatorFault: the room file is wrong, or the two speak of the same thing.
    """
    room = given.get("room")
    if not isinstance(room, dict) or not isinstance(room.get("plan"), str):
        return dict(given)
    path = folder / room["plan"]
    for table, keys in _SAID:
        for key in keys:
            if key in given.get(table, {}):
                raise OperatorFault(
                    f"[{table}] {key} stands beside [room] plan, but the room file {path} says "
                    "it: two rooms cannot both be meant, and noise for the wrong one hides "
                    f"nothing. Remove {key}, or remove plan"
                )
    made = {name: dict(table) for name, table in given.items() if isinstance(table, dict)}
    for name, found in _read(path).items():
        for key, said in found.items():
            if (own := made.get(name, {}).get(key, said)) != said:
                raise OperatorFault(
                    f"[{name}] {key} is {own} and the room file {path} says {said}; the noise is "
                    "made for that of one of them, and would not hide the other. Remove it here, "
                    "or change it in the room file"
                )
        made[name] = {**made.get(name, {}), **found}
    made["room"]["plan"] = str(path)
    return {**given, **made}


def _read(path: Path) -> dict[str, dict[str, Any]]:
    """Return what a room file says, as the tables of a deployment file."""
    from physics.instruments.presets import named
    from physics.rooms.model import grid

    room = _room(path, _stamp(path))
    steps = {named(one.kind).step for one in room.thermometers}
    if len(steps) != 1 or room.arrays:
        raise OperatorFault(
            f"room {path} has {len(room.thermometers)} kinds of thermometers with {len(steps)} "
            f"different steps, and {len(room.arrays)} arrays, but must have thermometers of one "
            "step and no arrays: noise is laid out in whole steps of one converter. Keep one "
            "kind"
        )
    cells = grid(room)
    found: dict[str, dict[str, Any]] = {
        "room": {"cells": cells.shape, "length_m": cells.shape[0] * cells.cell_mm / 1000},
        "heat": {"spread_m2": None},
        "sensors": {"count": (sum(len(one.places_m) for one in room.thermometers), 1)},
    }
    (step,) = steps
    if step is not None:
        found["sensors"]["adc_step"] = step.as_integer_ratio()
    if room.privacy is not None:
        people, power_w = room.privacy.people_max, room.privacy.power_max_w
        found["heat"] |= {"sources_max": people, "intensity_max": power_w}
    return found


def response_of(path: Path, protect_distance_m: float | None) -> Any:
    """Return the response of the room in a file; once worked out it is kept while we run.

    Raises:
        ValueError: the room has none.
    """
    return _response(path, _stamp(path), protect_distance_m)


@lru_cache(maxsize=4)
def _response(path: Path, stamp: tuple[int, int], protect_distance_m: float | None) -> Any:
    from physics.rooms.respond import respond

    room = _room(path, stamp)
    return respond(
        room,
        protect_distance_m or room.cell_mm / 1000,
        through_walls=room.privacy is None or room.privacy.through_walls,
    )


@lru_cache(maxsize=4)
def _room(path: Path, stamp: tuple[int, int]) -> Any:
    from physics.rooms.read import read

    try:
        return read(path)
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
