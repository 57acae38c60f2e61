"""The kernel between walls that lose heat, and the operator from sources to sensors.

A wall between insulated and ice: what it loses is proportional to the warmth of the air at it,

    a du/dx = h u at 0,    -a du/dx = h u at L,

and only H = h/a, in 1/m, matters here. H = 0 is an insulated wall, H = infinity one that is
kept at the baseline. All terms are even in place and source, so they may be exchanged.

Source: Carslaw and Jaeger 1959, Section 14.2, for one wall.
"""

import heapq
import itertools
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import erfcx

from ..kernel import Length, Lengths, along, forward, heat_kernel, moves, room
from ..places import Floats
from .modes import NEGLIGIBLE, modes

# Below this spread over length squared no heat has met both walls, for a path by both is at
# least one length long; above it modes are few.
SWITCH = 1 / (4 * NEGLIGIBLE)


def forward_robin(
    sources_m: ArrayLike,
    sensors_m: ArrayLike,
    spread_m2: float,
    loss_per_m: ArrayLike,
    length_m: Lengths = 1.0,
) -> Floats:
    """Return A, (sensors, sources), with readings = A @ heat, between walls that lose heat.

    The modes are in `physics.kernels.modes`; while no heat has met both walls, what each sends
    back is added to what comes straight. Along two or three axes the kernels are multiplied.

    Args:
        sources_m: where heat may be, (sources,) along a line, (sources, 2) in a plane or
            (sources, 3) in a room.
        sensors_m: where it is read, (sensors,), (sensors, 2) or (sensors, 3), in the same unit.
        spread_m2: s, diffusivity times elapsed time, in square metres; positive.
        loss_per_m: H, the walls' loss over the diffusivity, 0 to infinity: one number; or
            (near, far), the walls at 0 and at the length; or (axes, 2), a pair for each axis.
        length_m: between the walls; (x, y) or (x, y, z) for a room that is no square or cube.

    Raises:
        ValueError: a loss that is negative, not a number or of the wrong shape; and as
            `physics.kernel.forward` between insulated walls.

    >>> [float(forward_robin([0.5], [0.5], 1.0, loss)[0, 0].round(4)) for loss in (0, 1, np.inf)]
    [1.0, 0.2086, 0.0001]
    """
    sources, sensors, lengths = room(sources_m, sensors_m, length_m)
    # One row and one column between insulated walls refuse what cannot be a place in the room.
    forward(sources, sensors[:1], spread_m2, "insulated", length_m)
    forward(sources[:1], sensors, spread_m2, "insulated", length_m)
    operator = np.ones((len(sensors), len(sources)))
    for axis, (near, far) in enumerate(losses(loss_per_m, len(lengths)).tolist()):
        places = sources[:, axis], sensors[:, axis]
        operator *= _line(*places, spread_m2, near, far, float(lengths[axis]))
    # No wall leaves less than no heat: what is below is rounding.
    return np.maximum(operator, 0.0, out=operator)


def _line(
    sources: Floats, sensors: Floats, spread: float, near: float, far: float, length: float
) -> Floats:
    if near == far and near in (0.0, math.inf):
        return along(sources, sensors, spread, "cold" if near else "insulated", length)
    if spread < SWITCH * length**2:
        return _walls(sources, sensors, spread, near, far, length)
    return modes(sources, sensors, spread, near, far, length).kernel(spread)


def _walls(
    sources: Floats, sensors: Floats, spread: float, near: float, far: float, length: float
) -> Floats:
    """Add what each wall sends back to what comes straight; nothing has been at both.

    One wall sends back g(z) - H exp(H z + H**2 s) erfc(z / sqrt(4 s) + H sqrt(s)), where z is
    the way from the source by the wall to the sensor.
    """
    straight = heat_kernel(sensors[:, None] - sources, spread)
    return np.asarray(
        straight
        + _sent_back(sensors[:, None] + sources, spread, near)
        + _sent_back(2 * length - sensors[:, None] - sources, spread, far)
    )


def _sent_back(way: Floats, spread: float, loss: float) -> Floats:
    root = math.sqrt(spread)
    with np.errstate(under="ignore"):
        fallen = np.exp(-np.square(way / (2 * root)))
        if math.isinf(loss):
            share = -1.0 / (2 * math.sqrt(math.pi) * root)
            return np.asarray(share * fallen)
        share = 1 / (2 * math.sqrt(math.pi) * root) - loss * erfcx(way / (2 * root) + loss * root)
        return np.asarray(share * fallen)


def losses(loss_per_m: ArrayLike, axes: int) -> Floats:
    """Return the losses as (axes, 2), the near and the far wall of each axis.

    Raises:
        ValueError: a loss that is negative, not a number or of the wrong shape.
    """
    given = np.asarray(loss_per_m, dtype=float)
    if given.shape not in ((), (2,), (axes, 2)):
        raise ValueError(
            f"loss_per_m has shape {given.shape} but must be one number, (near, far), or "
            "(axes, 2): a loss for every wall, for the kernel depends on all of them. Give one "
            "number for walls alike."
        )
    if not (given >= 0).all():
        raise ValueError(
            f"loss_per_m is {given.tolist()} but must be 0 or more at every wall, for one "
            "that makes heat has no steady kernel. Give the wall's loss over the diffusivity, 0 "
            "for an insulated wall."
        )
    return np.broadcast_to(given, (axes, 2))


# How far one source that moves can change all readings, whatever the walls lose.
#
# No other wall bounds it: insulated ones, none and cold ones all may feel less of a move than
# walls between. But the more a wall loses, the colder it is everywhere (the maximum principle), so
# between two losses every reading is between its two, and every change within what these allow:
#
#     K_more(x) - K_less(x') <= K(x) - K(x') <= K_less(x) - K_more(x')
#
# A stretch of losses that this allows to be the worst is halved, until the bound is hardly above
# what was found. It is the bound that comes out, so the answer is never too small.

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
        cells, shape: the move, as for `physics.kernel.sensitivity`.
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
