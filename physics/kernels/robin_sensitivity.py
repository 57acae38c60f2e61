"""How far one source that moves can change all readings, whatever the walls lose.

No other wall bounds it: insulated ones, none and cold ones all may feel less of a move than walls
between. But the more a wall loses, the colder it is everywhere (the maximum principle), so
between two losses every reading is between its two, and every change within what these allow:

    K_more(x) - K_less(x') <= K(x) - K(x') <= K_less(x) - K_more(x')

A stretch of losses that this allows to be the worst is halved, until the bound is hardly above
what was found. It is the bound that comes out, so the answer is never too small.
"""

import heapq
import itertools
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..kernel import Length
from ..places import Floats
from ..sensitivity import moves
from .robin import forward_robin

Whole = NDArray[np.intp]

_FIRST = 9  # losses
_STRETCHES = 10_000  # that are halved at the most


class Worst(NamedTuple):
    """The loss at which a move is felt most, and how much.

    Args:
        bound: no loss in the range lets a move change the readings by more, in l2 norm.
        found: what it changes them by at the worst loss that was looked at.
        loss_per_m: that loss, of every wall.
    """

    bound: float
    found: float
    loss_per_m: float


def robin_sensitivity(
    sources_m: ArrayLike,
    sensors_m: ArrayLike,
    spread_m2: float,
    losses_per_m: tuple[float, float],
    length_m: Length = 1.0,
    cells: int = 1,
    shape: tuple[int, int] | None = None,
    within: float = 0.02,
) -> Worst:
    """Return the joint sensitivity of a move by so many cells, over a range of losses.

    Args:
        sources_m, sensors_m, spread_m2, length_m: as for `physics.kernels.robin.forward_robin`.
        losses_per_m: the least and the most that the walls may lose, 0 to infinity; alike.
        cells, shape: the move, as for `physics.sensitivity.sensitivity`.
        within: the bound may be above what was found by this share of it.

    Raises:
        ValueError: a range that is no range; and as the functions named above.

    Source: Evans 2010, Section 7.1.4, the parabolic maximum principle, for the order in H.

    >>> places = np.arange(1, 21) / 20
    >>> worst = robin_sensitivity(places, places, 0.5, (0.0, np.inf))
    >>> insulated = robin_sensitivity(places, places, 0.5, (0.0, 0.0)).bound
    >>> round(worst.found / insulated, 1)
    11.0
    """
    least, most = losses_per_m
    if not 0 <= least <= most:
        raise ValueError(
            f"losses_per_m is {losses_per_m} but must be (least, most), from 0 to infinity: the "
            "worst is sought between them. Give the same number twice where it is known."
        )
    if not within > 0:
        raise ValueError(
            f"within is {within} but must be above 0: a bound no looser than what was found "
            "takes for ever. Write 0.02 for two in a hundred."
        )
    scale = float(np.max(length_m))
    shares = [
        1.0 if math.isinf(loss * scale) else loss * scale / (1 + loss * scale)
        for loss in losses_per_m
    ]

    def looked(share: float) -> Floats:
        loss = most if share >= shares[1] else max(least, share / (1 - share) / scale)
        return forward_robin(sources_m, sensors_m, spread_m2, loss, length_m)

    kept = {share: looked(share) for share in np.linspace(shares[0], shares[1], _FIRST).tolist()}
    pairs = _pairs(kept[shares[0]].shape[1], cells, shape)
    found, best = max((_felt(kept[share], kept[share], pairs), share) for share in kept)
    queue = [
        (-_felt(kept[less], kept[more], pairs), less, more)
        for less, more in itertools.pairwise(sorted(kept))
    ]
    heapq.heapify(queue)
    for _ in range(_STRETCHES):
        if not queue or -queue[0][0] <= (1 + within) * found:
            break
        _, less, more = heapq.heappop(queue)
        middle = (less + more) / 2
        kept[middle] = looked(middle)
        found, best = max((found, best), (_felt(kept[middle], kept[middle], pairs), middle))
        for low, high in ((less, middle), (middle, more)):
            heapq.heappush(queue, (-_felt(kept[low], kept[high], pairs), low, high))
    bound = max(found, -queue[0][0] if queue else 0.0)
    loss = most if best >= shares[1] else best / (1 - best) / scale
    return Worst(bound, found, loss)


def _felt(less: Floats, more: Floats, pairs: tuple[Whole, Whole]) -> float:
    """Return the most that a move can change where losses are between those of two operators."""
    here, there = pairs
    middle, half = (less + more) / 2, (less - more) / 2
    # Each reading is within half of its middle, so a change is within both halves of its own.
    change = np.abs(middle[:, here] - middle[:, there]) + half[:, here] + half[:, there]
    return math.sqrt(float(np.einsum("ij,ij->j", change, change).max()))


def _pairs(count: int, cells: int, shape: tuple[int, int] | None) -> tuple[Whole, Whole]:
    """Return the cells between which the moves are, from what a move does to i and to i**2."""
    numbers = np.arange(count, dtype=float)
    apart, squares = np.hstack(list(moves(np.stack([numbers, numbers**2]), cells, shape)))
    # i - j and i**2 - j**2 give i + j, and whole numbers of this size are exact in floats.
    total = np.rint(squares / apart)
    return ((total + apart) / 2).astype(np.intp), ((total - apart) / 2).astype(np.intp)
