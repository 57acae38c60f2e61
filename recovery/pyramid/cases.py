"""What the audit needs to know of pyramids: grids so small that every report can be tried.

Written from the promise and not from the plan: what reports add to each square is counted here
from the cells, and held against what a Release holds. Every square is kept in these rounds, so
that each number of a Release belongs to one square whatever the noise was.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction

from edge.mechanisms.pyramid import depth, params_of
from edge.records import Grid, Reading, Round

from .query import Query

NAME = "pyramid"
KIND = "central"


def rooms() -> Iterator[tuple[str, Query]]:
    """Yield queries that every layer looks at, each there for a fault that others hide."""
    yield (
        "all levels",
        Query(Grid((4, 4), 0), (1, 1), users=20, estimator="sparse", kept=16, units=12, points=3),
    )
    yield (
        "one level",
        Query(Grid((4, 4), 0), (3, 2), users=6, estimator="dense", units=8, points=2),
    )
    yield (
        "oblong, padded",
        Query(Grid((5, 3), 0), (2, 1), 2, 9, "sparse", kept=64, units=5, points=2),
    )
    yield "a line", Query(Grid((4, 1), 0), (1, 3), 1, 200, "sparse", kept=16, units=3, points=1)
    yield "tree", Query(Grid((8, 8), 0), (1, 2), users=120, estimator="tree", units=6, points=2)


def inputs(round: Round) -> list[Reading]:
    """Return readings of one device: each cell, cells beyond, several, too many and too much."""
    units, points = round.params[:2]
    columns, rows = round.grid.shape
    found = [Reading(0, (x, y)) for y in range(rows) for x in range(columns)]
    found += [Reading(0, (-7, rows)), Reading(0, (columns, -1)), Reading(0, (0, 0, 0))]
    corners = ((0, 0), (columns - 1, 0), (0, rows - 1), (columns - 1, rows - 1))
    for mass in (1, units, 3 * units + 1):
        values = [number for x, y in corners for number in (x, y, mass)]
        found += [Reading(0, tuple(values)), Reading(0, tuple(values[:6]))]
    many = [number for cell in range(columns * rows) for number in divmod(cell, rows)]
    pairs = zip(many[::2], many[1::2], strict=True)
    found.append(Reading(0, tuple(number for x, y in pairs for number in (x, y, points))))
    return found


def gathered(round: Round, payloads: Sequence[Sequence[int]]) -> list[int]:
    """Return the parts of every measured square before noise, coarsest level first."""
    p = params_of(round)
    last = p.first + len(p.weights) - 1
    found: list[int] = []
    for level in range(p.first, last + 1):
        sums = dict.fromkeys(_squares(round.grid, level), 0)
        for payload in payloads:
            for square, parts in zip(payload[1::2], payload[2::2], strict=True):
                row, column = divmod(square, 2**last)
                steps = 2 ** (last - level)
                sums[row // steps * 2**level + column // steps] += parts
        found += sums.values()
    return found


def noise(round: Round) -> list[tuple[int, int]]:
    """Return the scale (num, den) of the noise on each of these, as the promise has it."""
    units, _, _, first, num, den, *weights = round.params
    found = []
    for level, weight in enumerate(weights, first):
        scale = units / (Fraction(num, den) * weight / sum(weights))
        found += [scale.as_integer_ratio()] * len(_squares(round.grid, level))
    return found


def readings(query: Query) -> int:
    """Return for how many reports of one device the promise holds."""
    return query.readings


def _squares(grid: Grid, level: int) -> list[int]:
    """Return the squares of a level in which there is a cell, in order."""
    side = 2 ** (depth(grid) - level)
    columns, rows = grid.shape
    return sorted({y // side * 2**level + x // side for y in range(rows) for x in range(columns)})
