"""The operator from sources to sensors, between walls or without, along 1 to 3 axes.

Everything here is linear: readings = A @ heat, and this file makes A.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from .kernels.free import heat_kernel as heat_kernel
from .kernels.line import AnyWalls as AnyWalls
from .kernels.line import Walls as Walls
from .kernels.line import along
from .places import Floats
from .sensitivity import sensitivity as sensitivity

Length: TypeAlias = float | tuple[float, float]
Lengths: TypeAlias = float | tuple[float, ...]


def forward(
    sources_m: ArrayLike,
    sensors_m: ArrayLike,
    spread_m2: float,
    walls: AnyWalls = "none",
    length_m: Lengths = 1.0,
) -> Floats:
    """Return A, (sensors, sources), with readings = A @ heat.

    Args:
        sources_m: where heat may be, (sources,) along a line, (sources, 2) in a plane or
            (sources, 3) in a room.
        sensors_m: where it is read, (sensors,), (sensors, 2) or (sensors, 3), in the same unit.
        spread_m2: diffusivity times elapsed time, in square metres; positive. For a source of
            some size `physics.kernels.free.widened` gives it.
        walls: "none"; or walls at 0 and `length_m` on every axis, "insulated" where no heat
            passes them, "cold" where they are kept at the baseline and take all of it.
        length_m: between the walls; (x, y) or (x, y, z) for a room that is no square or cube.

    Raises:
        ValueError: a spread or length that is not positive, positions that are not finite or
            of the wrong shape, or outside the walls.

    Source: Gilbert and McMillan 2017, Section 2.1, "y = A f0"; in a plane or a room the kernel
    is the product of one kernel for each axis.

    >>> forward([0.0, 1.0], [0.0], spread_m2=0.25).round(4)
    array([[0.5642, 0.2076]])
    """
    sources, sensors, lengths = room(sources_m, sensors_m, length_m)
    operator = np.ones((len(sensors), len(sources)))
    for axis, length in enumerate(lengths.tolist()):
        operator *= along(sources[:, axis], sensors[:, axis], spread_m2, walls, length)
    return operator


def room(
    sources_m: ArrayLike, sensors_m: ArrayLike, length_m: ArrayLike
) -> tuple[Floats, Floats, Floats]:
    """Return the places as (places, axes), and the length of each axis.

    Raises:
        ValueError: positions that are not finite or of the wrong shape, or axes that disagree.
    """
    sources, sensors = _positions("sources_m", sources_m), _positions("sensors_m", sensors_m)
    lengths = np.atleast_1d(np.asarray(length_m, dtype=float))
    axes = sources.shape[1]
    if sensors.shape[1] != axes or lengths.shape not in ((1,), (axes,)):
        raise ValueError(
            f"sources_m, sensors_m and length_m have {axes}, {sensors.shape[1]} and "
            f"{lengths.size} axes but must share one to three, for a distance joins two places "
            "of one room. Give all of them as x along a line, (x, y) in a plane or (x, y, z)."
        )
    return sources, sensors, np.broadcast_to(lengths, axes)


def _positions(name: str, places_m: ArrayLike) -> Floats:
    """Return the positions as (places, axes), whatever the number of axes."""
    places = np.asarray(places_m, dtype=float)
    if places.ndim not in (1, 2) or (places.ndim == 2 and places.shape[1] not in (1, 2, 3)):
        raise ValueError(
            f"{name} has shape {places.shape} but must be (k,) along a line, (k, 2) in a plane or "
            "(k, 3) in a room, or the distances have no meaning. Reshape it, one row for each "
            "place."
        )
    if not len(places):
        raise ValueError(
            f"{name} has no place but at least one is needed, or there is no operator. Leave the "
            "call out where nothing is to be felt."
        )
    if not np.isfinite(places).all():
        raise ValueError(
            f"{name} holds a value that is not finite but every position must be a number, or "
            "one bad place would spoil all the readings. Look for a gap in the input."
        )
    return places.reshape(len(places), -1)
