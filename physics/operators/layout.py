"""How places are told to an operator: one by one, or as the axes of a grid.

A grid that is told place by place is recognised, for then each axis can be treated by itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..kernel import AnyWalls, forward
from ..places import Floats


@dataclass(frozen=True, slots=True, eq=False)
class Axes:
    """All the places of a grid: for each axis, x first, where along it they stand, (k,).

    >>> Axes(([0.0, 1.0], [5.0])).flat()
    array([[0., 5.],
           [1., 5.]])
    """

    along: tuple[ArrayLike, ...]

    @property
    def counts(self) -> tuple[int, ...]:
        """How many places along each axis, x first."""
        return tuple(len(places) for places in self.arrays())

    def arrays(self) -> tuple[Floats, ...]:
        """Return the places along each axis, (k,) each, as floats.

        Raises:
            ValueError: an axis is empty, of more than one dimension or not finite, or there are
                none of them, or more than three.
        """
        found = tuple(np.asarray(places, dtype=float) for places in self.along)
        good = [places.ndim == 1 and places.size > 0 for places in found]
        if not 1 <= len(found) <= 3 or not all(good):
            raise ValueError(
                f"the axes have shapes {[places.shape for places in found]} but one to three are "
                "needed, each (k,) with at least one place, for a grid is all their combinations. "
                "Give the places along x first, then along y."
            )
        for places in found:
            _refuse_gaps(places)
        return found

    def flat(self) -> Floats:
        """Return every place, (k,) along a line, (k, axes) else, x fastest."""
        found = self.arrays()
        if len(found) == 1:
            return found[0]
        mesh = np.meshgrid(*reversed(found), indexing="ij")
        return np.stack([part.ravel() for part in reversed(mesh)], axis=1)


def laid_out(name: str, places_m: ArrayLike | Axes) -> Axes | Floats:
    """Return a grid's axes, however it was told; else the places, (k, axes).

    Args:
        places_m: (k,) along a line, (k, 2) in a plane, (k, 3) in a room, or `Axes`.

    Raises:
        ValueError: another shape, no places, or places that are not finite.
    """
    if isinstance(places_m, Axes):
        return Axes(places_m.arrays())
    places = np.asarray(places_m, dtype=float)
    if places.ndim not in (1, 2) or not places.size or places.shape[1:] not in ((), (2,), (3,)):
        raise ValueError(
            f"{name} has shape {places.shape} but must be (k,) along a line, (k, 2) in a plane or "
            "(k, 3) in a room, with at least one place, or nothing says where heat is. Reshape "
            "it, one row for each place, or give a grid as Axes((x, y))."
        )
    _refuse_gaps(places)
    if places.ndim == 1:
        return Axes((places,))
    return _grid(places) or places


def _grid(places: Floats) -> Axes | None:
    """Return the axes of places that are a whole grid with x fastest; None if they are not."""
    along, left = [], places
    for axis in range(places.shape[1]):
        others = left[:, axis + 1 :]
        moved = np.flatnonzero((others != others[0]).any(axis=1))
        run = int(moved[0]) if len(moved) else len(left)
        along.append(left[:run, axis])
        if len(left) % run:
            return None
        left = left[::run]
    found = Axes(tuple(along))
    same = len(left) == 1 and np.array_equal(found.flat().reshape(places.shape), places)
    return found if same else None


def _refuse_gaps(places: Floats) -> None:
    if not np.isfinite(places).all():
        raise ValueError(
            "a position is not finite but every one must be a number, or one bad place would "
            "spoil all the readings. Look for a gap in the input."
        )


# The refusals that operators share: vectors that do not fit, and places that are not.


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
