"""What the audit needs to know of thermal readings: rooms, neighbours, and what gets noise.

Written from the promise and not from the plan: an audit that asked the plan would believe it.
"""

import math
from collections.abc import Iterator
from fractions import Fraction

from edge.records import Grid, Reading, Round
from edge.thermal import params_of

from . import thermal_audit_asked
from .thermal_parted import parted
from .thermal_query import Query
from .thermal_scenes import neighbours as neighbours
from .thermal_search import search as search

NAME = "thermal"
KIND = "noise"
asked = thermal_audit_asked


def rooms() -> Iterator[tuple[str, Query]]:
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
    # The last two cells are those that the sensor in the corner tells apart best.
    yield "sensor in the corner", Query(Grid((4, 1), 0), (1,), 0.01, (1, 1), (1, 10**6))
    # The sensor stands in the middle, and feels most of who comes up to it obliquely.
    yield (
        "obliquely to one sensor",
        Query(Grid((4, 3), 500), (1, 1), 0.2, (1, 1), protect_distance_m=1.0),
    )
    # People who walk, through a door and along both sides of a partition.
    made = parted()
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


def inputs(round: Round) -> list[Reading]:
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


def unblurred(round: Round, reading: Reading) -> tuple[list[int], list[int]]:
    """Return the numbers of a payload that get no noise, and then those that do."""
    params = params_of(round)
    clamped = [
        params.low if value < params.low else params.high if value > params.high else value
        for value in reading.values
    ]
    return [reading.sensor], clamped


def noise(round: Round) -> tuple[str, tuple[int, ...]]:
    """Return the sampler whose law each reading's noise has, and its arguments."""
    return "dgauss", (params_of(round).variance, 1)


def promised(round: Round) -> Fraction:
    """Return the squared sensitivity, in grains, that the round states a price for."""
    num, den = round.guarantee.rho
    return Fraction(2 * num * params_of(round).variance, den)


def readings(query: Query) -> int:
    """Return how many readings of each sensor the promise holds for."""
    return query.readings
