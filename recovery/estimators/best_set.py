"""The best set of so many cells, where each cell gains and each two of them cost."""

from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Set = tuple[int, ...]

# With more cells, pairs are not exchanged: each exchange looks at all pairs of cells.
_CELLS_MAX = 1000
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
    size = 2 if number > 1 and len(gain) <= _CELLS_MAX else 1
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
