"""Optimised unary encoding over the cells of a grid: one bit a cell, each turned by chance.

The bit of the own cell stays 1 with probability p = 1/2, the bit of another becomes 1 with
q = 1 / (e^epsilon + 1). The noise of a cell does not grow with the number of cells, as that of
k-RR does, but an answer is as long as the grid, and again no cell knows its neighbours.

Notion of privacy: local, pure epsilon. Neighbours: any two cells of one user. Worst-case
log-ratio: epsilon.

Source: Wang, Blocki, Li and Jha 2017, "Locally differentially private protocols for frequency
estimation", Section 4.2; paper 003 leaves it out of its comparison.
"""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .simplex import project

Floats = NDArray[np.float64]


def estimate(counts: ArrayLike, reports: int, epsilon: float) -> Floats:
    """Return each cell's share of the users, of the counts' shape; not negative, of total one.

    Args:
        counts: how many answers have a 1 in each cell.
        reports: how many answered; more than nought.
        epsilon: of one answer; positive.

    Raises:
        ValueError: more ones than answers, none at all, an epsilon that is not positive.
    """
    ones = np.asarray(counts, np.float64)
    if ones.size and ones.max() > reports:
        raise ValueError(
            f"{ones.max():.0f} answers have a 1 in one cell but only {reports} came: a device "
            "may count once. Give the number of all answers."
        )
    return project(unbiased(ones, float(reports), *chances(epsilon)))


def chances(epsilon: float) -> tuple[float, float]:
    """Return how likely the own cell's bit is 1, and how likely another's.

    >>> chances(math.log(3))
    (0.5, 0.25)
    """
    if not 0 < epsilon < math.inf:
        raise ValueError(
            f"epsilon is {epsilon:g} but must be positive and finite: at 0 all cells are answered "
            "alike. Give the epsilon of one answer."
        )
    fade = math.exp(-epsilon)
    return 0.5, fade / (1 + fade)


def unbiased(counts: Floats, reports: float, stays: float, errs: float) -> Floats:
    """Return the shares whose expectation is the truth, some of them negative.

        (counts / reports - errs) / (stays - errs)

    Raises:
        ValueError: nobody answered, or a count is negative or not finite.
    """
    if not reports > 0 or not np.isfinite(counts).all() or counts.min() < 0:
        raise ValueError(
            f"{reports:g} answers came, with counts from {counts.min():g}; there must be one at "
            "least and no count below nought, or no share can be told. Ask again."
        )
    return np.asarray((counts / reports - errs) / (stays - errs))


def local_privacy(distances: ArrayLike, epsilon: float) -> float:
    """Return how far from the truth a guess by the answer's odds is on average, exactly.

    An answer is a string of n bits, but only which of them are 1 matters to the odds: the
    posterior is the larger value on the ones, the smaller on the noughts. Every set of one size
    is as likely as another of the same size that holds as many of two given cells, so the sum
    over 2^n strings is one over sizes.

    Args:
        distances: (cells, cells), from each cell to each.
        epsilon: of one answer; positive.
    """
    away = np.asarray(distances, np.float64)
    cells = len(away)
    pairs = float(away.sum())  # ordered pairs of distinct cells
    if cells < 2:
        return 0.0
    stays, errs = chances(epsilon)
    odds = stays * (1 - errs) / (errs * (1 - stays))  # of a cell whose bit is 1, against 0
    total = 0.0
    for ones in range(cells + 1):
        # How likely a given string is, had the true cell bit 0; times odds, had it bit 1.
        chance = math.exp(
            math.log(1 - stays)
            + ones * math.log(errs)
            + (cells - 1 - ones) * math.log1p(-errs)
            + math.lgamma(cells + 1)
            - math.lgamma(ones + 1)
            - math.lgamma(cells - ones + 1)
        )
        weight = ones * odds + cells - ones
        both = ones * (ones - 1) / (cells * (cells - 1))
        none = (cells - ones) * (cells - ones - 1) / (cells * (cells - 1))
        mixed = 1 - both - none
        total += chance * (both * odds**2 + mixed * odds + none) / weight
    return total * pairs / cells
