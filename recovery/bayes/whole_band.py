"""A band that holds the whole cumulative share at once, with the chance that it states.

A band whose every point holds with nine chances in ten lets more than one curve in ten out
somewhere; and where sources are few most points are certain, so that its points hold far more
often than that. Here the points' level is set so that whole curves hold as often as is said.
"""

import numpy as np
from numpy.typing import NDArray

from ..uncertainty import Band
from .enumerate import Exact, Scores
from .median import Shares
from .splits import MODERATE

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

# Curves that stand for all, from so many different places of their second source at the most.
_CURVES = 320
_STRATA = 32
_GOLDEN = (5**0.5 - 1) / 2
# Tails of a set this much less likely than one that is found at once, as a logarithm, are left
# out: among a hundred thousand they have a hundredth of a chance at the most.
_NEGLIGIBLE = 16.0


def shares_of(curves: Floats) -> Shares:
    """Return the posterior of the cumulative share that equally likely curves make.

    Args:
        curves: (curves, cells), each rising to 1.
    """
    values, which = np.unique(np.round(curves, 12), return_inverse=True)
    count, cells = curves.shape
    chances = np.zeros((len(values), cells))
    columns = np.broadcast_to(np.arange(cells), curves.shape)
    np.add.at(chances, (which.reshape(curves.shape), columns), 1 / count)
    return Shares(values, chances)


def whole_band(posterior: Shares, curves: Floats, level: float) -> Band:
    """Return the band that holds this share of the curves, or as near to it as can be.

    A curve's depth is the least chance, over cells and both sides, of a share as low or as high
    as its own. The band holds what is deeper than the rest.

    Args:
        posterior: of the share in each cell, by itself.
        curves: (curves, cells), equally likely ones of that posterior.
        level: the chance that the truth is within the band everywhere.

    Source: Besag, Green, Higdon and Mengersen 1995, Section 6.3, simultaneous credible regions
    from ranks.
    """
    lower = np.cumsum(posterior.chances, axis=0)
    upper = np.cumsum(posterior.chances[::-1], axis=0)[::-1]
    nearest = np.searchsorted(posterior.values, curves - 1e-9)
    columns = np.arange(curves.shape[1])
    tails = np.minimum(lower[nearest, columns], upper[nearest, columns])
    # A chance that is 1 but for rounding is as deep as can be.
    depths = tails.min(axis=1)
    least = np.sort(depths)[int((1 - level) * len(depths))]
    kept, fewer = np.mean(depths >= least * (1 - 1e-9)), np.mean(depths > least * (1 + 1e-9))
    depth = least * (1 - 1e-9) if kept - level <= level - fewer else least * (1 + 1e-9)
    low = posterior.values[np.argmax(lower > depth, axis=0)]
    high = posterior.values[len(lower) - 1 - np.argmax((upper > depth)[::-1], axis=0)]
    return Band(level, np.maximum.accumulate(low), np.maximum.accumulate(high))


def possible_curves(found: Scores, exact: Exact, open: NDArray[np.bool_] | None = None) -> Floats:
    """Return a few hundred cumulative shares, (curves, cells), that stand for a posterior.

    Sets are picked evenly: by number, then by where the second source is, then among all sets
    with that one.

    Args:
        found: what decided between sets.
        exact: the posterior that came of it; with one source or more.
        open: (cells,), where a source can be; None for everywhere.
    """
    kept = np.arange(len(found.gain)) if open is None else np.flatnonzero(open)
    gain, cross = found.gain[kept], found.cross[np.ix_(kept, kept)]
    numbers = exact.numbers.copy()
    numbers[0] = 0
    curves = []
    for number, count in zip(
        *np.unique(_evenly(numbers, _CURVES), return_counts=True), strict=True
    ):
        order = exact.orders[number]
        if number == 1:
            sets = _evenly(order[0], count)[:, None]
        else:
            seconds = _evenly(order[1, kept], -(-_STRATA * count // _CURVES))
            shares = zip(seconds, _split(count, len(seconds)), _begins(len(seconds)), strict=True)
            sets = np.vstack(
                [
                    kept[_with_second(gain, cross, int(second), int(number), share, begin)]
                    for second, share, begin in shares
                ]
            )
        heat = np.zeros((len(sets), len(found.gain)))
        heat[np.arange(len(sets))[:, None], sets] = 1 / number
        curves.append(np.minimum(np.cumsum(heat, axis=1), 1.0))
    return np.vstack(curves)


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
