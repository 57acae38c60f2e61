"""How far off a map is in cells and in metres: exactly where that can be had, or between bounds.

`recovery.distance` has the ways; here is the one door that picks. Whatever is picked, the answer
lies between two proven bounds: any plan costs at least the least, so the blurred plan of Sinkhorn
is too dear, and no line sees more than half of the squared way on average, so sqrt(2) times the
sliced distance is too short (and right where one map is the other, shifted).
"""

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from edge.records import Grid

from .. import compiled
from ..distance import sinkhorn, wasserstein2
from . import line
from .maps import Pair, pair

Way: TypeAlias = Literal["auto", "exact", "sinkhorn", "sliced"]

# Exact plans of more pairs of cells take more than some seconds, here or in POT.
_PAIRS_COMPILED = 2**25
_PAIRS_PLAIN = 4_000_000
# The least that can be told from 0 by the farthest cells of a square; blurs by a 18th of the side.
_REGULARISATION = 0.003
_TOLERANCE = 1e-5
_ANGLES = 64


@dataclass(frozen=True, slots=True)
class FarOff:
    """The distance W2 of two maps, and between what it lies for certain."""

    way: str  # exact, sinkhorn or sliced
    cells: float  # the distance, in sides of a cell
    metres: float | None  # the same; None on the unit square
    low_cells: float  # proven
    high_cells: float  # proven; inf by slices alone
    # Of the mean over directions, as if they had been drawn: they are even, so it is less.
    standard_error_cells: float | None
    projections: int | None
    said: str  # how it was had, in a sentence


def far_off(
    truth: ArrayLike,
    found: ArrayLike,
    grid: Grid,
    way: Way = "auto",
    angles: int = _ANGLES,
    regularisation: float = _REGULARISATION,
) -> FarOff:
    """Return the Wasserstein distance of order 2, by the best way that ends within seconds.

        W2 = sqrt(min sum of mass times squared Euclidean distance)

    Args:
        truth, found: (rows, columns), masses; each is divided by its total.
        way: auto takes exact as far as it goes, then Sinkhorn's.
        angles: directions of the slices; at least 2.
        regularisation: of Sinkhorn, where the longer side is 1.

    Sinkhorn's answer is freed of most of its bias: what a map is away from itself, which ought
    to be 0, is taken off, half of it for either map. Measured against exact on smooth maps of 16 x
    16 and 32 x 32 at 3/1000: too near by up to 12 and 3 %, most where the distance is about one
    cell, while the blurred cost itself is 6 to 70 % too far.
    `tests/recovery/transport/test_far_off.py` holds it to that.

    Raises:
        ValueError: the maps do not fit each other or the grid; the way is unknown; or it is
            exact, and there are too many cells for that.

    Source: Cuturi 2013 for Sinkhorn; Feydy et al. 2019 for taking off the bias (here from the
        plans' own costs, without their entropies); Bonneel et al. 2015 for slices.

    >>> far_off([[1, 0], [0, 0]], [[0, 1], [0, 0]], Grid((2, 2), 500)).metres
    0.5
    """
    columns, rows = grid.shape
    maps = pair(truth, found, normalise=True)
    if maps.grid != (rows, columns) or angles < 2 or angles % 1:
        raise ValueError(
            f"the maps have {maps.grid} rows and columns, the grid {(rows, columns)}, and "
            f"{angles} directions were asked for, but maps and grid must agree and directions be "
            "2 or more, or the distance has no unit or no bound. Give the maps' own grid."
        )
    if way not in ("auto", "exact", "sinkhorn", "sliced"):
        raise ValueError(
            f"way is {way!r} but must be auto, exact, sinkhorn or sliced: no other is known. "
            "Leave it out to have one chosen."
        )
    side = max(rows, columns)
    metres = grid.cell_mm / 1000 if grid.cell_mm else None
    if way == "exact" or (way == "auto" and _exact_ends(maps)):
        exact = wasserstein2(truth, found, normalise=True) * side
        return _told("exact", exact, metres, (exact, exact), said="exactly, as a linear program")
    low, error = _slices(maps, angles)
    low, error = low * side, error * side
    if way == "sliced":
        said = f"sqrt(2) times the mean over {angles} even directions: at least so far"
        return _told("sliced", low, metres, (low, math.inf), error, angles, said)
    cost, own = _blurred(truth, found, regularisation)
    # Where the plan's masses are a little off, what is missing may have to cross the whole map.
    high = math.sqrt(cost + 2 * _TOLERANCE) * side
    freed = math.sqrt(max(cost - own, 0.0)) * side
    said = (
        f"by Sinkhorn's plan blurred by {math.sqrt(regularisation) * side:.2g} cells, its own "
        f"blur taken off; with it {high:.4g} cells"
    )
    return _told("sinkhorn", max(freed, low), metres, (low, high), error, angles, said)


def _told(
    way: str,
    cells: float,
    metres: float | None,
    bounds: tuple[float, float],
    error: float | None = None,
    projections: int | None = None,
    said: str = "",
) -> FarOff:
    far = None if metres is None else cells * metres
    return FarOff(way, cells, far, *bounds, error, projections, said)


def _exact_ends(maps: Pair) -> bool:
    """Say whether an exact plan is a matter of seconds."""
    pairs = int(np.count_nonzero(maps.p)) * int(np.count_nonzero(maps.q))
    most = _PAIRS_COMPILED if compiled.available() else _PAIRS_PLAIN
    return maps.along is not None or pairs <= most


def _slices(maps: Pair, angles: int) -> tuple[float, float]:
    """Return sqrt(2) times the sliced distance, and its standard error over directions.

    The mean of cos**2 over two or more even directions is 1/2 exactly, so the bound is too.
    """
    if maps.along is not None:
        return math.sqrt(line.squared_work(maps.p, maps.q, maps.along)), 0.0
    turns = math.pi * (np.arange(angles) + 0.5) / angles
    seen = maps.places @ np.stack([np.cos(turns), np.sin(turns)])
    squares = 2 * np.array([line.squared_work(maps.p, maps.q, one) for one in seen.T])
    far = math.sqrt(float(squares.mean()))
    scatter = float(squares.std(ddof=1)) / math.sqrt(angles)
    return far, scatter / (2 * far) if far > 0 else 0.0


def _blurred(truth: ArrayLike, found: ArrayLike, regularisation: float) -> tuple[float, float]:
    """Return the blurred plan's squared cost, and half of what the maps cost to themselves."""
    costs = [
        sinkhorn(one, other, regularisation, normalise=True, tolerance=_TOLERANCE).cost
        for one, other in ((truth, found), (truth, truth), (found, found))
    ]
    return costs[0], (costs[1] + costs[2]) / 2
