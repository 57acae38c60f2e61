"""k-ary randomised response over the cells of a grid: the true cell, or any other alike.

A user answers the own cell with probability p = r / (r + n - 1) and each of the other n - 1
cells with p / r, r = e^epsilon. It is the disk mechanism at reach 0, and its answers are counted
as those are; where cells lie beside each other it does not care.

Notion of privacy: local, pure epsilon. Neighbours: any two cells of one user. Worst-case
log-ratio: ln r, which whole-number weights keep at or below epsilon.

Source: Kairouz, Oh and Viswanath 2014, "Extremal mechanisms for local differential privacy",
Section 4; paper 003 leaves it out of its comparison.
"""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .oue import unbiased
from .simplex import project

Floats = NDArray[np.float64]


def estimate(counts: ArrayLike, log_ratio: float) -> Floats:
    """Return each cell's share of the users, of the counts' shape; not negative, of total one.

    The unbiased shares (counts / users - q) / (p - q), projected onto the simplex.

    Args:
        counts: how many answered each cell, whole numbers; not all nought.
        log_ratio: ln r: epsilon, or ln(near / far) where the Round's weights are at hand.

    Raises:
        ValueError: counts that are negative or all nought, a log-ratio that is not positive.
    """
    answered = np.asarray(counts, np.float64)
    stays, errs = chances(answered.size, log_ratio)
    return project(unbiased(answered, float(answered.sum()), stays, errs))


def chances(cells: int, log_ratio: float) -> tuple[float, float]:
    """Return how likely the true cell is answered, and how likely each other one.

    >>> chances(3, math.log(2))
    (0.5, 0.25)
    """
    if not 0 < log_ratio < math.inf:
        raise ValueError(
            f"log_ratio is {log_ratio:g} but must be positive and finite: at 0 all cells are "
            "answered alike. Give the epsilon of one answer."
        )
    fade = math.exp(-log_ratio)
    stays = 1 / (1 + (cells - 1) * fade)
    return stays, stays * fade


def matrix(cells: int, log_ratio: float) -> Floats:
    """Return how likely each cell is answered from each, (answers, cells)."""
    stays, errs = chances(cells, log_ratio)
    return np.full((cells, cells), errs) + (stays - errs) * np.eye(cells)
