"""The exact posterior of a few equally warm sources: every set of cells is weighed.

With unit noise and sources of one heat h the logarithm of a set's likelihood, over that of no
source at all, is a sum over its cells and over its pairs of cells:

    L(S) = sum over i of gain_i - sum over i < j of cross_ij
    cross = h**2 A'A,  gain_i = h (A'y)_i - cross_ii / 2

so that sets which share their second cell share nearly all of the work.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .splits import quadruples, singles, triples, twos

Floats = NDArray[np.float64]

MOST = 4
SETS_MAX = 5_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """What decides between sets of cells: L(S) = sum of gains - sum of crosses over pairs."""

    gain: Floats  # (cells,)
    cross: Floats  # (cells, cells), symmetric


@dataclass(frozen=True, slots=True, eq=False)
class Exact:
    """The posterior of where equal sources stand, and of how many they are.

    Args:
        numbers: (most + 1,), the chance of each number of sources, from none upwards.
        orders: one for each number from none upwards, (number, cells): the chance that the
            r-th source, counted along the cells, stands in the cell, if they are so many.
        log_evidence: logarithm of the readings' density over that without any source, averaged
            over the prior.
    """

    numbers: Floats
    orders: tuple[Floats, ...]
    log_evidence: float

    @property
    def present(self) -> Floats:
        """The chance that a source stands in the cell, (cells,)."""
        chances = [chance * order.sum(axis=0) for chance, order in self._weighed()]
        return np.asarray(np.sum(chances, axis=0))

    @property
    def mean_measure(self) -> Floats:
        """The share of all heat that the cell has on average, (cells,); of one source or more."""
        some = 1 - float(self.numbers[0])
        shares = [
            chance / some * order.mean(axis=0)
            for chance, order in self._weighed()
            if len(order) and some > 0
        ]
        return np.asarray(np.sum(shares, axis=0)) if shares else np.zeros(self.orders[0].shape[1])

    def _weighed(self) -> list[tuple[float, Floats]]:
        return [(float(c), order) for c, order in zip(self.numbers, self.orders, strict=True)]


def scores(operator: Floats, readings: Floats, sigma: float, heat: float) -> Scores:
    """Return what decides between sets of sources.

    Args:
        operator: A, (sensors, cells), in kelvin per unit of heat.
        readings: y, (sensors,), in kelvin.
        sigma: deviation of the noise, in kelvin.
        heat: of every source.

    Raises:
        ValueError: the shapes do not fit, a number is not finite, or sigma or heat not positive.
    """
    if operator.ndim != 2 or readings.shape != operator.shape[:1] or not operator.size:
        raise ValueError(
            f"the operator has shape {operator.shape} and the readings {readings.shape} but they "
            "must be (sensors, cells) and (sensors,): each row is one reading. Transpose or cut."
        )
    finite = np.isfinite(operator).all() and np.isfinite(readings).all()
    if not (finite and 0 < sigma < math.inf and 0 < heat < math.inf):
        raise ValueError(
            f"sigma is {sigma}, a source's heat {heat}, and all entries are finite: {finite}; but "
            "noise and heat must be positive and every entry a number, or no set has a chance. "
            "Leave silent sensors out and state the noise."
        )
    warmed = operator * (heat / sigma)
    cross = warmed.T @ warmed
    return Scores(warmed.T @ (readings / sigma) - np.diag(cross) / 2, cross)


def sets_of(cells: int, fewest: int, most: int) -> int:
    """Return how many sets of so many cells there are.

    >>> sets_of(100, 4, 4)
    3921225
    """
    return sum(math.comb(cells, number) for number in range(fewest, most + 1))


def exact_posterior(found: Scores, fewest: int, most: int, open: ArrayLike | None = None) -> Exact:
    """Return the exact posterior of fewest to most equal sources in different cells.

    Every number is as likely as any other, and every set of that many open cells. Sets that are
    exp(-40) times as likely as the likeliest or less are left out, which moves no chance by
    more than 1e-10.

    Args:
        found: what decides between sets.
        fewest, most: sources; at most 4.
        open: (cells,), where a source can be; None for everywhere.

    Raises:
        ValueError: too many sources or sets to be enumerated, or fewer open cells than sources.

    Source: Bayes' rule over all sets, as in the brute force that it replaces; the sums are
    split at the second cell.
    """
    cells = len(found.gain)
    allowed = np.ones(cells, bool) if open is None else np.asarray(open, bool).ravel()
    if allowed.shape != (cells,):
        raise ValueError(
            f"open has {allowed.size} cells but the operator {cells}: each cell is open or it is "
            "not. Give one truth value a cell."
        )
    kept = np.flatnonzero(allowed)
    most = min(most, len(kept))
    if not 0 <= fewest <= most <= MOST or sets_of(len(kept), fewest, most) > SETS_MAX:
        raise ValueError(
            f"{fewest} to {most} sources in {len(kept)} open cells were to be enumerated but at "
            f"most {MOST} sources and {SETS_MAX} sets are, and no more sources than cells: more "
            "take seconds, or cannot be. Sample the posterior, or join cells."
        )
    gain, cross = found.gain[kept], np.ascontiguousarray(found.cross[np.ix_(kept, kept)])
    weights = np.full(most + 1, -math.inf)
    orders = [np.zeros((number, cells)) for number in range(most + 1)]
    for number in range(fewest, most + 1):
        total, order = (_none, singles, twos, triples, quadruples)[number](gain, cross)
        orders[number][:, kept] = order
        weights[number] = total - math.log(math.comb(len(kept), number))
    weights -= math.log(most + 1 - fewest)
    highest = float(weights.max())
    numbers = np.exp(weights - highest)
    evidence = highest + math.log(float(numbers.sum()))
    return Exact(numbers / numbers.sum(), tuple(orders), evidence)


def _none(gain: Floats, cross: Floats) -> tuple[float, Floats]:
    return 0.0, np.zeros((0, len(gain)))
