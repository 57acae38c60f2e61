"""How far off a map will be, tried out: sources in a room that exists in the simulator alone.

The whole way is that of a play but for the noise, which is a rounded normal of the same
variance from the world's generator: it hides nothing, for nobody is there, and at a hundred
grains and more its law is that of the devices' noise but for far less than trials can tell.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edge import thermal as device
from edge.entropy import Tape
from edge.records import Reading
from edge.thermal import params_of
from physics.places import cell_places, length_m
from physics.scenes import random_sources
from physics.sensors import PointSensors, grains
from recovery import thermal
from recovery.distance import earth_movers
from recovery.maps.heatmap import Heatmap
from recovery.thermal import Query
from recovery.thermal.noise import follower
from recovery.thermal.query import standing_room, unknown_physics
from recovery.thermal.seen import sensors_m

from .choices import undrawn
from .choices_thermal import first_round
from .stages import Stage

Floats = NDArray[np.float64]

_SEED = 1  # the same room and promise are told the same
# Trials, and how many pairs of cells and sensors, and of sensors and readings, they are for.
_TRIALS = ((40, 8_000, 2_000), (10, 40_000, 8_000))
# They weigh scene by scene, a quarter of a second a map where others take a few milliseconds.
_THOROUGH = frozenset({"auto", "posterior", "map"})
_FEW = ((20, 8_000, 2_000),)
# A map that is off by this share of what a guess without data is says next to nothing.
_NOTHING = 0.8


class Tried(NamedTuple):
    """What some trials of the map came to; distances in metres, or in sides of a unit grid."""

    trials: int
    unresolved: int  # trials of which no map came
    off: float | None  # mean distance from the source to the heat of its map, None without maps
    standard_error: float | None  # of that mean, None where one map is too few
    blind: float  # the same of a map that has seen no data and is warm everywhere
    estimator: str  # that drew them, or was to
    sources: int  # how many there were in each trial


def tried(query: Query, stage: Stage) -> Tried | None:
    """Return how maps of one strongest source fare, anywhere in the room; None if that is slow.

    The distance is the earth mover's: where all heat is in one place, the mean way to it.

    Args:
        stage: hears which trial it is.
    """
    sensors = int(np.prod(query.sensors))
    pairs, answers = sensors * int(np.prod(query.grid.shape)), sensors * query.readings
    table = _FEW if query.estimator in _THOROUGH else _TRIALS
    fits = [trials for trials, most, each in table if pairs <= most and answers <= each]
    # Who finds out about the physics too takes seconds.
    if not fits or unknown_physics(query):
        return None
    world, found, blind, estimator = np.random.default_rng(_SEED), [], [], query.estimator
    for trial in range(fits[0]):
        stage(f"trying out the map, {trial + 1} of {fits[0]}")
        off, guess, by = _one(query, world)
        blind.append(guess)
        if off is not None:
            found.append(off)
            estimator = by
    return Tried(
        fits[0],
        fits[0] - len(found),
        float(np.mean(found)) if found else None,
        float(np.std(found, ddof=1) / np.sqrt(len(found))) if len(found) > 1 else None,
        float(np.mean(blind)),
        estimator,
        query.sources or 1,
    )


def map_line(query: Query, tried: dict[str, Any] | None) -> str:
    """Return what is to be said of the map, from the value of that key."""
    if tried is None and query.response is not None:
        return (
            "The map: how far off it will be was not tried, for so many cells, sensors and "
            "readings take too long; heatveil simulate, on the room's file, draws the maps of a "
            "day and says how far off they are."
        )
    if tried is None:
        return (
            "The map: how far off it will be was not tried, for so many cells, sensors and "
            "readings, or a spread or drift that is to be found out, take too long; heatveil play "
            "thermal tries one map."
        )
    unit, trials = " m" if query.grid.cell_mm else " of the side", tried["trials"]
    said = f"{trials} simulated trials" + f", {tried['unresolved']} without a map" * bool(
        tried["unresolved"]
    )
    if tried["off"] is None:
        return f"The map: there will hardly be one, for of {said}."
    error = tried["standard_error"]
    give = "" if error is None else f", give or take {error:.1g}"
    together = f"{query.readings} readings together" if query.readings > 1 else "one reading"
    many = tried["sources"]
    of = "one strongest source" if many == 1 else f"{many} strongest sources"
    none = ". Such a map says next to nothing" * (tried["off"] > _NOTHING * tried["blind"])
    where = "at the stated spread"
    if query.response is not None:
        where = f"having stood there for {query.response.hold_s / 60:.4g} min and not before"
    return (
        f"The map: after {together}, that of {of} is expected to be about "
        f"{tried['off']:.2g}{unit} off{give} (anywhere in the room, {where}, "
        f"{tried['estimator']} estimator, {said}); a guess that has seen no data, "
        f"{tried['blind']:.2g}{unit}{none}."
    )


def _one(query: Query, world: np.random.Generator) -> tuple[float | None, float, str]:
    """Return how far off the map of one source is, if there is one, a blind guess, and by whom."""
    free = None if standing_room(query).all() else standing_room(query)
    scene = random_sources(query.sources or 1, query.grid, world, query.intensity_max, free)
    places = sensors_m(query)
    sensors = PointSensors(places, query.sensor_noise, query.step)
    if query.response is not None:
        warmth = query.response.operator @ scene.heat(query.grid)
    else:
        warmth = scene.temperatures(places, query.spread_m2, query.walls, length_m(query.grid))
    round, releases = first_round(query), []
    params = params_of(round)
    level = follower(query)
    for number in range(1, query.readings + 1):
        asked, there = round._replace(number=number), number > query.empty_readings
        seen = grains(sensors.see(warmth * there, world), params.exponent, query.step)
        if level is not None:
            seen = level.less(seen, params.exponent)
            level.follow()
        noise: Any = np.rint(world.normal(0, params.variance**0.5, len(seen))).astype(int).tolist()
        payload = device.veil(asked, Reading(0, seen), noise)
        releases.append(device.release(asked, [payload], Tape(b"calibrate")))
    with undrawn():
        map = thermal.recover(query, releases, certify=False)
    cells = np.asarray(cell_places(query.grid)).reshape(math.prod(query.grid.shape), -1)
    truth = scene.heat(query.grid)
    blind = _apart(truth, np.ones(len(cells)), cells)
    if not isinstance(map, Heatmap):
        return None, blind, query.estimator
    return _apart(truth, map.mass.ravel(), cells), blind, map.estimator


def _apart(truth: Floats, heat: Floats, cells: Floats) -> float:
    return earth_movers(truth, heat, "l2", cells, normalise=True)
