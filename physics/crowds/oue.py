"""What many users would answer under optimised unary encoding, by numpy: for experiments only.

Each user has one bit a cell, 1 in the own cell alone, and turns each bit by chance: the 1 stays
with probability 1/2, a 0 becomes 1 with probability 1 / (e^epsilon + 1). An answer is as long as
the grid has cells, where a disk answer is one number.

Notion of privacy: local, pure epsilon. Neighbours: any two cells of one user. Worst-case
log-ratio: epsilon, for two cells differ in two bits, (1/2)/q on one and (1-q)/(1/2) on the other.

Source: Wang, Blocki, Li and Jha 2017, "Locally differentially private protocols for frequency
estimation", Section 4.2.
"""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .disk import checked_cells, checked_histogram

Whole = NDArray[np.int64]


def report_many(
    cells: ArrayLike, count: int, epsilon: float, world: np.random.Generator
) -> NDArray[np.bool_]:
    """Return the bits that each user answers, (n, count).

    Args:
        cells: (n,) whole numbers, the flat cell of each user.
        count: how many cells the grid has.
        epsilon: of one answer; positive.
        world: the chance of a simulated world.
    """
    at = checked_cells(cells, count)
    bits = world.random((len(at), count)) < risen(epsilon)
    bits[np.arange(len(at)), at] = world.random(len(at)) < 0.5
    return bits


def count_many(histogram: ArrayLike, epsilon: float, world: np.random.Generator) -> Whole:
    """Return how many answers have a 1 in each cell, of the histogram's shape.

    Bits are turned one by one, so the counts of two cells are independent and binomial: this is
    the law of the summed `report_many` answers, without them.
    """
    users = checked_histogram(histogram, np.shape(histogram))
    others = int(users.sum()) - users
    return np.asarray(world.binomial(users, 0.5) + world.binomial(others, risen(epsilon)))


def risen(epsilon: float) -> float:
    """Return the probability that a bit of another cell is 1.

    Raises:
        ValueError: `epsilon` is not positive and finite.
    """
    if not 0 < epsilon < math.inf:
        raise ValueError(
            f"epsilon is {epsilon:g} but must be positive and finite: at 0 an answer tells "
            "nothing. Give the epsilon of one answer."
        )
    return 1 / (math.exp(epsilon) + 1) if epsilon < 700 else 0.0
