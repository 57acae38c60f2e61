"""Counts in squares of one size, alone and after places were sorted: what ranks is held against.

Notion of privacy: central, pure epsilon. Neighbours: one user is elsewhere, so two counts change
by one and the noise is discrete Laplace of scale 2/epsilon; how many users there are is public.
`draw(num, den)` gives exact noise of scale num/den, as `edge.core.noise.dlaplace` does.

Source: paper 004, Sections 6.1 and 7.1, which leaves open how sorting and counting are joined.
"""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..simplex import project_to_total

Floats = NDArray[np.float64]
Draw = Callable[[int, int], int]

SHARE = Fraction(9, 10)  # of epsilon for the counts; the rest sorts
LEAST = 40  # a square is divided where more than so many, times 1/epsilon, seem to be
FIRST = 4  # times that the whole is halved at least, whatever was sorted


def map_by_equi_width(
    counts: ArrayLike, epsilon: Fraction, draw: Draw, nearest: bool = False
) -> Floats:
    """Return the shares of all cells, none negative, of total one.

    Args:
        counts: whole numbers, of any shape.
        nearest: take the nearest shares of total one, which is no paper's and always better;
            else negative counts are set to nought and all rescaled, as papers do.
    """
    exact = np.asarray(counts)
    num, den = (2 / epsilon).as_integer_ratio()
    noise = [draw(num, den) for _ in range(exact.size)]
    noisy = (exact.ravel() + np.array(noise, np.float64)) / max(1, int(exact.sum()))
    if nearest:
        return project_to_total(noisy).reshape(exact.shape)
    kept = np.maximum(noisy, 0.0)
    even = np.full(exact.shape, 1 / exact.size)
    return (kept / kept.sum()).reshape(exact.shape) if kept.sum() > 0 else even


def sort_then_count(
    counts: ArrayLike, sorted_mass: Floats, epsilon: Fraction, draw: Draw
) -> Floats:
    """Return the map of counts in squares that are small where sorted places are many.

    Args:
        counts: (side, side) whole numbers, side a power of two.
        sorted_mass: (side, side), a map of total one that a release of `ranks` gave; of another
            part of the budget.
        epsilon: of the counts; `SHARE` of the whole is about the best.
    """
    exact = np.asarray(counts)
    users, squares = (
        int(exact.sum()),
        find_leaves(sorted_mass, LEAST / float(epsilon) / exact.sum()),
    )
    inside = np.bincount(squares.ravel(), weights=exact.ravel()).astype(np.int64)
    shares = map_by_equi_width(inside, epsilon, draw, nearest=True) if users else inside + 1.0
    return np.asarray((shares / np.bincount(squares.ravel()))[squares])


def find_leaves(mass: Floats, least: float) -> NDArray[np.int64]:
    """Return the number of the square that each cell is in; one with more than `least` is divided.

    >>> find_leaves(np.eye(2) / 2, 0.1).tolist()
    [[0, 1], [2, 3]]
    """
    side, depth = len(mass), len(mass).bit_length() - 1
    level, wide = np.zeros((side, side), np.int64), np.ones((1, 1), np.bool_)
    for at in range(depth):
        block = side >> at
        held = mass.reshape(1 << at, block, 1 << at, block).sum(axis=(1, 3))
        wide = wide & ((held > least) | (at < FIRST))
        level[np.kron(wide, np.ones((block, block), np.bool_))] = at + 1
        wide = np.kron(wide, np.ones((2, 2), np.bool_))
    row, column = np.indices((side, side))
    shift = depth - level
    key = (level * side + (row >> shift)) * side + (column >> shift)
    return np.unique(key, return_inverse=True)[1].reshape(side, side)
