"""What an analyst may ask of people who trust a gateway, checked before anything is planned."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from edge.records import Grid

from ..noise import Ratio, check_ratio

Groups = Literal["rule", "paper"]
EstimatorName = Literal["auto", "lines", "steps"]

# Above it a promise is empty; below, a sum has more noise than any crowd has places.
EPSILON_MAX, EPSILON_MIN = 16, Fraction(1, 10000)
CELLS_MAX = 1 << 20  # a map of 1024 x 1024
USERS_MAX = 1 << 30
ORDER = 16  # of the curve: 65 536 cells a side


@dataclass(frozen=True, slots=True)
class Query:
    """A map of where people are, from a gateway that sorts their places and blurs sums of them.

    Raises:
        ValueError: a field has no meaning, alone or beside the others.
    """

    grid: Grid  # of the map; places are told on a finer one
    epsilon: Ratio  # for all releases together
    users: int = 10_000  # how many will answer, about: public, and sets the size of groups
    points: int = 1  # of one user in one release, all of them protected together
    readings: int = 1  # releases, which share epsilon evenly
    axes: int | None = None  # of a place; 3 is mapped from above; None for those of the grid
    groups: Groups = "rule"  # how the size of groups is chosen
    group: int | None = None  # places in a group; None for what `groups` chooses
    estimator: EstimatorName = "auto"

    def __post_init__(self) -> None:
        shape = self.grid.shape
        whole = isinstance(shape, tuple) and len(shape) == 2 and all(type(n) is int for n in shape)
        line = whole and shape[1] == 1
        for name, good, needed in (
            (
                "grid",
                whole
                and min(shape) > 0
                and shape[0] * shape[1] <= CELLS_MAX
                and type(self.grid.cell_mm) is int
                and self.grid.cell_mm >= 0,
                f"(columns, rows), at most {CELLS_MAX} cells, and a cell's side in whole mm, or 0",
            ),
            ("users", _counts(self.users, USERS_MAX), f"a whole number from 1 to {USERS_MAX}"),
            ("points", _counts(self.points, (1 << 16) - 1), "a whole number from 1 to 65535"),
            ("readings", _counts(self.readings, 1 << 20), "a whole number from 1 to 1048576"),
            (
                "axes",
                self.axes is None or (self.axes in (1, 2, 3) and (self.axes == 1) == line),
                "1 for a grid of one row, 2 or 3 for any other",
            ),
            ("groups", self.groups in ("rule", "paper"), "rule or paper"),
            (
                "group",
                self.group is None or _counts(self.group, USERS_MAX),
                "left out or a whole number from 1",
            ),
            (
                "estimator",
                self.estimator in ("auto", "lines", "steps"),
                "auto, lines or steps",
            ),
        ):
            if not good:
                raise ValueError(
                    f"{name} is {getattr(self, name)!r} but must be {needed}, or neither the sums "
                    "nor the map would mean anything. Correct it in the query."
                )
        check_ratio(self.epsilon, "epsilon")
        one = epsilon_of_one(self)
        if not EPSILON_MIN <= one <= EPSILON_MAX:
            raise ValueError(
                f"epsilon of one release is {float(one):g} but must be {EPSILON_MIN} to "
                f"{EPSILON_MAX}: below, no sum tells anything, and above, nothing is hidden. "
                "Correct epsilon, or readings, by which it is divided."
            )
        check_ratio((one * one / 2).as_integer_ratio(), "half of one release's epsilon squared")


def epsilon_of_one(query: Query) -> Fraction:
    """Return the epsilon of one release."""
    return Fraction(*query.epsilon) / query.readings


def axes_of(query: Query) -> int:
    """Return how many coordinates a place has."""
    return query.axes or (1 if query.grid.shape[1] == 1 else 2)


def _counts(value: object, most: int) -> bool:
    return type(value) is int and 0 < value <= most
