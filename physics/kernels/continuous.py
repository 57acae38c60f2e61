"""Sources that give off heat at a constant rate: a person at a desk, a radiator that is on.

What they leave is the kernel added up over the ages of their heat. Without walls it has a closed
form; between walls the heat that is young is added up from mirror images, and the rest mode by
mode: a mode of rate q has (exp(-q s1) - exp(-q s2)) / q of it, and the mean between insulated
walls, which never fades, grows with time for ever.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from ..kernel import Lengths, room
from ..places import Floats
from .between import Between, axis_modes, forward_between
from .modes import NEGLIGIBLE
from .robin import SWITCH
from .young import young_from_images, young_from_kernels

_BLOCK = 2048  # modes at a time, so that they stay in a processor's memory
_MOST = 50_000  # modes that cost no more than the kernel at some hundred ages


def forward_continuous(
    sources_m: ArrayLike,
    sensors_m: ArrayLike,
    diffusivity_m2_per_s: float,
    duration_s: float,
    walls: Between = "none",
    length_m: Lengths = 1.0,
    *,
    off_s: float = 0.0,
    source_sd_m: float = 0.0,
    loss_per_s: float = 0.0,
) -> Floats:
    """Return A, (sensors, sources), with readings = A @ rates, for sources that have been on.

    Args:
        sources_m, sensors_m, length_m: as for `physics.kernel.forward`.
        diffusivity_m2_per_s: positive.
        duration_s: how long the sources were on, positive.
        walls: by name, or by what they lose, as for `physics.kernels.between.forward_between`.
        off_s: for how long they have been off since.
        source_sd_m: the standard deviation of every source along each axis; 0 for points.
        loss_per_s: what ventilation takes away, 0 or more: `physics.air.loss_per_s`.

    Returns:
        Kelvin for one unit of heat a second: with `physics.air.warmth` of the watts, in K m a
        second along a line, K m2 in a plan, K m3 in a room.

    Raises:
        ValueError: numbers out of range; in a plane or a room, a sensor at a point that is still
            on, where it is infinitely warm; and as `physics.kernels.between.forward_between`.

    >>> forward_continuous([0.0], [0.0, 1.0], 0.25, 1.0).round(4)[:, 0].tolist()
    [1.1284, 0.1005]
    >>> float(forward_continuous([0.5], [0.5], 1.0, 9.0, "insulated")[0, 0].round(4))
    9.0833
    """
    check(diffusivity_m2_per_s, off_s, source_sd_m, loss_per_s)
    if not 0 < duration_s < math.inf:
        raise ValueError(
            f"duration_s is {duration_s:g} but must be positive and finite: a source that was "
            "never on warms nothing, and one that always was may warm without end. Give seconds."
        )
    sources, sensors, lengths = room(sources_m, sensors_m, length_m)
    origin = source_sd_m**2 / 2
    first = origin + diffusivity_m2_per_s * off_s
    last = first + diffusivity_m2_per_s * duration_s
    loss = loss_per_s / diffusivity_m2_per_s
    # One row and one column refuse what cannot be a place in the room.
    forward_between(sources, sensors[:1], last, walls, tuple(lengths.tolist()))
    forward_between(sources[:1], sensors, last, walls, tuple(lengths.tolist()))
    named = isinstance(walls, str)
    change = last
    if not (named and walls == "none"):
        change = min(last, max(first, SWITCH * float(lengths.min()) ** 2))
        # The modes of heat that has spread a little already are many, but quick to add up.
        if first > 0 and np.prod(1 + np.sqrt(NEGLIGIBLE / first) * lengths / math.pi) < _MOST:
            change = first
    total = np.zeros((len(sensors), len(sources)))
    if first == 0:
        for source in sources:
            refuse_touching(source, sensors)
        if named:
            total += young_from_images(sources, sensors, change, loss, str(walls), lengths)
        else:
            # Heat so young has not come anywhere, or along a line is too little to be felt.
            nearest = _nearest(sources, sensors)
            first = min(change, nearest**2 / 200 if nearest else 1e-28 * last)
    if first > 0 and change > first:
        given = (sources, sensors, first, change, walls, tuple(lengths.tolist()))
        total += young_from_kernels(*given, origin, loss)
    if last > change:
        total += _old(sources, sensors, change, last, walls, lengths, origin, loss)
    return np.maximum(total / diffusivity_m2_per_s, 0.0)


def check(diffusivity: float, off_s: float, source_sd_m: float, loss_per_s: float) -> None:
    """Refuse numbers that no source can have.

    Raises:
        ValueError: one of them is out of range.
    """
    for name, value, least in (
        ("diffusivity_m2_per_s", diffusivity, 5e-324),
        ("off_s", off_s, 0.0),
        ("source_sd_m", source_sd_m, 0.0),
        ("loss_per_s", loss_per_s, 0.0),
    ):
        if not least <= value < math.inf:
            raise ValueError(
                f"{name} is {value:g} but must be {'0 or more' if least == 0 else 'positive'} "
                "and finite, or the heat would come from nowhere. Give SI units."
            )


def refuse_touching(source: Floats, sensors: Floats) -> None:
    """Refuse a sensor where a point, (axes,), is on.

    Raises:
        ValueError: there is one, and two axes or more.
    """
    touching = np.flatnonzero((sensors == source).all(axis=1))
    if len(touching) and len(source) > 1:
        raise ValueError(
            f"sensors_m[{touching[0]}] is at {source}, where a point is on, but must be away from "
            f"it: with {len(source)} axes a point is infinitely warm. Give the source its size, "
            "as source_sd_m=0.15 for a person."
        )


def _nearest(sources: Floats, sensors: Floats) -> float:
    """Return the shortest way from a source to a sensor."""
    squares = np.zeros((len(sensors), len(sources)))
    for here, there in zip(sensors.T, sources.T, strict=True):
        squares += np.square(here[:, None] - there)
    return math.sqrt(float(np.min(squares, initial=math.inf)))


def _old(
    sources: Floats,
    sensors: Floats,
    first: float,
    last: float,
    walls: Between,
    lengths: Floats,
    origin: float,
    loss: float,
) -> Floats:
    """Return what is left of heat that has spread from `first` to `last`, mode by mode."""
    axes = axis_modes(sources, sensors, first, walls, lengths)
    rates = np.square(axes[0].rates)
    for axis in axes[1:]:
        rates = rates[..., None] + np.square(axis.rates)
    kept = np.nonzero((rates - rates.min()) * first <= NEGLIGIBLE)
    quick = rates[kept] + loss
    span = last - first
    grown = -np.expm1(-quick * span) / np.where(quick == 0, 1.0, quick)
    weights = np.where(quick == 0, span, grown) * np.exp(-quick * first + loss * origin)
    total = np.zeros((len(sensors), len(sources)))
    for start in range(0, len(quick), _BLOCK):
        block = slice(start, start + _BLOCK)
        here = np.repeat(weights[block, None], len(sensors), axis=1)
        there = np.ones((len(here), len(sources)))
        for axis, index in zip(axes, kept, strict=True):
            here *= axis.at_sensors[index[block]]
            there *= axis.at_sources[index[block]]
        total += here.T @ there
    return total
