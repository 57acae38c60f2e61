"""How far one map of heat is from another: earth mover's and Wasserstein distances, exactly.

A map is an array of cells, (cells,), (1, cells) or (rows, columns). Unless `positions` say
otherwise the cells are squares and the longer side of the map is 1. Along a line the distances
have closed forms; in a plane they are linear programs, solved to the end: on a grid by a network
simplex of our own, among few cells or freely placed ones by that of POT.
"""

from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from . import kernels
from .kernels import network_simplex
from .score import maps as line
from .score.grid import Ground, grid_flow, grid_plan
from .score.maps import HEAPS_MAX, PAIRS_MAX, Pair, pair, transport
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
