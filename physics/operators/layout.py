"""How places are told to an operator: one by one, or as the axes of a grid.

A grid that is told place by place is recognised, for then each axis can be treated by itself.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

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
