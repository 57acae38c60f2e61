"""What other readings, sensors, walls, spreads and sources would do to the promise.

Each answer has two halves: what the noise as it is would give there, for noise is not made
anew by itself; and how wide it would have to be for the same promise.
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

from ..noise.calibrate import Calibration, epsilon_of
from .curve import given
from .noise import calibration
from .query import Query

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
    yield _row("twice_the_sensors", f"twice the sensors, {total}", more, made)


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
