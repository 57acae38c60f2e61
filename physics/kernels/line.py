"""The kernel along one line between two walls alike, by mirror images or by modes.

Either is exact; the images are few while heat has hardly met the walls, the modes once it has.
"""

import math
from typing import Literal, TypeAlias

import numpy as np

from ..places import Floats
from .free import checked_spread, heat_kernel
from .modes import NEGLIGIBLE

# What a promise can be made for: how much a move is felt is known at every spread.
Walls: TypeAlias = Literal["none", "insulated"]
# What a room can be simulated with: walls kept at the baseline take all the heat they meet.
AnyWalls: TypeAlias = Literal["none", "insulated", "cold"]

# Below this spread over length squared the images converge faster, above it the modes.
SWITCH = 0.1


def along(sources: Floats, sensors: Floats, spread: float, walls: str, length: float) -> Floats:
    """Return (sensors, sources) of one axis, between walls at 0 and `length` or without.

    Raises:
        ValueError: a spread or length that is not positive, walls that are not known, or a
            place behind them.
    """
    if walls == "none":
        return heat_kernel(sensors[:, None] - sources, spread)
    check_walls(sources, sensors, walls, length)
    if checked_spread(spread) / length**2 < SWITCH:
        return images(sources, sensors, spread, walls, length)
    return waves(sources, sensors, spread, walls, length)


def images(sources: Floats, sensors: Floats, spread: float, walls: str, length: float) -> Floats:
    """Sum the mirror images of each source, at x + 2 j L and, or less those, at -x + 2 j L.

    No term left out is nearer to a sensor than 2 L images, and there it is negligible.
    """
    count = 1 + int(math.sqrt(NEGLIGIBLE * spread) / length)
    total = np.zeros((len(sensors), len(sources)))
    mirror = 1 if walls == "insulated" else -1
    for shift in 2 * length * np.arange(-count, count + 1):
        total += heat_kernel(sensors[:, None] - sources - shift, spread)
        total += mirror * heat_kernel(sensors[:, None] + sources - shift, spread)
    # No wall leaves less than no heat: what is below is rounding.
    return np.maximum(total, 0.0, out=total)


def waves(sources: Floats, sensors: Floats, spread: float, walls: str, length: float) -> Floats:
    """Sum the modes that the walls allow, cosines where they are insulated, sines where cold.

    K(y, x) = (1 + 2 sum over k of cos(k pi y/L) cos(k pi x/L) exp(-s (k pi/L)**2)) / L
    K(y, x) = 2/L sum over k of sin(k pi y/L) sin(k pi x/L) exp(-s (k pi/L)**2)
    """
    last = math.ceil(math.sqrt(NEGLIGIBLE * length**2 / spread) / math.pi)
    rates = np.arange(1, last + 1) * (math.pi / length)
    wave, mean = (np.cos, 1.0) if walls == "insulated" else (np.sin, 0.0)
    modes = wave(np.outer(sensors, rates)) * (2 * np.exp(-spread * rates**2))
    total = np.asarray((mean + modes @ wave(np.outer(rates, sources))) / length)
    return np.maximum(total, 0.0, out=total)


def check_walls(sources: Floats, sensors: Floats, walls: str, length: float) -> None:
    """Refuse what is no room, and places that are not in it.

    Raises:
        ValueError: walls that are not known, a length that is not positive, a place behind them.
    """
    if walls not in ("insulated", "cold"):
        raise ValueError(
            f"walls is {walls!r} but must be 'none', 'insulated' or 'cold', for only these "
            "kernels are known here. Choose 'insulated' for a closed room, or take "
            "physics.kernels.robin for walls that lose some heat."
        )
    if not 0 < length < math.inf:
        raise ValueError(
            f"length_m is {length:g} but must be positive and finite, for the walls stand at 0 "
            "and length_m. Is it the length of the room in metres?"
        )
    for name, places in (("sources_m", sources), ("sensors_m", sensors)):
        outside = np.flatnonzero((places < 0) | (places > length))
        if len(outside):
            raise ValueError(
                f"{name}[{outside[0]}] is {places[outside[0]]:g} but must be between the walls "
                f"at 0 and {length:g}, for no heat passes them. Are position and length in the "
                "same unit, counted from the same wall?"
            )
