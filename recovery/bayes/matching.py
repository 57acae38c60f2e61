"""The cheapest plans between many pairs of small sets of sources, all at once.

A chain's or an enumeration's sets have a handful of sources each, and there are many thousands
of pairs of them: so the pairs are one axis of every array, and a step is taken for all of them.
"""

from itertools import permutations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

# Less mass than this is rounding: masses of a pair add to one.
_NONE = 1e-12
# Up to so many equal sources every matching is tried: 24 of them.
TRIED = 4


def plans(supply: Floats, demand: Floats, cost: Floats) -> Floats:
    """Return how much goes from each source to each, (pairs, sources, others), cheapest in all.

    Args:
        supply: (pairs, sources), not negative; a row adds to one.
        demand: (pairs, others), likewise.
        cost: (pairs, sources, others), of moving one unit.

    Source: Ahuja, Magnanti and Orlin 1993, Section 9.7, successive shortest paths; the paths by
    Bellman and Ford.
    """
    flow = np.zeros_like(cost)
    if _equal(supply, demand) and supply.shape[1] <= TRIED:
        _, chosen = _cheapest_matching(cost)
        pairs, sources = np.indices(chosen.shape)
        flow[pairs, sources, chosen] = supply
        return flow
    left, wanted = supply.copy(), demand.copy()
    at = np.arange(len(cost))
    while len(at := at[(left[at] > _NONE).any(axis=1) & (wanted[at] > _NONE).any(axis=1)]):
        _augment(at, left, wanted, cost, flow)
    return flow


def distances(supply: Floats, demand: Floats, cost: Floats) -> Floats:
    """Return what the cheapest plans cost, (pairs,)."""
    if _equal(supply, demand) and supply.shape[1] <= TRIED:
        return _cheapest_matching(cost)[0] / supply.shape[1]
    return np.asarray((plans(supply, demand, cost) * cost).sum(axis=(1, 2)))


def _equal(supply: Floats, demand: Floats) -> bool:
    """Say whether all sources of all pairs have the same share."""
    same = supply.shape[1] == demand.shape[1]
    return bool(same and np.ptp(supply) < _NONE and np.ptp(demand) < _NONE)


def _cheapest_matching(cost: Floats) -> tuple[Floats, Whole]:
    """Return the least total of matching one to one, and with whom each source is matched."""
    sources = np.arange(cost.shape[1])
    tried = np.array(list(permutations(sources)))
    totals = np.stack([cost[:, sources, to].sum(axis=1) for to in tried])
    best = totals.argmin(axis=0)
    return totals[best, np.arange(len(cost))], tried[best]


def _augment(at: Whole, left: Floats, wanted: Floats, cost: Floats, flow: Floats) -> None:
    """Send what fits along a cheapest path of each pair, which may call earlier flow back."""
    prices, sent = cost[at], flow[at]
    backwards = np.where(sent > _NONE, -prices, np.inf)
    here = np.where(left[at] > _NONE, 0.0, np.inf)
    there = np.full(wanted[at].shape, np.inf)
    # By whom each was reached; a source by none at a path's start. Only what is truly nearer
    # changes them, or two could name each other.
    by, came = np.zeros(there.shape, np.int64), np.full(here.shape, -1)
    while True:
        reached = here[:, :, None] + prices
        nearer = reached.min(axis=1) < there - _NONE
        by = np.where(nearer, reached.argmin(axis=1), by)
        there = np.where(nearer, reached.min(axis=1), there)
        called = there[:, None, :] + backwards
        nearer = called.min(axis=2) < here - _NONE
        if not nearer.any():
            break
        came = np.where(nearer, called.argmin(axis=2), came)
        here = np.where(nearer, called.min(axis=2), here)
    rows = np.arange(len(at))
    end = np.where(wanted[at] > _NONE, there, np.inf).argmin(axis=1)
    # Walked twice: first for what fits, then to send it.
    fits = wanted[at, end]
    for last in (False, True):
        j, alive = end, rows
        while len(alive):
            i = by[alive, j]
            back = came[alive, i]
            start = back < 0
            if last:
                sent[alive, i, j] += fits[alive]
                on = alive[~start]
                sent[on, i[~start], back[~start]] -= fits[on]
                left[at[alive[start]], i[start]] -= fits[alive[start]]
            else:
                room = np.where(start, left[at[alive], i], sent[alive, i, back])
                fits[alive] = np.minimum(fits[alive], room)
            alive, j = alive[~start], back[~start]
    wanted[at, end] -= fits
    flow[at] = sent
