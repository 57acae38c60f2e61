"""k-ary randomised response and optimised unary encoding over the cells of a grid."""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..simplex import project_to_total

Floats = NDArray[np.float64]


# Optimised unary encoding over the cells of a grid: one bit a cell, each turned by chance.
#
# The bit of the own cell stays 1 with probability p = 1/2, the bit of another becomes 1 with
# q = 1 / (e^epsilon + 1). The noise of a cell does not grow with the number of cells, as that of
# k-RR does, but an answer is as long as the grid, and again no cell knows its neighbours.
#
# Notion of privacy: local, pure epsilon. Neighbours: any two cells of one user. Worst-case
# log-ratio: epsilon.
#
# Source: Wang, Blocki, Li and Jha 2017, "Locally differentially private protocols for frequency
# estimation", Section 4.2; paper 003 leaves it out of its comparison.


def estimate_oue(counts: ArrayLike, reports: int, epsilon: float) -> Floats:
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
    return project_to_total(unbias(ones, float(reports), *oue_chances(epsilon)))


def oue_chances(epsilon: float) -> tuple[float, float]:
    """Return how likely the own cell's bit is 1, and how likely another's.

    >>> oue_chances(math.log(3))
    (0.5, 0.25)
    """
    if not 0 < epsilon < math.inf:
        raise ValueError(
            f"epsilon is {epsilon:g} but must be positive and finite: at 0 all cells are answered "
            "alike. Give the epsilon of one answer."
        )
    fade = math.exp(-epsilon)
    return 0.5, fade / (1 + fade)


def unbias(counts: Floats, reports: float, stays: float, errs: float) -> Floats:
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
    stays, errs = oue_chances(epsilon)
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


# k-ary randomised response over the cells of a grid: the true cell, or any other alike.
#
# A user answers the own cell with probability p = r / (r + n - 1) and each of the other n - 1
# cells with p / r, r = e^epsilon. It is the disk mechanism at reach 0, and its answers are counted
# as those are; where cells lie beside each other it does not care.
#
# Notion of privacy: local, pure epsilon. Neighbours: any two cells of one user. Worst-case
# log-ratio: ln r, which whole-number weights keep at or below epsilon.
#
# Source: Kairouz, Oh and Viswanath 2014, "Extremal mechanisms for local differential privacy",
# Section 4; paper 003 leaves it out of its comparison.


def estimate_krr(counts: ArrayLike, log_ratio: float) -> Floats:
    """Return each cell's share of the users, of the counts' shape; not negative, of total one.

    The unbiased shares (counts / users - q) / (p - q), projected onto the simplex.

    Args:
        counts: how many answered each cell, whole numbers; not all nought.
        log_ratio: ln r: epsilon, or ln(near / far) where the Round's weights are at hand.

    Raises:
        ValueError: counts that are negative or all nought, a log-ratio that is not positive.
    """
    answered = np.asarray(counts, np.float64)
    stays, errs = krr_chances(answered.size, log_ratio)
    return project_to_total(unbias(answered, float(answered.sum()), stays, errs))


def krr_chances(cells: int, log_ratio: float) -> tuple[float, float]:
    """Return how likely the true cell is answered, and how likely each other one.

    >>> krr_chances(3, math.log(2))
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
