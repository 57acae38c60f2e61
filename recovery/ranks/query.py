"""What an analyst may ask of people who trust a gateway, checked before anything is planned."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from edge.core.records import Grid
from edge.mechanisms.central import NUMBERS

from ..fields import (
    EPSILON,
    GRID,
    OUTSIDE,
    WINDOW_H,
    check,
    check_grid,
    check_rules,
    describe,
)
from ..noise import Ratio, check_epsilon_of_report

Groups = Literal["rule", "paper"]
EstimatorName = Literal["auto", "lines", "steps"]

# Above it a promise is empty; below, a sum has more noise than any crowd has places.
EPSILON_MAX, EPSILON_MIN = 16, Fraction(1, 10000)
USERS_MAX = 10**9
USERS = 10_000  # that are planned for where nobody says how many
POINTS_MAX = NUMBERS - 1  # of one user: what a sealed report holds beside the sensor
ORDERS = {1: 16, 2: 15}  # of the curve, by axes: places of at most 31 bits


@dataclass(frozen=True, slots=True)
class Query:
    """A map of where people are, from a gateway that sorts their places and blurs sums of them.

    Raises:
        ValueError: a field has no meaning, alone or beside the others.
    """

    grid: Grid = field(metadata=GRID)  # places are told on a finer one
    epsilon: Ratio = field(metadata=EPSILON)  # for all releases together
    users: int | None = field(  # None for `USERS`
        default=None,
        metadata=describe(
            "How many will answer, about: public, and sets the size of groups.",
            low=1,
            high=USERS_MAX,
            example="10000",
        ),
    )
    points: int = field(
        default=1,
        metadata=describe(
            "Points of one user in one release, all protected together.", low=1, high=POINTS_MAX
        ),
    )
    readings: int = field(
        default=1,
        metadata=describe(
            "Releases: each sorts all places anew, with an even part of the epsilon left.",
            low=1,
            high=1 << 20,
        ),
    )
    axes: int | None = field(  # None for those of the grid
        default=None,
        metadata=describe("1 or 2, as the grid says: devices tell no height.", example="2"),
    )
    groups: Groups = field(
        default="rule", metadata=describe('How the size of groups is chosen: or "paper".')
    )
    group: int | None = field(  # None for what `groups` chooses
        default=None,
        metadata=describe(
            "Places in a group; leave it out for the rule's.",
            low=1,
            high=USERS_MAX,
            example="174",
        ),
    )
    estimator: EstimatorName = field(
        default="auto",
        metadata=describe(
            "Who draws the map: auto, lines, steps.", flag="estimator", map_only=True
        ),
    )
    outside: Literal["clamp", "refuse"] = field(default="clamp", metadata=OUTSIDE)
    window_h: int = field(default=0, metadata=WINDOW_H)

    def __post_init__(self) -> None:
        check(self)
        check_grid(self.grid)
        line = self.grid.shape[1] == 1
        fits = self.axes is None or (self.axes in ORDERS and (self.axes == 1) == line)
        needed = "1 for a grid of one row, 2 for any other: devices tell no height"
        check_rules(self, [("axes", fits, needed)])
        finest = 1 << order_of(self)
        check_grid(self.grid, longest=finest, reason="no grid is finer than the curve")
        check_epsilon_of_report(self, EPSILON_MIN, EPSILON_MAX)


def axes_of(query: Query) -> int:
    """Return how many coordinates a place has."""
    return query.axes or (1 if query.grid.shape[1] == 1 else 2)


def count_of(query: Query) -> int:
    """Return how many points a release is planned for."""
    return (query.users or USERS) * query.points


def order_of(query: Query) -> int:
    """Return the curve's order: so many times is a side halved."""
    return ORDERS[axes_of(query)]
