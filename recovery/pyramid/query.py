"""What an analyst may ask of devices that trust the gateway, and what is chosen for them.

Everything here is chosen from the query alone, which is public: epsilon, the number of users, the
grid. Nothing looks at a report.
"""

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, NamedTuple, get_args

from edge.core.grid import depth
from edge.core.records import Grid
from edge.mechanisms.central import NUMBERS
from edge.mechanisms.pyramid import DEEPEST

from ..fields import OUTSIDE, WINDOW_H, check, check_grid, describe
from ..noise import Ratio, check_epsilon_of_report, epsilon_of_report

EstimatorName = Literal["auto", "sparse", "dense", "tree"]
ESTIMATORS = get_args(EstimatorName)

# Above it a promise is empty, below it noise has no scale that whole numbers hold.
EPSILON_MAX, EPSILON_MIN = 64, Fraction(1, 10**6)
PAPER_USERS, PAPER_KEPT = 200, 20  # n and w of the paper's experiments
PLACES_MAX = (NUMBERS - 1) // 2  # a sealed report holds these, with their parts
_UNITS_MAX, _KEPT_MAX = 1 << 30, 1 << 20
_DENSE_LEVEL = 6  # 64 squares a side, for which a flow program takes a fifth of a second
_DENSE_FROM = 6_000  # epsilon n, from which one level alone is nearer than a tree
_FULL_LEVEL = 5  # up to here a tree measures every square
_TREE_KEPT = 64
_WEIGHT = 1 << 16  # of the first level; the others are 2**(-1/2) of the one before, rounded


@dataclass(frozen=True, slots=True)
class Query:
    """A map of where devices are, from a gateway that sees each report and blurs their sum.

    Raises:
        ValueError: a field has no meaning, alone or beside the others.
    """

    grid: Grid = field(
        metadata=describe("Cells of the map: columns x rows.", flag="grid", example="15x15")
    )
    epsilon: Ratio = field(
        metadata=describe(
            "A ratio such as 1/2, for all reports of one device together.",
            flag="epsilon",
            example="1/1",
        )
    )
    readings: int = field(
        default=1,
        metadata=describe("Reports of one device, which share epsilon evenly.", low=1, high=1000),
    )
    users: int | None = field(
        default=None,
        metadata=describe(
            "How many are expected, a public number that chooses the levels; without it all "
            f"devices of a deployment, and else the {PAPER_USERS} of the paper.",
            low=1,
            high=10**9,
            example="200",
        ),
    )
    estimator: EstimatorName = field(
        default="auto",
        metadata=describe(
            f"What is measured and how a map is drawn of it: {', '.join(ESTIMATORS)}.",
            flag="estimator",
        ),
    )
    kept: int | None = field(
        default=None,
        metadata=describe(
            f"Squares that are kept on a level; without it the paper's {PAPER_KEPT} for sparse, "
            "and by rule for tree.",
            low=1,
            high=_KEPT_MAX,
            example="20",
        ),
    )
    units: int = field(
        default=1024,
        metadata=describe("Parts that one device's mass is divided into.", low=1, high=_UNITS_MAX),
    )
    places: int | None = field(
        default=None,
        metadata=describe(
            "Squares that one device may name at most. Without it: one, or in heatveil play as "
            "many as somebody has.",
            low=1,
            high=PLACES_MAX,
            example="1",
        ),
    )
    outside: Literal["clamp", "refuse"] = field(default="clamp", metadata=OUTSIDE)
    window_h: int = field(default=0, metadata=WINDOW_H)

    def __post_init__(self) -> None:
        check_grid(self.grid, 1 << 2 * DEEPEST, 1 << DEEPEST)
        check(self)
        check_epsilon_of_report(self, EPSILON_MIN, EPSILON_MAX)


class Levels(NamedTuple):
    """What is measured: squares kept a level, the first level, and how many there are."""

    kept: int
    first: int
    levels: int


def estimator_of(query: Query) -> str:
    """Return the estimator of the query, or the one that is chosen by epsilon, users and grid.

    Many users fill the levels of `tree` with noise that one level has not; few leave one level
    rougher than a tree. `tests/bench/bench_pyramid.py emd` holds the choice against the better of
    sparse and dense in four worlds, at nine pairs of epsilon and users: 0.91 of its distance in
    the mean; of 16 runs 3 of the 36 settings are above 1.05, and 1.10 at the most. Of 48 runs on
    other tapes these three have 0.90, 0.95 and 1.00, and one that had 0.97 has 1.05, +- 0.05.
    """
    if query.estimator != "auto":
        return query.estimator
    return "dense" if _compute_epsilon_n(query) > _DENSE_FROM else "tree"


def levels_of(query: Query) -> Levels:
    """Return what is measured, from what is public alone.

    sparse   from the finest level of at most w squares down to the cells, w a level
    dense    the one level ceil(log2 sqrt(epsilon n)), all of it: Appendix D
    tree     few users: all of the level nearest to log2 sqrt(epsilon n) and of the two above;
             more: 64 a level, one deeper than dense
    """
    name, deepest = estimator_of(query), depth(query.grid)
    if name == "sparse":
        kept = query.kept or PAPER_KEPT
        first = choose_first_level(kept, query.grid)
        return Levels(kept, first, deepest - first + 1)
    exact = math.log2(max(1.0, _compute_epsilon_n(query))) / 2
    level = min(math.ceil(exact), _DENSE_LEVEL, deepest)
    if name == "dense":
        return Levels(4**level, level, 1)
    full = level <= _FULL_LEVEL
    level = round(min(exact, level)) if full else level
    kept = query.kept or (4**level if full else _TREE_KEPT)
    last = level if full else min(level + 1, deepest)
    first = max(last - 2, 0) if full else min(choose_first_level(kept, query.grid), last)
    return Levels(kept, first, last - first + 1)


def _compute_epsilon_n(query: Query) -> float:
    """Return epsilon n: how many users it takes for one part of noise."""
    return float(epsilon_of_report(query)) * (query.users or PAPER_USERS)


def compute_weights(levels: int) -> tuple[int, ...]:
    """Return the shares of epsilon of so many levels, each 2**(-1/2) of the one before.

    >>> compute_weights(4)
    (65536, 46340, 32768, 23170)
    """
    return tuple(math.isqrt((_WEIGHT * _WEIGHT) >> step) for step in range(levels))


def choose_first_level(kept: int, grid: Grid) -> int:
    """Return the first level that is measured: the finest of at most `kept` squares.

    >>> choose_first_level(20, Grid((256, 256), 0)), choose_first_level(20, Grid((2, 2), 0))
    (2, 1)
    """
    level = 0
    while 4 ** (level + 1) <= kept and level < depth(grid):
        level += 1
    return level
