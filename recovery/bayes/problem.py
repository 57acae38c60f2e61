"""What readings and prior ask of a sampler, in the few directions that carry anything."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree
from scipy.special import gammaln

from ..estimators.record import Seen
from ..l1.cone import reduce

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

# A direction in which all sources together move the readings by less than this many
# deviations of the noise says nothing.
_FAINT = 1e-4
# Pairs of sources move among about so many cells around each.
_AROUND = 11


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """Readings in the directions that carry anything, in deviations of the noise."""

    columns: Floats  # (cells + 1, r), what one unit of heat in the cell does; the last is 0
    readings: Floats  # (r,)
    silent: float  # half the square of what no scene explains, the same for all
    squares: Floats  # (cells,), squared lengths of the columns
    sets: Floats  # (most + 1,), log of one over how many sets there are of so many sources
    low: float  # least power of a source
    high: float
    near: Whole  # (cells + 1, within), cells around each, filled up with the cell beyond
    room: Floats  # (cells + 1,), log of how many those are
    grid: Whole  # (cells + 1, 2), row and column of each
    at: Whole  # (rows, columns), the cell that is there; the one beyond where it is closed

    @property
    def cells(self) -> int:
        """How many cells a source can be in."""
        return len(self.squares)

    @property
    def most(self) -> int:
        """The most sources."""
        return len(self.sets) - 1


def compress(seen: Seen, coolest: float) -> Problem:
    """Return the problem that readings and prior pose, for powers from the coolest up."""
    prior, sigma = seen.prior, seen.sigma
    found = opened(seen)
    cells = len(found)
    small = reduce(seen.operator[:, found], seen.readings)
    reach = np.sqrt(np.square(small.operator).sum(axis=1) * prior.most) * prior.warmest
    told = reach > _FAINT * sigma
    columns = np.zeros((cells + 1, int(told.sum())))
    columns[:cells] = small.operator[told].T / sigma
    numbers = np.arange(min(prior.most, cells) + 1)
    sets = gammaln(numbers + 1) + gammaln(cells - numbers + 1) - gammaln(cells + 1)
    sets = np.where(numbers < prior.fewest, -np.inf, sets)
    # Only sources that can share their heat split and merge.
    near = _around(seen.places[found] if coolest < prior.warmest else seen.places[:0])
    at = np.full(seen.shape, cells)
    at.flat[found] = np.arange(cells)
    grid = np.zeros((cells + 1, 2), dtype=np.int64)
    grid[:-1] = np.argwhere(at < cells)
    return Problem(
        columns,
        small.readings[told] / sigma,
        0.5 * float(np.square(np.append(small.readings[~told], small.beyond) / sigma).sum()),
        np.square(columns[:cells]).sum(axis=1),
        sets,
        coolest,
        prior.warmest,
        near,
        np.log(np.maximum((near < cells).sum(axis=1), 1)),
        grid,
        at,
    )


def opened(seen: Seen) -> Whole:
    """Return the cells in which a source can be."""
    return np.arange(math.prod(seen.shape)) if seen.open is None else np.flatnonzero(seen.open)


def _around(places: Floats) -> Whole:
    """Return the cells within one distance of each, about so many of them.

    One distance for all, so that whoever is near to another has it near.
    """
    cells = len(places)
    if not cells:
        return np.zeros((1, 0), dtype=np.int64)
    tree = KDTree(places)
    far = tree.query(places, k=[min(_AROUND, cells)])[0]
    found = tree.query_ball_point(places, float(np.median(far)) * (1 + 1e-9))
    near = np.full((cells + 1, max(map(len, found))), cells)
    for row, inside in zip(near, found, strict=False):
        row[: len(inside)] = inside
    return near
