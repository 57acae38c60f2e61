"""Subset exponential mechanism under geo-indistinguishability: answers are sets of k cells.

    P(z | v)  proportional to  sum over x in z of exp(-exponent |v - x|)

There are C(n, k) sets: 25 200 for pairs on 15 x 15 cells and 3e9 for sets of five, which is why
paper 003 calls the mechanism infeasible on fine grids. None of it need be listed. With A(v, x) =
exp(-exponent |v - x|) / Z(v), the chance of a set is (sum over x in z of A(v, x)) / C(n-1, k-1):
it is linear in A, the binomial is the same for all, so that the likelihood of N answers needs the
N sets that came and nothing else. A step of expectation maximisation is O(N k + n^2).

Notion of privacy: geo-indistinguishability, not local privacy. Neighbours: any two cells of one
user, at distance d in cells. Worst-case log-ratio: at most 2 exponent d, twice what the exponent
says, for the sum Z(v) is smaller near the border; half of it holds there. On the whole grid
`worst_log_ratio` gives the exact value; at equal local privacy it is far above the disk's.

Source: Wang, Nie, Wang, Xu, Yang and Huang 2017, "Local private ordinal data distribution
estimation", as paper 003 uses it in Section VII; the form of P is ours, for neither prints it.
"""

import math
from functools import cache
from itertools import combinations
from typing import NamedTuple

import numpy as np
import scipy  # its parts are loaded when they are used
from numpy.typing import ArrayLike, NDArray

from ..sequence import uniforms

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
            "are the less likely ones. Give one that find_exponent finds."
        )
    weights = np.exp(-exponent * np.asarray(away, np.float64))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def run_em(
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
    different, times = _fold(sets, cells)
    answers = float(times.sum())
    mass = np.full(cells, 1 / cells)
    # Z, (different sets, cells), 1 where a set holds a cell: k ones a row and nothing else.
    holds = _find_held(different, cells)
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
            "a size that find_set_size finds."
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


def _find_held(sets: Whole, cells: int) -> scipy.sparse.csr_array:
    many, size = sets.shape
    starts = np.arange(0, many * size + 1, size, dtype=np.int32)
    return scipy.sparse.csr_array(
        (np.ones(many * size), sets.ravel().astype(np.int32), starts), shape=(many, cells)
    )


def _fold(sets: ArrayLike, cells: int) -> tuple[Whole, Floats]:
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
            "of the grid. Take what physics.crowds.peers answers."
        )
    if cells ** rising.shape[1] < 2**63:  # one number a set sorts faster than a row
        places = cells ** np.arange(rising.shape[1], dtype=np.int64)
        _, first, times = np.unique(rising @ places, return_index=True, return_counts=True)
        return rising[first], times.astype(np.float64)
    different, times = np.unique(rising, axis=0, return_counts=True)
    return different, times.astype(np.float64)


# How far from the truth somebody guesses who sees an answer of SEM-Geo-I.
#
# The sets that can be answered are C(n, k): where they are few all of them are summed, else
# answers are drawn along one fixed sequence.

# The stream of the one fixed sequence: equal arguments give equal answers on every machine.
_STREAM = 0x5E3
# Pairs on 15 x 15 cells.
_SETS_MAX = math.comb(225, 2)


def local_privacy(away: ArrayLike, exponent: float, size: int, draws: int = 3_000) -> float:
    """Return the local privacy of SEM-Geo-I in the unit of the distances.

    Over all sets where they are no more than those of pairs on 15 x 15 cells, else sampled.

    Args:
        away: (cells, cells), distances in cells.
        exponent: in 1/cell.
        size: k, the cells of a set.
        draws: how many answers are tried where not all are.
    """
    few = math.comb(len(np.asarray(away)), size) <= _SETS_MAX
    return (
        sum_local_privacy(away, exponent, size)
        if few
        else sample_privacy(away, exponent, size, draws)
    )


def sum_local_privacy(away: ArrayLike, exponent: float, size: int) -> float:
    """Return the local privacy of SEM-Geo-I, summed over all sets of the size."""
    apart = np.asarray(away, np.float64)
    table = anchors(apart, exponent)
    chance = _compute_chances(table, _list_all_sets(len(table), size))
    guess, answered = _compute_odds(chance)
    errors = np.einsum("oi,oi->o", guess @ apart, guess)
    return float(errors @ answered / answered.sum())


def sample_privacy(away: ArrayLike, exponent: float, size: int, draws: int = 3_000) -> float:
    """Return the local privacy of SEM-Geo-I by Monte Carlo.

    Users are spread over the cells alike, answers are drawn, and of each the guess's mean error
    is summed over both the true cell and the guess, which leaves only the spread between
    answers: at 3000 draws a standard error of some 0.03 cells on 15 x 15. The draws walk one
    fixed sequence, so that it is a smooth function of the exponent to within single steps.
    """
    apart = np.asarray(away, np.float64)
    table = anchors(apart, exponent)
    guess, _ = _compute_odds(_compute_chances(table, _draw_answers(table, size, draws)))
    return float(np.einsum("oi,oi->o", guess @ apart, guess).mean())


def _compute_chances(table: Floats, sets: NDArray[np.int64]) -> Floats:
    """Return the chance of each set from each cell, (sets, cells), all by one constant."""
    chance = np.zeros((len(sets), len(table)))
    for place in range(sets.shape[1]):
        chance += table.T[sets[:, place]]
    return chance


def _compute_odds(chance: Floats) -> tuple[Floats, Floats]:
    """Return the odds of each cell by each set, and how often each set is answered."""
    answered = chance.sum(axis=1)
    return chance / answered[:, None], answered


@cache
def _list_all_sets(cells: int, size: int) -> NDArray[np.int64]:
    return np.array(list(combinations(range(cells), size)), np.int64)


def _draw_answers(table: Floats, size: int, draws: int) -> NDArray[np.int64]:
    """Return the sets that users answer who are spread over all cells alike, (draws, size)."""
    cells = len(table)
    chances = uniforms(draws * (size + 1), _STREAM).reshape(size + 1, draws)
    at = (chances[0] * cells).astype(np.int64)
    rising = np.cumsum(table, axis=1)[at]
    anchor = np.minimum((rising < chances[1][:, None] * rising[:, -1:]).sum(axis=1), cells - 1)
    sets = np.empty((draws, size), np.int64)
    sets[:, 0] = anchor
    # Floyd's way to draw k - 1 of the n - 1 others, as physics.crowds.peers does.
    for place in range(1, size):
        bound = cells - size + place - 1
        other = (chances[place + 1] * (bound + 1)).astype(np.int64)
        taken = (sets[:, 1:place] == other[:, None]).any(axis=1)
        sets[:, place] = np.where(taken, bound, other)
    sets[:, 1:] = (sets[:, 1:] + anchor[:, None] + 1) % cells
    return sets


# Which exponent and set size give SEM-Geo-I the local privacy of another mechanism.
#
# The paper takes k = n / e^epsilon cells a set and the exponent at which local privacy is equal.
# On 15 x 15 cells at epsilon 3.5, k = 7, there is none. All cells of a set but one are drawn from
# the whole grid, so that even at an infinite exponent, where the true cell is always among them,
# an observer takes one of the other k - 1 for it with probability 1 - 1/k, and local privacy is
#
#     least(k) = (1 - 1/k) times the mean distance of two different cells
#
# which is 6.7 cells for k = 7, where the disk leaves 5.2. `find_set_size` takes the largest k
# that has a solution: 2.

_EXPONENT_MIN, _EXPONENT_MAX = 1e-4, 60.0


def find_exponent(away: ArrayLike, target: float, size: int, draws: int = 3_000) -> float | None:
    """Return the exponent at which local privacy is the target, or None where there is none.

    Args:
        away: (cells, cells), distances in cells.
        target: local privacy, in the same unit.
        size: k, the cells of a set.
        draws: of the Monte Carlo, the same ones at every exponent.

    By Brent's bisection of the logarithm, for local privacy falls as the exponent
    grows, but for single steps of a sampled one.
    """
    if not compute_least_privacy(away, size) < target:
        return None

    def above(log_exponent: float) -> float:
        return local_privacy(away, math.exp(log_exponent), size, draws) - target

    low, high = math.log(_EXPONENT_MIN), math.log(_EXPONENT_MAX)
    if above(low) < 0 or above(high) > 0:
        return None
    return math.exp(float(scipy.optimize.brentq(above, low, high, xtol=1e-9, rtol=1e-9)))


def find_set_size(
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
    for size in range(find_paper_set_size(len(np.asarray(away)), epsilon), 0, -1):
        found = find_exponent(away, target, size, draws)
        if found is not None:
            return size, found
    raise ValueError(
        f"local privacy {target:g} cannot be had by any exponent but must lie between 0 and that "
        "of an answer that tells nothing: nearer to it than the draws can tell. Compare at a "
        "larger epsilon."
    )


def find_paper_set_size(cells: int, epsilon: float) -> int:
    """Return the paper's set size, n / e^epsilon to the nearest whole number, at least 1.

    >>> find_paper_set_size(225, 3.5), find_paper_set_size(225, 5), find_paper_set_size(25, 5)
    (7, 2, 1)
    """
    return max(1, round(cells * math.exp(-epsilon)))


def compute_least_privacy(away: ArrayLike, size: int) -> float:
    """Return the local privacy at an infinite exponent, below which no exponent comes."""
    apart = np.asarray(away, np.float64)
    cells = len(apart)
    if cells < 2:
        return 0.0
    return (1 - 1 / size) * float(apart.sum()) / (cells * (cells - 1))
