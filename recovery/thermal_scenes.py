"""Two scenes of a room that its promise must keep apart no better than it says.

For the audit, and so by itself: the moves, the spreads, the converter and the grains are done
here anew and straight away, by trying, where the noise is planned with bounds.
"""

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from edge.records import Round
from edge.thermal import params_of
from physics.kernel import forward
from physics.places import cell_places, length_m, sensor_places

from .thermal_parted import before_and_after
from .thermal_query import Query

Whole = NDArray[np.int64]
Floats = NDArray[np.float64]

SPREADS = 24  # how many longer spreads are tried, to where the whole room is even
OFFSETS = 64  # how many places between two steps of the converter a reading may start from


def neighbours(query: Query, round: Round) -> tuple[Whole, Whole]:
    """Return the whole-number readings of two neighbours, (sensors,) each, hard to hide.

    One source as warm as may be stands somewhere, and then at most the protected distance away.
    Of all moves at all spreads tried it is the one that changes what devices send the most.
    """
    params = params_of(round)
    if query.response is not None:
        moves = [before_and_after(query)]
    else:
        tried = [_widest(query, spread) for spread in _spreads(query)]
        moves = [move for move in tried if move is not None]
    pairs = [_sent(here, there, params.exponent, query.step) for here, there in moves]
    return max(pairs, key=lambda pair: int(np.square(pair[1] - pair[0]).sum()))


def _spreads(query: Query) -> list[float]:
    if query.calibration == "paper" and query.sigma is None:
        return [query.spread_m2]  # the printed formula promises this one alone
    longest = max(float(np.max(length_m(query.grid))) ** 2, query.spread_m2)
    return [float(spread) for spread in np.geomspace(query.spread_m2, longest, SPREADS)]


def _widest(query: Query, spread_m2: float) -> tuple[Floats, Floats] | None:
    """Return the temperatures before and after the move that is felt most."""
    places, sensors = cell_places(query.grid), sensor_places(query.sensors, query.grid)
    warmth = query.intensity_max * forward(
        places, sensors, spread_m2, query.walls, length_m(query.grid)
    )
    stands = np.asarray(places, dtype=float).reshape(len(places), -1)
    apart = np.sqrt(np.square(stands[:, None] - stands[None]).sum(axis=-1))
    side = float(apart[apart > 0].min())
    far = side if query.protect_distance_m is None else query.protect_distance_m
    inner = warmth.T @ warmth
    felt = np.diag(inner)[:, None] + np.diag(inner) - 2 * inner
    felt[apart > far * (1 + 1e-9)] = -math.inf
    here, there = np.unravel_index(int(felt.argmax()), felt.shape)
    return warmth[:, here], warmth[:, there]


def _sent(
    here: Floats, there: Floats, exponent: int, step: Fraction | None
) -> tuple[Whole, Whole]:
    """Return what is sent of both, each sensor's offset such that it differs the most."""
    width = float(step) if step is not None else 2.0**-exponent
    offsets = np.arange(OFFSETS)[:, None] * (width / OFFSETS)
    before, after = (_grains(warm + offsets, exponent, step) for warm in (here, there))
    worst = np.abs(after - before).argmax(axis=0)
    sensors = np.arange(len(here))
    return before[worst, sensors], after[worst, sensors]


def _grains(kelvin: Floats, exponent: int, step: Fraction | None) -> Whole:
    """Return whole grains by way of the converter's whole steps, each to the nearest."""
    if step is None:
        return np.floor(np.ldexp(kelvin, exponent) + 0.5).astype(np.int64)
    counts = np.floor(kelvin / float(step) + 0.5).astype(np.int64)
    num, den = step.numerator, step.denominator
    up, down = (1 << max(exponent, 0)), (1 << max(-exponent, 0))
    return (2 * counts * num * up + den * down) // (2 * den * down)
