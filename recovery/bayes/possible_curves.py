"""A few hundred curves that stand for an exact posterior along a line, evenly picked.

Whether a whole curve stays within a band no sum over sets by themselves tells; it takes curves.
"""

import numpy as np
from numpy.typing import NDArray

from .enumerate import Exact, Scores
from .splits import MODERATE

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

# Curves that stand for all, from so many different places of their second source at the most.
CURVES = 320
_STRATA = 32
_GOLDEN = (5**0.5 - 1) / 2
# Tails of a set this much less likely than one that is found at once, as a logarithm, are left
# out: among a hundred thousand they have a hundredth of a chance at the most.
_NEGLIGIBLE = 16.0


def possible_curves(
    found: Scores,
    exact: Exact,
    open: NDArray[np.bool_] | None = None,
    curves: int = CURVES,
    begin: float = 0.5,
) -> Floats:
    """Return cumulative shares, (curves, cells), that stand for a posterior as likely ones each.

    Sets are picked evenly: by number, then by where the second source is, then among all sets
    with that one.

    Args:
        found: what decided between sets.
        exact: the posterior that came of it; with one source or more.
        open: (cells,), where a source can be; None for everywhere.
        curves: how many.
        begin: where in its first step the picking starts, 0 to 1: another for each of several
            posteriors that few curves each stand for, or none would show its tails.
    """
    kept = np.arange(len(found.gain)) if open is None else np.flatnonzero(open)
    gain, cross = found.gain[kept], found.cross[np.ix_(kept, kept)]
    numbers = exact.numbers.copy()
    numbers[0] = 0
    # Where a number begins, a second source does not: each goes on with later digits.
    further = (8 * begin + 0.5) % 1
    made = []
    for number, count in zip(
        *np.unique(_evenly(numbers, curves, begin), return_counts=True), strict=True
    ):
        order = exact.orders[number]
        if number == 1:
            sets = _evenly(order[0], count, further)[:, None]
        else:
            seconds = _evenly(order[1, kept], -(-_STRATA * count // CURVES), further)
            begins = (_begins(len(seconds)) + 64 * begin) % 1
            shares = zip(seconds, _split(count, len(seconds)), begins, strict=True)
            sets = np.vstack(
                [
                    kept[_with_second(gain, cross, int(second), int(number), share, start)]
                    for second, share, start in shares
                ]
            )
        heat = np.zeros((len(sets), len(found.gain)))
        heat[np.arange(len(sets))[:, None], sets] = 1 / number
        made.append(np.minimum(np.cumsum(heat, axis=1), 1.0))
    return np.vstack(made)


def _with_second(
    gain: Floats, cross: Floats, j: int, number: int, count: int, begin: float
) -> Whole:
    """Return sets of so many cells, (count, number), whose second is j, picked evenly."""
    before = gain[:j] - cross[j, :j]
    after = np.arange(j + 1, len(gain))
    if number == 2:
        picked = _evenly(np.exp(before - before.max()), count, begin)
        return np.column_stack([picked, np.full(count, j)])
    if number == 4 and float(np.abs(cross).max()) <= MODERATE:
        return _quadruples_with_second(gain, cross, j, count, begin)
    worth = gain[after] - cross[j, after]
    if number == 3:
        tails, logs = after[:, None], worth
    else:
        here, there = np.triu_indices(len(after), 1)
        tails = np.column_stack([after[here], after[there]])
        logs = worth[here] + worth[there] - cross[tails[:, 0], tails[:, 1]]
    # What is before j leaves each of a tail's cells at most half of this.
    most = (before[:, None] / len(tails.T) - cross[:j]).max(axis=0)
    bounds = logs + most[tails].sum(axis=1)
    best = tails[np.argmax(bounds)]
    reached = logs[np.argmax(bounds)] + (before - cross[:j, best].sum(axis=1)).max()
    likely = bounds > reached - _NEGLIGIBLE
    tails = tails[likely]
    table = before[:, None] + logs[likely]
    for tail in tails.T:
        table -= cross[:j, tail]
    picked = _evenly(np.exp(table - table.max()).ravel(), count, begin)
    first, last = np.divmod(picked, len(tails))
    return np.column_stack([first, np.full(count, j), tails[last]])


def _quadruples_with_second(
    gain: Floats, cross: Floats, j: int, count: int, begin: float
) -> Whole:
    """Return the same for four where no cross is large: the first, then the pair behind it."""
    behind = len(gain) - j - 1
    worth = gain[j + 1 :] - cross[j, j + 1 :]
    logs = worth[:, None] + worth - cross[j + 1 :, j + 1 :]
    logs[np.tril_indices(behind)] = -np.inf
    pairs = np.exp(logs - logs.max())
    before, table = gain[:j] - cross[j, :j], np.exp(-cross[:j, j + 1 :])
    rows = np.exp(before - before.max()) * ((table @ pairs) * table).sum(axis=1)
    first = _evenly(rows, count, begin)
    near = table[first]
    upto = np.cumsum((near[:, :, None] * pairs * near[:, None, :]).reshape(count, -1), axis=1)
    wanted = (begin + _begins(count)) % 1 * upto[:, -1]
    third, fourth = np.divmod((upto <= wanted[:, None]).sum(axis=1), behind)
    return np.column_stack([first, np.full(count, j), third + j + 1, fourth + j + 1])


def _evenly(chances: Floats, count: int, begin: float = 0.5) -> Whole:
    """Return so many places, each as often as its chance has it, in order."""
    upto = np.cumsum(chances)
    return np.searchsorted(upto, (np.arange(count) + begin) / count * upto[-1])


def _begins(count: int) -> Floats:
    """Return where in its first step each picking starts, (count,): or none would reach tails."""
    return np.asarray(np.arange(1, count + 1) * _GOLDEN % 1, np.float64)


def _split(count: int, parts: int) -> list[int]:
    """Return parts as equal as can be that add to the count."""
    return [int(part) for part in np.diff(np.arange(parts + 1) * count // parts)]
