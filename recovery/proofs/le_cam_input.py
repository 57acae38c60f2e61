"""What a lower bound can be asked: numbers that fit each other, and scenes that exist."""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

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
