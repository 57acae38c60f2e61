"""Along a line: the nearest map on average, curves that stand for all, and a band around them."""

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..maps.heatmap import Band
from .exact import MODERATE, Exact, Scores

# The map that is nearest on average, along a line: the median of the cumulative share of heat.
#
# Along a line the earth mover's distance of two maps is the area between their cumulative shares.
# So the map whose expected distance is least has, cell by cell, the median of the posterior's
# cumulative shares; it rises from cell to cell, since they all do.

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Shares:
    """What share of the heat lies in a cell and those before it, as the posterior has it.

    Args:
        values: (values,), the shares there can be, rising from 0 to 1.
        chances: (values, cells), of each of them in each cell.
    """

    values: Floats
    chances: Floats


def compute_share_posterior(exact: Exact) -> Shares:
    """Return the posterior of the cumulative share, if there is one source or more.

    The share is c / k when c of k sources stand in the cell or before it, and c is at least r
    where the r-th source does.

    Raises:
        ValueError: it is certain that there is no source.
    """
    some = 1 - float(exact.numbers[0])
    if not some > 0:
        raise ValueError(
            "the posterior has no source but at least one is needed: nothing has no shares. "
            "Allow one source or more."
        )
    tops = [number for number, chance in enumerate(exact.numbers) if number and chance > 0]
    levels = np.unique([c / k for k in tops for c in range(k + 1)])
    chances = np.zeros((len(levels), exact.orders[0].shape[1]))
    for k in tops:
        reached = np.cumsum(exact.orders[k], axis=1)
        exactly = -np.diff(reached, axis=0, prepend=1.0, append=0.0)
        places = np.searchsorted(levels, np.arange(k + 1) / k)
        chances[places] += exact.numbers[k] / some * np.maximum(exactly, 0)
    return Shares(levels, chances / chances.sum(axis=0))


def compute_quantile(posterior: Shares, level: float) -> Floats:
    """Return the least share that is not exceeded with at least this chance, (cells,)."""
    upto = np.cumsum(posterior.chances, axis=0)
    first = np.argmax(upto >= min(level, 1.0) - 1e-9, axis=0)
    found = posterior.values[first]
    # Rounding alone could let it fall, and all heat is in the last cell or before.
    found[-1] = 1.0
    return np.maximum.accumulate(found)


def compute_median(posterior: Shares) -> Floats:
    """Return the cumulative share of the map that is nearest on average, (cells,).

    Source: the least expected distance of a number is at its median; Gilbert and McMillan 2017,
    Section 4.1, for the distance along a line.
    """
    return compute_quantile(posterior, 0.5)


def compute_expected_distance(posterior: Shares, cumulative: Floats, places: Floats) -> float:
    """Return the posterior's mean of the earth mover's distance from a map to the truth.

    Args:
        posterior: what the readings leave possible.
        cumulative: (cells,), the map's share in each cell and those before.
        places: (cells,), rising, in any unit.
    """
    apart = np.abs(posterior.values[:, None] - cumulative)
    return float((posterior.chances * apart).sum(axis=0)[:-1] @ np.diff(places))


# A few hundred curves that stand for an exact posterior along a line, evenly picked.
#
# Whether a whole curve stays within a band no sum over sets by themselves tells; it takes curves.

Whole = NDArray[np.int64]

# Curves that stand for all, from so many different places of their second source at the most.
CURVES = 320
_STRATA = 32
_GOLDEN = (5**0.5 - 1) / 2
# Tails of a set this much less likely than one that is found at once, as a logarithm, are left
# out: among a hundred thousand they have a hundredth of a chance at the most.
_NEGLIGIBLE = 16.0


def draw_curves(
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
        *np.unique(_pick_evenly(numbers, curves, begin), return_counts=True), strict=True
    ):
        order = exact.orders[number]
        if number == 1:
            sets = _pick_evenly(order[0], count, further)[:, None]
        else:
            seconds = _pick_evenly(order[1, kept], -(-_STRATA * count // CURVES), further)
            begins = (_make_begins(len(seconds)) + 64 * begin) % 1
            shares = zip(seconds, _split(count, len(seconds)), begins, strict=True)
            sets = np.vstack(
                [
                    kept[_pick_with_second(gain, cross, int(second), int(number), share, start)]
                    for second, share, start in shares
                ]
            )
        heat = np.zeros((len(sets), len(found.gain)))
        heat[np.arange(len(sets))[:, None], sets] = 1 / number
        made.append(np.minimum(np.cumsum(heat, axis=1), 1.0))
    return np.vstack(made)


def _pick_with_second(
    gain: Floats, cross: Floats, j: int, number: int, count: int, begin: float
) -> Whole:
    """Return sets of so many cells, (count, number), whose second is j, picked evenly."""
    before = gain[:j] - cross[j, :j]
    after = np.arange(j + 1, len(gain))
    if number == 2:
        picked = _pick_evenly(np.exp(before - before.max()), count, begin)
        return np.column_stack([picked, np.full(count, j)])
    if number == 4 and float(np.abs(cross).max()) <= MODERATE:
        return _pick_quadruples(gain, cross, j, count, begin)
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
    picked = _pick_evenly(np.exp(table - table.max()).ravel(), count, begin)
    first, last = np.divmod(picked, len(tails))
    return np.column_stack([first, np.full(count, j), tails[last]])


def _pick_quadruples(gain: Floats, cross: Floats, j: int, count: int, begin: float) -> Whole:
    """Return the same for four where no cross is large: the first, then the pair behind it."""
    behind = len(gain) - j - 1
    worth = gain[j + 1 :] - cross[j, j + 1 :]
    logs = worth[:, None] + worth - cross[j + 1 :, j + 1 :]
    logs[np.tril_indices(behind)] = -np.inf
    pairs = np.exp(logs - logs.max())
    before, table = gain[:j] - cross[j, :j], np.exp(-cross[:j, j + 1 :])
    rows = np.exp(before - before.max()) * ((table @ pairs) * table).sum(axis=1)
    first = _pick_evenly(rows, count, begin)
    near = table[first]
    upto = np.cumsum((near[:, :, None] * pairs * near[:, None, :]).reshape(count, -1), axis=1)
    wanted = (begin + _make_begins(count)) % 1 * upto[:, -1]
    third, fourth = np.divmod((upto <= wanted[:, None]).sum(axis=1), behind)
    return np.column_stack([first, np.full(count, j), third + j + 1, fourth + j + 1])


def _pick_evenly(chances: Floats, count: int, begin: float = 0.5) -> Whole:
    """Return so many places, each as often as its chance has it, in order."""
    upto = np.cumsum(chances)
    return np.searchsorted(upto, (np.arange(count) + begin) / count * upto[-1])


def _make_begins(count: int) -> Floats:
    """Return where in its first step each picking starts, (count,): or none would reach tails."""
    return np.asarray(np.arange(1, count + 1) * _GOLDEN % 1, np.float64)


def _split(count: int, parts: int) -> list[int]:
    """Return parts as equal as can be that add to the count."""
    return [int(part) for part in np.diff(np.arange(parts + 1) * count // parts)]


# A band that holds the whole cumulative share at once, with the chance that it states.
#
# A band whose every point holds with nine chances in ten lets more than one curve in ten out
# somewhere; and where sources are few most points are certain, so that its points hold far more
# often than that. Here the points' level is set so that whole curves hold as often as is said.


def find_band(posterior: Shares, curves: Floats, level: float) -> Band:
    """Return the band that holds this share of the curves, or as near to it as can be.

    A curve's depth is the least chance, over cells and both sides, of a share as low or as high
    as its own. The band holds what is deeper than the rest. Where few curves are possible the
    nearest share of them may be well above the level, or below it.

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
    depth = _find_shallowest(tails.min(axis=1), level) * (1 - 1e-9)
    low = posterior.values[np.argmax(lower > depth, axis=0)]
    high = posterior.values[len(lower) - 1 - np.argmax((upper > depth)[::-1], axis=0)]
    return Band(level, np.maximum.accumulate(low), np.maximum.accumulate(high))


def find_band_of_draws(curves: Floats, level: float) -> Band:
    """Return the same where equally likely curves are all that there is.

    A draw counts itself among those as low or as high as it, and the truth is none of the
    draws: so each is held against all others, and a copy of itself is no other. Where few
    worlds fit and each is drawn many times, the band is as wide as so few can tell.

    Args:
        curves: (curves, cells), each rising to 1.
        level: the chance that the truth is within the band everywhere.

    Source: as `find_band`; for the one draw more, Vovk, Gammerman and Shafer 2005, Section 2.2.
    """
    count = len(curves)
    # + 0.0, for -0.0 is 0.0 but has other bytes, by which copies are counted.
    curves = np.round(curves, 12) + 0.0
    along = np.ascontiguousarray(curves.T)
    seen = [curve.tobytes() for curve in np.ascontiguousarray(curves)]
    times = Counter(seen)
    copies = np.array([times[one] for one in seen])
    # Curves of one family come in an order, which this sort makes use of.
    order = np.argsort(along, axis=1, kind="stable")
    ranked = np.take_along_axis(along, order, axis=1)
    places = np.arange(count, dtype=np.int32)
    begins, ends = np.ones((2, *ranked.shape), dtype=bool)
    begins[:, 1:] = ends[:, :-1] = ranked[:, 1:] > ranked[:, :-1]
    first = np.maximum.accumulate(np.where(begins, places, 0), axis=1)
    last = np.minimum.accumulate(np.where(ends, places, count)[:, ::-1], axis=1)[:, ::-1]
    tails = np.empty(along.shape, dtype=np.int32)
    np.put_along_axis(tails, order, np.minimum(last + 1, count - first), axis=1)
    depth = max(int(_find_shallowest(tails.min(axis=0) - copies, level)), 1)
    return Band(level, ranked[:, depth - 1], ranked[:, count - depth])


def _find_shallowest(depths: Floats, level: float) -> float:
    """Return the depth from which on there is this share of the curves, or the nearest to it."""
    ranked = np.sort(depths)
    least = ranked[int((1 - level) * len(depths))]
    # Depths that are the same but for rounding are the same.
    deeper = ranked[ranked > least * (1 + 1e-9)]
    kept, fewer = np.mean(depths >= least * (1 - 1e-9)), len(deeper) / len(depths)
    nearer = kept - level <= level - fewer or not len(deeper)
    return float(least if nearer else deeper[0])
