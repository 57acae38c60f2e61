"""From the words of a command line or a file to a Query, or to a sentence that says why not."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

from edge.records import Grid, Round
from physics.places import is_plane
from recovery.thermal import Query, plan

from ...faults import OperatorFault
from ..flags import first_round_of, given, grid, ratio, shape

# The operator from cells to sensors is kept in memory, eight bytes an entry.
_ENTRIES_MAX = 50_000_000
# Fields of the query that --set does not give, and what does.
OTHER_FLAGS = {
    "grid": "--cells and --length",
    "sensors": "--sensors",
    "response": "[room] plan in a deployment file",
}


def query(
    *,
    cells: str = "100",
    length: float | None = None,
    sensors: str = "50",
    spread: float = 0.05,
    epsilon: str = "1/1",
    delta: str = "1/100000",
    calibration: str = "exact",
    estimator: str = "auto",
    sigma: str | None = None,
    settings: Iterable[str] | None = (),
) -> Query:
    """Return the query that the flags ask for.

    Args:
        sigma: the noise on each reading, instead of the epsilon.
        settings: "name=value" for any further field, as --set gives it.

    Raises:
        OperatorFault: a flag or a setting has no meaning, alone or beside the others.
    """
    room, (columns, rows) = grid(cells, length), shape(sensors, "--sensors")
    _check_axes(room, cells, sensors)
    asked: dict[str, Any] = {
        "grid": room,
        "sensors": (columns, rows) if is_plane(room) else (columns,),
        "spread_m2": spread,
        "epsilon": ratio(epsilon, "--epsilon"),
        "delta": ratio(delta, "--delta"),
        "calibration": calibration,
        "estimator": estimator,
    }
    if sigma is not None:
        asked["sigma"] = ratio(sigma, "--sigma")
    asked |= given(settings or (), Query, OTHER_FLAGS)
    return checked(asked)


def _check_axes(room: Grid, cells: str, sensors: str) -> None:
    """Refuse one place alone, and sensors along a line in a plane or the other way round.

    Raises:
        OperatorFault: in the words of the flags, where a Query speaks of its fields.
    """
    if max(room.shape) < 2:
        raise OperatorFault(
            f"--cells {cells} is one place; two cells at least are needed, for one alone hides "
            "nothing. Write --cells 100 for a line and 40x30 for a plane"
        )
    if is_plane(room) != ("x" in sensors and not sensors.endswith("x1")):
        kind, write = ("a plane", "8x8") if is_plane(room) else ("a line", "50")
        raise OperatorFault(
            f"--sensors {sensors} came with --cells {cells}, {kind}; sensors need a count for "
            f"each of its axes, or they have no places. Write for instance --sensors {write}"
        )


def checked(asked: Mapping[str, Any]) -> Query:
    """Return the Query of these fields.

    Raises:
        OperatorFault: they have no meaning together, or need too much memory.
    """
    try:
        found = Query(**asked)
    except ValueError as fault:
        raise OperatorFault(str(fault)) from fault
    entries = math.prod(found.grid.shape) * math.prod(found.sensors)
    if entries > _ENTRIES_MAX:
        raise OperatorFault(
            f"{math.prod(found.grid.shape)} cells and {math.prod(found.sensors)} sensors make "
            f"{entries} pairs; at most {_ENTRIES_MAX} fit in memory. Ask for fewer cells"
        )
    return found


def first_round(query: Query) -> Round:
    """Return what the query asks first.

    Raises:
        OperatorFault: it cannot be served.
    """
    return first_round_of(query, plan)
