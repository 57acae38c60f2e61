"""How far one map is from another on average over directions, each of them a line."""

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from . import line
from .maps import pair


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
    distance = line.work if order == 1 else line.squared_work
    if maps.along is not None:
        return distance(maps.p, maps.q, maps.along) ** (1 / order)
    turns = math.pi * (np.arange(angles) + 0.5) / angles
    directions = np.stack([np.cos(turns), np.sin(turns)])
    seen = maps.places @ directions
    return float(np.mean([distance(maps.p, maps.q, places) for places in seen.T])) ** (1 / order)
