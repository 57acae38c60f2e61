"""How far one map of heat is from another: the earth mover's distance, exactly.

A map is an array of cells, (cells,), (1, cells) or (rows, columns). Unless `positions` say
otherwise the cells are squares and the longer side of the map is 1. Along a line the
distance is the area between the two cumulative masses; in a plane it is a linear program.
"""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .transport import Ground, transport

Floats = NDArray[np.float64]


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
        ValueError: the maps do not fit each other, or have too many cells for the plane.

    Source: Gilbert and McMillan 2017, Section 4.1.

    >>> earth_movers([1, 0, 0, 0], [0, 0, 0, 1])
    0.75
    """
    mass_p, mass_q, places = _ready(p, q, positions, normalise)
    if places.shape[1] == 1:
        order = np.argsort(places[:, 0])
        between = np.cumsum((mass_p - mass_q)[order])[:-1]
        return float(np.abs(between) @ np.diff(places[order, 0]))
    # What both have in one cell stays there: no detour is shorter, by the triangle inequality.
    shared = np.minimum(mass_p, mass_q)
    ground: Ground = "cityblock" if metric == "l1" else "euclidean"
    return transport(mass_p - shared, mass_q - shared, places, ground)


def wasserstein2(
    p: ArrayLike, q: ArrayLike, positions: ArrayLike | None = None, normalise: bool = False
) -> float:
    """Return the root of the least sum of mass times squared Euclidean distance.

    Args and Raises: as for `earth_movers`.

    >>> wasserstein2([0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5])
    0.5
    """
    mass_p, mass_q, places = _ready(p, q, positions, normalise)
    if places.shape[1] > 1:
        return transport(mass_p, mass_q, places, "sqeuclidean") ** 0.5
    # Along a line the best plan keeps the order: match equal quantiles.
    order = np.argsort(places[:, 0])
    upto_p, upto_q = np.cumsum(mass_p[order]), np.cumsum(mass_q[order])
    levels = np.sort(np.concatenate([[0.0], upto_p, upto_q]))
    middles = (levels[1:] + levels[:-1]) / 2
    last = len(order) - 1
    from_place = places[order[np.minimum(np.searchsorted(upto_p, middles), last)], 0]
    to_place = places[order[np.minimum(np.searchsorted(upto_q, middles), last)], 0]
    return float(np.diff(levels) @ (from_place - to_place) ** 2) ** 0.5


def similarity(p: ArrayLike, q: ArrayLike) -> float:
    """Return the mass that two maps share cell by cell, both divided by their totals; 0 to 1.

    >>> similarity([1, 1, 0], [0, 3, 3])
    0.5
    """
    mass_p, mass_q, _ = _ready(p, q, None, normalise=True)
    return float(np.minimum(mass_p, mass_q).sum())


def pearson(p: ArrayLike, q: ArrayLike) -> float:
    """Return the linear correlation of the cells, NaN where a map has one value throughout.

    >>> pearson([1, 2, 3], [2, 4, 6])
    1.0
    """
    mass_p, mass_q, _ = _ready(p, q, None, normalise=True)
    p_centred, q_centred = mass_p - mass_p.mean(), mass_q - mass_q.mean()
    spread = float(np.linalg.norm(p_centred) * np.linalg.norm(q_centred))
    # The mean of equal masses is equal to them up to rounding only.
    if spread <= 1e-15 * float(np.linalg.norm(mass_p) * np.linalg.norm(mass_q)):
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
    q, p, _ = _ready(truth, estimate, None, normalise=True)
    tiny = float(np.finfo(np.float64).eps)
    return float(q @ np.log(tiny + q / (p + tiny)))


def mse(p: ArrayLike, q: ArrayLike) -> float:
    """Return the mean over cells of the squared difference of the maps, each of total one.

    >>> mse([1, 0], [0, 1])
    1.0
    """
    mass_p, mass_q, _ = _ready(p, q, None, normalise=True)
    return float(np.mean((mass_p - mass_q) ** 2))


def _ready(
    p: ArrayLike, q: ArrayLike, positions: ArrayLike | None, normalise: bool
) -> tuple[Floats, Floats, Floats]:
    """Return both masses flat and the places (cells, axes), or refuse them."""
    mass_p, mass_q = np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64)
    if mass_p.shape != mass_q.shape or mass_p.ndim not in (1, 2) or not mass_p.size:
        raise ValueError(
            f"the maps have shapes {mass_p.shape} and {mass_q.shape} but must share one, "
            "(cells,) or (rows, columns): cells are compared one by one. Bring both to one grid."
        )
    if not all(np.isfinite(mass).all() and (mass >= 0).all() for mass in (mass_p, mass_q)):
        raise ValueError(
            "a map holds a negative, NaN or infinite mass but masses must be at least 0: "
            "no one can move less than nothing. Clip or correct the map first."
        )
    totals = float(mass_p.sum()), float(mass_q.sum())
    if not (min(totals) > 0 and (normalise or abs(totals[0] - totals[1]) <= 1e-9 * max(totals))):
        raise ValueError(
            f"the maps weigh {totals[0]:g} and {totals[1]:g} but must weigh the same and more "
            "than 0, or some mass has nowhere to go. Pass normalise=True to compare shapes."
        )
    unit = totals if normalise else (1.0, totals[1] / totals[0])
    return mass_p.ravel() / unit[0], mass_q.ravel() / unit[1], _places(mass_p.shape, positions)


def _places(shape: tuple[int, ...], positions: ArrayLike | None) -> Floats:
    rows, columns = (1, *shape)[-2:]
    if positions is None:
        longest = max(rows, columns)
        y, x = np.array(np.divmod(np.arange(rows * columns), columns)) / longest
        if min(rows, columns) == 1:
            return (x + y)[:, None]
        return np.stack([x, y], axis=1)
    places = np.asarray(positions, dtype=np.float64)
    if places.ndim not in (1, 2) or len(places) != rows * columns or not np.isfinite(places).all():
        raise ValueError(
            f"positions have shape {places.shape} but must be {rows * columns} finite places, "
            "(cells,) or (cells, 2): every cell stands somewhere. Give one place a cell."
        )
    return places.reshape(len(places), -1)
