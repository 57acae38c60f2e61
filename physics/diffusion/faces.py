"""How much heat passes between two cells, and between a cell and what is beyond a side.

Half of a cell, what is between, half of its neighbour, then a film: what stands in a row adds
as resistances.
So the mean of two conductivities is the harmonic one, which makes layers exact: the arithmetic
one would let heat through a wall because the air beside it conducts.

Source: Patankar 1980, Numerical Heat Transfer and Fluid Flow, Section 4.2-3.
"""

import math
from types import EllipsisType
from typing import Any, TypeAlias

import numpy as np

from ..places import Floats
from .medium import Medium

Places: TypeAlias = tuple[EllipsisType | slice | int, ...]


def between(medium: Medium) -> tuple[Floats, ...]:
    """Return the conductance of each inner face in W/K, an array an axis, x first.

    Each array is the medium's shape with one fewer along its own axis.
    """
    faces = []
    for axis in range(len(medium.shape)):
        half = _half(medium, axis)
        across = len(medium.shape) - 1 - axis
        near = np.delete(half, -1, axis=across)
        far = np.delete(half, 0, axis=across)
        more = medium.resistance[axis] if medium.resistance else 0.0
        faces.append(_area_m2(medium, axis) / (near + far + more))
    return tuple(faces)


def outer(medium: Medium) -> tuple[tuple[Floats, Floats], ...]:
    """Return the conductance from the cells of each outer side to beyond it, in W/K.

    A pair (near, far) an axis, x first; each of the shape that `Medium.side` gives. A film of
    infinity leaves half a cell between its middle and the outside temperature.
    """
    pairs = []
    for axis, films in enumerate(medium.films):
        half, area = _half(medium, axis), _area_m2(medium, axis)
        across = len(medium.shape) - 1 - axis
        area = area if np.ndim(area) == 0 else np.take(area, 0, axis=across)
        with np.errstate(divide="ignore"):
            near, far = (
                area / (1 / np.asarray(film, dtype=float) + np.take(half, end, axis=across))
                for film, end in zip(films, (0, -1), strict=True)
            )
        pairs.append((near, far))
    return tuple(pairs)


def edge(medium: Medium, axis: int, end: int) -> Places:
    """Return the index of the cells at a side: end 0 is the near one, 1 the far one.

    It begins with an ellipsis, so that it serves for many fields at once.
    """
    places: list[slice | int] = [slice(None)] * len(medium.shape)
    places[len(medium.shape) - 1 - axis] = -end
    return (..., *places)


def _half(medium: Medium, axis: int) -> Floats:
    """Return the resistance of half a cell, m2 K/W; infinite where nothing conducts."""
    with np.errstate(divide="ignore", over="ignore"):
        return np.asarray(medium.width(axis) / 2 / medium.conductivity)


def _area_m2(medium: Medium, axis: int) -> Any:
    # Of a face across the axis: one number, or of a shape with one along it.
    others = [medium.width(it) for it in range(len(medium.cell_m)) if it != axis]
    area = math.prod(others) * medium.beyond
    across = len(medium.shape) - 1 - axis
    whole = [1 if at == across else count for at, count in enumerate(medium.shape)]
    return area if np.ndim(area) == 0 else np.broadcast_to(area, whole)
