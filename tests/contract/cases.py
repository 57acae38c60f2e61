"""What the contract suite must know of a mechanism: how to play it, and what comes of no noise.

A mechanism that joins the table brings its case here, and no copy of the suite.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edge.core.records import Grid, Reading
from recovery.disk import Query as Places
from recovery.disk import cases as disk_cases
from recovery.pyramid import Query as Squares
from recovery.pyramid_sum import Query as Sums
from recovery.quadtree import Query as Growing
from recovery.ranks import Query as Order
from recovery.thermal import Query as Warmth
from recovery.thermal import make_operator
from tests.contract import tally

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Case:
    """A mechanism on a small grid.

    Args:
        query: at a usual epsilon; sharp: with as little noise as may be.
        truth: (rows, columns), what the sharp map must be.
        readings(round, truth): of all devices, where the truth is this.
        far: two truths as unlike as can be, that no length may tell apart.
        near: what the sharp map may be off by, in the earth mover's distance.
        chances(round): gives what a reading makes likely, {answer: weight}, in whole numbers;
            None where a report's law is no finite table.
    """

    query: Any
    sharp: Any
    truth: Floats
    readings: Callable[[Any, Floats], Sequence[Reading]]
    far: tuple[Floats, Floats]
    near: float
    chances: Callable[[Any], Callable[[Reading], dict[Any, int]]] | None = None


def _warm(round: Any, truth: Floats) -> list[Reading]:
    """Return what thermometers read, in grains: the law of heat, rounded."""
    grain = Fraction(2) ** -round.params[1]
    kelvin = make_operator(_LINE) @ truth.ravel()
    return [Reading(sensor, (round_(one, grain),)) for sensor, one in enumerate(kelvin)]


def round_(kelvin: float, grain: Fraction) -> int:
    """Return the nearest whole number of grains."""
    return int(np.rint(kelvin / float(grain)))


def _people(round: Any, truth: Floats) -> list[Reading]:
    """Return a reading for each person: where it is."""
    places = [
        divmod(int(cell), truth.shape[1])
        for cell in np.repeat(np.arange(truth.size), truth.astype(int).ravel())
    ]
    return [Reading(sensor, (x, y)) for sensor, (y, x) in enumerate(places)]


def _finely(round: Any, truth: Floats) -> list[Reading]:
    """Return the same people by the Round's own cells, which are finer than the map's."""
    across, down = (
        fine // cells for fine, cells in zip(round.grid.shape, truth.shape[::-1], strict=True)
    )
    return [
        Reading(
            one.sensor, (one.values[0] * across + across // 2, one.values[1] * down + down // 2)
        )
        for one in _people(round, truth)
    ]


def _at(shape: tuple[int, int], **cells: float) -> Floats:
    found = np.zeros(shape[::-1])
    for name, value in cells.items():
        x, y = (int(part) for part in name[1:].split("_"))
        found[y, x] = value
    return found


_LINE = Warmth(Grid((20, 1), 0), (12,), 0.01, (1, 1))
_GRID = Grid((4, 3), 0)
_CROWD = _at((4, 3), c0_0=60, c3_2=30, c2_1=10)
_APART = _at((4, 3), c0_0=9), _at((4, 3), c3_2=9)

# What is played of each on the command line, after `heatveil play NAME`.
WORDS = {
    "thermal": "--sources-random 1 --sensors 8 --cells 20",
    "disk": "--points szipf --users 300 --grid 5x4",
    "quadtree": "--points szipf --users 300 --grid 9x16",
    "pyramid_sum": "--points szipf --users 300",
    "ranks": "--points szipf --users 300",
    "pyramid": "--points szipf --users 300",
}

CASES = {
    "thermal": Case(
        _LINE,
        Warmth(Grid((20, 1), 0), (12,), 0.01, (100_000_000, 1)),
        _at((20, 1), c6_0=1.0),
        _warm,
        (_at((20, 1)), _at((20, 1), c0_0=1.0, c19_0=1.0)),
        near=0.01,
    ),
    "disk": Case(
        Places(_GRID, (1, 1)),
        Places(_GRID, (16, 1), radius=0.0),
        _CROWD,
        _people,
        _APART,
        near=0.01,
        chances=disk_cases.find_weights,
    ),
    "pyramid": Case(
        Squares(_GRID, (1, 1)),
        Squares(_GRID, (64, 1), estimator="sparse"),
        _CROWD,
        _people,
        _APART,
        near=0.01,
    ),
    "pyramid_sum": Case(
        Sums(_GRID, (1, 1), users=9),
        Sums(_GRID, (64, 1), users=100, estimator="sparse"),
        _CROWD,
        _people,
        _APART,
        near=0.01,
    ),
    "quadtree": Case(
        Growing(_GRID, (1, 1), "replace-one", 9),
        Growing(_GRID, (64, 1), "replace-one", 100),
        _CROWD,
        _people,
        _APART,
        near=0.01,
    ),
    "ranks": Case(
        Order(_GRID, (1, 20), users=2000),
        Order(_GRID, (16, 1), users=2000, group=20, estimator="steps"),
        20 * _CROWD,
        _finely,
        _APART,
        near=0.01,
    ),
    tally.NAME: Case(
        tally.Query(_GRID, (1, 1)),
        tally.Query(_GRID, (64, 1)),
        _CROWD,
        _people,
        _APART,
        near=0.001,
    ),
}
