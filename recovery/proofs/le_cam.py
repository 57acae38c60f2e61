"""How near no estimator can come, whatever it does: Le Cam's two points, exactly.

Two scenes whose readings differ by little are told apart by nobody, and whoever answers one
of them is wrong about the other. For a pair at earth mover's distance d with readings
|A f - A f'| apart, every estimator is on average, over one of the two, at least

    d Phi(-|A f - A f'| / (2 sigma))

from the truth.

Differs from the paper:
1. Theorem 11 has a rate without its constant, by Fano's lemma from four scenes whose
   distances are a / 2, not a. Two points need no constant: the best test between two normal
   laws is known exactly.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

Floats = NDArray[np.float64]
Cells = NDArray[np.int64]

# With two sources scenes are compared on so many cells; of more every other is left out.
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


def find_lower_bound(
    operator: ArrayLike, sigma: float, places: ArrayLike, sources: int = 1
) -> LowerBound:
    """Return the best bound of two scenes of one or two unit sources: every pair is compared.

    Args:
        operator: A, (sensors, cells), in kelvin per unit of heat.
        sigma: deviation of the independent normal noise, in kelvin; positive.
        places: (cells,), rising, in any unit: the bound has the same.
        sources: 1, or 2.

    Raises:
        ValueError: shapes that do not fit, places that do not rise, a sigma or a number of
            sources that is none.

    Source: Le Cam's method as in Yu 1997, with the total variation of two normal laws.

    >>> round(find_lower_bound([[0.0, 1.0]], 0.5, [0.0, 1.0]).distance, 4)
    0.1587
    """
    matrix, line = np.asarray(operator, dtype=float), np.asarray(places, dtype=float)
    fits = (
        matrix.ndim == 2
        and matrix.size > 0
        and line.shape == matrix.shape[1:]
        and bool(np.isfinite(matrix).all() and np.isfinite(line).all())
        and bool((np.diff(line) > 0).all())
        and 1 <= sources <= min(2, len(line))
    )
    if not (fits and 0 < sigma < math.inf):
        raise ValueError(
            f"the operator has shape {matrix.shape}, the places {line.shape}, sigma is {sigma:g} "
            f"and sources {sources}, but (sensors, cells), (cells,), rising, all finite, a "
            "positive sigma and 1 or 2 sources are needed: distances are taken along a line. "
            "Correct them."
        )
    cells = np.arange(0, len(line), 1 if sources == 1 else -(-len(line) // _PAIR_CELLS))
    sets = np.stack([cells]) if sources == 1 else cells[np.stack(np.triu_indices(len(cells), 1))]
    warmth = matrix[:, sets].sum(axis=1).T
    squares = np.einsum("ij,ij->i", warmth, warmth)
    best = LowerBound(-1.0, sets[:, 0], sets[:, 0])
    for start in range(0, len(warmth), 256):
        part = slice(start, start + 256)
        square = squares[part, None] + squares - 2 * warmth[part] @ warmth.T
        away = np.abs(line[sets[:, part, None]] - line[sets[:, None]]).mean(axis=0)
        bound = away * ndtr(-np.sqrt(np.maximum(square, 0.0)) / (2 * sigma))
        row, column = np.unravel_index(int(bound.argmax()), bound.shape)
        if bound[row, column] > best.distance:
            best = LowerBound(float(bound[row, column]), sets[:, start + row], sets[:, column])
    # Once more by a norm: a difference of squares loses digits where two scenes are alike.
    apart = np.linalg.norm(matrix[:, best.first].sum(axis=1) - matrix[:, best.second].sum(axis=1))
    away = np.abs(line[best.first] - line[best.second]).mean()
    return replace(best, distance=float(away * ndtr(-apart / (2 * sigma))))
