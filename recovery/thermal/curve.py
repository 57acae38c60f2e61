"""What a thermal query's noise hides and does not hide, each at the spread where it is felt most.

The noise is made for the protected distance. Another distance, or a source that comes or goes,
may be felt most at another spread, so each is looked for by itself.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

from ..noise import Ratio, check_ratio, reduce_ratio
from ..noise.calibrate import (
    Calibration,
    bound_move,
    epsilon_of,
    epsilon_of_variance,
    exact_epsilon,
)
from ..noise.gaussian import ndtr
from ..noise.worst import (
    NOT_BEHIND,
    PRESENCE,
    bound_behind,
    bound_changes,
    bound_whole_square,
    bound_worst_squares,
    scan_spreads,
)
from .guarantee import adjust_epsilon, find_exact_delta
from .noise import (
    bound_displacement,
    bound_presence,
    bound_sent,
    bound_sent_square,
    calibrate_query,
    grains_of,
    is_printed,
    make_operator,
    make_room,
)
from .query import Query, count_protected_cells

_SERIES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


@dataclass(frozen=True, slots=True)
class Distance:
    """How well two places up to so far apart are hidden from whoever sees all readings."""

    cells: int
    sensitivity: float  # of the temperatures, in units
    epsilon: float
    right: float  # chance that the best test tells them apart; 1/2 is a blind guess


def list_distances(query: Query) -> tuple[int, ...]:
    """Return the distances, in cells, that tell most: a series, the protected one, the room."""
    if query.response is not None:
        far = query.response.far_cells
        return tuple(sorted({*far, count_protected_cells(query)}))
    longest = max(query.grid.shape) - 1
    own = min(count_protected_cells(query), longest)
    return tuple(sorted({own, longest, *(d for d in _SERIES if d < longest)}))


def compute_curve(query: Query, cells: Iterable[int] | None = None) -> list[Distance]:
    """Return how well the query's noise hides a move of up to each of these distances.

    For all readings of the window together, by the exact curve of the Gaussian; none of the
    numbers is smaller than the truth at any spread from the stated one up. Where noise is from
    tables and delta does not pay for them so far, infinity: nothing is promised.

    Args:
        cells: the distances, growing; `distances(query)` by default.
    """
    made, asked = calibrate_query(query), tuple(cells or list_distances(query))
    delta = check_ratio(find_exact_delta(query), "delta")
    continuous, squares = _find_changes(query, made, asked)
    found = []
    for distance, change, square in zip(asked, continuous, squares, strict=True):
        epsilon = adjust_epsilon(query, exact_epsilon(square, made.variance, made.readings, delta))
        apart = math.sqrt(square * made.readings / made.variance)
        found.append(Distance(distance, change, epsilon, ndtr(apart / 2)))
    return found


def bound_presence_epsilon(query: Query) -> float:
    """Return the epsilon of a source that comes or goes, for all readings of the window.

    Readings add up, so it is that of one more source beside any number of others, too.
    """
    made, delta = calibrate_query(query), check_ratio(find_exact_delta(query), "delta")
    square = bound_presence_square(query, made)
    return adjust_epsilon(query, exact_epsilon(square, made.variance, made.readings, delta))


def bound_presence_square(query: Query, made: Calibration) -> int:
    """Return how much a source that comes or goes changes what is sent, squared in grains."""
    if query.response is not None:
        found = bound_sent(bound_presence(query), made.exponent, query.step, query.behind)
        return bound_sent_square(query, found, made.exponent)
    if is_printed(query):
        warmth = make_operator(query)
        block = bound_changes(warmth, query.intensity_max, float(warmth.max()))
        block = bound_behind(block, query.behind)
        return bound_sent_square(
            query, bound_whole_square([block], made.exponent, query.step), made.exponent
        )
    found = bound_worst_squares(make_room(query), (PRESENCE,), grains_of(query, made.exponent))[0]
    return bound_sent_square(query, found, made.exponent)


def find_epsilon(query: Query, made: Calibration) -> float:
    """Return the epsilon that this noise gives in the world of that query, at its delta.

    Args:
        query: the room, its sensors and sources as they really are, and the readings.
        made: the noise, made for another world or for fewer readings.
    """
    changed = _find_changes(query, made, (count_protected_cells(query),))[1][0]
    delta = check_ratio(find_exact_delta(query), "delta")
    return adjust_epsilon(
        query, epsilon_of_variance(changed, made.variance, query.readings, delta)
    )


def _find_changes(
    query: Query, made: Calibration, cells: tuple[int, ...]
) -> tuple[list[float], list[int]]:
    """Return the most that moves up to each distance change: in kelvin, and squared in grains."""
    if query.response is not None:
        paths = [bound_displacement(query, far) for far in cells]
        squares = [bound_sent(path, made.exponent, query.step, query.behind) for path in paths]
        return [path.joint for path in paths], _send(query, squares, made)
    if is_printed(query):
        scales = query.intensity_max, query.step, 1, "", query.behind
        here = [bound_move(make_operator(query), query.grid.shape, far, *scales) for far in cells]
        squares = [one.square(made.exponent) for one in here]
        return [one.continuous for one in here], _send(query, squares, made)
    continuous = query.intensity_max * scan_spreads(make_room(query), cells).moves.max(axis=0)
    grains = grains_of(query, made.exponent)
    return continuous.tolist(), _send(
        query, bound_worst_squares(make_room(query), cells, grains), made
    )


def _send(query: Query, squares: list[int], made: Calibration) -> list[int]:
    return [bound_sent_square(query, square, made.exponent) for square in squares]


# What a sensor's converter costs: noise for steps that may flip, where heat alone needs less.
#
# A converter's step can flip on all sensors at once, however little a source moves, and the noise
# must hide that too. Where steps are coarse it hides everything: two places at the ends of the
# room are then told apart no better than by tossing a coin, and no map is worth drawing.

# A best test that is right less often than this has nothing to draw a map from.
BLIND = 0.55
# The step is to blame where the noise would be less than half as wide without it.
_TO_BLAME = 2.0
_TRIES = 40  # halvings of a step, doublings of an epsilon


@dataclass(frozen=True, slots=True)
class Converter:
    """What the step does to the noise, and what is left to be seen through it."""

    inflation: float  # how many times as wide as without the step the noise is
    right: float  # how often the best test of all readings tells the two ends of the room apart
    right_without: float  # the same without the step

    @property
    def blinds(self) -> bool:
        """Whether nothing can be seen, and the step is why."""
        seen = self.right < BLIND <= self.right_without
        return seen and self.inflation > _TO_BLAME


def measure_converter(query: Query) -> Converter:
    """Return what the converter's step costs this query.

    The test is between the two places in the room, or the two ends of it, that all sensors
    together tell apart best, for the warmest source and the spread at which that is easiest:
    whoever is blind there is blind everywhere.

    Raises:
        ValueError: the noise cannot be had.
    """
    with_step, without = calibrate_query(query), calibrate_query(drop_step(query))
    if query.response is not None:
        apart = bound_displacement(query, query.response.far_cells[-1]).joint
    else:
        apart = query.intensity_max * float(
            scan_spreads(make_room(query), list_distances(query)).moves.max()
        )
    seen = apart * math.sqrt(query.readings) / 2
    return Converter(
        with_step.sigma / without.sigma,
        ndtr(seen / with_step.sigma),
        ndtr(seen / without.sigma),
    )


def drop_step(query: Query) -> Query:
    """Return the query of sensors that are finer than any grain."""
    return replace(query, step=None, behind=NOT_BEHIND)


def find_finer_step(query: Query) -> tuple[Fraction, Fraction] | None:
    """Return a step and that of the converter behind it, through which something can be seen.

    They are the present ones, halved and halved.
    """
    finer = query
    for _ in range(_TRIES if query.step is not None else 0):
        if finer.step is not None:
            finer = replace(finer, step=finer.step / 2, behind=finer.behind / 2)
        if _tells_places(finer):
            return None if finer.step is None else (finer.step, finer.behind)
    return None


def find_larger_epsilon(query: Query) -> Ratio | None:
    """Return an epsilon, the present one doubled and doubled, at which something can be seen."""
    num, den = query.epsilon
    for _ in range(_TRIES):
        num *= 2
        asked = reduce_ratio((num, den))
        if max(asked) >= 2**63:
            break
        if _tells_places(replace(query, epsilon=asked)):
            return asked
    return None


def _tells_places(query: Query) -> bool:
    try:
        return not measure_converter(query).blinds
    except ValueError:  # what cannot be had is no advice
        return False


# What other readings, sensors, walls, spreads and sources would do to the promise.
#
# Each answer has two halves: what the noise as it is would give there, for noise is not made
# anew by itself; and how wide it would have to be for the same promise.


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


def compare_choices(query: Query) -> Iterator[WhatIf]:
    """Yield every such difference that has a meaning for this query."""
    made = calibrate_query(query)
    if query.sigma is not None:  # then the promise is what that noise gives, as rounded up
        query = replace(query, sigma=None, epsilon=epsilon_of(made))
    yield _make_row("as_planned", "as planned", query, made)
    if query.readings > 1:
        half = query.readings // 2
        said = f"half the cadence: {half} readings in the same time"
        yield _make_row("half_the_cadence", said, replace(query, readings=half), made)
    twice = replace(query, readings=2 * query.readings)
    said = f"twice the cadence: {twice.readings} readings in the same time"
    yield _make_row("twice_the_cadence", said, twice, made)
    if query.response is None:  # another room's is not known here
        yield from _yield_more_sensors(query, made)
        yield from _yield_other_walls(query, made)
        shorter = replace(query, spread_m2=query.spread_m2 / _SHORTER)
        said = f"heat with a fifth of the stated spread, {shorter.spread_m2:g}"
        yield _make_row("shorter_spread", said, shorter, made)
    warmer = replace(query, intensity_max=_WARMER * query.intensity_max)
    said = f"a source twice as strong as stated, {warmer.intensity_max:g}"
    yield _make_row("warmer_source", said, warmer, made)
    if query.readings > 1:
        yield from _yield_backgrounds(query, made)


def _yield_backgrounds(query: Query, made: Calibration) -> Iterator[WhatIf]:
    """Yield the other ways to take the room's own warmth away: `recovery.thermal.query`."""
    plain = replace(query, background="recorded", slew=None, empty_readings=0)
    if query.background != "recorded":
        said = "the room's own warmth recorded once, on the device"
        yield _make_row("background_recorded", said, plain, made)
    if query.background != "following":
        slew = f"{_SLEW.numerator}/{_SLEW.denominator}{' K' * bool(query.grid.cell_mm)}"
        said = f"a level on the device that follows, by at most {slew} an answer"
        following = replace(plain, background="following", slew=_SLEW)
        yield _make_row("background_following", said, following, made)
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
        yield _make_row("background_gateway", said, gateway, made)


def _yield_more_sensors(query: Query, made: Calibration) -> Iterator[WhatIf]:
    more = replace(query, sensors=(2 * query.sensors[0], *query.sensors[1:]))
    total = math.prod(more.sensors)
    if total * math.prod(query.grid.shape) > _PAIRS_MAX:
        return
    yield _make_row("twice_the_sensors", f"twice the sensors, {total}", more, made)


def _yield_other_walls(query: Query, made: Calibration) -> Iterator[WhatIf]:
    """Yield this noise in the other room, and noise that was made for the other room in this."""
    shut = query.walls == "insulated"
    other = replace(query, walls="none" if shut else "insulated")
    said = "no walls in truth" if shut else "walls in truth, which no heat passes"
    yield _make_row("other_walls", said, other, made)
    try:
        theirs = calibrate_query(other)
    except ValueError:
        return
    said = f"noise made for a room {'without' if shut else 'with'} walls, in this one"
    yield WhatIf("noise_for_other_walls", said, query, find_epsilon(query, theirs), made.sigma)


def _make_row(name: str, said: str, world: Query, made: Calibration) -> WhatIf:
    try:
        sigma = calibrate_query(world).sigma
    except ValueError:  # the printed formula is not private everywhere
        sigma = None
    return WhatIf(name, said, world, find_epsilon(world, made), sigma)
