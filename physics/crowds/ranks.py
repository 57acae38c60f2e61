"""What a gateway releases of many users' places at once: `edge.mechanisms.ranks`, by numpy.

The same release as the exact door's, number for number from the same tape: only encoding and
sorting are numpy's, and the noise is drawn by `edge.core.noise`.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from edge.core.records import Release, Round
from edge.mechanisms.ranks import add_noise, params_of


def release_many(round: Round, places: ArrayLike, rng: Any) -> Release:
    """Return the release of so many users.

    Args:
        places: (users,) or (users, points), places on the Round's curve.
        rng: the one door for random bits, with the method `below(n)`.

    Raises:
        ValueError: another number of points than the Round's, or a place beyond its curve.
    """
    params = params_of(round)
    given = np.asarray(places)
    users = given.size // params.points
    bits = params.order * params.axes
    whole = np.issubdtype(given.dtype, np.integer)
    if (
        not whole
        or given.shape not in ((users,), (users, params.points))
        or (given.size and not 0 <= given.min() <= given.max() < 1 << bits)
    ):
        raise ValueError(
            f"places are {given.dtype} of shape {given.shape} but must be whole numbers, "
            f"{params.points} a user, of a curve of {bits} bits: nothing else is a place. Take "
            "those of recovery.ranks.order."
        )
    ordered = np.sort(given.ravel())
    starts = np.arange(0, ordered.size, params.group)
    sums: list[int] = []
    if ordered.size:
        sums = [int(one) for one in np.add.reduceat(ordered.astype(np.int64), starts)]
    return Release(round, add_noise(round, sums, rng), users)
