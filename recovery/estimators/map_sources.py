"""The likeliest scene of all: maximum a posteriori over sets of sources.

    maximise over sets S and powers w   -||A_S w - y||**2 / (2 sigma**2) + log prior(S, w)

With equal powers the best set is found exactly where that takes a second at most, which along
a hundred cells is up to four sources and in 400 cells three; beyond by exchanging any two
sources for any others until nothing is gained. With a range of powers they are fitted within
it, and any two sources exchanged for any others while the rest keep theirs. Numbers of sources
are weighed by their prior and, for powers, by Laplace's approximation of what fits besides.

Source: Cox and Hinkley 1974, section 11.7; Land and Doig 1960 for branch and bound.

Limits: the likeliest scene is not the nearest one on average. In much noise, with three sources
or more, it is off by half as much again as the posterior's median; in little noise both agree.
Along a line and in a plane alike.

Differs from the source:
1. Where it is not known whether powers are equal they are taken to lie within the range.
"""

from itertools import combinations
from math import comb, log

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import lsq_linear

from .record import Estimate, Seen, lows
from .small import Small, estimated, small

# The best set of so many cells, where each cell gains and each two of them cost.

Floats = NDArray[np.float64]
Set = tuple[int, ...]

# With more cells, pairs are not exchanged: each exchange looks at all pairs of cells.
_EXCHANGED_MAX = 1000
# Pairs of cells that the exact search looks at, at most; some tens of them in a nanosecond.
_PAIRS_MAX = 60_000_000


def affordable(cells: int, number: int) -> bool:
    """Say whether `exact` takes a second at most, however poorly it can leave anything out."""
    return comb(cells, max(number - 2, 0)) * cells**2 / 4 <= _PAIRS_MAX


def worth(gain: Floats, cross: Floats, chosen: Set) -> float:
    """Return the sum of the gains of a set, less the cost of every two of it."""
    cells = list(chosen)
    return float(gain[cells].sum() - np.triu(cross[np.ix_(cells, cells)], 1).sum())


def exact(gain: Floats, cross: Floats, number: int) -> Set:
    """Return the best set, by branch and bound.

        maximise  sum over i in S of gain_i - sum over i < j in S of cross_ij

    Args:
        gain: (cells,). cross: (cells, cells), symmetric.
        number: cells of the set, from 1 to all of them.

    A branch is left out when its cells and the best of the others, each costing the others
    the least that any two cost, are not worth as much as the set that exchanges found.
    """
    best = exchanged(gain, cross, number)
    value = worth(gain, cross, best)
    least = float(cross[~np.eye(len(cross), dtype=bool)].min()) if len(cross) > 1 else 0.0
    # Taken off every cost, and its sum over pairs put back: then no cost is negative.
    offset = comb(number, 2) * least
    found = _descend(gain, cross - least, number, value + offset)
    return tuple(sorted(best if found is None else found[1]))


def _descend(gain: Floats, cross: Floats, number: int, beaten: float) -> tuple[float, Set] | None:
    """Return the best set's worth and cells if it is worth more than what is to be beaten."""
    if number == 1:
        cell = int(gain.argmax())
        return (float(gain[cell]), (cell,)) if gain[cell] > beaten else None
    if number == 2:
        pairs = gain[:, None] + gain - cross
        pairs[np.tril_indices(len(gain))] = -np.inf
        first, second = divmod(int(pairs.argmax()), len(gain))
        value = float(pairs[first, second])
        return (value, (first, second)) if value > beaten else None
    best = None
    for first in range(len(gain) - number + 1):
        rest = gain[first + 1 :] - cross[first, first + 1 :]
        top = np.partition(rest, len(rest) - number + 1)[len(rest) - number + 1 :].sum()
        if gain[first] + top <= beaten:
            continue
        after = cross[first + 1 :, first + 1 :]
        found = _descend(rest, after, number - 1, beaten - float(gain[first]))
        if found:
            beaten = found[0] + float(gain[first])
            best = beaten, (first, *(first + 1 + cell for cell in found[1]))
    return best


def exchanged(gain: Floats, cross: Floats, number: int) -> Set:
    """Return a set that no exchange of any two cells for any others betters.

    It starts with the best cell and adds the best each time; each exchange is the best one.
    With more than a thousand cells they are exchanged one by one.
    """
    chosen: list[int] = []
    for _ in range(number):
        rest = gain - cross[:, chosen].sum(axis=1)
        rest[chosen] = -np.inf
        chosen.append(int(rest.argmax()))
    value = worth(gain, cross, tuple(chosen))
    size = 2 if number > 1 and len(gain) <= _EXCHANGED_MAX else 1
    while True:
        tried = [_moved(gain, cross, chosen, out) for out in combinations(chosen, size)]
        best = max(tried, key=lambda candidate: worth(gain, cross, candidate))
        if worth(gain, cross, best) <= value + 1e-12 * max(1.0, abs(value)):
            return tuple(sorted(chosen))
        chosen, value = list(best), worth(gain, cross, best)


def _moved(gain: Floats, cross: Floats, chosen: list[int], out: Set) -> Set:
    """Return the set with those one or two cells put where they are best."""
    kept = [cell for cell in chosen if cell not in out]
    rest = gain - cross[:, kept].sum(axis=1)
    rest[kept] = -np.inf
    if len(out) == 1:
        return (*kept, int(rest.argmax()))
    pairs = rest[:, None] + rest - cross
    np.fill_diagonal(pairs, -np.inf)
    return (*kept, *map(int, divmod(int(pairs.argmax()), len(gain))))


# Sources whose heat lies within a range: a set of cells, and the powers that fit best.

Places = NDArray[np.intp]


def ranged(
    operator: Floats, readings: Floats, number: int, low: float, high: float
) -> tuple[Places, Floats]:
    """Return cells and powers, (number,) each, that explain the readings well.

    No exchange of any two sources for any other two, of any powers, betters it while the
    others keep theirs; with more than a thousand cells, no exchange of one. For one source,
    and for two in a thousand cells, that is the best there is.

    Args:
        operator: B, (r, cells). readings: c, (r,).
        low, high: of each power.
    """
    cross, pull = operator.T @ operator, readings @ operator
    chosen = np.zeros(0, dtype=np.intp)
    powers, cost = np.zeros(0), np.inf
    for _ in range(number):
        left = pull - cross[:, chosen] @ powers
        chosen = np.append(chosen, _one(left, cross, chosen, low, high))
        powers, cost = _fitted(operator, readings, chosen, low, high)
    size = 2 if number > 1 and len(pull) <= _EXCHANGED_MAX else 1
    while True:
        tried = []
        for kept in combinations(range(number), number - size):
            rest, stay = chosen[list(kept)], powers[list(kept)]
            left = pull - cross[:, rest] @ stay
            place = (_one, _two)[size - 1](left, cross, rest, low, high)
            cells = np.append(rest, place)
            tried.append((cells, *_fitted(operator, readings, cells, low, high)))
        best = min(tried, key=lambda found: found[2])
        if best[2] >= cost - 1e-9 * max(1.0, cost):
            return chosen, powers
        chosen, powers, cost = best


def _fitted(
    operator: Floats, readings: Floats, chosen: Places, low: float, high: float
) -> tuple[Floats, float]:
    """Return the powers within their range that fit best, and half of the squares left."""
    solved = lsq_linear(operator[:, chosen], readings, (low, high), method="bvls")
    return np.clip(solved.x, low, high), float(solved.cost)


def _one(left: Floats, cross: Floats, kept: Places, low: float, high: float) -> Places:
    """Return the cell where one source explains most of what the kept ones leave."""
    strengths = np.diag(cross)
    gains = _along(left, strengths, low, high)
    gains[kept] = -np.inf
    return np.asarray([gains.argmax()])


def _two(left: Floats, cross: Floats, kept: Places, low: float, high: float) -> Places:
    """Return the two cells where two sources explain most of what the kept ones leave.

        maximise  l1 w1 + l2 w2 - (g11 w1**2 + 2 g12 w1 w2 + g22 w2**2) / 2   over the square

    which is concave: the top is where its slope is nought, or on one of four edges.
    """
    strengths = np.diag(cross)
    one, two = strengths[:, None], strengths[None, :]
    areas = np.maximum(one * two - cross**2, 1e-12 * one * two + 1e-300)
    first = (two * left[:, None] - cross * left) / areas
    second = first.T
    inside = (low < first) & (first < high) & (low < second) & (second < high)
    gains = np.where(inside, (first * left[:, None] + second * left) / 2, -np.inf)
    for held in (low, high):
        # The first power held on its bound, the second along the edge; then the other way.
        own = held * left - held**2 * strengths / 2
        edge = own[:, None] + _along(left - held * cross, two, low, high)
        gains = np.maximum(gains, np.maximum(edge, edge.T))
    gains[kept] = gains[:, kept] = -np.inf
    np.fill_diagonal(gains, -np.inf)
    return np.asarray(divmod(int(gains.argmax()), len(left)))


def _along(slope: Floats, strength: Floats, low: float, high: float) -> Floats:
    """Return the most of slope w - strength w**2 / 2 over low..high."""
    best = np.clip(slope / np.maximum(strength, 1e-300), low, high)
    return np.asarray(best * slope - best**2 * strength / 2)


# The cells' products are kept for all pairs, so there is an end to how many there can be.
_CELLS_MAX = 4096


def estimate(seen: Seen) -> Estimate:
    """Return the sources of the likeliest scene.

    Raises:
        ValueError: more than 4096 cells are open.
    """
    made = small(seen)
    cells = len(made.cells)
    if cells > _CELLS_MAX:
        raise ValueError(
            f"{cells} cells are open but at most {_CELLS_MAX} can be searched: every two of them "
            "are weighed. Make cells larger, close some, or take 'lasso'."
        )
    scaled = Small(made.operator / seen.sigma, made.readings / seen.sigma, made.beyond, made.cells)
    best, most = np.zeros(cells), -np.inf
    exactly = True
    for number in range(seen.prior.fewest, min(seen.prior.most, cells) + 1):
        heat, weight, proved = scene(scaled, number, lows(seen.prior)[-1], seen.prior.warmest)
        exactly &= proved
        if weight > most:
            best, most = heat, weight
    found = "optimal" if exactly else "inaccurate: no exchange of sources betters it, no more"
    return estimated(seen, made.cells, best, found)


def scene(made: Small, number: int, low: float, high: float) -> tuple[Floats, float, bool]:
    """Return the likeliest scene of so many sources, the logarithm of its weight, and its proof.

    Args:
        made: operator and readings in units of the noise.
        number: of sources. low, high: heat of each.
    """
    cells = len(made.cells)
    ways = log(comb(cells, number))
    heat = np.zeros(cells)
    if number == 0:
        return heat, -float(made.readings @ made.readings) / 2, True
    cross = made.operator.T @ made.operator
    pull = made.readings @ made.operator
    if low == high:
        gains = high * pull - high**2 / 2 * np.diag(cross)
        proved = affordable(cells, number)
        search = exact if proved else exchanged
        heat[list(search(gains, high**2 * cross, number))] = high
        return heat, _likelihood(made, heat) - ways, proved
    chosen, powers = ranged(made.operator, made.readings, number, low, high)
    heat[chosen] = powers
    # Laplace: about how much of the range of powers fits nearly as well.
    _, logarithm = np.linalg.slogdet(cross[np.ix_(chosen, chosen)] / (2 * np.pi))
    share = min(0.0, -float(logarithm) / 2 - number * float(np.log(high - low)))
    return heat, _likelihood(made, heat) - ways + share, False


def _likelihood(made: Small, heat: Floats) -> float:
    left = made.readings - made.operator @ heat
    return -float(left @ left) / 2
