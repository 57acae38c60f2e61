"""Two maps made ready to be compared, and the distances that no grid is needed for."""

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist

Floats = NDArray[np.float64]


def work(p: Floats, q: Floats, places: Floats) -> float:
    """Return the least mass times distance: the area between the two cumulative masses.

    Args:
        p, q: (cells,), masses of equal total.
        places: (cells,), in any order.

    >>> work(np.array([1.0, 0, 0]), np.array([0, 0, 1.0]), np.array([0.0, 1, 2]))
    2.0
    """
    gaps = np.diff(places)
    surplus = p - q
    if (gaps < 0).any():
        order = np.argsort(places)
        gaps, surplus = np.diff(places[order]), surplus[order]
    return float(np.abs(np.cumsum(surplus)[:-1]) @ gaps)


def squared_work(p: Floats, q: Floats, places: Floats) -> float:
    """Return the least mass times squared distance: that between equal quantiles.

    Args: as for `work`.
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


def pair(
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
        given=np.empty((0, 0)) if positions is None else _places(rows * columns, positions),
    )


def _places(cells: int, positions: ArrayLike) -> Floats:
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

Ground: TypeAlias = Literal["cityblock", "euclidean", "sqeuclidean"]

# Beyond these it takes more than a few seconds.
PAIRS_MAX = 4_000_000
HEAPS_MAX = 20_000


def transport(supply: Floats, demand: Floats, places: Floats, ground: Ground) -> float:
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
        cdist(places[here], places[there], ground),
        numItermax=10**9,
        log=True,
    )
    if log["warning"] is not None:
        raise ArithmeticError(
            f"the network simplex gave up ({log['warning']}) but must end: a plan that is not "
            "the best is no distance. Sum the cells into larger ones first."
        )
    return max(0.0, float(cost)) * moved


# How far one map is from another when plans are blurred on purpose: the entropic distance.

# A kernel below this is rounded to nothing, and with it every plan that needs it.
_LEAST = 1e-300
_CHECK_EVERY = 10
_PAIRS_MAX = 4_000_000


@dataclass(frozen=True, slots=True)
class Entropic:
    """What blurred plans cost; never the earth mover's distance, but for a bias."""

    cost: float  # of the blurred plan, mass times squared distance: too high by its blur
    distance: float  # its root, beside `wasserstein2`
    regularisation: float
    error: float  # how far the plan's masses are from the map's, summed over cells
    iterations: int


def sinkhorn(
    p: ArrayLike,
    q: ArrayLike,
    regularisation: float,
    positions: ArrayLike | None = None,
    normalise: bool = False,
    tolerance: float = 1e-9,
    iterations: int = 20_000,
) -> Entropic:
    """Return the cost of the plan that is cheapest when spread-out plans are favoured.

        P = argmin sum P c + regularisation * sum P ln P,   cost = sum P c,  c = distance**2

    The bias: the plan is blurred by about the root of the regularisation, so `cost` is above
    the least one, `wasserstein2` squared, and from a map to itself it is not 0. Measured for
    smooth maps of 16 x 16 to 128 x 128 cells: by 5 to 17 % at 1/100 and 2 to 6 % at 3/1000; more
    where maps are near each other or of few cells. It is for what must be smooth or fast;
    `wasserstein2` is exact.

    Args:
        p, q: masses of the cells; of one shape, not negative, of equal total; some may be 0.
        regularisation: in units of squared distance; of a grid the longer side is 1.
        positions, normalise: as for `wasserstein2`.
        tolerance: the error to reach, relative to the total mass.
        iterations: how many at most.

    Raises:
        ValueError: the maps do not fit each other; the regularisation is so small that the
            kernel is rounded to 0 between cells far apart; the error was not reached.

    Source: Cuturi 2013; on a grid the kernel is a product over axes (Solomon et al. 2015).
    """
    maps = pair(p, q, positions, normalise)
    if not (0 < regularisation < np.inf and tolerance > 0 and iterations > 0):
        raise ValueError(
            f"regularisation is {regularisation:g}, tolerance {tolerance:g} and iterations "
            f"{iterations} but all must be above 0: nothing else ends. Begin with 0.01."
        )
    kernels, shape = _kernels(maps, regularisation)
    least = math.prod(float(kernel.min()) for kernel, _ in kernels)
    if least < _LEAST:
        raise ValueError(
            f"regularisation is {regularisation:g} but here must be such that the kernel of the "
            f"farthest cells, now {least:g}, is above {_LEAST:g}: smaller numbers are rounded to "
            "0 and the answer to nonsense. Take a larger one, or wasserstein2, which is exact."
        )
    total = maps.total
    mass_p, mass_q = (maps.p / total).reshape(shape), (maps.q / total).reshape(shape)
    smooth = [kernel for kernel, _ in kernels]
    here, there, error = np.ones(shape), np.ones(shape), np.inf
    made = 0
    while made < iterations and error > tolerance:
        for _ in range(_CHECK_EVERY):
            here = mass_p / _apply(smooth, there)
            there = mass_q / _apply(smooth, here)
        made += _CHECK_EVERY
        error = float(np.abs(here * _apply(smooth, there) - mass_p).sum())
    if not error <= tolerance:
        raise ValueError(
            f"after {made} iterations the plan's masses are off by {error:.2g} of the total but "
            f"must be by at most {tolerance:g}: until then the cost may be too low or too high. "
            "Take a larger regularisation, or allow more iterations."
        )
    # The cost is a sum over axes: in each term one kernel is weighed by its squared distance.
    cost = 0.0
    for axis, (kernel, squares) in enumerate(kernels):
        weighed = [*smooth[:axis], kernel * squares, *smooth[axis + 1 :]]
        cost += float(np.sum(here * _apply(weighed, there)))
    return Entropic(cost * total, (cost * total) ** 0.5, regularisation, error, made)


def _kernels(
    maps: Pair, regularisation: float
) -> tuple[list[tuple[Floats, Floats]], tuple[int, ...]]:
    """Return kernel and squared distances of each axis, and the shape that masses have."""
    if maps.grid is not None:
        shape: tuple[int, ...] = maps.grid
        axes = [np.arange(length)[:, None] * maps.unit for length in shape]
    else:
        shape = (len(maps.places),)
        axes = [maps.places]
        if len(maps.places) ** 2 > _PAIRS_MAX:
            raise ValueError(
                f"there are {len(maps.places)} freely placed cells but at most "
                f"{int(_PAIRS_MAX**0.5)} are compared: each iteration looks at all pairs. Put "
                "the cells on a grid, or sum them into larger ones."
            )
    squares = [cdist(axis, axis, "sqeuclidean") for axis in axes]
    return [(np.exp(-square / regularisation), square) for square in squares], shape


def _apply(kernels: list[Floats], field: Floats) -> Floats:
    """Return the field with the kernel of each axis applied along it."""
    if len(kernels) == 1:
        return kernels[0] @ field
    return kernels[0] @ field @ kernels[1]


# How far one map is from another on average over directions, each of them a line.


def sliced(
    p: ArrayLike,
    q: ArrayLike,
    order: Literal[1, 2] = 2,
    angles: int = 64,
    positions: ArrayLike | None = None,
    normalise: bool = False,
) -> float:
    """Return the sliced Wasserstein distance, a lower bound that any number of cells can afford.

        (mean over angles of W_order(p, q seen at the angle) ** order) ** (1 / order)

    The angles divide a half turn evenly, so the same maps have the same distance. It is at most
    the Wasserstein distance of the same order with the l2 ground. Along a line there is only one
    angle, and the distance is that of the line.

    Args:
        p, q: masses of the cells; of one shape, not negative, of equal total.
        order: 1 for distances, 2 for squared ones.
        angles: how many; at least 1.
        positions, normalise: as for `earth_movers`.

    Raises:
        ValueError: the maps do not fit each other, or order or angles make no sense.

    Source: Bonneel, Rabin, Peyré and Pfister 2015, "Sliced and Radon Wasserstein barycenters".

    Differs from the source:
        1. Angles are even and not drawn, and none lies along the grid.

    >>> round(sliced([[1, 0], [0, 0]], [[0, 1], [0, 0]], order=1), 3)
    0.318
    """
    if order not in (1, 2) or angles % 1 != 0 or angles < 1:
        raise ValueError(
            f"order is {order} and angles {angles} but order must be 1 or 2 and there must be "
            "an angle: nothing else is a mean over lines. Write order=2, angles=64."
        )
    maps = pair(p, q, positions, normalise)
    distance = work if order == 1 else squared_work
    if maps.along is not None:
        return distance(maps.p, maps.q, maps.along) ** (1 / order)
    turns = math.pi * (np.arange(angles) + 0.5) / angles
    directions = np.stack([np.cos(turns), np.sin(turns)])
    seen = maps.places @ directions
    return float(np.mean([distance(maps.p, maps.q, places) for places in seen.T])) ** (1 / order)
