"""Sources whose heat lies within a range: a set of cells, and the powers that fit best."""

from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import lsq_linear

Floats = NDArray[np.float64]
Places = NDArray[np.intp]

# With more cells, pairs are not exchanged: each exchange looks at all pairs of cells.
_CELLS_MAX = 1000


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
    size = 2 if number > 1 and len(pull) <= _CELLS_MAX else 1
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
