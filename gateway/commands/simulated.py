"""A room that exists in the simulator alone, so that a map can be held against the truth."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edge.records import Reading
from edge.thermal import params_of
from physics.places import is_plane, length_m
from physics.scenes import Scene, from_sources_file, random_sources
from physics.sensors import PointSensors, grains
from recovery.thermal import Query
from recovery.thermal.noise import follower
from recovery.thermal.query import standing_room
from recovery.thermal.seen import sensors_m

from ..faults import OperatorFault

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
        return PointSensors(sensors_m(query), step=query.step)

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
                "the sources warm a sensor beyond all numbers, the strongest of them is "
                f"{self.scene.intensities.max():g}; readings must be finite, for noise hides no "
                "infinity. Give sources and a spread that a room can have"
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

    def readings(self, round: Any) -> Iterator[Reading]:
        """Yield what every device reads for a Round, in its grains, less its level. Private.

        Nobody is there yet while the query says that the room is known to be empty.
        """
        empty = round.number <= self.query.empty_readings
        seen = self.sensors.see(self.temperatures * (not empty), self.world)
        exponent = params_of(round).exponent
        values = grains(seen, exponent, self.query.step)
        if self._level is not None:
            values = self._level.less(values, exponent)
            self._level.follow()
        for sensor, value in enumerate(values):
            yield Reading(sensor, (value,))

    @cached_property
    def _level(self) -> Any:
        return follower(self.query)

    def beyond(self) -> str:
        """Return a clause about sources that the noise is not made for; empty without any."""
        most = float(self.scene.intensities.max(initial=0))
        if most <= self.query.intensity_max:
            return ""
        return (
            f"a source warmer than {self.query.intensity_max:g}, of which this scene has one of "
            f"{most:g} (--set intensity_max={most:g} makes the noise for it)"
        )


def scene_of(
    query: Query, sources: Path | None, sources_random: int | None, world: np.random.Generator
) -> Scene:
    """Return the scene of a file, or one of so many random sources.

    Raises:
        OperatorFault: neither or both are given, or the file or the number is wrong.
    """
    if (sources is None) == (sources_random is None):
        given = "neither" if sources is None else "both"
        raise OperatorFault(
            f"{given} of --sources and --sources-random came; one of them says what is warm, "
            "and without it there is nothing to see. Give --sources FILE.csv or "
            "--sources-random 2"
        )
    try:
        if sources is None:
            free = None if standing_room(query).all() else standing_room(query)
            heat = query.intensity_max
            return random_sources(sources_random or 0, query.grid, world, heat, free)
        scene = from_sources_file(sources, inf)  # anywhere yet: the header is looked at first
        if (scene.places.ndim == 2) == is_plane(query.grid):
            return from_sources_file(sources, length_m(query.grid))
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
