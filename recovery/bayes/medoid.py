"""The set of sources that is nearest on average to those that are possible, in a plane.

In a plane no formula gives the map of least expected earth mover's distance. Of the possible
sets the one nearest on average, their medoid, is taken; then every source goes to the middle of
those that it is matched with, as long as that brings the set nearer.
"""

from dataclasses import dataclass, replace
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

# Less mass than this is rounding: masses of a pair add to one.
_NONE = 1e-12
_FEW = 4  # equal sources, of which all 24 matchings are tried
# The most steps of one plan, of which there are a few dozen.
_STEPS = 100_000


def find_plans(supply: Floats, demand: Floats, cost: Floats) -> tuple[Floats, Floats]:
    """Return how much goes from each source to each, (pairs, sources, others), and its cost.

    The cheapest in all, for many pairs of small sets.

    Args:
        supply: (pairs, sources), not negative; a row adds to one.
        demand: (pairs, others), likewise.
        cost: (pairs, sources, others), of moving one unit.

    Of a few equal sources each every matching is tried, for all pairs at once.

    Source: the network simplex of POT, without `ot.emd`, which takes ten times as long to look
        at what it is given as the solver to solve it.
    """
    if supply.shape[1] == demand.shape[1] <= _FEW and max(np.ptp(supply), np.ptp(demand)) < _NONE:
        sources = np.arange(cost.shape[1])
        tried = np.array(list(permutations(sources)))
        totals = np.stack([cost[:, sources, to].sum(axis=1) for to in tried])
        best, flow = totals.argmin(axis=0), np.zeros_like(cost)
        pairs = np.arange(len(cost))
        flow[pairs[:, None], sources, tried[best]] = supply
        return flow, totals[best, pairs] / len(sources)
    # Loaded here alone: it takes half a second, and along a line nothing needs it.
    from ot.lp.emd_wrap import emd_c

    rows = [np.ascontiguousarray(part, np.float64) for part in (supply, demand, cost)]
    solved = [emd_c(*one, _STEPS, 1) for one in zip(*rows, strict=True)]
    if not all(found[-1] == 1 for found in solved):
        raise ArithmeticError(
            "the network simplex gave up on sets of a few sources but must end: a plan that is "
            "not the best is no distance. Report it with the readings."
        )
    return np.array([found[0] for found in solved]), np.array([found[1] for found in solved])


# So many sets stand for all of them, and so many are tried as the nearest: where they are of a
# few equal sources, and where they are not.
_SAMPLE, _TRIED = 400, 100
_SAMPLE_HARD, _TRIED_HARD = 200, 12
# Sets of more sources than these stand with the warmest of them, and all heat at the nearest.
_SLOTS = 8
# A map stands for its distance in so many parts of the room along each axis.
_PARTS = 5


@dataclass(frozen=True, slots=True, eq=False)
class Medoid:
    """One set of sources, and how far it is from the possible ones on average.

    Args:
        cells: (sources,), where they stand.
        shares: (sources,), of all heat.
        expected_error: mean earth mover's distance along the axes, in the unit of the places.
    """

    cells: Whole
    shares: Floats
    expected_error: float


@dataclass(frozen=True, slots=True, eq=False)
class _Sets:
    cells: Whole  # (sets, most); any cell where there is no source
    shares: Floats  # (sets, most); 0 where there is none
    weights: Floats  # (sets,), adding to one

    def at(self, which: Whole) -> "_Sets":
        return _Sets(self.cells[which], self.shares[which], self.weights[which])


def find_medoid(
    sets: Whole, weights: Floats, places: Floats, powers: Floats | None = None
) -> Medoid:
    """Return the set of least expected distance, among the possible ones and near to them.

    Both the sets that stand for all and those that are tried are picked evenly by their chance,
    so the expected distance is that over a few hundred sets. Sets without a source are left out.

    Args:
        sets: (sets, most), the cells of each possible set; -1 where it has fewer sources.
        weights: (sets,), their chances, not negative; of any sum.
        places: (cells, 1) or (cells, 2), where the cells are.
        powers: (sets, most), heat of each source; None where all are equal.

    Raises:
        ValueError: no set with a source has a chance, or the shapes do not fit.

    Source: Kaufman and Rousseeuw 1990, Chapter 2, for medoids; the improvement is that of
    Cuturi and Doucet 2014, Algorithm 2, for the cityblock distance and one share a source.
    """
    possible = _select_possible(sets, weights, powers, places)
    easy = possible.cells.shape[1] <= _FEW and np.ptp(possible.shares) == 0
    sample = _pick_evenly(possible, _SAMPLE if easy else _SAMPLE_HARD)
    count = _TRIED if easy else _TRIED_HARD
    likeliest = possible.at(np.argsort(-possible.weights, kind="stable")[:count])
    candidates = _join_sets(_pick_evenly(possible, count), likeliest)
    errors = _compute_expected(candidates, sample, places)
    best = candidates.at(np.argsort(errors, kind="stable")[:1])
    error = float(errors.min())
    while True:
        moved = _move(best, sample, places)
        found = float(_compute_expected(moved, sample, places)[0])
        if not found < error * (1 - 1e-9):
            break
        best, error = moved, found
    there = best.shares[0] > 0
    return Medoid(best.cells[0, there], best.shares[0, there], error)


def measure_distances(share: Floats, sets: Whole, places: Floats, powers: Floats) -> Floats:
    """Return how far each set of sources is from a map, earth mover's distance along the axes.

    Args:
        share: (cells,), of the map, not all 0; in many cells it stands in a few for all of them.
        sets, powers: (sets, slots), as for `find_medoid`, each with a source.
    """
    cells, shares = _gather_in_few_cells(np.flatnonzero(share > 0), share / share.sum(), places)
    some = _select_possible(sets, np.ones(len(sets)), powers, places)
    return find_plans(*_make_pairs(_Sets(cells[None], shares[None], np.ones(1)), some, places))[1]


def _gather_in_few_cells(where: Whole, share: Floats, places: Floats) -> tuple[Whole, Floats]:
    """Return the cells in which a map's heat is: of many one for each part of the room."""
    if len(where) <= _PARTS**2:
        return where, share[where]
    spots = places[where]
    low, high = spots.min(axis=0), spots.max(axis=0)
    parts = np.floor((spots - low) / np.maximum(high - low, 1e-12) * (_PARTS - 1e-9))
    _, part = np.unique(parts, axis=0, return_inverse=True)
    part = part.ravel()
    shares = np.bincount(part, share[where])
    middles = np.column_stack(
        [np.bincount(part, share[where] * axis) / shares for axis in spots.T]
    )
    apart = np.abs(spots - middles[part]).sum(axis=1)
    first = np.lexsort((apart, part))
    nearest = first[np.unique(part[first], return_index=True)[1]]
    return where[nearest], np.asarray(shares, np.float64)


def _keep_strongest(
    cells: Whole, shares: Floats, places: Floats, most: int
) -> tuple[Whole, Floats]:
    """Return sets of so many sources at most: the heat of the weaker ones at the nearest kept."""
    if cells.shape[1] <= most:
        return cells, shares
    order = np.argsort(-shares, axis=1, kind="stable")
    cells = np.take_along_axis(cells, order, axis=1)
    shares = np.take_along_axis(shares, order, axis=1)
    kept, rest = cells[:, :most], cells[:, most:]
    apart = np.abs(places[rest][:, :, None] - places[kept][:, None, :]).sum(axis=-1)
    nearest = np.where(shares[:, None, :most] > 0, apart, np.inf).argmin(axis=2)
    summed = shares[:, :most].copy()
    np.add.at(summed, (np.arange(len(cells))[:, None], nearest), shares[:, most:])
    return kept, summed


def _select_possible(sets: Whole, weights: Floats, powers: Floats | None, places: Floats) -> _Sets:
    """Return the sets that have a source and a chance."""
    fitting = sets.ndim == 2 and weights.shape == sets.shape[:1]
    there = sets >= 0
    heats = there.astype(float) if powers is None else np.where(there, powers, 0.0)
    totals = heats.sum(axis=-1)
    kept = (weights > 0) & (totals > 0) if fitting else np.zeros(0, bool)
    if not kept.any():
        raise ValueError(
            f"the sets have shape {sets.shape}, the weights {weights.shape}, and no set has a "
            "source and a chance, but (sets, most) cells, one weight a set and one such set are "
            "needed: nothing is near to nothing. Look at where the sets come from."
        )
    shares = heats[kept] / totals[kept, None]
    cells, shares = _keep_strongest(np.where(there, sets, 0)[kept], shares, places, _SLOTS)
    return _Sets(cells, shares, weights[kept] / weights[kept].sum())


def _pick_evenly(possible: _Sets, count: int) -> _Sets:
    """Return so many sets that stand for all: each as often as its chance has it."""
    if len(possible.weights) <= count:
        return possible
    upto = np.cumsum(possible.weights)
    picked = np.searchsorted(upto, (np.arange(count) + 0.5) / count * upto[-1])
    which, times = np.unique(picked, return_counts=True)
    return replace(possible.at(which), weights=times / count)


def _join_sets(some: _Sets, others: _Sets) -> _Sets:
    return _Sets(
        np.vstack([some.cells, others.cells]),
        np.vstack([some.shares, others.shares]),
        np.append(some.weights, others.weights),
    )


def _compute_expected(candidates: _Sets, sample: _Sets, places: Floats) -> Floats:
    """Return the mean distance of each candidate from the sample, (candidates,)."""
    found = find_plans(*_make_pairs(candidates, sample, places))[1]
    return np.asarray(found.reshape(len(candidates.cells), -1) @ sample.weights)


def _make_pairs(some: _Sets, others: _Sets, places: Floats) -> tuple[Floats, Floats, Floats]:
    """Return supply, demand and cost of every one of these with every one of those."""
    here, there = places[some.cells], places[others.cells]
    cost = np.abs(here[:, None, :, None, :] - there[None, :, None, :, :]).sum(axis=-1)
    pairs, most = len(here) * len(there), some.cells.shape[1]
    supply = np.repeat(some.shares, len(there), axis=0)
    demand = np.tile(others.shares, (len(here), 1))
    return supply, demand, cost.reshape(pairs, most, -1)


def _move(one: _Sets, sample: _Sets, places: Floats) -> _Sets:
    """Return the set with each source in the middle of what it is matched with."""
    moved = find_plans(*_make_pairs(one, sample, places))[0] * sample.weights[:, None, None]
    used = np.unique(sample.cells[sample.shares > 0])
    cells = one.cells.copy()
    for source in np.flatnonzero(one.shares[0] > 0):
        mass = _sum_in_cells(sample.cells, moved[:, source], len(places))[used]
        middle = [
            _find_weighted_median(places[used, axis], mass) for axis in range(places.shape[1])
        ]
        cells[0, source] = used[np.abs(places[used] - middle).sum(axis=1).argmin()]
    return replace(one, cells=cells)


def _sum_in_cells(cells: Whole, mass: Floats, count: int) -> Floats:
    return np.asarray(np.bincount(cells.ravel(), mass.ravel(), count), np.float64)


def _find_weighted_median(places: Floats, mass: Floats) -> float:
    """Return the weighted median."""
    order = np.argsort(places, kind="stable")
    upto = np.cumsum(mass[order])
    return float(places[order[np.searchsorted(upto, upto[-1] / 2)]])
