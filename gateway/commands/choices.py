"""From the words of a command line or a file to a Query, or to a sentence that says why not."""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from edge.records import Grid, Round
from physics.places import is_plane
from recovery.thermal import Query, plan

from ..faults import OperatorFault
from .settings import given, ratio

# The operator from cells to sensors is kept in memory, eight bytes an entry.
_ENTRIES_MAX = 50_000_000
# Fields of the query that --set does not give, and what does.
OTHER_FLAGS = {
    "grid": "--cells and --length",
    "sensors": "--sensors",
    "response": "[room] plan in a deployment file",
}
_SHAPE = re.compile(r"([0-9]{1,7})(?:x([0-9]{1,7}))?", re.ASCII)


def shape(text: str, flag: str) -> tuple[int, int]:
    """Return (columns, rows) of N or NxM.

    >>> shape("100", "--cells"), shape("40x30", "--cells")
    ((100, 1), (40, 30))
    """
    match = _SHAPE.fullmatch(text.strip())
    columns, rows = (int(match[1]), int(match[2] or 1)) if match else (0, 0)
    if not (columns and rows):
        raise OperatorFault(
            f"{flag} {text} is no count; it must be a whole number from 1 to 9999999, or two with "
            "an x between, for it lays out the room. Write 100 for a line and 40x30 for a plane"
        )
    return columns, rows


def grid(cells: str, length: float | None, flag: str = "--cells") -> Grid:
    """Return the grid of so many cells (by that flag), so many metres long or on the unit line."""
    columns, rows = shape(cells, flag)
    if length is None:
        return Grid((columns, rows), 0)
    cell_mm = 1000 * length / columns
    if not 1 - 1e-9 <= cell_mm < 1e9 or abs(cell_mm - round(cell_mm)) > 1e-6:
        raise OperatorFault(
            f"--length {length:g} divided by {columns} cells is {cell_mm:g} mm; a cell must be "
            "whole millimetres, for every device must know the same one. Choose a length that "
            "the cells divide"
        )
    return Grid((columns, rows), round(cell_mm))


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


@contextmanager
def undrawn() -> Iterator[None]:
    """Turn what an estimator cannot do, in this room or with these readings, into that too.

    Raises:
        OperatorFault: there is no drawing this map.
    """
    try:
        yield
    except ValueError as fault:
        raise OperatorFault(str(fault)) from fault


@contextmanager
def refused() -> Iterator[None]:
    """Turn what a plan objects to into the operator's fault.

    Raises:
        OperatorFault: the query cannot be served.
    """
    try:
        with np.errstate(over="raise"):
            yield
    except ValueError as fault:
        raise OperatorFault(str(fault)) from fault
    except ArithmeticError as fault:
        raise OperatorFault(
            f"the query leads to numbers that cannot be computed with ({fault}); noise must be a "
            "whole number, or no device can draw it. Lower intensity_max or what else is huge"
        ) from fault


def first_round(query: Any, asks: Callable[[Any, Any], Round | None] = plan) -> Round:
    """Return what the query asks first; asks: the plan of its mechanism.

    Raises:
        OperatorFault: it cannot be served.
    """
    with refused():
        round = asks(query, [])
    if round is None:
        raise RuntimeError("a query of one reading at least plans no round")
    return round
