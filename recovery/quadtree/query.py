"""What may be asked of a crowd whose members send nothing readable, checked before a plan."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from edge.mechanisms.quadtree import PLACES_MOST
from edge.records import Grid

from ..noise import Ratio, check_ratio
from .tree import active, levels_of, square_of

Adjacency = Literal["zero-out", "replace-one"]
Kind = Literal["counts", "proportions", "systematic", "stochastic"]

KINDS = ("counts", "proportions", "systematic", "stochastic")
ADJACENCIES = ("zero-out", "replace-one")
ESTIMATORS = ("auto", "all", "last")
DEPTH_MAX = 10
CELLS_MAX = 1 << 20
USERS_MAX = 10**9


@dataclass(frozen=True, slots=True)
class Query:
    """A map of where people are, from sums over shards of devices that nobody can see alone.

    Args:
        epsilon: of one device's answers to all Rounds together.
        users: how many devices answer each Round; public.
        adjacency: what neighbours are, which no default can know: "zero-out" for a device whose
            marks are there or not, its noise being there either way; "replace-one" for a device
            that is elsewhere, with twice the noise.
        kind: "counts" of one place each, "proportions" of those who say yes, or devices of many
            places, "systematic" by parts that always add up, "stochastic" as in the paper.
        scale, places: into how many marks a device of many places splits itself, and the most of
            them.
        shard: the most devices of one sum.
        dropout: the share of each shard that may be missing; with more missing, no sum is opened.
        colluders: the share of each shard that may help the gateway against the others.
        aim: b of equation 7, the width of the noise as a share of an even square's count.
        threshold: k of equation 6: a square is split from so many deviations on.
        reserve: psi of equation 9: the last Round comes when less than so many steps are left.
        rounds: the most; 0 for as many as there are levels.
        depth: the deepest level.
        collapse: of how many deviations a square must have more to stay; 0 for none.
        prior: squares (level, column, row) to start from, apart from each other; none for four.
        estimator: "last" for the last Round's counts, as the paper; "all" for every Round's.
        level: of the intervals.

    Raises:
        ValueError: a field has no meaning, alone or beside the others.
    """

    grid: Grid
    epsilon: Ratio
    users: int
    adjacency: Adjacency
    kind: Kind = "counts"
    scale: int = 100
    places: int = 16
    shard: int = 10_000
    dropout: Ratio = (0, 1)
    colluders: Ratio = (0, 1)
    aim: float = 0.1
    threshold: float = 2.0
    reserve: float = 2.0
    rounds: int = 0
    depth: int = DEPTH_MAX
    collapse: float = 0.0
    prior: tuple[tuple[int, int, int], ...] = ()
    estimator: Literal["auto", "all", "last"] = "auto"
    level: float = 0.9

    def __post_init__(self) -> None:
        shape = self.grid.shape
        if min(shape) < 1 or shape[0] * shape[1] > CELLS_MAX:
            raise ValueError(
                f"the grid has {shape[0]} x {shape[1]} cells but must have 1 to {CELLS_MAX}: a "
                "map is held in memory. Take larger cells."
            )
        check_ratio(self.epsilon, "epsilon")
        for name, good, needed in (
            ("epsilon", Fraction(*self.epsilon) <= 64, "at most 64, or nothing is hidden"),
            ("users", _whole(self.users, 1, USERS_MAX), f"a whole number from 1 to {USERS_MAX}"),
            ("adjacency", self.adjacency in ADJACENCIES, f"one of {', '.join(ADJACENCIES)}"),
            ("kind", self.kind in KINDS, f"one of {', '.join(KINDS)}"),
            ("scale", _whole(self.scale, 1, 10**6), "a whole number from 1 to a million"),
            ("places", _whole(self.places, 1, PLACES_MOST), f"from 1 to {PLACES_MOST}"),
            ("shard", _whole(self.shard, 1, 10**6), "a whole number from 1 to a million"),
            ("dropout", _share(self.dropout), "a share (num, den) from 0 up and below 1"),
            ("colluders", _share(self.colluders), "a share (num, den) from 0 up and below 1"),
            ("aim", 1e-6 <= self.aim <= 10, "from a millionth to 10"),
            ("threshold", 0 <= self.threshold <= 100, "from 0 to 100 deviations"),
            ("reserve", 1 <= self.reserve <= 1000, "from 1 to 1000"),
            ("rounds", _whole(self.rounds, 0, 64), "a whole number up to 64, or 0 for auto"),
            ("depth", _whole(self.depth, 1, DEPTH_MAX), f"a whole number from 1 to {DEPTH_MAX}"),
            ("collapse", 0 <= self.collapse <= self.threshold, "from 0 to the threshold"),
            ("estimator", self.estimator in ESTIMATORS, f"one of {', '.join(ESTIMATORS)}"),
            ("level", 0 < self.level < 1, "between 0 and 1: nothing is sure"),
        ):
            if not good:
                raise ValueError(
                    f"{name} is {getattr(self, name)!r} but must be {needed}, or neither the "
                    "rounds nor the map would mean anything. Correct it in the query."
                )
        if shard_of(self).divisor < 1:
            raise ValueError(
                f"of a shard of {self.users // shard_of(self).shards} devices, {self.dropout} may "
                f"be missing and {self.colluders} may collude, and nobody is left to bring the "
                "noise. Ask more devices, or allow for fewer of both."
            )
        _check_prior(self)


@dataclass(frozen=True, slots=True)
class Shard:
    """How users are shared out: each is in one of the shards, which differ by one at most."""

    shards: int
    threshold: int  # reports without which a sum is not opened
    colluders: int

    @property
    def divisor(self) -> int:
        """Among how many the noise of a sum is divided."""
        return self.threshold - self.colluders


def shard_of(query: Query) -> Shard:
    """Return the shards of a query; the threshold is that of the smallest."""
    shards = -(-query.users // query.shard)
    smallest, largest = query.users // shards, -(-query.users // shards)
    missing, colluding = Fraction(*query.dropout), Fraction(*query.colluders)
    return Shard(shards, int((1 - missing) * smallest), -int(-(colluding * largest) // 1))


def depth_of(query: Query) -> int:
    """Return the deepest level that squares of this query may have."""
    return min(query.depth, levels_of(query.grid.shape))


def first_squares(query: Query) -> tuple[int, ...]:
    """Return the squares of the first Round: the four quarters, or the prior's."""
    listed = [square_of(*place) for place in query.prior] or [4, 5, 6, 7][: 4 * depth_of(query)]
    return active(listed, query.grid.shape)


def _check_prior(query: Query) -> None:
    listed = {square_of(*place) for place in query.prior}
    for place in query.prior:
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
        if above or len(listed) < len(query.prior):
            raise ValueError(
                f"the prior tree's square {place} overlaps another one, and people in both would "
                "count for one of them only. List squares that are apart."
            )


def _whole(value: object, least: int, most: int) -> bool:
    return type(value) is int and least <= value <= most


def _share(ratio: object) -> bool:
    if not isinstance(ratio, tuple) or len(ratio) != 2 or not all(type(n) is int for n in ratio):
        return False
    return ratio[1] > 0 and 0 <= ratio[0] < ratio[1]
