"""Sources that are a line's stretch, a rectangle or a block, where a point will not do.

A radiator of 1.2 m, or a cell of a grid seen as the whole of its area. A source that is a normal
density needs nothing of its own: see `physics.kernel.widened`.
"""

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import erf, erfc

from ..kernel import SWITCH, AnyWalls, Lengths, check_walls, checked_spread, room
from ..places import Floats
from .modes import NEGLIGIBLE


def forward_box(
    sources_m: ArrayLike,
    sensors_m: ArrayLike,
    spread_m2: float,
    width_m: float | tuple[float, ...],
    walls: AnyWalls = "none",
    length_m: Lengths = 1.0,
) -> Floats:
    """Return A, (sensors, sources), for one unit of heat spread evenly over each box.

        g(x) = (erf((x + w/2) / sqrt(4 s)) - erf((x - w/2) / sqrt(4 s))) / 2 w

    along each axis: the mean of `physics.kernel.forward` over the box.

    Args:
        sources_m: the middle of each box, as for `physics.kernel.forward`.
        width_m: w, positive; one for each axis of a box that is no square or cube.
        sensors_m, spread_m2, walls, length_m: as there.

    Raises:
        ValueError: as there; a width that is not positive; a box that stands in a wall.

    Source: Carslaw and Jaeger 1959, Section 2.2, formula (10).

    >>> forward_box([0.5], [0.5, 0.9], 1e-4, 0.5).round(4)[:, 0].tolist()
    [2.0, 0.0]
    """
    sources, sensors, lengths = room(sources_m, sensors_m, length_m)
    widths = np.asarray(width_m, dtype=float)
    if widths.shape not in ((), (1,), lengths.shape) or not (widths > 0).all():
        raise ValueError(
            f"width_m is {width_m} but must be positive, one number or one for each of "
            f"{len(lengths)} axes, for the heat is spread over it. A point is not a box: take "
            "physics.kernel.forward."
        )
    operator = np.ones((len(sensors), len(sources)))
    for axis, width in enumerate(np.broadcast_to(widths, lengths.shape).tolist()):
        places = sources[:, axis], sensors[:, axis]
        operator *= _line(*places, checked_spread(spread_m2), width, walls, float(lengths[axis]))
    return np.maximum(operator, 0.0, out=operator)


def _line(
    sources: Floats, sensors: Floats, spread: float, width: float, walls: str, length: float
) -> Floats:
    if walls == "none":
        return _box(sensors[:, None] - sources, spread, width)
    check_walls(sources, sensors, walls, length)
    overhang = float(np.abs(sources - length / 2).max(initial=0.0)) + (width - length) / 2
    if overhang > 1e-12 * length:
        raise ValueError(
            f"a box of width_m {width:g} stands {overhang:g} m in a wall but must be between "
            f"those at 0 and {length:g}, for heat in a wall is not in the room. Move it, or make "
            "it narrower."
        )
    if spread < SWITCH * length**2:
        return _images(sources, sensors, spread, width, walls, length)
    rates = math.pi / length * np.arange(1, 2 + math.sqrt(NEGLIGIBLE / spread) * length / math.pi)
    wave, mean = (np.cos, 1.0) if walls == "insulated" else (np.sin, 0.0)
    # The mean of a wave over the box; numpy's sinc has its own pi.
    weights = 2 * np.sinc(rates * width / (2 * math.pi)) * np.exp(-spread * rates**2)
    waves = (wave(np.outer(sensors, rates)) * weights) @ wave(np.outer(rates, sources))
    return np.asarray((mean + waves) / length)


def _images(
    sources: Floats, sensors: Floats, spread: float, width: float, walls: str, length: float
) -> Floats:
    mirror = 1 if walls == "insulated" else -1
    # No box stands in a wall, so its images are as far as those of a point.
    count = 1 + int(math.sqrt(NEGLIGIBLE * spread) / length)
    total = np.zeros((len(sensors), len(sources)))
    for shift in 2 * length * np.arange(-count, count + 1):
        total += _box(sensors[:, None] - sources - shift, spread, width)
        total += mirror * _box(sensors[:, None] + sources - shift, spread, width)
    return total


def _box(distance: Floats, spread: float, width: float) -> Floats:
    """Return the kernel of one box, to full relative precision outside of it too."""
    root, away = 2 * math.sqrt(spread), np.abs(distance)
    with np.errstate(under="ignore"):
        near, far = (away - width / 2) / root, (away + width / 2) / root
        # Inside both have another sign, outside their complements are what is small.
        held = np.where(near < 0, erf(far) - erf(near), erfc(near) - erfc(far))
    return np.asarray(held / (2 * width))
