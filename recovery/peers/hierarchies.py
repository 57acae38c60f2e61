"""Counts on many levels at once, blurred by a trusted gateway: trees and wavelets.

    quadtree    squares within squares, with more of epsilon for the finer ones
    hierarchy   b x b squares within each, with an even share for each level
    wavelet     Haar sums and differences along each axis, on a line or in a plane

The first two are made consistent: the map whose squares are nearest to all that was measured, each
level weighed by its noise. Privacy, noise and `draw` are those of `grids`.

Source: Cormode, Procopiuc, Shen, Srivastava and Yu 2012, "Differentially private spatial
decompositions", for the geometric budget; Hay, Rastogi, Miklau and Suciu 2010 for consistency, in
the plane after Qardaji, Yang and Li 2013; Xiao, Wang and Gehrke 2010, "Differential privacy via
wavelet transforms".
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .grids import Crowd, Draw, add_noise, normalise

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

_SHARE = 1 << 16


def map_by_quadtree(
    crowd: Crowd, epsilon: Fraction, draw: Draw, depth: int | None = None
) -> Floats:
    """Return the map of a quadtree whose level i has a share of epsilon like 2**(i/3)."""
    levels = _count_levels(crowd.sums, 2) if depth is None else depth
    weights = [int(_SHARE * 2 ** ((level - levels) / 3)) for level in range(levels + 1)]
    return _estimate_by_tree(crowd, epsilon, draw, 2, weights)


def map_by_hierarchy(
    crowd: Crowd, epsilon: Fraction, draw: Draw, branches: int = 4, depth: int | None = None
) -> Floats:
    """Return the map of a tree of b x b squares a square, an even share of epsilon a level.

    Args:
        branches: b, along each axis.
        depth: levels below the whole, which is public where the number of users is, and is not
            measured.
    """
    levels = _count_levels(crowd.sums, branches) if depth is None else depth
    return _estimate_by_tree(crowd, epsilon, draw, branches, [0, *[1] * levels])


def _count_levels(sums: Whole, branches: int) -> int:
    levels = 0
    while branches**levels < max(sums.shape):
        levels += 1
    return levels


def _estimate_by_tree(
    crowd: Crowd, epsilon: Fraction, draw: Draw, branches: int, weights: Sequence[int]
) -> Floats:
    side = branches ** (len(weights) - 1)
    cell = -(-max(crowd.sums.shape) // side)  # of a finest square, in cells
    padded = np.zeros((side * cell, side * cell), dtype=np.int64)
    rows, columns = crowd.sums.shape
    padded[:rows, :columns] = crowd.sums
    noisy: list[Floats] = []
    variances: list[float] = []
    for level, weight in enumerate(weights):
        sums = _sum_blocks(padded, branches**level)
        if not weight:  # of the whole, which is known
            noisy.append(np.array([[float(crowd.users * crowd.units)]]))
            variances.append(0.0)
            continue
        share = epsilon * weight / sum(weights)
        noisy.append(add_noise(sums, share, crowd.units, draw))
        variances.append(float(2 / share**2))
    finest = make_consistent(noisy, variances, branches)
    cells = np.repeat(np.repeat(finest / cell**2, cell, axis=0), cell, axis=1)
    return normalise(cells[:rows, :columns])


def make_consistent(noisy: Sequence[Floats], variances: Sequence[float], branches: int) -> Floats:
    """Return the finest squares of the least-squares tree: children add up to their parent.

    Args:
        noisy: (b**i, b**i) for each level i, coarsest first.
        variances: of the noise of each level, 0 where it is known.

    >>> make_consistent([np.array([[12.0]]), np.array([[1.0, 2.0], [3.0, 2.0]])], [0.0, 1.0], 2)
    array([[2., 3.],
           [4., 3.]])
    """
    # Upwards: what a square is by itself and all below, and how much that varies.
    best, varying = [noisy[-1]], [variances[-1]]
    for own, variance in zip(reversed(noisy[:-1]), reversed(variances[:-1]), strict=True):
        below = _sum_blocks(best[-1], len(own))
        spread = branches**2 * varying[-1]
        weight = spread / (spread + variance)
        best.append(weight * own + (1 - weight) * below)
        varying.append(weight * variance)
    # Downwards: what a parent has more than its children is theirs, evenly.
    found = best[-1]
    for own in reversed(best[:-1]):
        left = (found - _sum_blocks(own, len(found))) / branches**2
        found = own + np.repeat(np.repeat(left, branches, axis=0), branches, axis=1)
    return found


def _sum_blocks(values: Any, side: int) -> Any:
    """Return the sums of side x side equal squares."""
    size = len(values) // side
    return values.reshape(side, size, side, size).sum(axis=(1, 3))


def map_by_wavelet(
    crowd: Crowd, epsilon: Fraction, draw: Draw, changes: int = 1, total: bool = False
) -> Floats:
    """Return the map of noisy Haar coefficients, along a line or in a plane.

    Along an axis of m cells the coefficients are the total and, of every block that is halved,
    how much more the first half has. One user changes one of each size by her parts, so 1 +
    log2 m of them, and in a plane the product of both axes'.

    Args:
        changes: 1 where a user is there or not, 2 where she stands elsewhere.
        total: the total is the number of users, which is public, and negative cells stay: for
            sums over many cells, which have no bias then.
    """
    sides = [1 << math.ceil(math.log2(cells)) for cells in crowd.sums.shape]
    padded = np.zeros(sides, dtype=np.int64)
    inside = tuple(slice(cells) for cells in crowd.sums.shape)
    padded[inside] = crowd.sums
    sensitivity = changes
    for axis, side in enumerate(sides):
        padded = _transform_haar(padded, axis)
        sensitivity *= 1 + int(math.log2(side))
    noisy = add_noise(padded, epsilon / sensitivity, crowd.units, draw)
    for axis in range(noisy.ndim):
        noisy = _invert_haar(noisy, axis)
    if total:
        noisy += (crowd.users * crowd.units - noisy.sum()) / noisy.size
        return np.asarray(noisy[inside] / (crowd.users * crowd.units))
    return normalise(noisy[inside])


def _transform_haar(values: Whole, axis: int) -> Whole:
    """Return the total and the differences of halves, the largest blocks first."""
    rest, found = np.moveaxis(values, axis, 0), []
    while len(rest) > 1:
        found.append(rest[::2] - rest[1::2])
        rest = rest[::2] + rest[1::2]
    return np.moveaxis(np.concatenate([rest, *found[::-1]]), 0, axis)


def _invert_haar(values: Floats, axis: int) -> Floats:
    """Return what `_transform_haar` was given."""
    given = np.moveaxis(values, axis, 0)
    found = given[:1]
    while len(found) < len(given):
        more = given[len(found) : 2 * len(found)]
        found = np.stack([found + more, found - more], axis=1).reshape(-1, *given.shape[1:]) / 2
    return np.moveaxis(found, 0, axis)
