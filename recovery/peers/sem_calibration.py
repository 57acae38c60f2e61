"""Which exponent and set size give SEM-Geo-I the local privacy of another mechanism.

The paper takes k = n / e^epsilon cells a set and the exponent at which local privacy is equal. On
15 x 15 cells at epsilon 3.5, k = 7, there is none. All cells of a set but one are drawn from the
whole grid, so that even at an infinite exponent, where the true cell is always among them, an
observer takes one of the other k - 1 for it with probability 1 - 1/k, and local privacy is

    least(k) = (1 - 1/k) times the mean distance of two different cells

which is 6.7 cells for k = 7, where the disk leaves 5.2. `size_for` takes the largest k that has
a solution: 2.
"""

import math

import numpy as np
import scipy  # its parts are loaded when they are used
from numpy.typing import ArrayLike

from .sem_geo_i import anchors, worst_log_ratio
from .sem_privacy import local_privacy

_EXPONENT_MIN, _EXPONENT_MAX = 1e-4, 60.0


def exponent_for(away: ArrayLike, target: float, size: int, draws: int = 3_000) -> float | None:
    """Return the exponent at which local privacy is the target, or None where there is none.

    Args:
        away: (cells, cells), distances in cells.
        target: local privacy, in the same unit.
        size: k, the cells of a set.
        draws: of the Monte Carlo, the same ones at every exponent.

    By Brent's bisection of the logarithm, for local privacy falls as the exponent
    grows, but for single steps of a sampled one.
    """
    if not least(away, size) < target:
        return None

    def above(log_exponent: float) -> float:
        return local_privacy(away, math.exp(log_exponent), size, draws) - target

    low, high = math.log(_EXPONENT_MIN), math.log(_EXPONENT_MAX)
    if above(low) < 0 or above(high) > 0:
        return None
    return math.exp(float(scipy.optimize.brentq(above, low, high, xtol=1e-9, rtol=1e-9)))


def exponent_at_worst(away: ArrayLike, epsilon: float, size: int) -> float:
    """Return the exponent at which the worst log-ratio is epsilon, as for the disk.

    The fair comparison: here SEM-Geo-I is locally private, and promises what the disk does.

    Args:
        away: (cells, cells), distances in cells.
        epsilon: of one answer; positive.
        size: k, the cells of a set, fewer than there are cells.

    Raises:
        ValueError: no exponent has it: sets of all cells say nothing at any.
    """

    def above(log_exponent: float) -> float:
        return worst_log_ratio(anchors(away, math.exp(log_exponent)), size) - epsilon

    low, high = math.log(_EXPONENT_MIN), 0.0
    while (excess := above(high)) < 0 or math.isinf(excess):
        high += 1.0
        if excess > 0 or high > math.log(_EXPONENT_MAX):
            raise ValueError(
                f"sets of {size} cells have no worst log-ratio of {epsilon:g} at any exponent up "
                f"to {_EXPONENT_MAX:g} but should reach it: they say too little. Take smaller "
                "sets."
            )
    return math.exp(float(scipy.optimize.brentq(above, low, high, xtol=1e-6, rtol=1e-6)))


def size_for(
    away: ArrayLike, target: float, epsilon: float, draws: int = 3_000
) -> tuple[int, float]:
    """Return the largest set size up to n / e^epsilon that has a solution, and its exponent.

    Args:
        away: (cells, cells), distances in cells.
        target: local privacy, in the same unit; above nought, below that of saying nothing.
        epsilon: of the mechanism that SEM-Geo-I is compared with.

    Raises:
        ValueError: no size has a solution: the target is at or above what saying nothing gives.
    """
    for size in range(wished_size(len(np.asarray(away)), epsilon), 0, -1):
        found = exponent_for(away, target, size, draws)
        if found is not None:
            return size, found
    raise ValueError(
        f"local privacy {target:g} cannot be had by any exponent but must lie between 0 and that "
        "of an answer that tells nothing: nearer to it than the draws can tell. Compare at a "
        "larger epsilon."
    )


def wished_size(cells: int, epsilon: float) -> int:
    """Return the paper's set size, n / e^epsilon to the nearest whole number, at least 1.

    >>> wished_size(225, 3.5), wished_size(225, 5), wished_size(25, 5)
    (7, 2, 1)
    """
    return max(1, round(cells * math.exp(-epsilon)))


def least(away: ArrayLike, size: int) -> float:
    """Return the local privacy at an infinite exponent, below which no exponent comes."""
    apart = np.asarray(away, np.float64)
    cells = len(apart)
    if cells < 2:
        return 0.0
    return (1 - 1 / size) * float(apart.sum()) / (cells * (cells - 1))
