"""PivotTrace: every second point is blurred by itself, the ones between by their directions, too.

Twice, once with the odd points as pivots and once with the even ones, and half of epsilon each:

    a pivot is blurred over all cells, the nearer the likelier (exponential mechanism);
    of each point between, the direction from either blurred neighbour is told by k-ary randomised
    response over equal sectors, and the point is blurred over the cells that lie in both sectors,
    all of them where there are none.

The two blurred copies are joined point by point: the cell nearest to the middle of both.

Unit of privacy: one whole trajectory, at epsilon, shared evenly by everything that is drawn; the
number of points is told as it is.

Source: Zhang, Ye, Chen, Hu and Han 2023, "Trajectory Data Collection with Local Differential
Privacy": the pivot sampling alone, which is what paper 003 names.

Differs from the source:
1. Places are the cells of the map, so nothing finer is known; points stay as many as there are.
2. Epsilon is shared evenly between draws, and sectors are six; the source tunes both.

Where epsilon is shared by hundreds of draws nothing of the truth is left, and the middle of two
even draws lies near the centre of the map: `unanswered` is the map that it gives of nobody.
"""

import math

import numpy as np
from numpy.typing import NDArray

from edge.records import Grid
from physics.points import cells_of

from .walks import Walks

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

UNIT = "a whole trajectory; how many points it has is told"
SECTORS = 6
_CHUNK = 8_192  # points at a time: a row of all cells for each


def estimate(walks: Walks, side: int, epsilon: float, world: np.random.Generator) -> Floats:
    """Return the share of blurred points in each cell, (side, side)."""
    cells = side * side
    if side == 1:
        return np.ones((1, 1))
    at = cells_of(walks.places, Grid((side, side), 0))
    place = np.arange(len(at)) - np.repeat(walks.starts, walks.lengths)
    copies = [_copy(at, place, parity, walks.lengths, side, epsilon, world) for parity in (0, 1)]
    y, x = np.divmod(np.stack(copies), side)
    # Two middles of cells: halves are rounded by a coin, so that no side is favoured.
    across = np.floor(x.mean(axis=0) + world.random(len(at)) * 0.5 + 0.25).astype(np.int64)
    down = np.floor(y.mean(axis=0) + world.random(len(at)) * 0.5 + 0.25).astype(np.int64)
    joined = np.minimum(down, side - 1) * side + np.minimum(across, side - 1)
    return (np.bincount(joined, minlength=cells) / len(joined)).reshape(side, side)


def unanswered(walks: Walks, side: int, world: np.random.Generator) -> Floats:
    """Return the map of points that tell nothing: the same steps with no epsilon at all."""
    return estimate(walks, side, 0.0, world)


def draws(length: int, parity: int) -> int:
    """Return how much one copy draws: once a pivot, two or three times a point between."""
    pivots = sum(place % 2 == parity for place in range(length))
    ends = sum(
        (place > 0) + (place + 1 < length) for place in range(length) if place % 2 != parity
    )
    return pivots + (length - pivots) + ends


def _copy(
    at: Whole,
    place: Whole,
    parity: int,
    lengths: Whole,
    side: int,
    epsilon: float,
    world: np.random.Generator,
) -> Whole:
    """Return one blurred copy of all points."""
    known = {int(length): draws(int(length), parity) for length in np.unique(lengths)}
    each = np.repeat([epsilon / 2 / known[int(length)] for length in lengths], lengths)
    pivot = place % 2 == parity
    found = np.empty_like(at)
    found[pivot] = _blurred(at[pivot], each[pivot], None, side, world)
    allowed = np.ones((len(at), 1), bool) & np.ones(side * side, bool)
    last = place + 1 == np.repeat(lengths, lengths)
    for step, neighbour in ((-1, place > 0), (1, ~last)):
        told = np.flatnonzero(~pivot & neighbour)
        origin = found[told + step]
        sector = _turned(_sector(origin, at[told], side), each[told], world)
        every = _sectors(side)
        allowed[told] &= every[origin] == sector[:, None]
    between = np.flatnonzero(~pivot)
    mask = allowed[between]
    mask[~mask.any(axis=1)] = True
    found[between] = _blurred(at[between], each[between], mask, side, world)
    return found


def _blurred(
    at: Whole,
    epsilons: Floats,
    mask: NDArray[np.bool_] | None,
    side: int,
    world: np.random.Generator,
) -> Whole:
    """Return a cell for each, likelier the nearer: exp(-epsilon distance / (2 diagonal))."""
    y, x = np.divmod(np.arange(side * side), side)
    widest = math.hypot(side - 1, side - 1)
    found = np.empty_like(at)
    for begin in range(0, len(at), _CHUNK):
        part = slice(begin, begin + _CHUNK)
        here = at[part]
        away = np.hypot(x[here][:, None] - x, y[here][:, None] - y)
        weights = np.exp(-epsilons[part][:, None] * away / (2 * widest))
        if mask is not None:
            weights *= mask[part]
        rising = np.cumsum(weights, axis=1)
        drawn = world.random(len(here)) * rising[:, -1]
        found[part] = np.minimum((rising <= drawn[:, None]).sum(axis=1), side * side - 1)
    return found


def _sector(origin: Whole, at: Whole, side: int) -> Whole:
    """Return in which of the equal sectors around an origin a cell lies; its own cell in 0."""
    (y0, x0), (y1, x1) = np.divmod(origin, side), np.divmod(at, side)
    turn = np.arctan2(y1 - y0, x1 - x0) % (2 * math.pi)
    return np.minimum((turn / (2 * math.pi) * SECTORS).astype(np.int64), SECTORS - 1)


def _sectors(side: int) -> NDArray[np.int64]:
    """Return the sector of every cell around every cell, (cells, cells)."""
    cells = np.arange(side * side)
    return _sector(cells[:, None], cells[None, :], side)


def _turned(sector: Whole, epsilons: Floats, world: np.random.Generator) -> Whole:
    """Return the sectors told: the true one, or any other alike."""
    stays = 1 / (1 + (SECTORS - 1) * np.exp(-epsilons))
    other = (sector + world.integers(1, SECTORS, size=len(sector))) % SECTORS
    return np.where(world.random(len(sector)) < stays, sector, other)
