"""All sources of a scene at once, shifted as two other scenes differ.

At low noise scenes fit only if their sources shift together, in ways that the readings alone
decide. The difference of two other scenes is such a way: whatever joins the sources of all
scenes joins those of the proposed one.
"""

import numpy as np
from numpy.typing import NDArray

from ..compiled import tier
from ..kernels import gibbs
from .crowd import MANY_CELLS, Crowd

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]


def shift_as_others_differ(crowd: Crowd, cool: float, scale: float) -> None:
    """Propose each scene plus the difference of two of as many sources, or leave it.

    Sources are told apart by their order along one direction, which must stay as it is: then
    the way back is as likely, with the two scenes exchanged. One half of the scenes is shifted
    as the other half differs, then the other, so that nobody steers by who moves.

    Args:
        cool: the power to which the likelihood is raised, 0 to 1.
        scale: by how much of the difference, up to 1, rounded to cells.

    Source: ter Braak 2006, differential evolution; Goodman and Weare 2010 for the halves.
    """
    rows, halves = crowd.rows, (crowd.rows[::2], crowd.rows[1::2])
    heading = _heading(crowd)
    kernel = tier(gibbs, worth=crowd.problem.cells > MANY_CELLS)
    order = np.argsort(heading[crowd.cells], axis=1)
    crowd.cells = crowd.cells[rows[:, None], order]
    crowd.powers = crowd.powers[rows[:, None], order]
    for moving, still in (halves, halves[::-1]):
        even = crowd.even(3)[moving]
        first, second, fits = _two(crowd.numbers, moving, still, even)
        if kernel is gibbs:
            _shift(crowd, heading, moving, first, second, fits, scale, cool, even[:, 2])
        else:
            problem = crowd.problem
            kernel.shift_scenes(
                *(crowd.cells, crowd.powers, crowd.residual, moving, first, second, fits),
                *(problem.grid, problem.at, heading, problem.columns, problem.readings),
                *(problem.low, problem.high, scale, cool, even[:, 2].copy()),
            )


def _shift(
    crowd: Crowd,
    heading: Floats,
    moving: Whole,
    first: Whole,
    second: Whole,
    fits: NDArray[np.bool_],
    scale: float,
    cool: float,
    even: Floats,
) -> None:
    """Shift the moving scenes as two others differ, as `recovery.kernels.gibbs` does."""
    cells, powers, allowed = _shifted(crowd, moving, first, second, scale)
    apart = heading[cells[:, 1:]] > heading[cells[:, :-1]]
    fits = fits & allowed & (apart | (cells[:, 1:] == crowd.problem.cells)).all(axis=1)
    cells[~fits], powers[~fits] = crowd.cells[moving[~fits]], crowd.powers[moving[~fits]]
    left = crowd.left(cells, powers)
    worse = np.square(left).sum(axis=1) - np.square(crowd.residual[moving]).sum(axis=1)
    taken = fits & (np.log(even) < -0.5 * cool * worse)
    crowd.cells[moving[taken]], crowd.powers[moving[taken]] = cells[taken], powers[taken]
    crowd.residual[moving[taken]] = left[taken]


def _heading(crowd: Crowd) -> Floats:
    """Return how far each cell is along one direction; infinitely far what is off.

    Along a line there is one direction. In a plane each call has its own.
    """
    grid = crowd.problem.grid
    angle = np.pi * crowd.even()[0]
    way = np.array([0.0, 1.0]) if len(crowd.problem.at) == 1 else [np.sin(angle), np.cos(angle)]
    return np.append(grid[:-1] @ way, np.inf)


def _two(
    numbers: Whole, moving: Whole, still: Whole, even: Floats
) -> tuple[Whole, Whole, NDArray[np.bool_]]:
    """Return two scenes of the half that stands still, of as many sources, and where there are."""
    ranked = still[np.argsort(numbers[still], kind="stable")]
    start = np.searchsorted(numbers[ranked], numbers[moving], "left")
    count = np.searchsorted(numbers[ranked], numbers[moving], "right") - start
    first = (even[:, 0] * count).astype(np.int64)
    second = (even[:, 1] * np.maximum(count - 1, 0)).astype(np.int64)
    second += second >= first
    last = len(ranked) - 1
    first, second = (
        ranked[np.minimum(start + first, last)],
        ranked[np.minimum(start + second, last)],
    )
    return first, second, (count >= 2) & (numbers[moving] > 0)


def _shifted(
    crowd: Crowd, moving: Whole, first: Whole, second: Whole, scale: float
) -> tuple[Whole, Floats, NDArray[np.bool_]]:
    """Return the proposed cells and powers, and where they are in cells and within bounds."""
    problem, grid = crowd.problem, crowd.problem.grid
    before, heat = crowd.cells[moving], crowd.powers[moving]
    there = before < problem.cells
    apart = grid[crowd.cells[first]] - grid[crowd.cells[second]]
    apart = np.sign(apart) * np.floor(scale * np.abs(apart) + 0.5).astype(np.int64)
    place = grid[before] + np.where(there[:, :, None], apart, 0)
    size = np.array(problem.at.shape)
    inside = ((place >= 0) & (place < size)).all(axis=2) | ~there
    place = np.clip(place, 0, size - 1)
    cells = np.where(there, problem.at[place[:, :, 0], place[:, :, 1]], problem.cells)
    powers = heat
    if problem.low < problem.high:
        powers = heat + scale * np.where(there, crowd.powers[first] - crowd.powers[second], 0.0)
        inside &= ((powers >= problem.low) & (powers <= problem.high)) | ~there
    return cells, powers, (inside & (there == (cells < problem.cells))).all(axis=1)
