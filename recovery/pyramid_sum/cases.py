"""What the audit needs to know of pyramids by a secure sum: small shards, and places far apart.

Written from the promise and not with the device's own arithmetic: whoever moves takes its whole
mass out of one square of each level and puts it into another, and each level's noise must hide
that for the level's part of epsilon.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import ceil

from edge.core.records import Grid, Reading, Round

from . import Query

NAME = "pyramid_sum"
KIND = "distributed"


def list_queries() -> Iterator[tuple[str, Query]]:
    """Yield queries that every layer looks at, each there for a fault that others hide."""
    yield "two levels", Query(Grid((8, 8), 0), (3, 1), users=12, units=3, estimator="sparse")
    yield (
        "many places, oblong, two reports; some are missing, some collude",
        Query(
            *(Grid((9, 14), 0), (2, 1), 2),
            users=20,
            estimator="sparse",
            units=5,
            places=3,
            dropout=(1, 5),
            colluders=(1, 10),
        ),
    )
    yield (
        "one level, shards",
        Query(Grid((8, 8), 500), (4, 1), users=12, estimator="dense", shard=6),
    )


def list_readings(round: Round) -> Sequence[Reading]:
    """Return what a device may hold: nothing, corners, beyond the grid, several and too much."""
    units = round.params[8]
    right, bottom = (cells - 1 for cells in round.grid.shape)
    several = (0, 0, 1, right, 0, 7 * units, 0, bottom, units, right, bottom, 2)
    cells = [(0, 0, 0), (0, 0), (right, 0), (right + 9, bottom), (-7, 1 << 40), several]
    return [Reading(0, values) for values in cells]


def is_replacement(query: Query) -> bool:
    """Return whether neighbours are any two inputs, or any input and none."""
    return True


def list_rates(query: Query, round: Round) -> Sequence[Fraction]:
    """Return epsilon over sensitivity of each number: one device changes twice its mass."""
    first, _, num, den, *_ = round.params
    units, weights, found = round.params[8], round.params[10:], list[Fraction]()
    side = max(round.grid.shape)
    deepest = (side - 1).bit_length()
    for level, weight in enumerate(weights, first):
        wide = 1 << (deepest - level)
        squares = ceil(Fraction(round.grid.shape[0], wide)) * ceil(
            Fraction(round.grid.shape[1], wide)
        )
        found += [Fraction(num * weight, den * sum(weights) * 2 * units)] * squares
    return found


def make_silent(round: Round, count: int) -> tuple[Round, Reading]:
    """Return a Round, and a reading that marks nothing in it: of no mass."""
    return round, list_readings(round)[0]


def list_bad_rounds(round: Round) -> Iterator[tuple[str, Round]]:
    """Yield Rounds of levels that mean nothing, each with what is wrong in it."""
    params = round.params
    yield "a level of no noise", round._replace(params=(*params[:-1], 0))
    yield "a level finer than cells", round._replace(params=(*params, *params[-1:] * 9))
