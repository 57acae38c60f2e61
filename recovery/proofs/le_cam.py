"""How near no estimator can come, whatever it does: Le Cam's two points, exactly.

Two scenes whose readings differ by little are told apart by nobody, and whoever answers one
of them is wrong about the other. For a pair at earth mover's distance d with readings
|A f - A f'| apart, every estimator is on average, over one of the two, at least

    d Phi(-|A f - A f'| / (2 sigma))

from the truth. Any pair proves a bound, so a search that misses the best one is still right.

Differs from the paper:
1. Theorem 11 has a rate without its constant, by Fano's lemma from four scenes whose
   distances are a / 2, not a. Two points need no constant: the best test between two normal
   laws is known exactly.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

# What a lower bound can be asked: numbers that fit each other, and scenes that exist.

Floats = NDArray[np.float64]
Cells = NDArray[np.int64]


def checked(operator: ArrayLike, sigma: float, places: ArrayLike) -> tuple[Floats, Floats]:
    """Return the operator and the places as arrays.

    Raises:
        ValueError: a shape does not fit, places do not rise, or a number is not finite.
    """
    matrix, line = np.asarray(operator, dtype=float), np.asarray(places, dtype=float)
    fits = matrix.ndim == 2 and matrix.size and line.shape == matrix.shape[1:]
    if not fits or not (np.diff(line) > 0).all():
        raise ValueError(
            f"the operator has shape {matrix.shape} and the places {line.shape} but need "
            "(sensors, cells), none of them 0, and (cells,), rising: distances are taken along "
            "a line. Sort both."
        )
    if not (np.isfinite(matrix).all() and np.isfinite(line).all() and 0 < sigma < math.inf):
        raise ValueError(
            f"sigma is {sigma:g}, or a number of the operator or the places is not finite, but "
            "all must be, and sigma positive: the bound rests on them. Look for a gap."
        )
    return matrix, line


def scenes(first: ArrayLike, second: ArrayLike, cells: int) -> tuple[Cells, Cells]:
    """Return the cells of two scenes' sources, (sources,) each, from the first to the last.

    Raises:
        ValueError: the numbers of sources differ, or a source is in no cell.
    """
    one, other = np.sort(np.atleast_1d(first)), np.sort(np.atleast_1d(second))
    if one.shape != other.shape or one.ndim != 1 or not one.size:
        raise ValueError(
            f"the scenes have {one.shape} and {other.shape} sources but need equally many, one "
            "or more: their shares are compared source by source. Give both the same number."
        )
    both = np.concatenate([one, other])
    if both.dtype.kind not in "iu" or both.min() < 0 or both.max() >= cells:
        raise ValueError(
            f"the scenes' sources are in {both.tolist()} but must be in cells 0 to "
            f"{cells - 1}: elsewhere nothing says what they warm. Give the cells' numbers."
        )
    return one, other


# Scenes of two sources that are compared, each with each; with more cells every other is left.
_PAIR_CELLS = 100


@dataclass(frozen=True, slots=True, eq=False)
class LowerBound:
    """What no estimator beats, and the two scenes that show it.

    Args:
        distance: the mean error, in the unit of the places, over the worse of the two.
        first, second: (sources,), the cells of the unit sources in each.
    """

    distance: float
    first: Cells
    second: Cells


def two_points(
    operator: ArrayLike, sigma: float, places: ArrayLike, first: ArrayLike, second: ArrayLike
) -> float:
    """Return the least mean error over the worse of two scenes of as many unit sources.

    Args:
        operator: A, (sensors, cells), in kelvin per unit of heat.
        sigma: deviation of the independent normal noise, in kelvin; positive.
        places: (cells,), rising, in any unit: the bound has the same.
        first, second: (sources,), the cells of each scene's sources.

    Raises:
        ValueError: the numbers of sources differ, or a number is not finite.

    Source: Le Cam's method as in Yu 1997, with the total variation of two normal laws.

    >>> round(two_points([[0.0, 1.0]], 0.5, [0.0, 1.0], [0], [1]), 4)
    0.1587
    """
    matrix, line = checked(operator, sigma, places)
    one, other = scenes(first, second, len(line))
    apart = np.linalg.norm(matrix[:, one].sum(axis=1) - matrix[:, other].sum(axis=1))
    return float(np.abs(line[one] - line[other]).mean() * ndtr(-apart / (2 * sigma)))


def lower_bound(
    operator: ArrayLike, sigma: float, places: ArrayLike, sources: int = 1
) -> LowerBound:
    """Return the best bound of two scenes that a search finds, for so many unit sources.

    For one source every pair of cells is tried, and for two every pair of scenes on at most 100
    cells, evenly chosen; then, and for more sources from a few scenes, each source in turn is
    moved to where the bound is greatest until none gains by it.

    Args:
        operator, sigma, places: as for `two_points`.
        sources: k, at least 1 and at most half as many as there are cells.

    Raises:
        ValueError: as for `two_points`, or no such number of sources.

    >>> round(lower_bound([[0.0, 1.0]], 0.5, [0.0, 1.0]).distance, 4)
    0.1587
    """
    matrix, line = checked(operator, sigma, places)
    cells = len(line)
    if sources not in range(1, max(1, cells // 2) + 1):
        raise ValueError(
            f"sources is {sources} but must be from 1 to {max(1, cells // 2)}, whole: two scenes "
            f"of different cells must fit into {cells}. Ask for fewer, or for a finer grid."
        )
    # Distances of readings are all that counts here, and so the strong directions alone.
    _, strengths, small = np.linalg.svd(matrix, full_matrices=False)
    small = (strengths[:, None] * small)[strengths > 1e-12 * strengths[0]]
    if sources <= 2:
        stride = 1 if sources == 1 else -(-cells // _PAIR_CELLS)
        chosen = np.arange(0, cells, stride)
        first, second = _best_pair(small[:, chosen], sigma, line[chosen], sources)
        starts = [np.concatenate([chosen[first], chosen[second]])]
    else:  # scenes whose sources alternate, over all cells and over those near the first
        ends = {max(2 * sources, cells >> halved) - 1 for halved in range(5)}
        spread = [np.linspace(0, end, 2 * sources).round().astype(np.int64) for end in ends]
        starts = [np.concatenate([start[::2], start[1::2]]) for start in spread]
    pair = max(
        (_climbed(small, sigma, line, start) for start in starts),
        key=lambda pair: two_points(matrix, sigma, line, pair[:sources], pair[sources:]),
    )
    first, second = np.sort(pair[:sources]), np.sort(pair[sources:])
    return LowerBound(two_points(matrix, sigma, line, first, second), first, second)


def _best_pair(operator: Floats, sigma: float, line: Floats, sources: int) -> tuple[Cells, Cells]:
    """Compare all scenes of one or two sources, each with each."""
    cells = np.arange(len(line))
    sets = np.stack([cells]) if sources == 1 else np.stack(np.triu_indices(len(line), 1))
    warmth = operator[:, sets].sum(axis=1).T
    squares = np.einsum("ij,ij->i", warmth, warmth)
    best, pair = -1.0, (0, 0)
    for start in range(0, len(warmth), 256):
        part = slice(start, start + 256)
        square = squares[part, None] + squares - 2 * warmth[part] @ warmth.T
        away = np.abs(line[sets[:, part, None]] - line[sets[:, None]]).mean(axis=0)
        bound = away * ndtr(-np.sqrt(np.maximum(square, 0.0)) / (2 * sigma))
        row, column = np.unravel_index(int(bound.argmax()), bound.shape)
        if bound[row, column] > best:
            best, pair = float(bound[row, column]), (start + int(row), int(column))
    return sets[:, pair[0]], sets[:, pair[1]]


def _climbed(operator: Floats, sigma: float, line: Floats, pair: Cells) -> Cells:
    """Move one source at a time to its best cell, until none gains; both scenes in one array."""
    half = len(pair) // 2
    signs = np.repeat([1.0, -1.0], half)
    best, gained = -1.0, True
    while gained:
        gained = False
        for index in range(len(pair)):
            rest = np.delete(np.arange(len(pair)), index)
            fixed = operator[:, pair[rest]] @ signs[rest]
            apart = np.linalg.norm(fixed[:, None] + signs[index] * operator, axis=0)
            trial = np.repeat(pair[:, None], len(line), axis=1)
            trial[index] = np.arange(len(line))
            taken = pair[rest][signs[rest] == signs[index]]
            both = np.sort(line[trial[:half]], axis=0), np.sort(line[trial[half:]], axis=0)
            bound = np.abs(both[0] - both[1]).mean(axis=0) * ndtr(-apart / (2 * sigma))
            bound[taken] = -1.0  # sources of one scene stand in different cells
            if bound.max() > best * (1 + 1e-12):
                best, gained = float(bound.max()), True
                pair = trial[:, int(bound.argmax())]
    return pair
