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
import scipy  # its parts are loaded when they are used
from numpy.typing import ArrayLike, NDArray

from . import kernels
from .kernels import network_simplex
from .score.grid import Ground, solve_grid_flow, solve_grid_plan

# Two maps made ready to be compared, and the distances that no grid is needed for.

Floats = NDArray[np.float64]


def compute_line_work(p: Floats, q: Floats, places: Floats) -> float:
    """Return the least mass times distance: the area between the two cumulative masses.

    Args:
        p, q: (cells,), masses of equal total.
        places: (cells,), in any order.

    >>> compute_line_work(np.array([1.0, 0, 0]), np.array([0, 0, 1.0]), np.array([0.0, 1, 2]))
    2.0
    """
    gaps = np.diff(places)
    surplus = p - q
    if (gaps < 0).any():
        order = np.argsort(places)
        gaps, surplus = np.diff(places[order]), surplus[order]
    return float(np.abs(np.cumsum(surplus)[:-1]) @ gaps)


def compute_squared_line_work(p: Floats, q: Floats, places: Floats) -> float:
    """Return the least mass times squared distance: that between equal quantiles.

    Args: as for `compute_line_work`.
    """
    order = np.argsort(places)
    upto_p, upto_q = np.cumsum(p[order]), np.cumsum(q[order])
    levels = np.sort(np.concatenate([[0.0], upto_p, upto_q]))
    middles = (levels[1:] + levels[:-1]) / 2
    last = len(order) - 1
    from_place = places[order[np.minimum(np.searchsorted(upto_p, middles), last)]]
    to_place = places[order[np.minimum(np.searchsorted(upto_q, middles), last)]]
    return float(np.diff(levels) @ (from_place - to_place) ** 2)


@dataclass(frozen=True, slots=True)
class Pair:
    """Two maps of equal total."""

    p: Floats  # (cells,)
    q: Floats  # (cells,)
    grid: tuple[int, int] | None  # rows and columns, of square cells; None where placed freely
    unit: float  # the side of a cell of the grid
    given: Floats  # (cells, axes), the places; nothing where there is a grid

    @property
    def total(self) -> float:
        """The mass of either map."""
        return float(self.p.sum())

    @property
    def places(self) -> Floats:
        """Where the cells are, (cells, axes): one axis where the grid is one row or column."""
        if self.grid is None:
            return self.given
        y, x = np.array(np.divmod(np.arange(len(self.p)), self.grid[1])) * self.unit
        return (x + y)[:, None] if min(self.grid) == 1 else np.stack([x, y], axis=1)

    @property
    def along(self) -> Floats | None:
        """The places, (cells,), where all are in a line."""
        if self.grid is None:
            return self.given[:, 0] if self.given.shape[1] == 1 else None
        if min(self.grid) > 1:
            return None
        return np.arange(len(self.p), dtype=np.float64) * self.unit


def check_pair(
    p: ArrayLike, q: ArrayLike, positions: ArrayLike | None = None, normalise: bool = False
) -> Pair:
    """Return two maps side by side, or refuse them.

    Unequal totals are refused, because some mass would have nowhere to go. With `normalise`
    each map is divided by its own total, and shapes are compared whatever they weigh.

    Args:
        p, q: (cells,) or (rows, columns), masses; of one shape, not negative.
        positions: (cells,) or (cells, 2), where the cells are; in any unit. Otherwise cells are
            squares and the longer side of the map is 1.
        normalise: divide each map by its total.

    Raises:
        ValueError: the maps do not fit each other or their positions, or weigh differently.
    """
    mass_p, mass_q = np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64)
    if mass_p.shape != mass_q.shape or mass_p.ndim not in (1, 2) or not mass_p.size:
        raise ValueError(
            f"the maps have shapes {mass_p.shape} and {mass_q.shape} but must share one, "
            "(cells,) or (rows, columns): cells are compared one by one. Bring both to one grid."
        )
    totals = float(mass_p.sum()), float(mass_q.sum())
    # What is not a number is not at least 0, and an infinite mass makes the total infinite.
    if not (mass_p.min() >= 0 and mass_q.min() >= 0 and max(totals) < np.inf):
        raise ValueError(
            "a map holds a negative, NaN or infinite mass but masses must be at least 0: "
            "no one can move less than nothing. Clip or correct the map first."
        )
    if not (min(totals) > 0 and (normalise or abs(totals[0] - totals[1]) <= 1e-9 * max(totals))):
        raise ValueError(
            f"the maps weigh {totals[0]:g} and {totals[1]:g} but must weigh the same and more "
            "than 0, or some mass has nowhere to go. Pass normalise=True to compare shapes."
        )
    unit = totals if normalise else (1.0, totals[1] / totals[0])
    rows, columns = (1, *mass_p.shape)[-2:]
    return Pair(
        p=mass_p.ravel() / unit[0],
        q=mass_q.ravel() / unit[1],
        grid=(rows, columns) if positions is None else None,
        unit=1 / max(rows, columns),
        given=np.empty((0, 0))
        if positions is None
        else _check_positions(rows * columns, positions),
    )


def _check_positions(cells: int, positions: ArrayLike) -> Floats:
    places = np.asarray(positions, dtype=np.float64)
    if (
        places.ndim not in (1, 2)
        or len(places) != cells
        or (places.ndim == 2 and not places.shape[1])
        or not np.isfinite(places).all()
    ):
        raise ValueError(
            f"positions have shape {places.shape} but must be {cells} finite places, "
            "(cells,) or (cells, 2): every cell stands somewhere. Give one place a cell."
        )
    return places.reshape(cells, -1)


# The cheapest way to move one heap of masses onto another, wherever they lie.

AnyGround: TypeAlias = Literal["cityblock", "euclidean", "sqeuclidean"]

# Beyond these it takes more than a few seconds.
PAIRS_MAX = 4_000_000
HEAPS_MAX = 20_000


def solve_transport(supply: Floats, demand: Floats, places: Floats, ground: AnyGround) -> float:
    """Return the least total cost of moving the supply to the demand, exactly.

    Args:
        supply, demand: (cells,), not negative, of equal total.
        places: (cells, axes), where the cells are.
        ground: what moving one unit of mass costs, by the name scipy gives the distance.

    Raises:
        ValueError: there are more pairs of cells than can be computed in reasonable time.

    Source: the transportation problem of Hitchcock 1941, by the network simplex of POT
        (Bonneel, van de Panne, Paris and Heidrich 2011).
    """
    here, there = np.flatnonzero(supply), np.flatnonzero(demand)
    if not len(here) or not len(there):
        return 0.0
    if len(here) * len(there) > PAIRS_MAX or len(here) + len(there) > HEAPS_MAX:
        raise ValueError(
            f"the maps have {len(here)} and {len(there)} cells to move between but at most "
            f"{PAIRS_MAX} pairs of {HEAPS_MAX} cells are computed exactly: more take too long. "
            "Sum the cells into larger ones first."
        )
    import ot  # loads slowly, and most maps are lines

    # In units of the mass that moves, because some of the solver's tolerances are absolute.
    moved = float(supply.sum())
    cost, log = ot.emd2(
        supply[here] / moved,
        demand[there] / float(demand.sum()),
        scipy.spatial.distance.cdist(places[here], places[there], ground),
        numItermax=10**9,
        log=True,
    )
    if log["warning"] is not None:
        raise ArithmeticError(
            f"the network simplex gave up ({log['warning']}) but must end: a plan that is not "
            "the best is no distance. Sum the cells into larger ones first."
        )
    return max(0.0, float(cost)) * moved


# How far one map is from another on average over directions, each of them a line.


_ANGLES = 64


def sliced_distance(p: ArrayLike, q: ArrayLike) -> float:
    """Return the sliced Wasserstein distance, a lower bound that any number of cells can afford.

        sqrt(mean over angles of wasserstein2(p, q seen at the angle) ** 2)

    The angles divide a half turn evenly, so the same maps have the same distance. Along a line
    there is only one angle, and the distance is that of the line.

    Args:
        p, q: masses of the cells; of one shape, not negative, of equal total.

    Raises:
        ValueError: the maps do not fit each other.

    Source: Bonneel, Rabin, Peyré and Pfister 2015, "Sliced and Radon Wasserstein barycenters".

    Differs from the source:
        1. Angles are even and not drawn, and none lies along the grid.

    >>> round(sliced_distance([[1, 0], [0, 0]], [[0, 1], [0, 0]]), 3)
    0.354
    """
    maps = check_pair(p, q)
    if maps.along is not None:
        return math.sqrt(compute_squared_line_work(maps.p, maps.q, maps.along))
    turns = math.pi * (np.arange(_ANGLES) + 0.5) / _ANGLES
    seen = maps.places @ np.stack([np.cos(turns), np.sin(turns)])
    return math.sqrt(
        float(np.mean([compute_squared_line_work(maps.p, maps.q, one) for one in seen.T]))
    )


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
    maps = check_pair(p, q, positions, normalise)
    if maps.along is not None:
        return compute_line_work(maps.p, maps.q, maps.along)
    # What both have in one cell stays there: no detour is shorter, by the triangle inequality.
    shared = np.minimum(maps.p, maps.q)
    left = replace(maps, p=maps.p - shared, q=maps.q - shared)
    if metric == "l2":
        return _solve_plan(left, "euclidean")
    if left.grid is None or not (len(left.p) <= _CELLS_PLAIN or _on_grid(left)):
        return solve_transport(left.p, left.q, left.places, "cityblock")
    flow = solve_grid_flow((left.p - left.q).reshape(left.grid), worth=len(left.p) > _CELLS_PLAIN)
    return max(0.0, flow.cost) * left.unit


def wasserstein2(
    p: ArrayLike, q: ArrayLike, positions: ArrayLike | None = None, normalise: bool = False
) -> float:
    """Return the root of the least sum of mass times squared Euclidean distance.

    Args and Raises: as for `earth_movers`.

    >>> wasserstein2([0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5])
    0.5
    """
    maps = check_pair(p, q, positions, normalise)
    if maps.along is not None:
        return compute_squared_line_work(maps.p, maps.q, maps.along) ** 0.5
    return _solve_plan(maps, "sqeuclidean") ** 0.5


def _solve_plan(maps: Pair, ground: Ground) -> float:
    """Return the cost of the cheapest plan in a plane."""
    if maps.grid is None or not kernels.can_compile() or not _on_grid(maps):
        return solve_transport(maps.p, maps.q, maps.places, ground)
    pairs = int(np.count_nonzero(maps.p)) * int(np.count_nonzero(maps.q))
    if pairs > _PAIRS_MAX:
        raise ValueError(
            f"the maps have {pairs} pairs of cells to move between but at most {_PAIRS_MAX} are "
            "computed exactly in a plane: more take minutes. Sum the cells into larger ones "
            "first, or take the l1 distance or sliced."
        )
    cost = solve_grid_plan(maps.p.reshape(maps.grid), maps.q.reshape(maps.grid), ground).cost
    return cost * (maps.unit if ground == "euclidean" else maps.unit**2)


def _on_grid(maps: Pair) -> bool:
    """Say whether our way on the grid is faster than all pairs of cells."""
    here, there = int(np.count_nonzero(maps.p)), int(np.count_nonzero(maps.q))
    loaded = kernels.compile_if_worth(network_simplex, worth=False) is not network_simplex
    if loaded:
        return here * there > _PAIRS_A_CELL * len(maps.p) or here + there > _HEAPS
    if kernels.can_compile():
        return here * there > _PAIRS_UNLOADED or here + there > _HEAPS
    return here * there > PAIRS_MAX or here + there > HEAPS_MAX


def similarity(p: ArrayLike, q: ArrayLike) -> float:
    """Return the mass that two maps share cell by cell, both divided by their totals; 0 to 1.

    >>> similarity([1, 1, 0], [0, 3, 3])
    0.5
    """
    maps = check_pair(p, q, normalise=True)
    return float(np.minimum(maps.p, maps.q).sum())


def pearson(p: ArrayLike, q: ArrayLike) -> float:
    """Return the linear correlation of the cells, NaN where a map has one value throughout.

    >>> pearson([1, 2, 3], [2, 4, 6])
    1.0
    """
    maps = check_pair(p, q, normalise=True)
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
    maps = check_pair(truth, estimate, normalise=True)
    q, p = maps.p, maps.q
    tiny = float(np.finfo(np.float64).eps)
    return float(q @ np.log(tiny + q / (p + tiny)))


def mse(p: ArrayLike, q: ArrayLike) -> float:
    """Return the mean over cells of the squared difference of the maps, each of total one.

    >>> mse([1, 0], [0, 1])
    1.0
    """
    maps = check_pair(p, q, normalise=True)
    return float(np.mean((maps.p - maps.q) ** 2))
