"""Where most of a map is, in few words."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from physics.places import cell_places

Floats = NDArray[np.float64]

# Cells within this part of the map's longer side are spoken of as one place.
_REACH = 1 / 14
_SHARE_MIN = 0.05


class Place(NamedTuple):
    """A place with much of the heat: where its middle is, and how much of all it has."""

    at: Floats  # (axes,), in metres or in sides of a unit grid
    share: float


def places_of_most(mass: Floats, grid: Any) -> list[Place]:
    """Return where most of the heat is, the greatest share first.

    The warmest cell gathers those near it, then the warmest that is left, and so on.

    Args:
        mass: (rows, columns), adds to one.
    """
    places = cell_places(grid).reshape(mass.size, -1)
    reach = _REACH * float(np.ptp(places, axis=0).max())
    left, found = mass.ravel().copy(), []
    while left.max() > 0.002:
        near = np.linalg.norm(places - places[left.argmax()], axis=1) <= reach
        share = float(left[near].sum())
        found.append(Place(left[near] @ places[near] / share, share))
        left[near] = 0
    kept = [place for place in found if place.share >= _SHARE_MIN]
    return sorted(kept, key=lambda place: -place.share)


def written(at: Floats, grid: Any) -> str:
    """Return a place as one writes it, halves rounded up."""
    # As usual a middle of a cell, 0.125, would be 0.12, and a hair further 0.13.
    numbers = " / ".join(f"{round(float(axis), 6) + 1e-9:.2f}" for axis in np.atleast_1d(at))
    return f"{numbers} m" if grid.cell_mm else numbers


def far(grid: Any, parts: float) -> str:
    """Return a distance that is given in parts of the longer side."""
    if not grid.cell_mm:
        return f"{parts:.4f} of the interval"
    return f"{parts * max(grid.shape) * grid.cell_mm / 1000:.3f} m"


def most_of(mass: Floats, grid: Any) -> str:
    """Return in words where most of the heat is."""
    most = places_of_most(mass, grid)
    listed = [f"{place.share:.0%} near {written(place.at, grid)}" for place in most]
    return ", ".join(listed) or "spread out"
