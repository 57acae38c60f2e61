"""The share of each cell along one axis that a box or a beam covers; what views are made of."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from edge.records import Grid

from .. import places

# A beam is as wide at half its height as a pixel's rectangle.
_HALF_HEIGHT = 2 * np.sqrt(2 * np.log(2))


class Axis(NamedTuple):
    """One axis of the grid, and where things stand along it."""

    here: places.Floats
    cells: int
    first: float  # the middle of the first cell
    pitch: float

    @property
    def edges(self) -> places.Floats:
        """The borders of the cells, (cells + 1,)."""
        return np.asarray(self.first + self.pitch * (np.arange(self.cells + 1) - 0.5))


def axes_of(places_m: places.Floats, grid: Grid) -> list[Axis]:
    """Return each axis of the grid, x first, with the places along it.

    Raises:
        ValueError: a place outside the grid, or with another number of axes.
    """
    here = np.asarray(places_m, dtype=float)
    here = here.reshape(len(here), -1)
    places.nearest_cells(here, grid)  # refuses what is not in the grid
    lengths = np.atleast_1d(places.length_m(grid))
    found = []
    for at, length, count in zip(here.T, lengths, grid.shape, strict=False):
        pitch = float(length) / count
        found.append(Axis(at, count, pitch * (1.0 if grid.cell_mm == 0 else 0.5), pitch))
    return found


def product(along: Iterable[places.Floats]) -> places.Floats:
    """Return (sensors, cells) from the shares of each axis, x first."""
    shares = list(along)
    if len(shares) == 1:
        return shares[0]
    across, down = shares
    return np.asarray((down[:, :, None] * across[:, None, :]).reshape(len(across), -1))


def boxes(low: places.Floats, high: places.Floats, edges: places.Floats) -> places.Floats:
    """Return the share of each box, from low to high, between the edges: (boxes, cells)."""
    covered = np.clip(edges, low[:, None], high[:, None])
    return np.asarray(np.diff(covered, axis=1) / (high - low)[:, None])


def beams(middle: places.Floats, deviation: places.Floats, edges: places.Floats) -> places.Floats:
    """Return the share of each Gaussian beam between the edges: (beams, cells)."""
    return np.diff(ndtr((edges - middle[:, None]) / deviation[:, None]), axis=1)


def pixels(borders: places.Floats, edges: places.Floats, beam: bool) -> places.Floats:
    """Return the share of each pixel, between neighbouring borders, that falls between edges.

    Args:
        beam: through a Gaussian that is as wide at half its height as the pixel, not evenly.
    """
    if not beam:
        return boxes(borders[:-1], borders[1:], edges)
    middle = (borders[:-1] + borders[1:]) / 2
    return beams(middle, np.diff(borders) / _HALF_HEIGHT, edges)


def positive(name: str, value: float) -> None:
    """Refuse a length that is not positive.

    Raises:
        ValueError: it is not, or not finite.
    """
    if not 0 < value < np.inf:
        raise ValueError(
            f"{name} is {value:g} but must be positive and finite, for what is looked at has an "
            "extent. Give metres; an array hangs above what it looks at."
        )
