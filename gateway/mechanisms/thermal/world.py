"""A room that exists in the simulator alone: its truth, its devices, and the best map possible."""

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property, partial
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edge.core.records import Reading
from edge.mechanisms.thermal import params_of
from physics.fleet import Fleet
from physics.places import cell_places, is_plane, length_m
from physics.scenes import Scene, draw_sources, read_scene
from physics.sensors import PointSensors, to_grains
from recovery.bayes.yardstick import Yardstick, measure_bayes_risk
from recovery.thermal import Query, make_operator
from recovery.thermal.noise import make_follower
from recovery.thermal.query import cell_m, find_standing_room
from recovery.thermal.seen import compute_deviation, locate_sensors

from ...faults import OperatorFault
from ...output import Stage
from ..summary import format_distance, format_place
from ..worlds import TRUTH, FleetInputs, FleetScene, Inputs, Judged, Numbers, Played

# A room that exists in the simulator alone, so that a map can be held against the truth.

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Room:
    """What is warm, and the thermometers that look at it; `world` makes what is random in it."""

    query: Query
    scene: Scene
    world: np.random.Generator

    @cached_property
    def sensors(self) -> PointSensors:
        """The thermometers, where the query says that they are."""
        query = self.query
        return PointSensors(locate_sensors(query), step=query.step, behind=query.behind)

    @cached_property
    def temperatures(self) -> Floats:
        """The true temperature at each sensor, (sensors,), in kelvin above the baseline."""
        query = self.query
        if query.response is not None:
            return np.asarray(query.response.operator @ self.scene.heat(query.grid))
        with np.errstate(over="ignore"):
            found = self.scene.temperatures(
                self.sensors.places_m, query.spread_m2, query.walls, length_m(query.grid)
            )
        if not np.isfinite(found).all():
            raise OperatorFault(
                "the sources heat a sensor to an infinite temperature; the strongest has "
                f"intensity {self.scene.intensities.max():g}. Give sources and a spread that are "
                "possible in a room"
            )
        return found

    @cached_property
    def heat(self) -> Floats:
        """The true heat in each cell, (rows, columns)."""
        columns, rows = self.query.grid.shape
        return self.scene.heat(self.query.grid).reshape(rows, columns)

    @property
    def truth(self) -> Floats:
        """What the map should be, (rows, columns): the heat."""
        return self.heat

    def read_devices(self, round: Any) -> Iterator[Reading]:
        """Yield what every device reads for a Round, in its grains, less its level. Private.

        Nobody is there yet while the query says that the room is known to be empty.
        """
        empty = round.number <= self.query.empty_readings
        seen = self.sensors.measure(self.temperatures * (not empty), self.world)
        exponent = params_of(round).exponent
        values = to_grains(seen, exponent, self.query.step, self.query.behind)
        if self._level is not None:
            values = self._level.subtract(values, exponent)
            self._level.follow()
        for sensor, value in enumerate(values):
            yield Reading(sensor, (value,))

    @cached_property
    def _level(self) -> Any:
        return make_follower(self.query)

    def describe_exceptions(self) -> str:
        """Return a clause about sources that the noise is not made for; empty without any."""
        most = float(self.scene.intensities.max(initial=0))
        if most <= self.query.intensity_max:
            return ""
        return (
            f"a source warmer than {self.query.intensity_max:g}, of which this scene has one of "
            f"{most:g} (--set intensity_max={most:g} makes the noise for it)"
        )


def load_scene(
    query: Query, sources: Path | None, sources_random: int | None, world: np.random.Generator
) -> Scene:
    """Return the scene of a file, or one of so many random sources.

    Raises:
        OperatorFault: neither or both are given, or the file or the number is wrong.
    """
    if (sources is None) == (sources_random is None):
        given = "neither" if sources is None else "both"
        raise OperatorFault(
            f"{given} of --sources and --sources-random is given, but exactly one must say what "
            "is warm. Give --sources FILE.csv or --sources-random 2"
        )
    try:
        if sources is None:
            free = None if find_standing_room(query).all() else find_standing_room(query)
            heat = query.intensity_max
            return draw_sources(sources_random or 0, query.grid, world, heat, free)
        scene = read_scene(sources, inf)  # anywhere yet: the header is looked at first
        if (scene.places.ndim == 2) == is_plane(query.grid):
            return read_scene(sources, length_m(query.grid))
    except ValueError as fault:
        raise OperatorFault(str(fault)) from fault
    given, header, cells, kind = (
        ("position", "x,y", "100", "plane")
        if is_plane(query.grid)
        else ("x,y", "position", "40x30", "line")
    )
    raise OperatorFault(
        f"{sources} has {given} columns but the grid is a {kind}, where a source stands at "
        f"{header}; the two must agree. Mend the header, or --cells {cells}"
    )


# What virtual thermometers stand in: a still scene, or a room that lives.

_SPEED = 60.0  # an hour a minute


@dataclass(frozen=True)
class StillScene:
    """A scene in which nothing moves, once everybody has come."""

    room: Room

    def make_fleet(self, devices: Iterable[Any]) -> Fleet:
        """Return devices that stand in the scene.

        Raises:
            OperatorFault: they do not fit the room.
        """
        return make_room_fleet(self.room, devices)

    def run_scene(self, fleet: Fleet) -> AbstractContextManager[str]:
        """Let nothing pass, and say where the sources stand, and where nobody is there yet."""
        scene, grid = self.room.scene, self.room.query.grid
        told = f"{TRUTH}: sources stand at " + ", ".join(
            f"{format_place(place, grid)} (intensity {heat:g})"
            for place, heat in zip(scene.places, scene.intensities, strict=True)
        )
        if first := self.room.query.empty_readings:
            told += (
                f"; nobody is there yet in the first {first} readings of each device, which the "
                "deployment says are of an empty room; each start of this fleet begins with them"
            )
        return nullcontext(told)


def make_room_fleet(room: Room, devices: Iterable[Any]) -> Fleet:
    """Return devices, each an identity and its budget, that stand in the room.

    Raises:
        OperatorFault: they do not fit the room.
    """
    try:
        fleet = Fleet(
            devices,
            room.sensors,
            room.world,
            follower=lambda: make_follower(room.query),
            alone=room.query.empty_readings,
            tables=room.query.sampler == "table",
        )
        fleet.set_temperatures(room.temperatures)
    except ValueError as fault:
        raise OperatorFault(str(fault)) from fault
    return fleet


def make_fleet_scene(
    query: Query, seen: FleetInputs, sensors: int, world: np.random.Generator
) -> FleetScene:
    """Return what thermometers stand in: two random sources where nothing was said.

    Raises:
        OperatorFault: a flag or a file is wrong, or the room does not fit the query.
    """
    if seen.points is not None:
        raise OperatorFault(
            f"--points {seen.points} came, but the deployment measures warmth, not places; it "
            "would be silently ignored. Leave it out and give --sources FILE.csv or "
            "--sources-random 2"
        )
    sources, random = seen.sources, seen.sources_random
    if seen.scene is not None:
        if sources is not None or random is not None:
            raise OperatorFault(
                "--scene came with --sources or --sources-random, but only one of them can say "
                "what is warm. Leave one out"
            )
        # Loaded here alone: only who names a room file has a use for the simulator.
        from ...lab.thermal_days.scene import Scene

        return Scene(query, seen.scene, seen.speed or _SPEED, seen.since, world)
    if seen.speed is not None or seen.since is not None:
        raise OperatorFault(
            "--speed or --from came without --scene; only a simulated day has a clock, so it "
            "would be silently ignored. Add --scene room.toml"
        )
    if sources is None and random is None:
        random = 2
    return StillScene(Room(query, load_scene(query, sources, random, world), world))


# How near any map could have come on average: what `play` holds its own map against.

# More sets of sources than this take longer than anybody wants to wait for a line.
_SOURCES_MAX, _CELLS_MAX, _CELLS_PLANE = 4, 120, 450


def make_yardstick(room: Room, round: Any) -> Yardstick | None:
    """Return the Bayes yardstick of scenes like this one; None where it would take too long.

    Like this one: as many sources, as warm, anywhere; the estimator knows how many and how warm.
    Its unit is the longer side of the map.

    Args:
        room: that was played in.
        round: that was asked there, for its noise.
    """
    query, heat = room.query, room.scene.intensities
    cells, number = int(np.prod(query.grid.shape)), int(np.count_nonzero(room.heat))
    plane = min(query.grid.shape) > 1
    fits = number <= (2 if plane else _SOURCES_MAX) and cells <= (
        _CELLS_PLANE if plane else _CELLS_MAX
    )
    equal = len(heat) == number and np.ptp(heat) <= 1e-9 * heat.max(initial=0)
    if not (fits and number and equal and heat.max() > 0):
        return None
    places = np.asarray(cell_places(query.grid)).reshape(cells, -1)
    longest = max(query.grid.shape) * cell_m(query.grid)
    return measure_bayes_risk(
        make_operator(query),
        compute_deviation(query, params_of(round)),
        number,
        None,
        places / longest,
        float(heat[0]),
        find_standing_room(query) if query.furniture else None,
    )


def format_yardstick_lines(found: Yardstick | None, score: float | None, far: Any) -> list[str]:
    """Return what is to be said of it, a line at most.

    Args:
        score: the map's own distance, in parts of the longer side; None without a map.
        far: writes such a distance.
    """
    if found is None or score is None:
        return []
    apart = score - found.distance
    than = f"{far(abs(apart))} {'more' if apart > 0 else 'less, by luck'}"
    return [
        f"The best map that there can be, for who knows how many sources there are and how warm, "
        f"is {far(found.distance)} off on average over {found.trials} such scenes: this one is "
        f"{than}."
    ]


def make_room(query: Query, inputs: Inputs, world: np.random.Generator) -> Room:
    """Return a room with what the flags say is warm in it.

    Raises:
        OperatorFault: a flag or a file is wrong.
    """
    return Room(query, load_scene(query, inputs.sources, inputs.sources_random, world), world)


def judge_map(played: Played, numbers: Numbers, stage: Stage) -> Judged:
    """Return how far the map is from the truth, beside a blind guess and the best there is."""
    stage("working out how near any map could come")
    best = make_yardstick(played.world, played.watch.releases[0].round)
    own = {"emd_l1_yardstick": None if best is None else best.distance}
    length = partial(format_distance, played.world.query.grid)
    score, guess = (numbers[name] for name in ("emd_l1", "emd_l1_data_free"))
    lines = []
    if score is not None and guess is not None:
        lines.append(
            f"Earth mover's distance to the truth {length(score)}; a guess without data has "
            f"{length(guess)}."
        )
        if score >= guess:
            lines.append("So this map is no better than that guess: it says nothing of value.")
    return Judged(own, lines + format_yardstick_lines(best, score, length))
