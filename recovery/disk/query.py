"""What an analyst may ask of people who trust nobody, checked before anything is planned."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from edge.records import Grid

from ..ratio import Ratio, check_ratio
from .footprint import SCHEMES, radius_cells

Scheme = Literal["auto", "dam", "dam-ns", "area", "huem", "wave", "krr"]
EstimatorName = Literal["auto", "em", "ems", "map"]

_ESTIMATORS = ("auto", "em", "ems", "map")
# Above it a promise is empty, below it a report tells less than its weights are rounded by.
EPSILON_MAX, EPSILON_MIN = 16, Fraction(1, 1000)
CELLS_MAX = 1 << 20  # a map of 1024 x 1024
OUTER_MAX = 1 << 24  # cells that may be answered: arrays of them are held in memory


@dataclass(frozen=True, slots=True)
class Query:
    """A map of where people are, from devices that answer a cell near theirs more often.

    Raises:
        ValueError: a field has no meaning, alone or beside the others.
    """

    grid: Grid
    epsilon: Ratio  # for all reports of one device together
    readings: int = 1  # reports of one device, which share epsilon evenly
    scheme: Scheme = "auto"  # `scheme_of` says which
    radius: float | None = None  # in cells; None for the one that is chosen for the scheme
    estimator: EstimatorName = "auto"
    level: float = 0.9  # of what is said about how sure the map is

    def __post_init__(self) -> None:
        _check_grid(self.grid)
        check_ratio(self.epsilon, "epsilon")
        schemes = ("auto", *SCHEMES, "wave")
        for name, good, needed in (
            (
                "readings",
                type(self.readings) is int and self.readings > 0,
                "a whole number from 1: they share the promise",
            ),
            ("scheme", self.scheme in schemes, f"one of {', '.join(schemes)}"),
            (
                "radius",
                self.radius is None
                or (type(self.radius) in (int, float) and 0 <= self.radius < math.inf),
                "left out or a number of cells from 0 up",
            ),
            (
                "radius",
                self.scheme != "krr" or not self.radius,
                "left out or 0 for krr, whose answers know no distance",
            ),
            ("estimator", self.estimator in _ESTIMATORS, f"one of {', '.join(_ESTIMATORS)}"),
            ("level", 0 < self.level < 1, "between 0 and 1: nothing is sure"),
        ):
            if not good:
                raise ValueError(
                    f"{name} is {getattr(self, name)!r} but must be {needed}, or neither the "
                    "answers nor the map would mean anything. Correct it in the query."
                )
        one = epsilon_of_one(self)
        if not EPSILON_MIN <= one <= EPSILON_MAX:
            raise ValueError(
                f"epsilon of one report is {float(one):g} but must be {EPSILON_MIN} to "
                f"{EPSILON_MAX}: below, no answer tells anything, and above, nothing is hidden. "
                "Correct epsilon, or readings, by which it is divided."
            )
        check_ratio((one * one / 2).as_integer_ratio(), "half of one report's epsilon squared")
        _check_outer(self)


def epsilon_of_one(query: Query) -> Fraction:
    """Return the epsilon of one report of one device."""
    return Fraction(*query.epsilon) / query.readings


def scheme_of(query: Query) -> str:
    """Return the scheme of the footprint: the query's; or the printed one, at a radius of its own.

    With neither stated, the one that is chosen for the grid and epsilon.
    """
    if query.scheme != "auto":
        return query.scheme
    return "dam" if query.radius is not None else _chosen(query)[0]


def radius_of(query: Query) -> float:
    """Return the radius of the footprint, in cells: the query's, or the one that is chosen."""
    if query.scheme == "krr":
        return 0
    if query.radius is not None:
        return query.radius
    epsilon, shape = float(epsilon_of_one(query)), query.grid.shape
    if query.scheme == "wave":
        from .choice import wave_reach  # it weighs one reach against another

        return wave_reach(epsilon, shape)
    return _chosen(query)[1] if query.scheme == "auto" else radius_cells(epsilon, shape)


def _chosen(query: Query) -> tuple[str, float]:
    from .choice import chosen

    return chosen(float(epsilon_of_one(query)), query.grid.shape)


def _check_grid(grid: Grid) -> None:
    shape = grid.shape
    whole = isinstance(shape, tuple) and len(shape) == 2 and all(type(n) is int for n in shape)
    if not (whole and min(shape) > 0 and type(grid.cell_mm) is int and grid.cell_mm >= 0):
        raise ValueError(
            f"the grid is {grid!r} but needs (columns, rows), whole numbers from 1, and a cell's "
            "side in whole millimetres, or 0: answers are cells. Correct it in the query."
        )
    if shape[0] * shape[1] > CELLS_MAX:
        raise ValueError(
            f"the grid has {shape[0]} x {shape[1]} cells but at most {CELLS_MAX} can be mapped: "
            "each needs many answers to be told from its neighbours. Take larger cells."
        )


def _check_outer(query: Query) -> None:
    columns, rows = query.grid.shape
    reach = math.ceil(radius_of(query))
    if (columns + 2 * reach) * (rows + 2 * reach) > OUTER_MAX:
        raise ValueError(
            f"with a radius of {reach} cells around {columns} x {rows} there would be more than "
            f"{OUTER_MAX} cells to answer, too many to count. Take a smaller radius or larger "
            "cells."
        )
