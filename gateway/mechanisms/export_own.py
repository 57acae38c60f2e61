"""What the rows of an export say of each mechanism's answers: one entry each.

Warmth is whole grains, as they left the device: a grain is 2**-exponent kelvin (or units of the
interval's model), and to round them otherwise would pretend that they are exact. A place is a cell
of the array that may be answered, which is wider than the map, and where that is on the map.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from edge import footprint, thermal
from edge.records import Grid

from .record import Exported, Tail


def _grains(body: Any) -> Callable[..., Iterable[Tail]]:
    exponent = int(thermal.Params(*body[4][: thermal.PARAMS]).exponent)

    def tails(values: Sequence[int | None], first: int = 0) -> Iterable[Tail]:
        return [(place, grains, exponent) for place, grains in enumerate(values, first)]

    return tails


def _cell(body: Any) -> Callable[[int], Tail]:
    columns, _, left, above = footprint.outer(Grid(tuple(body[3][:2]), body[3][2]), body[4][0])
    return lambda cell: (cell, cell // columns - above, cell % columns - left)


def _places(body: Any) -> Callable[[Sequence[int], int], Iterable[Tail]]:
    where = _cell(body)
    return lambda values, first: map(where, values)


def _counts(body: Any) -> Callable[[Sequence[int | None]], Iterable[Tail]]:
    where = _cell(body)
    return lambda values: [(*where(cell), count) for cell, count in enumerate(values)]


_GRAINS = {"sensor": int, "grains": int, "exponent": int}
_CELL = {"cell": int, "row": int, "column": int}
_AROUND = "of the map, from 0; below 0 or beyond it where nobody can be"
OWN = {
    "thermal": Exported(
        _GRAINS,
        _grains,
        _GRAINS,
        _grains,
        {
            "sensor": "counted from 0",
            "grains": (
                "whole numbers; times 2**-exponent kelvin, or units of the unit interval's model"
            ),
            "exponent": "of the grains",
        },
        sure=False,
    ),
    "disk": Exported(
        _CELL,
        _places,
        {**_CELL, "answers": int},
        _counts,
        {
            "cell": "of all that may be answered, row by row, from 0",
            "row": _AROUND,
            "column": _AROUND,
            "answers": "devices that answered this cell, wherever they were",
        },
        sure=True,
    ),
}
