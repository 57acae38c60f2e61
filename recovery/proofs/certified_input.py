"""What the certified band can be asked: the same numbers, seen to fit each other."""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def checked(
    operator: ArrayLike,
    readings: ArrayLike,
    sigma: float,
    total: float | tuple[float, float],
    upper: ArrayLike,
    level: float,
) -> tuple[Floats, Floats, Floats, tuple[float, float]]:
    """Return the operator, the readings, the limit of each cell and the range of the total.

    Raises:
        ValueError: a number is not finite, a shape does not fit, or a range is empty.
    """
    matrix, target = np.asarray(operator, dtype=float), np.asarray(readings, dtype=float)
    if matrix.ndim != 2 or not matrix.size or target.shape != matrix.shape[:1]:
        raise ValueError(
            f"the operator has shape {matrix.shape} and the readings {target.shape} but "
            "(sensors, cells) and (sensors,) are needed: each sensor has one row and one "
            "reading. Leave silent sensors out of both."
        )
    if not (np.isfinite(matrix).all() and np.isfinite(target).all()):
        raise ValueError(
            "the operator or a reading is NaN or infinite but all must be finite: one bad "
            "number would spoil the whole band. Leave that sensor out of both."
        )
    limits = np.asarray(upper, dtype=float)
    if limits.shape not in ((), matrix.shape[1:]) or not (limits >= 0).all():
        raise ValueError(
            f"upper has shape {limits.shape} or a value below 0 but needs one number, or one a "
            "cell, of at least 0: it is the most heat there. Write 0 where no source can be."
        )
    limits = np.broadcast_to(limits, matrix.shape[1:])
    ends = np.atleast_1d(np.asarray(total, dtype=float))
    if ends.shape not in ((1,), (2,)):
        raise ValueError(
            f"the total heat has shape {ends.shape} but must be one number, or the least and the "
            "most: the band ranges over such heats. Write (1.0, 4.0) for one to four."
        )
    low, high = float(ends[0]), float(ends[-1])
    if not (0 < low <= high < math.inf and low <= limits.sum()):
        raise ValueError(
            f"the total heat is {low:g} to {high:g} in cells that hold {limits.sum():g} but must "
            "be positive, finite, the least first, and fit in: the band ranges over such heats. "
            "Correct the total, or the cells' upper limits."
        )
    if not (0 < sigma < math.inf and 0 < level < 1):
        raise ValueError(
            f"sigma is {sigma:g} and the level {level:g} but need to be positive and between 0 "
            "and 1: they say how far the truth may lie from the readings. Correct them."
        )
    return matrix, target, limits, (low, min(high, float(limits.sum())))
