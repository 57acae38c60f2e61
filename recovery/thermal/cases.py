"""What the audit needs to know of thermal readings: rooms, neighbours, and what gets noise.

Written from the promise and not from the plan: an audit that asked the plan would believe it.
"""

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from edge.core.records import Grid, Reading, Round
from edge.mechanisms.thermal import params_of
from physics.kernel import forward
from physics.places import cell_places, length_m, sensor_places

from . import asked as thermal_audit_asked
from .noise import calibrate_query as calibrate_query
from .noise import make_follower as make_follower
from .query import Query
from .search import make_corridor_response, trace_query_paths
from .search import search_neighbours as search_neighbours

# Two scenes of a room that its promise must keep apart no better than it says.
#
# For the audit, and so by itself: the moves, the spreads, the converter and the grains are done
# here anew and straight away, by trying, where the noise is planned with bounds.

Whole = NDArray[np.int64]
Floats = NDArray[np.float64]

SPREADS = 24  # how many longer spreads are tried, to where the whole room is even
OFFSETS = 64  # how many places between two steps of the converter a reading may start from


def find_neighbours(query: Query, round: Round) -> tuple[Whole, Whole]:
    """Return the whole-number readings of two neighbours, (sensors,) each, hard to hide.

    One source as warm as may be stands somewhere, and then at most the protected distance away.
    Of all moves at all spreads tried it is the one that changes what devices send the most.
    """
    params = params_of(round)
    if query.response is not None:
        moves = [trace_query_paths(query)]
    else:
        tried = [_find_widest_move(query, spread) for spread in _list_spreads(query)]
        moves = [move for move in tried if move is not None]
    pairs = [_send(here, there, params.exponent, query) for here, there in moves]
    return max(pairs, key=lambda pair: int(np.square(pair[1] - pair[0]).sum()))


def _list_spreads(query: Query) -> list[float]:
    if query.calibration == "paper" and query.sigma is None:
        return [query.spread_m2]  # the printed formula promises this one alone
    longest = max(float(np.max(length_m(query.grid))) ** 2, query.spread_m2)
    return [float(spread) for spread in np.geomspace(query.spread_m2, longest, SPREADS)]


def _find_widest_move(query: Query, spread_m2: float) -> tuple[Floats, Floats] | None:
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


def _send(here: Floats, there: Floats, exponent: int, query: Query) -> tuple[Whole, Whole]:
    """Return what is sent of both, each sensor's offset such that it differs the most."""
    width = float(query.behind or query.step or 2.0**-exponent)
    offsets = np.arange(OFFSETS)[:, None] * (width / OFFSETS)
    before, after = (_round_to_grains(warm + offsets, exponent, query) for warm in (here, there))
    worst = np.abs(after - before).argmax(axis=0)
    sensors = np.arange(len(here))
    return before[worst, sensors], after[worst, sensors]


def _round_to_grains(kelvin: Floats, exponent: int, query: Query) -> Whole:
    """Return whole grains by way of the converters' whole steps, each to the nearest."""
    step, behind = query.step, float(query.behind)
    if behind:
        kelvin = np.floor(kelvin / behind + 0.5) * behind
    if step is None:
        return np.floor(np.ldexp(kelvin, exponent) + 0.5).astype(np.int64)
    counts = np.floor(kelvin / float(step) + 0.5).astype(np.int64)
    num, den = step.numerator, step.denominator
    up, down = (1 << max(exponent, 0)), (1 << max(-exponent, 0))
    return (2 * counts * num * up + den * down) // (2 * den * down)


NAME = "thermal"
KIND = "noise"
FOLLOWED = ("insulated corridor", "open line, coarse converter", "obliquely to one sensor")
asked = thermal_audit_asked


def list_queries() -> Iterator[tuple[str, Query]]:
    """Yield the rooms that every layer looks at, each with its name.

    Small, so that all moves can be tried, and each there for a fault that the others hide.
    """
    line = Grid((40, 1), 100)
    # Its sensors have a noise of their own, which nobody may count on.
    corridor = Query(line, (12,), 0.05, (1, 1), walls="insulated", sensor_noise=0.5)
    yield "insulated corridor", corridor
    yield (
        "open line, coarse converter",
        Query(line, (20,), 0.05, (2, 1), step=Fraction(1, 16), protect_distance_m=0.3),
    )
    yield "unit interval of the paper", Query(Grid((100, 1), 0), (50,), 0.05, (1, 1))
    yield (
        "hall with warm sources, three readings",
        Query(
            Grid((8, 6), 500),
            (4, 3),
            0.3,
            (1, 2),
            walls="insulated",
            intensity_max=2.5,
            readings=3,
            protect_distance_m=1.0,
        ),
    )
    # Warmth that had longer to spread reaches these sensors from more cells, and is felt more.
    yield (
        "few sensors, key holder",
        Query(
            Grid((6, 1), 500),
            (3,),
            0.004,
            (1, 1),
            step=Fraction(1, 10),
            sources_max=64,
            keyholder=True,
        ),
    )
    yield (
        "converter behind a converter",
        Query(Grid((6, 1), 500), (3,), 0.05, (1, 1), step=Fraction(1, 100), behind=Fraction(1, 5)),
    )
    # The last two cells are those that the sensor in the corner tells apart best.
    yield "sensor in the corner", Query(Grid((4, 1), 0), (1,), 0.01, (1, 1), (1, 10**6))
    # The sensor stands in the middle, and feels most of who comes up to it obliquely.
    yield (
        "obliquely to one sensor",
        Query(Grid((4, 3), 500), (1, 1), 0.2, (1, 1), protect_distance_m=1.0),
    )
    # People who walk, through a door and along both sides of a partition.
    made = make_corridor_response()
    yield (
        "partition, displaced paths",
        Query(
            made.grid,
            (len(made.places_m),),
            math.inf,
            (1, 1),
            protect_distance_m=0.5,
            intensity_max=80.0,
            step=Fraction(1, 4),
            response=made,
        ),
    )
    # Here the noise was there first, and epsilon is what it comes to.
    yield "noise that is given", Query(Grid((8, 1), 500), (4,), 0.1, (1, 1), sigma=(3, 2))


def list_following() -> Iterator[tuple[str, Query]]:
    """Yield the rooms whose levels are led apart."""
    for name, query in list_queries():
        if name in FOLLOWED:
            yield name, query


def list_tabled() -> tuple[Query, Query]:
    """Return two queries whose noise comes from tables."""
    return (
        Query(Grid((8, 8), 500), (4, 4), 0.3, (1, 1), sampler="table"),
        Query(Grid((8, 8), 500), (8, 8), 0.3, (8, 1), readings=24, sampler="table"),
    )


def list_readings(round: Round) -> list[Reading]:
    """Return readings that a device may hold, within the clamp, at its ends and beyond."""
    params = params_of(round)
    low, high, sensors = params.low, params.high, params.sensors
    found = [Reading(sensor, (sensor,)) for sensor in (0, sensors - 1)]
    for value in (low - 1, low, low + 1, -1, 0, 1, high - 1, high, high + 1, 3 * high):
        found.append(Reading(sensors - 1, (value,)))
    found.append(
        Reading(0, tuple(range(low, high + 1, max(1, (high - low) // sensors)))[:sensors])
    )
    found.append(Reading(0, (7,) * sensors))
    return found


def split_payload(round: Round, reading: Reading) -> tuple[list[int], list[int]]:
    """Return the numbers of a payload that get no noise, and then those that do."""
    params = params_of(round)
    clamped = [
        params.low if value < params.low else params.high if value > params.high else value
        for value in reading.values
    ]
    return [reading.sensor], clamped


def find_noise(round: Round) -> tuple[str, tuple[int, ...]]:
    """Return the sampler whose law each reading's noise has, and its arguments."""
    return "dgauss", (params_of(round).variance, 1)


def find_sensitivity(round: Round) -> Fraction:
    """Return the squared sensitivity, in grains, that the round states a price for."""
    num, den = round.guarantee.rho
    return Fraction(2 * num * params_of(round).variance, den)
