"""The kernel between walls that lose heat, and the operator from sources to sensors.

A wall between insulated and ice: what it loses is proportional to the warmth of the air at it,

    a du/dx = h u at 0,    -a du/dx = h u at L,

and only H = h/a, in 1/m, matters here. H = 0 is an insulated wall, H = infinity one that is
kept at the baseline. All terms are even in place and source, so they may be exchanged.

Source: Carslaw and Jaeger 1959, Section 14.2, for one wall.
"""

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import erfcx

from ..kernel import Lengths, along, forward, heat_kernel, room
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
