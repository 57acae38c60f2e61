"""The refusals that operators share: vectors that do not fit, and places that are not."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..kernel import AnyWalls, forward
from ..places import Floats


def vectors(name: str, given: ArrayLike, size: int) -> Floats:
    """Return `given` as floats, (size,) or (size, k).

    Raises:
        ValueError: it has another shape.
    """
    found = np.asarray(given, dtype=float)
    if found.ndim not in (1, 2) or len(found) != size:
        raise ValueError(
            f"{name} has shape {found.shape} but must be ({size},) or ({size}, k), one number for "
            "each place, or no number belongs to its place. Count with x fastest."
        )
    return found


def chosen_sources(sources: ArrayLike, size: int) -> NDArray[np.intp]:
    """Return the indices as whole numbers, (k,).

    Raises:
        IndexError: one of them is no source.
    """
    found = np.atleast_1d(np.asarray(sources)).astype(np.intp)
    if found.size and not 0 <= found.min() <= found.max() < size:
        raise IndexError(
            f"the sources asked for run from {found.min()} to {found.max()} but must be 0 to "
            f"{size - 1}: there are no others. Count the cells with x fastest."
        )
    return found


def room_lengths(
    sources_m: Floats,
    sensors_m: Floats,
    spread_m2: float,
    walls: AnyWalls,
    lengths_m: tuple[float, ...],
) -> tuple[float, ...]:
    """Return the length of each axis, once the outermost places, of (k, axes), are in order.

    Raises:
        ValueError: what `physics.kernel.forward` would refuse of these places or this room.
    """
    there, here = (
        np.stack([each.min(axis=0), each.max(axis=0)]) for each in (sources_m, sensors_m)
    )
    forward(there, here, spread_m2, walls, lengths_m)
    return tuple(np.broadcast_to(lengths_m, there.shape[1]).tolist())


def axis_lengths(
    sources_m: Sequence[ArrayLike],
    sensors_m: Sequence[ArrayLike],
    length_m: float | Sequence[float],
) -> list[float]:
    """Return the length of each axis, once sources and sensors are known to have as many.

    Raises:
        ValueError: they have not.
    """
    lengths = np.atleast_1d(np.asarray(length_m, dtype=float))
    if len(sources_m) != len(sensors_m) or len(lengths) not in (1, len(sources_m)):
        raise ValueError(
            f"sources_m, sensors_m and length_m have {len(sources_m)}, {len(sensors_m)} and "
            f"{len(lengths)} axes but must agree, for a factor joins the two along one axis. "
            "Give the places along x first, then those along y."
        )
    found: list[float] = np.broadcast_to(lengths, len(sources_m)).tolist()
    return found


def unit_columns(sources: NDArray[np.intp], size: int) -> Floats:
    """Return one unit of heat in each of these sources, (size, k)."""
    heat = np.zeros((size, len(sources)))
    heat[sources, np.arange(len(sources))] = 1.0
    return heat
