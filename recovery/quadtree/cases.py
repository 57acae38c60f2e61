"""What the audit needs to know of crowds: queries so small that every input can be tried.

Written from the promise and not with the device's own arithmetic: what one device changes is found
by trying, and how wide noise must be follows from that and from the Round's epsilon alone.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction

from edge.core.records import Grid, Reading, Round

from .query import Query

NAME = "quadtree"
KIND = "distributed"


def list_queries() -> Iterator[tuple[str, Query]]:
    """Yield queries that every layer looks at, each there for a fault that others hide."""
    yield "one place, there or not", Query(Grid((16, 16), 0), (1, 1), "zero-out", 12)
    yield "one place or another", Query(Grid((16, 16), 500), (1, 1), "replace-one", 12, shard=6)
    yield "yes or no", Query(Grid((16, 16), 0), (2, 1), "replace-one", 9, kind="proportions")
    yield (
        "many places, parts that add up",
        Query(Grid((16, 16), 0), (1, 1), "zero-out", 10, kind="systematic", scale=7, places=8),
    )
    yield (
        "many places, each rounded by itself; some are missing, some collude",
        Query(
            *(Grid((16, 16), 0), (1, 1), "zero-out", 20),
            kind="stochastic",
            scale=3,
            places=8,
            dropout=(1, 5),
            colluders=(1, 10),
        ),
    )


def list_readings(round: Round) -> Sequence[Reading]:
    """Return what a device may hold: corners, the middle, beyond; of many places, some at once."""
    columns, rows = round.grid.shape
    cells = [(0, 0), (columns - 1, rows - 1), (columns // 2, rows // 2), (-7, 1 << 40)]
    kind, places = round.params[0], round.params[9]
    if kind == 0:
        return [Reading(0, cell) for cell in cells]
    if kind == 1:
        return [Reading(0, (*cell, yes)) for cell in cells for yes in (0, 1)]
    spread = [(x, y, 1 + x) for x in range(0, columns, 5) for y in (0, rows - 1)]
    return [
        Reading(0, (*cells[0], 1)),
        Reading(0, tuple(part for visit in spread for part in visit)),
        Reading(0, tuple(part for cell in cells[:places] for part in (*cell, 5))),
        Reading(0, ()),
    ]


def is_replacement(query: Query) -> bool:
    """Return whether neighbours are any two inputs, or any input and none."""
    return query.adjacency == "replace-one"


def list_rates(query: Query, round: Round) -> Sequence[Fraction]:
    """Return epsilon over sensitivity of each number: what one device may change, by its words."""
    most = 1
    if query.kind in ("systematic", "stochastic"):
        most = query.scale
    if query.kind == "stochastic":  # each of its places may be rounded up
        most += query.places
    squares = len(round.params) - 10
    numbers = squares * (2 if query.kind == "proportions" else 1)
    epsilon = Fraction(round.params[2], round.params[3])
    return [epsilon / (2 * most if is_replacement(query) else most)] * numbers


def make_silent(round: Round, count: int) -> tuple[Round, Reading]:
    """Return the Round with so many squares that a reading is in none of: 4, or more of them.

    They are the last quarter's: a report to it is noise and nothing else.
    """
    squares = [7, *range(28, 32), *range(112, 128), *range(448, 512)]
    if count < len(squares):
        squares = squares[-count:]
    return round._replace(params=(*round.params[:10], *squares)), list_readings(round)[0]


def list_bad_rounds(round: Round) -> Iterator[tuple[str, Round]]:
    """Yield Rounds of squares that mean nothing, each with what is wrong in it."""
    yield "a square twice", round._replace(params=(*round.params, round.params[-1]))
