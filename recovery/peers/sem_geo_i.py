"""Subset exponential mechanism under geo-indistinguishability: answers are sets of k cells.

    P(z | v)  proportional to  sum over x in z of exp(-exponent |v - x|)

There are C(n, k) sets: 25 200 for pairs on 15 x 15 cells and 3e9 for sets of five, which is why
paper 003 calls the mechanism infeasible on fine grids. None of it need be listed. With A(v, x) =
exp(-exponent |v - x|) / Z(v), the chance of a set is (sum over x in z of A(v, x)) / C(n-1, k-1):
it is linear in A, the binomial is the same for all, so that the likelihood of N answers needs the
N sets that came and nothing else. A step of expectation maximisation is O(N k + n^2).

Notion of privacy: geo-indistinguishability, not local privacy. Neighbours: any two cells of one
user, at distance d in cells. Worst-case log-ratio: at most 2 exponent d, twice what the exponent
says, for the sum Z(v) is smaller near the border; `strict_exponent` halves it. On the whole grid
`worst_log_ratio` gives the exact value; at equal local privacy it is far above the disk's.

Source: Wang, Nie, Wang, Xu, Yang and Huang 2017, "Local private ordinal data distribution
estimation", as paper 003 uses it in Section VII; the form of P is ours, for neither prints it.
"""

import math
from typing import NamedTuple

import numpy as np
import scipy  # its parts are loaded when they are used
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

_STEPS_MAX = 10_000


class Fit(NamedTuple):
    """A map, and how it was come by: `status` is "optimal" or says what stopped it."""

    mass: Floats  # (cells,), of total one
    log_likelihood: float  # of all answers, up to the constant ln C(n - 1, k - 1) of each
    steps: int
    status: str


def anchors(away: ArrayLike, exponent: float) -> Floats:
    """Return A, (cells, cells): how likely each cell is the anchor, from each; rows of total 1.

    Args:
        away: (cells, cells), distances in cells.
        exponent: in 1/cell; nought or more. At most epsilon' is wanted between neighbours at one
            cell: give epsilon', and half of it where that must hold at the border, too.

    >>> anchors([[0, 1], [1, 0]], math.log(3))
    array([[0.75, 0.25],
           [0.25, 0.75]])
    """
    if not 0 <= exponent < math.inf:
        raise ValueError(
            f"exponent is {exponent:g} a cell but must be nought or more and finite: far cells "
            "are the less likely ones. Give one that sem_calibration.exponent_for finds."
        )
    weights = np.exp(-exponent * np.asarray(away, np.float64))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def strict_exponent(epsilon_a_cell: float) -> float:
    """Return the exponent at which epsilon a cell really holds, border cells included."""
    return epsilon_a_cell / 2


def em(
    sets: ArrayLike, table: ArrayLike, *, gain: float = 1e-3, steps_max: int = _STEPS_MAX
) -> Fit:
    """Return the map under which the sets are likely, by expectation maximisation.

        g(u) = sum over x in z(u) of (f A)(x),   f <- f . A (sum over u of [x in z(u)] / g(u)) / N

    begun with the same mass everywhere, until a step gains less than `gain` in log-likelihood.
    Equal sets are folded first, so N is the number of different ones.

    Args:
        sets: (answers, k) whole numbers, the cells of each, all distinct.
        table: (cells, cells), A.
        gain: the log-likelihood, in nats over all answers, that a step must bring.

    Raises:
        ValueError: nobody answered, or sets that are not of k distinct cells of the grid.
    """
    anchor = np.asarray(table, np.float64)
    cells = len(anchor)
    different, times = _folded(sets, cells)
    answers = float(times.sum())
    mass = np.full(cells, 1 / cells)
    # Z, (different sets, cells), 1 where a set holds a cell: k ones a row and nothing else.
    holds = _held(different, cells)
    before = -math.inf
    for step in range(1, steps_max + 1):
        chance = holds @ (mass @ anchor)
        now = float(times @ np.log(chance))
        if now - before < gain:
            return Fit(mass, now, step - 1, "optimal")
        before = now
        mass = mass * (anchor @ (holds.T @ (times / chance))) / answers
        mass /= mass.sum()
    return Fit(mass, before, steps_max, f"stopped after {steps_max} steps, still gaining")


def worst_log_ratio(table: ArrayLike, size: int) -> float:
    """Return the most that one set moves the odds between two cells, exactly, in nats.

    For two cells v, w the set that is best for ratio r holds the k cells with the largest
    A(v, x) - r A(w, x); r is raised to what that set gives until it stands still.

    Infinite where chances are too small for floats, which is beyond any promise.

    Raises:
        ValueError: sets of no cell, or of more than there are.

    Source: Dinkelbach 1967, "On nonlinear fractional programming".
    """
    anchor = np.asarray(table, np.float64)
    cells = len(anchor)
    if not 1 <= size <= cells:
        raise ValueError(
            f"sets are of {size} cells but must have 1 to {cells}: no more are on the grid. Give "
            "a size that sem_calibration.size_for finds."
        )
    if anchor.min() <= 0:
        return math.inf
    worst = 1.0
    for own in anchor:
        ratio = np.full(cells, worst)
        while True:
            gains = own - ratio[:, None] * anchor
            best = np.argpartition(gains, cells - size, axis=1)[:, cells - size :]
            above = own[best].sum(axis=1)
            raised = above / np.take_along_axis(anchor, best, axis=1).sum(axis=1)
            if (raised <= ratio * (1 + 1e-12)).all():
                break
            ratio = np.maximum(raised, ratio)
        worst = max(worst, float(ratio.max()))
    return math.log(worst)


def _held(sets: Whole, cells: int) -> scipy.sparse.csr_array:
    many, size = sets.shape
    starts = np.arange(0, many * size + 1, size, dtype=np.int32)
    return scipy.sparse.csr_array(
        (np.ones(many * size), sets.ravel().astype(np.int32), starts), shape=(many, cells)
    )


def _folded(sets: ArrayLike, cells: int) -> tuple[Whole, Floats]:
    """Return the different sets and how often each came."""
    array = np.asarray(sets)
    fits = array.ndim == 2 and array.size and np.issubdtype(array.dtype, np.integer)
    rising = np.sort(array.astype(np.int64), axis=1) if fits else np.zeros((1, 1), np.int64)
    if (
        not fits
        or not 0 <= rising.min() <= rising.max() < cells
        or (np.diff(rising, axis=1) <= 0).any()
    ):
        raise ValueError(
            f"the sets are {array.dtype} of shape {array.shape} but must be (answers, k), at "
            f"least one, k different whole numbers from 0 to {cells - 1} in each: they are cells "
            "of the grid. Take what physics.crowds.sem_geo_i answers."
        )
    if cells ** rising.shape[1] < 2**63:  # one number a set sorts faster than a row
        places = cells ** np.arange(rising.shape[1], dtype=np.int64)
        _, first, times = np.unique(rising @ places, return_index=True, return_counts=True)
        return rising[first], times.astype(np.float64)
    different, times = np.unique(rising, axis=0, return_counts=True)
    return different, times.astype(np.float64)
