"""The heat kernel, between walls or without, and the operator from sources to sensors.

Everything here is linear: readings = A @ heat, and this file makes A.
"""

import math
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from .places import Floats
from .sensitivity import sensitivity as sensitivity

Walls: TypeAlias = Literal["none", "insulated"]
Length: TypeAlias = float | tuple[float, float]

# Below this spread over length squared the images converge faster, above it the cosines.
_SWITCH = 0.1
# exp(-46) is 1e-20: a term so small is lost in the sum of the others.
_NEGLIGIBLE = 46.0


def heat_kernel(distance_m: ArrayLike, spread_m2: float) -> Floats:
    """Return the temperature that one unit of heat leaves at a distance.

        g(x) = exp(-x**2 / 4 s) / sqrt(4 pi s)

    Args:
        distance_m: distances from the source, in metres, of any shape.
        spread_m2: s, diffusivity times elapsed time, in square metres; positive.

    Returns:
        Temperature per unit of heat, in 1/m.

    Raises:
        ValueError: `spread_m2` is not positive and finite, or a distance is not a number.

    Source: Gilbert and McMillan 2017, Section 2.1, where s is called T.

    >>> heat_kernel(np.array([0.0, 1.0]), spread_m2=0.25).round(4)
    array([0.5642, 0.2076])
    """
    root = math.sqrt(_spread(spread_m2))
    distance = np.asarray(distance_m, dtype=float)
    if np.isnan(distance).any():
        raise ValueError(
            "distance_m holds a NaN but every distance must be a number, or one bad place "
            "would spoil all the readings. Look for a missing position in the input."
        )
    # Far away the square overflows to infinity and the exponential is rightly nought.
    with np.errstate(over="ignore", under="ignore"):
        return np.exp(-np.square(distance / (2 * root))) / (2 * math.sqrt(math.pi) * root)


def forward(
    sources_m: ArrayLike,
    sensors_m: ArrayLike,
    spread_m2: float,
    walls: Walls = "none",
    length_m: Length = 1.0,
) -> Floats:
    """Return A, (sensors, sources), with readings = A @ heat.

    Args:
        sources_m: where heat may be, (sources,) along a line or (sources, 2) in a plane.
        sensors_m: where it is read, (sensors,) or (sensors, 2), in the same unit.
        spread_m2: diffusivity times elapsed time, in square metres; positive.
        walls: "none", or "insulated" for walls at 0 and `length_m` that no heat passes.
        length_m: between the walls; (x, y) for a room that is not square. Only for walls.

    Raises:
        ValueError: a spread or length that is not positive, positions that are not finite or
            of the wrong shape, or outside the walls.

    Source: Gilbert and McMillan 2017, Section 2.1, "y = A f0"; in a plane the kernel is the
    product of one kernel for each axis.

    >>> forward([0.0, 1.0], [0.0], spread_m2=0.25).round(4)
    array([[0.5642, 0.2076]])
    """
    sources, sensors = _positions("sources_m", sources_m), _positions("sensors_m", sensors_m)
    lengths = np.atleast_1d(np.asarray(length_m, dtype=float))
    if sources.shape[1] != sensors.shape[1] or len(lengths) not in (1, sources.shape[1]):
        raise ValueError(
            f"sources_m, sensors_m and length_m have {sources.shape[1]}, {sensors.shape[1]} and "
            f"{len(lengths)} axes but must share one or two, for a distance joins two places of "
            "one room. Give all of them as x along a line, or as (x, y) in a plane."
        )
    operator = np.ones((len(sensors), len(sources)))
    for axis, length in enumerate(np.broadcast_to(lengths, sources.shape[1])):
        operator *= _line(sources[:, axis], sensors[:, axis], spread_m2, walls, float(length))
    return operator


def _line(sources: Floats, sensors: Floats, spread: float, walls: str, length: float) -> Floats:
    if walls == "none":
        return heat_kernel(sensors[:, None] - sources, spread)
    if walls != "insulated":
        raise ValueError(
            f"walls is {walls!r} but must be 'none' or 'insulated', for only these kernels are "
            "known here. Choose 'insulated' for a closed room."
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
    if _spread(spread) / length**2 < _SWITCH:
        return _images(sources, sensors, spread, length)
    return _cosines(sources, sensors, spread, length)


def _images(sources: Floats, sensors: Floats, spread: float, length: float) -> Floats:
    """Sum the mirror images of each source, at x + 2 j L and at -x + 2 j L.

    No term left out is nearer to a sensor than 2 L images, and there it is negligible.
    """
    images = 1 + int(math.sqrt(_NEGLIGIBLE * spread) / length)
    total = np.zeros((len(sensors), len(sources)))
    for shift in 2 * length * np.arange(-images, images + 1):
        total += heat_kernel(sensors[:, None] - sources - shift, spread)
        total += heat_kernel(sensors[:, None] + sources - shift, spread)
    return total


def _cosines(sources: Floats, sensors: Floats, spread: float, length: float) -> Floats:
    """Sum the modes that insulated walls allow.

    K(y, x) = (1 + 2 sum over k of cos(k pi y/L) cos(k pi x/L) exp(-s (k pi/L)**2)) / L
    """
    last = math.ceil(math.sqrt(_NEGLIGIBLE * length**2 / spread) / math.pi)
    rates = np.arange(1, last + 1) * (math.pi / length)
    modes = np.cos(np.outer(sensors, rates)) * (2 * np.exp(-spread * rates**2))
    return np.asarray((1 + modes @ np.cos(np.outer(rates, sources))) / length)


def _spread(spread_m2: float) -> float:
    if not 0 < spread_m2 < math.inf:
        raise ValueError(
            f"spread_m2 is {spread_m2:g} but must be positive and finite: heat that has had "
            "no time to spread has no kernel. Is the elapsed time in seconds?"
        )
    return float(spread_m2)


def _positions(name: str, places_m: ArrayLike) -> Floats:
    """Return the positions as (places, axes), whatever the number of axes."""
    places = np.asarray(places_m, dtype=float)
    if places.ndim not in (1, 2) or (places.ndim == 2 and places.shape[1] != 2):
        raise ValueError(
            f"{name} has shape {places.shape} but must be (k,) along a line or (k, 2) in a "
            "plane, or the distances have no meaning. Reshape it, one row for each place."
        )
    if not np.isfinite(places).all():
        raise ValueError(
            f"{name} holds a value that is not finite but every position must be a number, or "
            "one bad place would spoil all the readings. Look for a gap in the input."
        )
    return places.reshape(len(places), -1)
