"""Counts in the squares of one or two grids, blurred by a trusted gateway: the plain ways.

Notion of privacy: central, pure epsilon. Neighbours: one user's parts, or nothing in their place.
Noise is exact discrete Laplace in whole parts: `draw(num, den)` gives one of scale num/den, as
`edge.core.noise.dlaplace` does, and only who calls it holds the random bits.

Source: paper 000, Section 4, for noise in every cell; Qardaji, Yang and Li 2013, "Differentially
private grids for geospatial data", for the grids, with the constants 10, 5 and 1/2 of theirs.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..simplex import project_to_total

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
Draw = Callable[[int, int], int]


class Crowd(NamedTuple):
    """What a gateway that is trusted holds: the parts in each cell of (rows, columns)."""

    sums: Whole
    users: int  # a public number
    units: int = 1  # parts of one user, together


def normalise(mass: Floats) -> Floats:
    """Return the map without what is negative, of total one; even where nothing is left."""
    kept = np.maximum(mass, 0.0)
    total = kept.sum()
    return kept / total if total > 0 else np.full(mass.shape, 1 / mass.size)


def add_noise(sums: Whole, epsilon: Fraction, units: int, draw: Draw) -> Floats:
    """Return each sum with noise of scale units/epsilon of its own."""
    num, den = (units / epsilon).as_integer_ratio()
    noise = [draw(num, den) for _ in range(sums.size)]
    return np.asarray(sums + np.array(noise).reshape(sums.shape), dtype=np.float64)


def map_by_laplace(
    crowd: Crowd,
    epsilon: Fraction,
    draw: Draw,
    top_percent: float | None = None,
    total: bool = False,
) -> Floats:
    """Return the map of every cell's own noise.

    Args:
        top_percent: how many of the cells are kept, the fullest ones once the noise is on.
        total: take the nearest map with as much mass as there are users, which is public, in the
            place of putting negative cells to nought. Nearer where users are many.
    """
    noisy = add_noise(crowd.sums, epsilon, crowd.units, draw)
    if total:
        return project_to_total(noisy.ravel(), float(crowd.users * crowd.units)).reshape(
            noisy.shape
        ) / float(crowd.users * crowd.units)
    if top_percent is not None:
        kept = max(1, round(top_percent * noisy.size / 100))
        left_out = np.argsort(-noisy.ravel(), kind="stable")[kept:]
        noisy.ravel()[left_out] = 0.0
    return normalise(noisy)


def map_by_uniform_grid(crowd: Crowd, epsilon: Fraction, draw: Draw) -> Floats:
    """Return the map of one grid with sqrt(n epsilon / 10) squares a side."""
    across = max(1, math.ceil(math.sqrt(crowd.users * epsilon / 10)))
    rows, columns = (_assign_squares(cells, across) for cells in crowd.sums.shape)
    sums = _gather(crowd.sums, rows, columns)
    return normalise(_spread_evenly(add_noise(sums, epsilon, crowd.units, draw), rows, columns))


def map_by_adaptive_grid(
    crowd: Crowd, epsilon: Fraction, draw: Draw, share: Fraction = Fraction(1, 2)
) -> Floats:
    """Return the map of a rough grid whose squares are divided further by their noisy counts.

    Args:
        share: of epsilon, for the rough grid.
    """
    value = float(epsilon)
    across = max(10, math.ceil(math.sqrt(crowd.users * value / 10) / 4))
    rows, columns = (_assign_squares(cells, across) for cells in crowd.sums.shape)
    rough = add_noise(_gather(crowd.sums, rows, columns), share * epsilon, crowd.units, draw)
    found = np.zeros(crowd.sums.shape)
    alpha = float(share)
    for (i, j), noisy in np.ndenumerate(rough):
        box = np.ix_(np.flatnonzero(rows == i), np.flatnonzero(columns == j))
        people = max(noisy / crowd.units, 0.0)
        finer = max(1, math.ceil(math.sqrt(people * (1 - alpha) * value / 5)))
        own = crowd.sums[box]
        down, right = (_assign_squares(cells, finer) for cells in own.shape)
        fine = add_noise(_gather(own, down, right), (1 - share) * epsilon, crowd.units, draw)
        # Both know the square's total: weigh them by what their noise varies.
        weight = alpha**2 * fine.size / ((1 - alpha) ** 2 + alpha**2 * fine.size)
        total = weight * noisy + (1 - weight) * fine.sum()
        found[box] = _spread_evenly(fine + (total - fine.sum()) / fine.size, down, right)
    return normalise(found)


def _assign_squares(cells: int, squares: int) -> Whole:
    """Return which square each cell of an axis is in; never more squares than cells."""
    return np.arange(cells) * min(squares, cells) // cells


def _gather(sums: Whole, rows: Whole, columns: Whole) -> Whole:
    """Return the sums of squares that these rows and columns make."""
    found = np.zeros((rows[-1] + 1, columns[-1] + 1), dtype=np.int64)
    np.add.at(found, (rows[:, None], columns[None]), sums)
    return found


def _spread_evenly(squares: Floats, rows: Whole, columns: Whole) -> Floats:
    """Return the map of cells, each square's parts spread evenly over its own."""
    area = np.outer(np.bincount(rows), np.bincount(columns))
    return np.asarray((squares / area)[np.ix_(rows, columns)])
