"""What a fleet promises while every second sensor still has the noise it had before.

Where noise differs from sensor to sensor no one sensitivity tells the price, and the move and
the spread that cost most need not be those at which all sensors together feel most.
"""

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np

from physics.sensitivity import moves

from .compose import price
from .ratio import check_ratio
from .settle import Calibration, worth
from .spreads import BENDS, felt
from .thermal_noise import as_printed, calibration, room
from .thermal_query import Query, protected_cells
from .thermal_tables import exact_delta, held
from .whole import bounded, reach, sent
from .worst import Grains

_WIDE = 0.03  # of the logarithm of the spread: what is bounded at once, a thousandth too high


def mixed_epsilon(query: Query, old: Calibration) -> float:
    """Return the epsilon while every second sensor still has the old noise, the others the new.

    Whichever half it is, and at every spread from the stated one up: never below the truth.
    """
    new = calibration(query)
    fine = max(new.exponent, old.exponent)
    variances = [made.variance << 2 * (fine - made.exponent) for made in (old, new)]
    halves = [
        [variances[(sensor + first) % 2] for sensor in range(math.prod(query.sensors))]
        for first in range(2)
    ]
    worst = _rho(query, fine, halves, query.spread_m2, query.spread_m2)
    for most, low, high in _stretches(query, Grains(fine, query.step, query.intensity_max)):
        if most / (2 * min(variances)) <= worst:
            break  # those that come can do less still
        ends = np.geomspace(low, high, 1 + math.ceil(math.log(high / low) / _WIDE))
        for one, other in pairwise(ends):
            worst = max(worst, _rho(query, fine, halves, float(one), float(other)))
    delta = check_ratio(exact_delta(query), "delta")
    return held(query, worth(worst, query.readings, delta))


def _stretches(query: Query, grains: Grains) -> Iterator[tuple[float, float, float]]:
    """Yield (most squared grains, spread, longer spread), the most first."""
    if as_printed(query):
        return  # the printed formula knows the stated spread alone
    tried = felt(room(query), (protected_cells(query),))
    ends, norms = tried.spreads_m2, tried.moves[:, 0]
    higher = np.maximum(norms[:-1], norms[1:]) * np.exp(BENDS * (np.diff(np.log(ends)) / 2) ** 2)
    most = grains.most(higher, math.prod(query.sensors))
    for nth in np.argsort(-most):
        yield float(most[nth]), float(ends[nth]), float(ends[nth + 1])


def _rho(
    query: Query, exponent: int, halves: Sequence[Sequence[int]], low: float, high: float
) -> Fraction:
    """Return a rho that no move costs more than, between these spreads, with either half old."""
    here, shape = room(query), query.grid.shape
    one, other = here.operator(low), here.operator(high)
    bent = query.intensity_max * math.exp(BENDS * (math.log(high / low) / 2) ** 2)
    warmest = max(float(one.max()), float(other.max()))
    blocks = [
        sent(bounded(np.maximum(np.abs(a), np.abs(b)), bent, warmest), exponent, query.step)
        for cells in reach(shape, protected_cells(query))
        for a, b in zip(moves(one, cells, shape), moves(other, cells, shape), strict=True)
    ]
    return max(price(blocks, half) for half in halves)
