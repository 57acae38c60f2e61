"""What the audit needs to know of pyramids: grids so small that every report can be tried.

Written from the promise and not from the plan: what reports add to each square is counted here
from the cells, and held against what a Release holds.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from edge.core.grid import depth
from edge.core.records import Grid, Reading, Round
from edge.mechanisms.pyramid import params_of

from ..noise import Ratio
from .query import EstimatorName, Query

NAME = "pyramid"
KIND = "central"


def list_queries() -> Iterator[tuple[str, Query]]:
    """Yield queries that every layer looks at, each there for a fault that others hide."""
    yield "all levels", _make_query((4, 4), (1, 1), "sparse", kept=16, units=12, places=3)
    yield "one level", _make_query((4, 4), (3, 2), "dense", users=6, units=8, places=2)
    yield (
        "oblong, two reports",
        _make_query((5, 3), (2, 1), "sparse", 2, kept=64, units=5, places=2),
    )
    yield "a line", _make_query((4, 1), (1, 3), "sparse", kept=16, units=3)
    yield "few are kept", _make_query((8, 8), (4, 1), "sparse", kept=3, units=2)
    yield "tree", _make_query((8, 8), (1, 2), "tree", users=120, units=6, places=2)


def _make_query(
    shape: tuple[int, int], epsilon: Ratio, name: EstimatorName, readings: int = 1, **more: Any
) -> Query:
    return Query(Grid(shape, 0), epsilon, readings, estimator=name, **more)


def list_readings(round: Round) -> list[Reading]:
    """Return readings of one device: none, corners, beyond the grid, several and too much."""
    units = round.params[0]
    right, bottom = (cells - 1 for cells in round.grid.shape)
    every = [(0, 0), (right, 0), (0, bottom), (right, bottom)]
    several = tuple(number for x, y in every for number in (x, y, 3 * units + 1))
    places = [(0, 0, 0), (0, 0), (right + 9, bottom), (0, bottom, 1, right, 0, units - 1), several]
    return [Reading(0, values) for values in places]


def find_absent(round: Round) -> int:
    """Return the index in `list_readings` of nobody's: it has no mass."""
    return 0


def compute_sums(round: Round, payloads: Sequence[Sequence[int]]) -> list[int]:
    """Return the parts of every measured square before noise, coarsest level first."""
    p = params_of(round)
    last = p.first + len(p.weights) - 1
    found: list[int] = []
    for level in range(p.first, last + 1):
        sums = dict.fromkeys(_list_squares(round.grid, level), 0)
        for payload in payloads:
            for square, parts in zip(payload[1::2], payload[2::2], strict=True):
                row, column = divmod(square, 2**last)
                steps = 2 ** (last - level)
                sums[row // steps * 2**level + column // steps] += parts
        found += sums.values()
    return found


def list_scales(round: Round) -> list[tuple[int, int]]:
    """Return the scale (num, den) of the noise on each of these, as the promise has it."""
    units, _, _, first, num, den, *weights = round.params
    found = []
    for level, weight in enumerate(weights, first):
        scale = units * den * sum(weights), num * weight  # units over a share of num/den
        found += [scale] * len(_list_squares(round.grid, level))
    return found


def choose_released(round: Round, values: Sequence[int]) -> list[int]:
    """Return the measured ones: below squares with most noisy parts, of equal ones the first."""
    p, found, before = params_of(round), list[int](), 0
    above: set[int] | None = None  # the squares that were kept on the level above
    for level in range(p.first, p.first + len(p.weights)):
        squares = _list_squares(round.grid, level)
        side, own = 2**level, list[tuple[int, int]]()
        for at, square in enumerate(squares, before):
            row, column = divmod(square, side)
            if above is None or row // 2 * (side // 2) + column // 2 in above:
                own.append((-values[len(found)], square))
                found.append(at)
        above, before = {square for _, square in sorted(own)[: p.kept]}, before + len(squares)
    return found


def _list_squares(grid: Grid, level: int) -> list[int]:
    """Return the squares of a level in which there is a cell, in order."""
    side = 2 ** (depth(grid) - level)
    columns, rows = grid.shape
    return sorted({y // side * 2**level + x // side for y in range(rows) for x in range(columns)})
