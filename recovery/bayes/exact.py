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

# Sums over all pairs, triples and quadruples of cells, split at the second cell.
#
# Each returns the logarithm of the sum of exp(L) over its sets, and the chances (number, cells) of
# the first, second, ... cell of a set drawn with these weights. With the second cell j held,
#
#     L = [gain_i - cross_ij] + [gain_p - ...] - cross_ip,   i before j, and p after it:
#
# one cell (triples) or a pair of cells (quadruples). Where no cross is large exp(-cross) is
# computed once for all j, and what is left are products of a matrix and a vector. Where noise is
# low crosses are large and exp(-cross) would vanish: but then few sets count, and the others are
# passed over by bounds on what a pair can come to.

Floats = NDArray[np.float64]

# Crosses up to this keep every product of exponentials within range: what underflows is
# smaller than exp(-100) of another set.
MODERATE = 150.0
# A set this much less likely than the likeliest, as a logarithm, is left out.
_NEGLIGIBLE = 40.0


def sum_singles(gain: Floats, cross: Floats) -> tuple[float, Floats]:
    """Return the sum's logarithm, and where the one source is."""
    highest = float(gain.max())
    chances = np.exp(gain - highest)
    return highest + math.log(chances.sum()), chances[None] / chances.sum()


def sum_pairs(gain: Floats, cross: Floats) -> tuple[float, Floats]:
    """Return the sum's logarithm, and where the first and the second of two are."""
    table = gain[:, None] + gain - cross
    table[np.tril_indices(len(gain))] = -math.inf
    highest = float(table.max())
    chances = np.exp(table - highest)
    total = float(chances.sum())
    return highest + math.log(total), np.stack([chances.sum(axis=1), chances.sum(axis=0)]) / total


def sum_triples(gain: Floats, cross: Floats) -> tuple[float, Floats]:
    """Return the sum's logarithm, and where the first, second and third of three are."""
    cells = len(gain)
    moderate = float(np.abs(cross).max()) <= MODERATE
    table = np.exp(-cross) if moderate else cross
    reference = score_set(gain, cross, find_good_set(gain, cross, 3))
    scales = np.full(cells, -math.inf)
    parts = np.zeros((cells, 3, cells))
    for j in range(1, cells - 1):
        before = gain[:j] - cross[j, :j] + gain[j]
        after = gain[j + 1 :] - cross[j, j + 1 :]
        if moderate:
            found = _sum_by_products(before, after, table[:j, j + 1 :])
        else:
            found = _sum_by_table(before, after, table[:j, j + 1 :], reference)
        scales[j], parts[j, 0, :j], parts[j, 2, j + 1 :] = found
        parts[j, 1, j] = parts[j, 0].sum()
    return _sum_parts(scales, parts)


def sum_quadruples(gain: Floats, cross: Floats) -> tuple[float, Floats]:
    """Return the sum's logarithm, and where the first to the fourth of four are."""
    if float(np.abs(cross).max()) <= MODERATE:
        return _sum_quadruples_by_products(gain, cross)
    cells = len(gain)
    third, fourth = np.triu_indices(cells, 1)
    starts = np.searchsorted(third, np.arange(cells), side="right")
    pairs = gain[third] + gain[fourth] - cross[third, fourth]
    reference = score_set(gain, cross, find_good_set(gain, cross, 4))
    scales = np.full(cells, -math.inf)
    parts = np.zeros((cells, 4, cells))
    for j in range(1, cells - 2):
        k, m = third[starts[j] :], fourth[starts[j] :]
        before = gain[:j] - cross[j, :j] + gain[j]
        after = pairs[starts[j] :] - cross[j, k] - cross[j, m]
        # gain_i - cross_ik - cross_im is at most the sum of these for k and for m.
        bound = (before[:, None] / 2 - cross[:j]).max(axis=0)
        worth = np.flatnonzero(after + bound[k] + bound[m] > reference - _NEGLIGIBLE)
        if not len(worth):
            continue
        k, m = k[worth], m[worth]
        rest = cross[:j, k] + cross[:j, m]
        scales[j], parts[j, 0, :j], last = _sum_by_table(before, after[worth], rest, reference)
        parts[j, 1, j] = parts[j, 0].sum()
        parts[j, 2] = np.bincount(k, last, cells)
        parts[j, 3] = np.bincount(m, last, cells)
    return _sum_parts(scales, parts)


def _sum_quadruples_by_products(gain: Floats, cross: Floats) -> tuple[float, Floats]:
    """Return the same where no cross is large, by products of matrices."""
    cells = len(gain)
    single = np.exp(-cross)
    pairs = gain[:, None] + gain - cross
    pairs[np.tril_indices(cells)] = -math.inf
    scales = np.full(cells, -math.inf)
    parts = np.zeros((cells, 4, cells))
    for j in range(1, cells - 2):
        rest = slice(j + 1, cells)
        before = gain[:j] - cross[j, :j] + gain[j]
        after = pairs[rest, rest] - cross[j, rest, None] - cross[j, rest]
        top, side = float(before.max()), float(after.max())
        rows, tails, table = np.exp(before - top), np.exp(after - side), single[:j, rest]
        scales[j] = top + side
        parts[j, 0, :j] = rows * ((table @ tails) * table).sum(axis=1)
        last = tails * (table.T @ (rows[:, None] * table))
        parts[j, 1, j] = parts[j, 0].sum()
        parts[j, 2, rest], parts[j, 3, rest] = last.sum(axis=1), last.sum(axis=0)
    return _sum_parts(scales, parts)


def score_set(gain: Floats, cross: Floats, chosen: list[int]) -> float:
    """Return L of one set."""
    inside = cross[np.ix_(chosen, chosen)]
    return float(gain[chosen].sum() - np.triu(inside, 1).sum())


def find_good_set(gain: Floats, cross: Floats, number: int) -> list[int]:
    """Return a set of so many cells that changing any one cell does not improve, in order."""
    chosen: list[int] = []
    left = gain.copy()
    for _ in range(number):
        free = left.copy()
        free[chosen] = -math.inf
        chosen.append(int(np.argmax(free)))
        left -= cross[chosen[-1]]
    for _ in range(50):
        before = list(chosen)
        for place in range(number):
            others = chosen[:place] + chosen[place + 1 :]
            free = gain - cross[others].sum(axis=0)
            free[others] = -math.inf
            chosen[place] = int(np.argmax(free))
        if chosen == before:
            break
    return sorted(chosen)


def _sum_by_products(before: Floats, after: Floats, table: Floats) -> tuple[float, Floats, Floats]:
    """Return the scale's logarithm and the sums for each row and column, by two products."""
    top, side = float(before.max()), float(after.max())
    rows, columns = np.exp(before - top), np.exp(after - side)
    return top + side, rows * (table @ columns), columns * (rows @ table)


def _sum_by_table(
    before: Floats, after: Floats, table: Floats, reference: float
) -> tuple[float, Floats, Floats]:
    """Return the same from the logarithm of every product, where the products have no range."""
    logs = before[:, None] + after - table
    highest = float(logs.max())
    if highest < reference - _NEGLIGIBLE:
        return -math.inf, np.zeros(len(before)), np.zeros(len(after))
    np.subtract(logs, highest, out=logs)
    found = np.exp(logs, out=logs)
    return highest, found.sum(axis=1), found.sum(axis=0)


def _sum_parts(scales: Floats, parts: Floats) -> tuple[float, Floats]:
    """Return the sum's logarithm and the chances, from sums that each have their own scale."""
    sizes = parts[:, 1].sum(axis=1)
    with np.errstate(divide="ignore"):
        logs = scales + np.log(sizes)
    highest = float(logs.max())
    # A part whose own sum is tiny has a scale far above the rest: its logarithms are added.
    shares = np.where(sizes > 0, np.exp(scales - highest), 0.0)
    orders = np.tensordot(shares, parts, axes=1)
    total = float(orders[0].sum())
    return highest + math.log(total), orders / total


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
        weighed = zip(self.numbers, self.orders, strict=True)
        return np.asarray(sum(chance * order.sum(axis=0) for chance, order in weighed))


def compute_scores(operator: Floats, readings: Floats, sigma: float, heat: float) -> Scores:
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


def count_sets(cells: int, fewest: int, most: int) -> int:
    """Return how many sets of so many cells there are.

    >>> count_sets(100, 4, 4)
    3921225
    """
    return sum(math.comb(cells, number) for number in range(fewest, most + 1))


def compute_exact_posterior(
    found: Scores, fewest: int, most: int, open: ArrayLike | None = None
) -> Exact:
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
    if not 0 <= fewest <= most <= MOST or count_sets(len(kept), fewest, most) > SETS_MAX:
        raise ValueError(
            f"{fewest} to {most} sources in {len(kept)} open cells were to be enumerated but at "
            f"most {MOST} sources and {SETS_MAX} sets are, and no more sources than cells: more "
            "take seconds, or cannot be. Sample the posterior, or join cells."
        )
    gain, cross = found.gain[kept], np.ascontiguousarray(found.cross[np.ix_(kept, kept)])
    weights = np.full(most + 1, -math.inf)
    orders = [np.zeros((number, cells)) for number in range(most + 1)]
    for number in range(fewest, most + 1):
        total, order = (_sum_none, sum_singles, sum_pairs, sum_triples, sum_quadruples)[number](
            gain, cross
        )
        orders[number][:, kept] = order
        weights[number] = total - math.log(math.comb(len(kept), number))
    weights -= math.log(most + 1 - fewest)
    highest = float(weights.max())
    numbers = np.exp(weights - highest)
    evidence = highest + math.log(float(numbers.sum()))
    return Exact(numbers / numbers.sum(), tuple(orders), evidence)


def _sum_none(gain: Floats, cross: Floats) -> tuple[float, Floats]:
    return 0.0, np.zeros((0, len(gain)))


# Every possible set of a few equally warm sources, with its chance, written out.
#
# What has no order along a line, as a plane, needs the sets themselves and not only their sums.

Whole = NDArray[np.int64]

LISTED_MAX = 300_000


@dataclass(frozen=True, slots=True, eq=False)
class Listed:
    """The posterior, set by set.

    Args:
        sets: (sets, most), the cells of each set in order; -1 where it has fewer sources.
        chances: (sets,), adding to one.
        log_evidence: logarithm of the readings' density over that without any source.
    """

    sets: Whole
    chances: Floats
    log_evidence: float

    @property
    def numbers(self) -> Floats:
        """The chance of each number of sources, from none upwards, (most + 1,)."""
        sizes = (self.sets >= 0).sum(axis=1)
        return np.asarray(np.bincount(sizes, self.chances, self.sets.shape[1] + 1), np.float64)

    def compute_presence(self, cells: int) -> Floats:
        """Return the chance that a source stands in the cell, (cells,)."""
        row, place = np.nonzero(self.sets >= 0)
        return np.asarray(np.bincount(self.sets[row, place], self.chances[row], cells), np.float64)


def list_sets(
    found: Scores, fewest: int, most: int, open: NDArray[np.bool_] | None = None
) -> Listed:
    """Return every set of fewest to most open cells with its chance.

    Every number is as likely as any other, and every set of that many open cells.

    Args:
        found: what decides between sets.
        fewest, most: sources.
        open: (cells,), where a source can be; None for everywhere.

    Raises:
        ValueError: there are too many sets to be written out, or fewer open cells than sources.
    """
    kept = np.arange(len(found.gain)) if open is None else np.flatnonzero(open)
    most = min(most, len(kept))
    if not 0 <= fewest <= most or count_sets(len(kept), fewest, most) > LISTED_MAX:
        raise ValueError(
            f"{fewest} to {most} sources in {len(kept)} open cells were to be listed but at most "
            f"{LISTED_MAX} sets are, and no more sources than cells: more take too long and too "
            "much memory. Sample the posterior, or join cells."
        )
    gain, cross = found.gain[kept], found.cross[np.ix_(kept, kept)]
    # The -1 that stands for no source picks the last of these, whatever it is, and is put back.
    names = np.append(kept, -1)
    sets, logs = [], []
    grown, likelihood = np.zeros((1, 0), np.int64), np.zeros(1)
    for number in range(most + 1):
        if number:
            grown, likelihood = _grow_sets(grown, likelihood, gain, cross)
        if number >= fewest:
            empty = np.full((len(grown), most - number), -1)
            sets.append(names[np.hstack([grown, empty])])
            logs.append(likelihood - math.log(len(grown)))
    weights = np.concatenate(logs) - math.log(most + 1 - fewest)
    highest = float(weights.max())
    chances = np.exp(weights - highest)
    total = float(chances.sum())
    return Listed(np.vstack(sets), chances / total, highest + math.log(total))


def _grow_sets(sets: Whole, logs: Floats, gain: Floats, cross: Floats) -> tuple[Whole, Floats]:
    """Return every set with one more cell, behind its last one, and its likelihood."""
    last = sets[:, -1] if sets.shape[1] else np.full(len(sets), -1)
    times = len(gain) - 1 - last
    row = np.repeat(np.arange(len(sets)), times)
    cell = np.arange(len(row)) - np.repeat(np.cumsum(times) - times, times) + last[row] + 1
    grown = logs[row] + gain[cell]
    for place in range(sets.shape[1]):
        grown -= cross[sets[row, place], cell]
    return np.column_stack([sets[row], cell]), grown
