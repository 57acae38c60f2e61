"""What other readings, sensors, walls, spreads and sources would do to the promise.

Each answer has two halves: what the noise as it is would give there, for noise is not made
anew by itself; and how wide it would have to be for the same promise.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from physics.kernel import moves

from ..noise import check_ratio
from ..noise.calibrate import Calibration, epsilon_of, worth
from ..noise.whole import bounded, reach, sent
from ..noise.worst import BENDS, Grains, felt
from .curve import given
from .guarantee import exact_delta, held
from .noise import as_printed, calibration, room
from .query import Query, protected_cells

# What readings cost together, where sensors differ: in their noise, or in how often they speak.
#
# With d_ij the change of sensor j, in its own grains, when move i is made, and v_j the variance
# of its noise, one reading of every sensor costs
#
#     rho = max over i of sum over j of d_ij**2 / (2 v_j)
#
# and where sensor j speaks N_j times in the window, the window costs
#
#     max over i of sum over j of N_j d_ij**2 / (2 v_j)  <=  max over j of N_j  times  rho
#
# so a counter in each device keeps the promise of them all, and nobody has to add up the fleet.
# All answers are exact fractions.
#
# Source: Canonne, Kamath and Steinke 2020, Theorem 14, for discrete Gaussians of several widths;
# the bound is each N_j at its greatest.

Changes = NDArray[np.float64]

# Floats find the worst moves; those so near to the worst are weighed exactly.
_NEAR = 1e-9


def price(
    changes: Iterable[Changes], variances: Sequence[int], readings: Sequence[int] | None = None
) -> Fraction:
    """Return the rho of the worst move.

    Args:
        changes: blocks (sensors, moves) of whole numbers, as `recovery.noise.whole.sent` returns.
        variances: of each sensor's noise, in the square of its grain.
        readings: how often each sensor speaks; None for once each.

    Raises:
        ValueError: a sensor has no noise, or there are not as many as the changes have rows.

    >>> price([np.array([[3.0, 1.0], [0.0, 4.0]])], [9, 16]), price([np.ones((2, 1))], [1, 4])
    (Fraction(5, 9), Fraction(5, 8))
    """
    times = [1] * len(variances) if readings is None else list(readings)
    worst = Fraction(0)
    for block in changes:
        _check(block, variances, times)
        weights = np.array([n / (2 * v) for n, v in zip(times, variances, strict=True)])
        about = weights @ np.square(block)
        for move in np.unique(block[:, about >= about.max() * (1 - _NEAR)], axis=1).T:
            exact = (
                Fraction(n * int(d) ** 2, 2 * v)
                for n, d, v in zip(times, move, variances, strict=True)
            )
            worst = max(worst, sum(exact, Fraction(0)))
    return worst


def _check(block: Changes, variances: Sequence[int], times: Sequence[int]) -> None:
    if not len(block) == len(variances) == len(times) or min(variances) < 1 or min(times) < 0:
        raise ValueError(
            f"{len(block)} sensors change, {len(variances)} have a variance of at least "
            f"{min(variances, default=0)} and {len(times)} speak {min(times, default=0)} times or "
            "more, but every sensor needs noise and a number of readings: one without noise has "
            "no price. Give one of each for every sensor."
        )


# What a fleet promises while every second sensor still has the noise it had before.
#
# Where noise differs from sensor to sensor no one sensitivity tells the price, and the move and
# the spread that cost most need not be those at which all sensors together feel most.

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


_SHORTER = 5  # heat that had a fifth of the stated spread
_WARMER = 2  # a source of twice the stated intensity
_SLEW = Fraction(1, 1000)  # of a level that follows, in kelvin an answer
_PAIRS_MAX = 50_000_000  # of cells and sensors, that fit in memory


class WhatIf(NamedTuple):
    """A world or a plan that differs in one thing, and what it does to the promise."""

    name: str  # stable, for programs
    said: str  # for people
    query: Query
    epsilon: float  # that the noise of the query as it is gives there
    sigma: float | None  # that keeps the promise there, None where it cannot be had


def what_if(query: Query) -> Iterator[WhatIf]:
    """Yield every such difference that has a meaning for this query."""
    made = calibration(query)
    if query.sigma is not None:  # then the promise is what that noise gives, as rounded up
        query = replace(query, sigma=None, epsilon=epsilon_of(made))
    yield _row("as_planned", "as planned", query, made)
    if query.readings > 1:
        half = query.readings // 2
        said = f"half the cadence: {half} readings in the same time"
        yield _row("half_the_cadence", said, replace(query, readings=half), made)
    twice = replace(query, readings=2 * query.readings)
    said = f"twice the cadence: {twice.readings} readings in the same time"
    yield _row("twice_the_cadence", said, twice, made)
    if query.response is None:  # another room's is not known here
        yield from _more_sensors(query, made)
        yield from _other_walls(query, made)
        shorter = replace(query, spread_m2=query.spread_m2 / _SHORTER)
        said = f"heat with a fifth of the stated spread, {shorter.spread_m2:g}"
        yield _row("shorter_spread", said, shorter, made)
    warmer = replace(query, intensity_max=_WARMER * query.intensity_max)
    said = f"a source twice as strong as stated, {warmer.intensity_max:g}"
    yield _row("warmer_source", said, warmer, made)
    if query.readings > 1:
        yield from _backgrounds(query, made)


def _backgrounds(query: Query, made: Calibration) -> Iterator[WhatIf]:
    """Yield the other ways to take the room's own warmth away: `recovery.thermal.query`."""
    plain = replace(query, background="recorded", slew=None, empty_readings=0)
    if query.background != "recorded":
        said = "the room's own warmth recorded once, on the device"
        yield _row("background_recorded", said, plain, made)
    if query.background != "following":
        slew = f"{_SLEW.numerator}/{_SLEW.denominator}{' K' * bool(query.grid.cell_mm)}"
        said = f"a level on the device that follows, by at most {slew} an answer"
        following = replace(plain, background="following", slew=_SLEW)
        yield _row("background_following", said, following, made)
    if query.background != "gateway":
        empty = max(1, query.readings // 4)
        # Of the mean of the others less the mean of these, beside that of all of them.
        wider = math.sqrt(query.readings / (query.readings - empty) + query.readings / empty)
        said = f"found after the veil, in {empty} empty readings: a map {wider:.2g} times as noisy"
        gateway = replace(
            plain,
            background="gateway",
            background_k=query.background_k or 1.0,
            empty_readings=empty,
        )
        yield _row("background_gateway", said, gateway, made)


def _more_sensors(query: Query, made: Calibration) -> Iterator[WhatIf]:
    more = replace(query, sensors=(2 * query.sensors[0], *query.sensors[1:]))
    total = math.prod(more.sensors)
    if total * math.prod(query.grid.shape) > _PAIRS_MAX:
        return
    row = _row("twice_the_sensors", f"twice the sensors, {total}", more, made)
    yield row
    # Two plans whose levels move differently are not made for each other's devices.
    if row.sigma is not None and query.background != "following":
        said = "   and every second one still at the old noise"
        yield WhatIf("half_renewed", said, more, mixed_epsilon(more, made), row.sigma)


def _other_walls(query: Query, made: Calibration) -> Iterator[WhatIf]:
    """Yield this noise in the other room, and noise that was made for the other room in this."""
    shut = query.walls == "insulated"
    other = replace(query, walls="none" if shut else "insulated")
    said = "no walls in truth" if shut else "walls in truth, which no heat passes"
    yield _row("other_walls", said, other, made)
    try:
        theirs = calibration(other)
    except ValueError:
        return
    said = f"noise made for a room {'without' if shut else 'with'} walls, in this one"
    yield WhatIf("noise_for_other_walls", said, query, given(query, theirs), made.sigma)


def _row(name: str, said: str, world: Query, made: Calibration) -> WhatIf:
    try:
        sigma = calibration(world).sigma
    except ValueError:  # the printed formula is not private everywhere
        sigma = None
    return WhatIf(name, said, world, given(world, made), sigma)
