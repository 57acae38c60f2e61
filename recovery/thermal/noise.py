"""The noise that a thermal query asks for: enough at its spread, and at every longer one."""

import math
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from edge.core.background import Follower
from edge.mechanisms.thermal_half import EXPONENTS
from physics.places import length_m
from physics.response import Response

from ..noise.calibrate import (
    Calibration,
    Moved,
    bound_move,
    calibrate_change,
    calibrate_stated_noise,
    check_scales,
)
from ..noise.worst import (
    Change,
    Grains,
    Room,
    bound_greatest_response,
    bound_worst_squares,
    scan_spreads,
)
from ..noise.worst import bound_sent as bound_sent
from .guarantee import check_variance, find_exact_delta
from .query import Query, count_protected_cells

# What a level that follows the readings adds to the most that a move can change.
#
# A sensor's readings, D grains apart at the most, become D + c grains apart, with
#
#     c = min(round(a) - round(-a), D),   a = slew (readings - 1),
#
# which is about 2 a, for the last answer of a window, and less for those before it: proved in
# `background`. It holds for whoever is displaced at every moment, and another way at each, so
# the level of every sensor may have parted by as much as it ever can while another sensor feels
# the move of now. A device prices what it is asked in a finer grain by the square of the planned
# one, and a rounds otherwise there: so c is the most of the planned grain and of all finer ones.
# Over m sensors
#
#     sum (D + c)**2 <= S + 2 c sqrt(m S) + m c**2,   S = sum D**2,
#
# by Cauchy and Schwarz, and no D is larger than the root of S.


def bound_followed_change(change: Moved, slew: Fraction) -> Moved:
    """Return what a move changes where a level follows: never less than it really can.

    Args:
        change: what it changes where the level is recorded.
        slew: what the level moves by at the most at one answer, in the temperatures' unit.
    """

    def square(exponent: int) -> int:
        way = bound_level(slew, change.readings) * Fraction(2) ** exponent
        return bound_square_with_levels(change.square(exponent), change.sensors, way)

    carried = min(2 * float(bound_level(slew, change.readings)), change.counted)
    counted = change.counted + math.sqrt(change.sensors) * carried
    return replace(change, counted=counted, square=square)


def bound_sent_square(query: Query, square: int, exponent: int) -> int:
    """Return the squared l2 norm of what is sent, in grains, of what readings change by."""
    if query.slew is None:
        return square
    way = bound_level(query.slew, query.readings) * Fraction(2) ** exponent
    return bound_square_with_levels(square, math.prod(query.sensors), way)


def bound_level(slew: Fraction, readings: int) -> Fraction:
    """Return how far a level can get before the last of so many answers."""
    return slew * (readings - 1)


def bound_square_with_levels(square: int, sensors: int, way: Fraction) -> int:
    """Return the squared l2 norm of what is sent, in grains, where levels go so many grains.

    Args:
        square: the same where the level is recorded.

    >>> bound_square_with_levels(square=4, sensors=1, way=Fraction(1, 2))
    9
    >>> bound_square_with_levels(square=4, sensors=1, way=Fraction(100))
    16
    """
    carried = bound_drift_in_finer_grains(math.isqrt(square), way)
    if not carried:
        return square
    cross = math.ceil(4 * carried**2 * sensors * square)
    return square + math.ceil(sensors * carried**2) + math.isqrt(cross - 1) + 1


def bound_drift_in_finer_grains(apart: int, way: Fraction) -> Fraction:
    """Return the most that `bound_drift` comes to in this grain and any finer one, in this one.

    >>> bound_drift(9, Fraction(1, 4)), str(bound_drift_in_finer_grains(9, Fraction(1, 4)))
    (0, '1/2')
    """
    most = 2 * way  # that it tends to as grains become fine
    for finer in range(2 * EXPONENTS + 1):
        if 2 * way + Fraction(1, 2**finer) <= most:
            break
        most = max(most, Fraction(bound_drift(apart << finer, way * 2**finer), 2**finer))
    return min(most, Fraction(apart))


def bound_drift(apart: int, way: Fraction) -> int:
    """Return by how many grains levels can part.

    Args:
        apart: how many grains two readings of a sensor differ by, at the most.
        way: how many grains a level can get from where it began, at the most.
    """
    half = Fraction(1, 2)  # rounded as on the device: a half goes up
    return min(math.floor(way + half) - math.floor(half - way), apart)


def make_follower(query: Query) -> Follower | None:
    """Return what a device of this query takes its level from, None where that is recorded."""
    if query.background != "following" or query.slew is None:
        return None
    return Follower(query.slew.as_integer_ratio(), query.readings)


# What noise a room's own response asks for.
#
# The response bounds what readings may change by, and here it is scaled to the strongest source.

Floats = NDArray[np.float64]

# What solvers and sums lose of the response, many times over.
_SLACK = 1e-9

_UNFELT = (
    "no sensor feels it when somebody in this room is elsewhere, so there is no map to draw. "
    "Place sensors where people are."
)


def bound_displacement(query: Query, cells: int) -> Change:
    """Return what a source at its strongest changes by a path that is so many cells away.

    Raises:
        ValueError: the room's response does not tell of so far.
    """
    changes, nth = _require_response(query).changes, _require_response(query).find_distance(cells)
    return _scale_change(query, float(changes.joint[nth]), changes.each[nth])


def bound_presence(query: Query) -> Change:
    """Return what a source at its strongest changes by coming, wherever it goes."""
    changes = _require_response(query).changes
    return _scale_change(query, changes.presence, changes.presence_each)


def bound_move_in_room(query: Query, cells: int) -> Moved:
    """Return what a displacement changes, for the noise to be scaled to.

    Raises:
        ValueError: a scale is not positive, or no sensor feels a displacement.
    """
    change = bound_displacement(query, cells)
    felt = change.joint if np.any(_require_response(query).changes.joint > 0) else 0.0
    check_scales(cells, query.intensity_max, query.step, query.readings, felt, _UNFELT)
    counted = change.joint
    if query.step is not None:
        # In steps of the converter, as if they were the grains.
        steps = Change(change.joint / float(query.step), change.each / float(query.step))
        counted = math.sqrt(bound_sent(steps, 0, None, query.behind / query.step)) * float(
            query.step
        )

    def square(exponent: int) -> int:
        return bound_sent(change, exponent, query.step, query.behind)

    sensors, scales = math.prod(query.sensors), (query.intensity_max, query.step, query.readings)
    return Moved(sensors, *scales, change.joint, counted, square, query.behind)


def _scale_change(query: Query, joint: float, each: Floats) -> Change:
    hair = _SLACK * _require_response(query).changes.presence
    power = query.intensity_max
    return Change(
        power * (joint * (1 + _SLACK) + hair), np.asarray(power * (each * (1 + _SLACK) + hair))
    )


def _require_response(query: Query) -> Response:
    if query.response is None:
        raise ValueError(
            "the query has no response, but this bound is computed from that of a modelled room: "
            "without one nothing says what a sensor feels. Set `response` in the query, or use "
            "what needs only `spread_m2`, as `calibrate_query` does."
        )
    return query.response


# Whether heat has come too short or too far for a map, and which spread would do.
#
# Heat that had a spread s has come about sqrt(s) far. Where that is nothing beside the gaps
# between sensors no sensor feels it, and where it is more than the room all feel the same.

# From a quarter of the gap, where a source between two sensors is felt by both, to a quarter
# of the room, where walls have not yet evened out what it warms.
_PART = 4


def spreads_beyond_room(room: Room) -> bool:
    """Say whether heat has gone further than the room is long."""
    return math.sqrt(room.spread_m2) >= _measure_room(room)[0]


def describe_spread_fault(room: Room) -> str:
    """Return what is wrong with the spread of a room where no move of a source is felt."""
    length, gap = _measure_room(room)
    unit = " m" if room.grid.cell_mm else ""
    given = f"spread_m2 is {room.spread_m2:g}{unit and ' m2'}"
    far = f"about {math.sqrt(room.spread_m2):.3g}{unit} far"
    low, high = (gap / _PART) ** 2, max((length / _PART) ** 2, (gap / 2) ** 2)
    would = f"a spread_m2 from {low:.2g} to {high:.2g}{unit and ' m2'}"
    if spreads_beyond_room(room):
        side = f"{length:g} m long" if unit else "of length 1, for no length in metres is given"
        return (
            f"{given}, so heat has come {far}, but the room is {side}: the heat has evened out, "
            "and every sensor feels the same wherever its source stands, so there is no map to "
            f"draw. Here {would} would do: it is diffusivity times the time the heat has had"
            + ("." if unit else ", and give the room its length if that is in metres.")
        )
    return (
        f"{given}, so heat has come {far}, but the sensors stand {gap:.3g}{unit} apart: no sensor "
        f"feels any heat, so there is no map to draw. Here {would} would do: wait until heat "
        "has spread so far, or place sensors nearer."
    )


def _measure_room(room: Room) -> tuple[float, float]:
    """Return how long the room is, and how far its sensors stand apart, each at the most."""
    lengths = np.atleast_1d(np.asarray(length_m(room.grid), dtype=float))
    return float(lengths.max()), float((lengths / np.asarray(room.sensors)).max())


def make_room(query: Query) -> Room:
    """Return where the query's warmth is hidden.

    Raises:
        ValueError: it is hidden in a room with a response of its own, which has no spread.
    """
    if query.response is not None:
        raise ValueError(
            f"the room {query.response.name} has a response of its own but a spread was asked "
            "for: it has none, and another room's noise would not hide what this one shows. Take "
            "`recovery.thermal.noise`."
        )
    return Room(query.grid, query.sensors, query.spread_m2, query.walls)


@lru_cache(maxsize=8)
def make_operator(query: Query) -> Floats:
    """Return A, (sensors, cells): the warmth at each sensor of one unit of heat in each cell."""
    if query.response is not None:
        return query.response.operator
    return make_room(query).operator()


def is_printed(query: Query) -> bool:
    """Say whether the noise is the printed formula, which knows the stated spread alone."""
    return query.calibration == "paper" and query.sigma is None


@lru_cache(maxsize=64)  # whole-number answers, not operators: they take no room
def calibrate_query(query: Query) -> Calibration:
    """Return the noise that the query asks for, enough at its spread and at every longer one.

    Raises:
        ValueError: the printed formula is asked for where it is not private, or tables where
            delta does not pay for them.
    """
    if query.response is not None:
        change = bound_move_in_room(query, count_protected_cells(query))
    else:
        change = _at_its_spread(query) if is_printed(query) else _at_every_spread(query)
    if query.slew is not None:
        change = bound_followed_change(change, query.slew)
    if query.sigma is not None:
        return calibrate_stated_noise(change, query.sigma, query.delta)
    made = calibrate_change(change, query.epsilon, find_exact_delta(query), query.calibration)
    if query.sampler == "table":
        check_variance(made.variance)
    return made


def bound_warmth_felt(query: Query) -> float:
    """Return the most that a sensor feels of a unit of heat, whenever and wherever that is."""
    if query.response is not None:
        return float(bound_presence(query).each.max()) / query.intensity_max
    return bound_greatest_response(make_room(query))


def grains_of(query: Query, exponent: int) -> Grains:
    """Return how the query's warmth becomes whole numbers of grains of this exponent."""
    return Grains(exponent, query.step, query.intensity_max, query.behind)


def _at_its_spread(query: Query) -> Moved:
    cells, shape, unfelt = (
        count_protected_cells(query),
        query.grid.shape,
        describe_spread_fault(make_room(query)),
    )
    scales = query.intensity_max, query.step, query.readings
    return bound_move(make_operator(query), shape, cells, *scales, unfelt, query.behind)


def _at_every_spread(query: Query) -> Moved:
    cells, here = (count_protected_cells(query),), make_room(query)
    continuous = query.intensity_max * float(scan_spreads(here, cells).moves.max())
    scales = cells[0], query.intensity_max, query.step, query.readings
    check_scales(*scales, continuous, describe_spread_fault(here))
    counted = continuous
    if query.step is not None:
        # In steps of the converter, as if they were the grains.
        intensity_max, behind = query.intensity_max / float(query.step), query.behind / query.step
        steps = Grains(0, None, intensity_max, behind)
        counted = math.sqrt(bound_worst_squares(here, cells, steps)[0]) * float(query.step)

    def square(exponent: int) -> int:
        return bound_worst_squares(here, cells, grains_of(query, exponent))[0]

    return Moved(
        math.prod(query.sensors),
        query.intensity_max,
        query.step,
        query.readings,
        continuous,
        counted,
        square,
        query.behind,
    )
