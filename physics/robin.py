"""The kernel between walls that lose heat, and the operator from sources to sensors.

A wall between insulated and ice: what it loses is proportional to the warmth of the air at it,

    a du/dx = h u at 0,    -a du/dx = h u at L,

and only H = h/a, in 1/m, matters here. H = 0 is an insulated wall, H = infinity one that is
kept at the baseline. All terms are even in place and source, so they may be exchanged.

Source: Carslaw and Jaeger 1959, Section 14.2, for one wall; Section 3.11 for the modes of a
slab.
"""

import math
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import erfcx

from .kernel import Length, forward
from .places import Floats

# exp(-46) is 1e-20. A path by both walls is at least one length long.
_NEGLIGIBLE = 46.0
# Below this spread over length squared no heat has met both walls, above it modes are few.
_SWITCH = 1 / (4 * _NEGLIGIBLE)
_HALVINGS = 64


def forward_robin(
    sources_m: ArrayLike,
    sensors_m: ArrayLike,
    spread_m2: float,
    loss_per_m: ArrayLike,
    length_m: Length = 1.0,
) -> Floats:
    """Return A, (sensors, sources), with readings = A @ heat, between walls that lose heat.

    A = sum over b of X(y) X(x) exp(-s b**2),  X(x) = cos(b x - atan(H0/b)) / norm,
    b L = k pi + atan(H0/b) + atan(HL/b),  k = 0, 1, 2...

    Args:
        sources_m: where heat may be, (sources,) along a line or (sources, 2) in a plane.
        sensors_m: where it is read, (sensors,) or (sensors, 2), in the same unit.
        spread_m2: s, diffusivity times elapsed time, in square metres; positive.
        loss_per_m: H, the walls' loss over the diffusivity, 0 to infinity: one number; or
            (near, far), the walls at 0 and at the length; or (axes, 2), a pair for each axis.
        length_m: between the walls; (x, y) for a room that is not square.

    Raises:
        ValueError: a loss that is negative, not a number or of the wrong shape; and as
            `physics.kernel.forward` between insulated walls.

    Source: the phase form of Carslaw and Jaeger 1959, Section 3.11: each k has one root.

    >>> [float(forward_robin([0.5], [0.5], 1.0, loss)[0, 0].round(4)) for loss in (0, 1, np.inf)]
    [1.0, 0.2086, 0.0001]
    """
    sources, sensors = (np.asarray(places, dtype=float) for places in (sources_m, sensors_m))
    # One row and one column between insulated walls refuse what cannot be a place in the room.
    forward(sources, sensors[:1], spread_m2, "insulated", length_m)
    forward(sources[:1], sensors, spread_m2, "insulated", length_m)
    sources, sensors = sources.reshape(len(sources), -1), sensors.reshape(len(sensors), -1)
    axes = sources.shape[1]
    lengths = np.broadcast_to(np.asarray(length_m, dtype=float), axes)
    operator = np.ones((len(sensors), len(sources)))
    for axis, (near, far) in enumerate(_losses(loss_per_m, axes).tolist()):
        places = sources[:, axis], sensors[:, axis]
        operator *= _line(*places, spread_m2, near, far, float(lengths[axis]))
    # No wall leaves less than no heat: what is below is rounding.
    return np.maximum(operator, 0.0, out=operator)


def _line(
    sources: Floats, sensors: Floats, spread: float, near: float, far: float, length: float
) -> Floats:
    if near == far == 0:
        return forward(sources, sensors, spread, "insulated", length)
    if spread < _SWITCH * length**2:
        return _walls(sources, sensors, spread, near, far, length)
    return _modes(sources, sensors, spread, near, far, length)


def _walls(
    sources: Floats, sensors: Floats, spread: float, near: float, far: float, length: float
) -> Floats:
    """Add what each wall sends back to what comes straight; nothing has been at both.

    One wall sends back g(z) - H exp(H z + H**2 s) erfc(z / sqrt(4 s) + H sqrt(s)), where z is
    the way from the source by the wall to the sensor.
    """
    straight = forward(sources, sensors, spread)
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


def _modes(
    sources: Floats, sensors: Floats, spread: float, near: float, far: float, length: float
) -> Floats:
    last = math.ceil(math.sqrt(_NEGLIGIBLE / spread) * length / math.pi)
    rates = _rates(last + 1, near, far, length)
    # The integral of the squared mode; each wall adds half of H / (b**2 + H**2).
    norms = length / 2 + (_bulge(rates, near) + _bulge(rates, far)) / 2
    phase = np.arctan2(near, rates)[:, None]
    modes = np.cos(np.outer(rates, sources) - phase)
    fading = np.exp(-spread * np.square(rates)) / norms
    return np.asarray((np.cos(np.outer(rates, sensors) - phase).T * fading) @ modes)


def _bulge(rates: Floats, loss: float) -> Floats:
    return np.zeros_like(rates) if math.isinf(loss) else loss / (rates**2 + loss**2)


@lru_cache(maxsize=256)  # the same walls at many spreads
def _rates(count: int, near: float, far: float, length: float) -> Floats:
    """Return the rates b of the first modes, by halving: each grows with b, so has one root.

    The phases of both walls are between 0 and pi / 2, and fall with b.
    """
    low = math.pi / length * np.arange(count)
    high = low + math.pi / length
    whole = low * length
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        over = middle * length - np.arctan2(near, middle) - np.arctan2(far, middle) > whole
        low, high = np.where(over, low, middle), np.where(over, middle, high)
    rates = (low + high) / 2
    rates.setflags(write=False)  # shared by every caller
    return np.asarray(rates)


def _losses(loss_per_m: ArrayLike, axes: int) -> Floats:
    """Return the losses as (axes, 2), the near and the far wall of each axis."""
    losses = np.asarray(loss_per_m, dtype=float)
    if losses.shape not in ((), (2,), (axes, 2)):
        raise ValueError(
            f"loss_per_m has shape {losses.shape} but must be one number, (near, far), or "
            "(axes, 2): a loss for every wall, for the kernel depends on all of them. Give one "
            "number for walls alike."
        )
    if not (losses >= 0).all():
        raise ValueError(
            f"loss_per_m is {losses.tolist()} but must be 0 or more at every wall, for one "
            "that makes heat has no steady kernel. Give the wall's loss over the diffusivity, 0 "
            "for an insulated wall."
        )
    return np.broadcast_to(losses, (axes, 2))
