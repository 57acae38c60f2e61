"""Moving masses along a line, where the best plan keeps their order and needs no search."""

import numpy as np
from numpy.typing import NDArray

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
