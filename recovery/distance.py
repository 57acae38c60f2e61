"""How far one map of heat is from another: earth mover's and Wasserstein distances, exactly.

A map is an array of cells, (cells,), (1, cells) or (rows, columns). Unless `positions` say
otherwise the cells are squares and the longer side of the map is 1. Along a line the distances
have closed forms; in a plane they are linear programs, solved to the end: on a grid by a network
simplex of our own, among few cells or freely placed ones by that of POT.
"""

import math
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from edge.records import Grid

from . import kernels
from .kernels import network_simplex
from .score import maps as line
from .score.grid import Ground, grid_flow, grid_plan
from .score.maps import HEAPS_MAX, PAIRS_MAX, Pair, pair, transport
from .score.maps import Entropic as Entropic
from .score.maps import sinkhorn as sinkhorn
from .score.maps import sliced as sliced

# A plan on a grid with more pairs of cells than two full maps of 128 x 128 takes minutes.
_PAIRS_MAX = 2**28
# So many pairs of cells cost POT what one cell of the grid costs us.
_PAIRS_A_CELL = 10
# POT is slow where many cells meet few.
_HEAPS = 3_000
# What POT does in less time than a compiler takes to load.
_PAIRS_UNLOADED = 500_000
# Flows on grids so small need no compiler, nor POT.
_CELLS_PLAIN = 400


def earth_movers(
    p: ArrayLike,
    q: ArrayLike,
    metric: Literal["l1", "l2"] = "l1",
    positions: ArrayLike | None = None,
    normalise: bool = False,
) -> float:
    """Return the least work that turns one map into the other, mass times distance.

    Args:
        p, q: masses of the cells; of one shape, not negative, of equal total.
        metric: how distance is measured in a plane; along a line both are the same.
        positions: (cells,) or (cells, 2), where the cells are; in any unit.
        normalise: divide each map by its total first. The distance between unequal
            masses is not defined, so without this they are refused.

    Raises:
        ValueError: the maps do not fit each other, or have too many cells for the plane: any
            two maps of 256 x 256 cells are compared in l1, and of 128 x 128 in l2, where numba is
            installed; without it some four million pairs of cells.

    Source: Gilbert and McMillan 2017, Section 4.1.

    >>> earth_movers([1, 0, 0, 0], [0, 0, 0, 1])
    0.75
    """
    if metric not in ("l1", "l2"):
        raise ValueError(
            f"metric is {metric!r} but must be l1 or l2: no other distance between cells is "
            "known. Write metric='l1' for the sum of rows and columns, 'l2' for the straight way."
        )
    maps = pair(p, q, positions, normalise)
    if maps.along is not None:
        return line.work(maps.p, maps.q, maps.along)
    # What both have in one cell stays there: no detour is shorter, by the triangle inequality.
    shared = np.minimum(maps.p, maps.q)
    left = replace(maps, p=maps.p - shared, q=maps.q - shared)
    if metric == "l2":
        return _planned(left, "euclidean")
    if left.grid is None or not (len(left.p) <= _CELLS_PLAIN or _on_grid(left)):
        return transport(left.p, left.q, left.places, "cityblock")
    flow = grid_flow((left.p - left.q).reshape(left.grid), worth=len(left.p) > _CELLS_PLAIN)
    return max(0.0, flow.cost) * left.unit


def wasserstein2(
    p: ArrayLike, q: ArrayLike, positions: ArrayLike | None = None, normalise: bool = False
) -> float:
    """Return the root of the least sum of mass times squared Euclidean distance.

    Args and Raises: as for `earth_movers`.

    >>> wasserstein2([0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5])
    0.5
    """
    maps = pair(p, q, positions, normalise)
    if maps.along is not None:
        return line.squared_work(maps.p, maps.q, maps.along) ** 0.5
    return _planned(maps, "sqeuclidean") ** 0.5


def _planned(maps: Pair, ground: Ground) -> float:
    """Return the cost of the cheapest plan in a plane."""
    if maps.grid is None or not kernels.available() or not _on_grid(maps):
        return transport(maps.p, maps.q, maps.places, ground)
    pairs = int(np.count_nonzero(maps.p)) * int(np.count_nonzero(maps.q))
    if pairs > _PAIRS_MAX:
        raise ValueError(
            f"the maps have {pairs} pairs of cells to move between but at most {_PAIRS_MAX} are "
            "computed exactly in a plane: more take minutes. Sum the cells into larger ones "
            "first, or take the l1 distance or sliced."
        )
    cost = grid_plan(maps.p.reshape(maps.grid), maps.q.reshape(maps.grid), ground).cost
    return cost * (maps.unit if ground == "euclidean" else maps.unit**2)


def _on_grid(maps: Pair) -> bool:
    """Say whether our way on the grid is faster than all pairs of cells."""
    here, there = int(np.count_nonzero(maps.p)), int(np.count_nonzero(maps.q))
    loaded = kernels.tier(network_simplex, worth=False) is not network_simplex
    if loaded:
        return here * there > _PAIRS_A_CELL * len(maps.p) or here + there > _HEAPS
    if kernels.available():
        return here * there > _PAIRS_UNLOADED or here + there > _HEAPS
    return here * there > PAIRS_MAX or here + there > HEAPS_MAX


def similarity(p: ArrayLike, q: ArrayLike) -> float:
    """Return the mass that two maps share cell by cell, both divided by their totals; 0 to 1.

    >>> similarity([1, 1, 0], [0, 3, 3])
    0.5
    """
    maps = pair(p, q, normalise=True)
    return float(np.minimum(maps.p, maps.q).sum())


def pearson(p: ArrayLike, q: ArrayLike) -> float:
    """Return the linear correlation of the cells, NaN where a map has one value throughout.

    >>> pearson([1, 2, 3], [2, 4, 6])
    1.0
    """
    maps = pair(p, q, normalise=True)
    p_centred, q_centred = maps.p - maps.p.mean(), maps.q - maps.q.mean()
    spread = float(np.linalg.norm(p_centred) * np.linalg.norm(q_centred))
    # The mean of equal masses is equal to them up to rounding only.
    if spread <= 1e-15 * float(np.linalg.norm(maps.p) * np.linalg.norm(maps.q)):
        return float("nan")
    return min(1.0, max(-1.0, float(p_centred @ q_centred) / spread))


def kl(truth: ArrayLike, estimate: ArrayLike) -> float:
    """Return the relative entropy of the truth to the estimate, in nats.

        sum over cells of q ln(t + q / (p + t)),  t = 2**-52, q the truth, p the estimate

    The t of the saliency benchmarks keeps cells that one map leaves empty finite: a cell
    the estimate misses costs 36 nats a unit of mass, and the least value is 0 within 1e-14.

    >>> round(kl([1, 0], [1, 1]), 6)
    0.693147
    """
    maps = pair(truth, estimate, normalise=True)
    q, p = maps.p, maps.q
    tiny = float(np.finfo(np.float64).eps)
    return float(q @ np.log(tiny + q / (p + tiny)))


def mse(p: ArrayLike, q: ArrayLike) -> float:
    """Return the mean over cells of the squared difference of the maps, each of total one.

    >>> mse([1, 0], [0, 1])
    1.0
    """
    maps = pair(p, q, normalise=True)
    return float(np.mean((maps.p - maps.q) ** 2))


# How far off a map is in cells and in metres: exactly where that can be had, or between bounds.
#
# Above are the ways; here is the one door that picks. Whatever is picked, the answer
# lies between two proven bounds: any plan costs at least the least, so the blurred plan of
# Sinkhorn is too dear, and no line sees more than half of the squared way on average, so sqrt(2)
# times the sliced distance is too short (and right where one map is the other, shifted).

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
    `tests/recovery/score/test_far_off.py` holds it to that.

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
    most = _PAIRS_COMPILED if kernels.available() else _PAIRS_PLAIN
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
