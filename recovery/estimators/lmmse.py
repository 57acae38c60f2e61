"""The linear estimate of least mean square error, collapsed to as many atoms as there are sources.

With mean mu and covariance C of the prior's heat, which are known exactly,

    f = mu + C A' (A C A' + sigma**2)**-1 (y - A mu)

is the best estimate that is linear in the readings. Its cumulative sum is then the best linear
estimate of the cumulative heat; where that passes 1/2, 3/2, ... sources stand the atoms.

Source: Kay 1993, chapter 12; for the atoms, that the median is the point of least mean
distance, here of each source in the order in which they stand.

Limits: it knows the prior by two moments only, so it hears noise that a posterior would not;
a closed form, in a fifth of a millisecond. Where the number or the power is not known it goes
by the total heat, which readings tell well. In a plane sources have no order: there the
nearest heat to it that is not negative is returned, which a sparse estimator often betters.
"""

import numpy as np
from numpy.typing import NDArray

from .moments import moments, power
from .record import Estimate, Seen
from .small import Small, estimated, small

NAME = "lmmse"

Floats = NDArray[np.float64]


def estimate(seen: Seen) -> Estimate:
    """Return atoms along a line, hills in a plane."""
    made = small(seen)
    heat = linear(seen, made)
    if seen.places.shape[1] > 1:
        return estimated(seen, made.cells, nearest(heat, float(heat.sum())))
    return estimated(seen, made.cells, atoms(seen, heat))


def linear(seen: Seen, made: Small) -> Floats:
    """Return the linear estimate of the heat of every open cell; some of it may be negative.

    Its total is exact where number and power are known.
    """
    cells = len(made.cells)
    prior = moments(seen.prior, cells)
    apart, together = prior.square - prior.product, prior.product - prior.mean**2
    sums = made.operator.sum(axis=1)
    # C A' in two parts, for C is a constant and a diagonal.
    felt = apart * made.operator.T + together * sums
    spread = made.operator @ felt + seen.sigma**2 * np.eye(len(made.readings))
    surprise = made.readings - prior.mean * sums
    return np.asarray(prior.mean + felt @ np.linalg.solve(spread, surprise))


def atoms(seen: Seen, heat: Floats) -> Floats:
    """Return the heat gathered in its own quantiles: as many as sources, all equally warm.

    Args:
        heat: (open cells,) along a line; may be negative here and there.
    """
    total = float(heat.sum())
    number = round(total / power(seen.prior))
    number = min(max(number, seen.prior.fewest), seen.prior.most, len(heat))
    gathered = np.zeros(len(heat))
    if number < 1 or total <= 0:
        return gathered
    upto = np.maximum.accumulate(np.cumsum(heat))
    levels = (np.arange(number) + 0.5) / number * total
    np.add.at(gathered, np.searchsorted(upto, levels), total / number)
    return gathered


def nearest(heat: Floats, total: float) -> Floats:
    """Return the nearest heat, in squares, that is not negative and has that total.

    >>> nearest(np.array([1.0, 0.5, -2.0]), 1.0)
    array([0.75, 0.25, 0.  ])
    """
    if total <= 0:
        return np.zeros(len(heat))
    falling = np.sort(heat)[::-1]
    levels = (np.cumsum(falling) - total) / np.arange(1, len(heat) + 1)
    return np.maximum(heat - levels[falling > levels][-1], 0.0)
