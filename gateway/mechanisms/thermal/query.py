"""What the options of a thermal query must agree in, and what it asks first."""

import math
from collections.abc import Mapping

from edge.core.records import Round
from recovery.thermal import Query, plan

from ...faults import OperatorFault
from ..flags import first_round_of, shape

# The operator from cells to sensors is kept in memory, eight bytes an entry.
_ENTRIES_MAX = 50_000_000


def check_axes(texts: Mapping[str, str]) -> None:
    """Refuse one place alone, and sensors along a line in a plane or the other way round.

    Raises:
        OperatorFault: in the words of the flags, where a Query speaks of its fields.
    """
    cells, sensors = texts["cells"], texts["sensors"]
    columns, rows = shape(cells, "--cells")
    shape(sensors, "--sensors")
    if max(columns, rows) < 2:
        raise OperatorFault(
            f"--cells {cells} is one place; two cells at least are needed, for one alone hides "
            "nothing. Write --cells 100 for a line and 40x30 for a plane"
        )
    if (rows > 1) != ("x" in sensors and not sensors.endswith("x1")):
        kind, write = ("a plane", "8x8") if rows > 1 else ("a line", "50")
        raise OperatorFault(
            f"--sensors {sensors} came with --cells {cells}, {kind}; sensors need a count for "
            f"each of its axes, or they have no places. Write for instance --sensors {write}"
        )


def check_size(found: Query) -> None:
    """Refuse what needs too much memory.

    Raises:
        OperatorFault: it does.
    """
    entries = math.prod(found.grid.shape) * math.prod(found.sensors)
    if entries > _ENTRIES_MAX:
        raise OperatorFault(
            f"{math.prod(found.grid.shape)} cells and {math.prod(found.sensors)} sensors make "
            f"{entries} pairs; at most {_ENTRIES_MAX} fit in memory. Ask for fewer cells"
        )


def first_round(query: Query) -> Round:
    """Return what the query asks first.

    Raises:
        OperatorFault: it cannot be served.
    """
    return first_round_of(query, plan)
