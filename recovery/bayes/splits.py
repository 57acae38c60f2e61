"""Sums over all pairs, triples and quadruples of cells, split at the second cell.

Each returns the logarithm of the sum of exp(L) over its sets, and the chances (number, cells) of
the first, second, ... cell of a set drawn with these weights. With the second cell j held,

    L = [gain_i - cross_ij] + [gain_p - ...] - cross_ip,   i before j, and p after it:

one cell (triples) or a pair of cells (quadruples). Where no cross is large exp(-cross) is
computed once for all j, and what is left are products of a matrix and a vector. Where noise is
low crosses are large and exp(-cross) would vanish: but then few sets count, and the others are
passed over by bounds on what a pair can come to.
"""

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Crosses up to this keep every product of exponentials within range: what underflows is
# smaller than exp(-100) of another set.
MODERATE = 150.0
# A set this much less likely than the likeliest, as a logarithm, is left out.
_NEGLIGIBLE = 40.0


def singles(gain: Floats, cross: Floats) -> tuple[float, Floats]:
    """Return the sum's logarithm, and where the one source is."""
    highest = float(gain.max())
    chances = np.exp(gain - highest)
    return highest + math.log(chances.sum()), chances[None] / chances.sum()


def twos(gain: Floats, cross: Floats) -> tuple[float, Floats]:
    """Return the sum's logarithm, and where the first and the second of two are."""
    table = gain[:, None] + gain - cross
    table[np.tril_indices(len(gain))] = -math.inf
    highest = float(table.max())
    chances = np.exp(table - highest)
    total = float(chances.sum())
    return highest + math.log(total), np.stack([chances.sum(axis=1), chances.sum(axis=0)]) / total


def triples(gain: Floats, cross: Floats) -> tuple[float, Floats]:
    """Return the sum's logarithm, and where the first, second and third of three are."""
    cells = len(gain)
    moderate = float(np.abs(cross).max()) <= MODERATE
    table = np.exp(-cross) if moderate else cross
    reference = score(gain, cross, good_set(gain, cross, 3))
    scales = np.full(cells, -math.inf)
    parts = np.zeros((cells, 3, cells))
    for j in range(1, cells - 1):
        before = gain[:j] - cross[j, :j] + gain[j]
        after = gain[j + 1 :] - cross[j, j + 1 :]
        if moderate:
            found = _by_products(before, after, table[:j, j + 1 :])
        else:
            found = _by_table(before, after, table[:j, j + 1 :], reference)
        scales[j], parts[j, 0, :j], parts[j, 2, j + 1 :] = found
        parts[j, 1, j] = parts[j, 0].sum()
    return _together(scales, parts)


def quadruples(gain: Floats, cross: Floats) -> tuple[float, Floats]:
    """Return the sum's logarithm, and where the first to the fourth of four are."""
    if float(np.abs(cross).max()) <= MODERATE:
        return _quadruples_by_products(gain, cross)
    cells = len(gain)
    third, fourth = np.triu_indices(cells, 1)
    starts = np.searchsorted(third, np.arange(cells), side="right")
    pairs = gain[third] + gain[fourth] - cross[third, fourth]
    reference = score(gain, cross, good_set(gain, cross, 4))
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
        scales[j], parts[j, 0, :j], last = _by_table(before, after[worth], rest, reference)
        parts[j, 1, j] = parts[j, 0].sum()
        parts[j, 2] = np.bincount(k, last, cells)
        parts[j, 3] = np.bincount(m, last, cells)
    return _together(scales, parts)


def _quadruples_by_products(gain: Floats, cross: Floats) -> tuple[float, Floats]:
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
    return _together(scales, parts)


def score(gain: Floats, cross: Floats, chosen: list[int]) -> float:
    """Return L of one set."""
    inside = cross[np.ix_(chosen, chosen)]
    return float(gain[chosen].sum() - np.triu(inside, 1).sum())


def good_set(gain: Floats, cross: Floats, number: int) -> list[int]:
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


def _by_products(before: Floats, after: Floats, table: Floats) -> tuple[float, Floats, Floats]:
    """Return the scale's logarithm and the sums for each row and column, by two products."""
    top, side = float(before.max()), float(after.max())
    rows, columns = np.exp(before - top), np.exp(after - side)
    return top + side, rows * (table @ columns), columns * (rows @ table)


def _by_table(
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


def _together(scales: Floats, parts: Floats) -> tuple[float, Floats]:
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
