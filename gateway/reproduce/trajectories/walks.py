"""Synthetic walks over points, as Appendix D of paper 003 draws them.

The unit square is divided into 300 x 300 cells. A walk begins in a cell that has points, goes on
to one of the eight neighbours with a chance in proportion to the neighbour's points, and leaves at
every step one of the points of its cell; it has from 2 to 200 points.

Differs from the paper:
1. It does not say what a walk does that has no points around it; here it stays where it is.
2. A start is any cell with points, each alike; the paper's "random cells" may be empty.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from edge.records import Grid
from physics.points import cells_of

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

SIDE = 300
SHORTEST, LONGEST = 2, 200
TRAJECTORIES = 1_000


class Walks(NamedTuple):
    """Walks one after the other; the points of each in their order."""

    places: Floats  # (points, 2) in [0, 1)
    lengths: Whole  # (walks,), how many points each has

    @property
    def starts(self) -> Whole:
        """Where each walk's first point stands, (walks,)."""
        return np.concatenate([[0], np.cumsum(self.lengths)[:-1]])


def walked(
    points: Floats,
    world: np.random.Generator,
    walks: int = TRAJECTORIES,
    side: int = SIDE,
    longest: int = LONGEST,
) -> Walks:
    """Return so many walks over these points.

    Args:
        points: (n, 2) in [0, 1), at least one.
        side: cells along each axis that walks go by.
        longest: points of a walk at most; lengths are even from 2 to here.
    """
    cells = cells_of(points, Grid((side, side), 0))
    order = np.argsort(cells, kind="stable")
    counts = np.bincount(cells, minlength=side * side)
    first = np.cumsum(counts) - counts
    lengths = world.integers(SHORTEST, longest + 1, size=walks)
    at = world.choice(np.flatnonzero(counts), size=walks)
    steps = np.empty((longest, walks), np.int64)
    for step in range(longest):
        if step:
            at = _next(at, counts, side, world)
        drawn = (world.random(walks) * counts[at]).astype(np.int64)
        steps[step] = order[first[at] + drawn]
    kept = np.arange(longest)[:, None] < lengths
    return Walks(points[steps.T[kept.T]], lengths)


def _next(at: Whole, counts: Whole, side: int, world: np.random.Generator) -> Whole:
    """Return the neighbour each walk goes to, by how many points it has; itself if none has."""
    y, x = np.divmod(at, side)
    moves = [(dx, dy) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if dx or dy]
    across = np.stack([x + dx for dx, _ in moves])
    down = np.stack([y + dy for _, dy in moves])
    inside = (across >= 0) & (across < side) & (down >= 0) & (down < side)
    around = np.where(inside, down * side + across, 0)
    rising = np.cumsum(np.where(inside, counts[around], 0), axis=0)
    drawn = (world.random(len(at)) * rising[-1]).astype(np.int64)
    chosen = (rising <= drawn).sum(axis=0)
    gone = np.take_along_axis(around, np.minimum(chosen, len(moves) - 1)[None, :], axis=0)[0]
    return np.where(rising[-1] > 0, gone, at)
