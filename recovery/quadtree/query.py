"""What may be asked of a crowd whose members send nothing readable, checked before a plan."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from edge.core.grid import depth
from edge.core.records import Grid
from edge.mechanisms.quadtree import PLACES_MOST

from ..fields import (
    COLLUDERS,
    DROPOUT,
    GRID,
    SHARD,
    check,
    check_grid,
    check_rules,
    describe,
)
from ..noise import Ratio, check_ratio
from ..noise.sums import check_shards
from .tree import find_owners, square_of

Adjacency = Literal["zero-out", "replace-one"]
Kind = Literal["counts", "proportions", "systematic", "stochastic"]

KINDS = ("counts", "proportions", "systematic", "stochastic")
DEPTH_MAX = 10
USERS_MAX = 10**9
READINGS_MOST = 1000


@dataclass(frozen=True, slots=True)
class Query:
    """A map of where people are, from sums over shards of devices that nobody can see alone.

    Raises:
        ValueError: a field has no meaning, alone or beside the others.
    """

    grid: Grid = field(metadata=GRID)
    epsilon: Ratio = field(
        metadata=describe(
            "A ratio such as 1/2, for one device's answers to all rounds.",
            flag="epsilon",
            example="1/1",
        )
    )
    # No default could know what neighbours are: noise differs by a factor of two.
    adjacency: Adjacency = field(
        metadata=describe(
            'What is hidden: "zero-out", whether a device marks anything, or "replace-one", where '
            "it is, with twice the noise.",
            flag="adjacency",
            example="zero-out",
            served="replace-one",
        )
    )
    users: int = field(
        default=0,
        metadata=describe(
            "Devices that answer each round, a public number; 0 for as many as are played.",
            low=0,
            high=USERS_MAX,
        ),
    )
    readings: int = 1  # maps, which share epsilon evenly
    kind: Kind = field(
        default="counts",
        metadata=describe(
            'What a device tells: "counts" of one place, "proportions" of those who say yes, or '
            'many places, "systematic" or "stochastic" by how parts are rounded.'
        ),
    )
    scale: int = field(
        default=100,
        metadata=describe(
            "Parts into which a device of many places splits itself.", low=1, high=10**6
        ),
    )
    places: int = field(
        default=16,
        metadata=describe("The most places of a device of many.", low=1, high=PLACES_MOST),
    )
    shard: int = field(default=10_000, metadata=SHARD)
    dropout: Ratio = field(default=(0, 1), metadata=DROPOUT)
    colluders: Ratio = field(default=(0, 1), metadata=COLLUDERS)
    aim: float = field(
        default=0.2,
        metadata=describe(
            "Width of the noise, as a share of an even square's count (b).", low=1e-6, high=10
        ),
    )
    threshold: float = field(
        default=2.0,
        metadata=describe(
            "Deviations of noise from which on a square is split (k).", low=0, high=100
        ),
    )
    reserve: float = field(
        default=2.0,
        metadata=describe(
            "Steps' worth of epsilon that must be left, or a round is the last (psi).",
            low=1,
            high=1000,
        ),
    )
    rounds: int = field(
        default=0,
        metadata=describe("The most rounds; 0 for one a level.", low=0, high=64),
    )
    depth: int = field(
        default=DEPTH_MAX, metadata=describe("The deepest level.", low=1, high=DEPTH_MAX)
    )
    collapse: float = field(
        default=0.0,
        metadata=describe(
            "Deviations without which a square falls back to its parent; 0 for never.", low=0
        ),
    )
    prior: tuple[tuple[int, int, int], ...] | None = field(
        default=None,
        metadata=describe(
            "Squares (level, column, row) to start from, apart from each other.",
            example="[[1, 0, 0], [2, 2, 0]]",
            elsewhere="a deployment file or the library",
        ),
    )
    estimator: Literal["auto", "all", "last"] = field(
        default="auto",
        metadata=describe(
            'From which counts the map is: "last" for the last round\'s, as in the paper, or '
            '"all" for every round\'s.',
            flag="estimator",
            map_only=True,
        ),
    )
    level: float = field(
        default=0.9, metadata=describe("Of intervals.", low=0, high=1, map_only=True)
    )

    def __post_init__(self) -> None:
        check_grid(self.grid)
        check_ratio(self.epsilon, "epsilon")
        check(self)
        few = type(self.readings) is int and 1 <= self.readings <= READINGS_MOST
        rules = [
            ("epsilon", Fraction(*self.epsilon) <= 64, "at most 64, or nothing is hidden"),
            ("readings", few, f"from 1 to {READINGS_MOST} maps"),
            ("collapse", self.collapse <= self.threshold, "at most the threshold"),
            ("level", 0 < self.level < 1, "between 0 and 1: nothing is sure"),
        ]
        check_rules(self, rules)
        check_shards(self)
        _check_prior(self)


def depth_of(query: Query) -> int:
    """Return the deepest level that squares of this query may have."""
    return min(query.depth, depth(query.grid))


def choose_first_squares(query: Query) -> tuple[int, ...]:
    """Return the squares of the first Round: the four quarters, or the prior's."""
    listed = [square_of(*place) for place in query.prior or ()] or [4, 5, 6, 7][
        : 4 * depth_of(query)
    ]
    return find_owners(listed, query.grid.shape)


def _check_prior(query: Query) -> None:
    listed = {square_of(*place) for place in query.prior or ()}
    for place in query.prior or ():
        level, column, row = place
        if not (
            0 <= level <= depth_of(query)
            and 0 <= min(column, row)
            and max(column, row) < 1 << level
        ):
            raise ValueError(
                f"the prior tree has the square {place} but must have (level, column, row), of "
                f"levels 0 to {depth_of(query)}, each column and row below 2**level. Correct it."
            )
        above = square_of(*place) >> 2
        while above and above not in listed:
            above >>= 2
        if above or len(listed) < len(query.prior or ()):
            raise ValueError(
                f"the prior tree's square {place} overlaps another one, and people in both would "
                "count for one of them only. List squares that are apart."
            )
