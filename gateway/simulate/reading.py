"""Instruments that look at a lived day: the thermometers at every step, arrays at its frames."""

import numpy as np
from numpy.typing import NDArray

from physics.instruments.arrays import array_axes
from physics.instruments.chain import Instruments
from physics.instruments.levels import middle
from physics.instruments.people import people_seen
from physics.instruments.presets import named
from physics.rooms import model
from physics.rooms.records import Array, Room

from .records import Counts, Filmed, Lived, Read

Floats = NDArray[np.float64]

# Half an hour of looks at the empty room, before anybody comes.
_LOOKS, _APART_S = 31, 60.0


class Thermometers:
    """Every thermometer of a room, kind by kind, in the order of its file."""

    def __init__(self, room: Room, world: np.random.Generator) -> None:
        self.kinds = [
            Instruments(named(group.kind), len(group.places_m), world, room.air.baseline_c)
            for group in room.thermometers
        ]
        counts = [kind.count for kind in self.kinds]
        self.step_k = np.repeat([float(kind.step) for kind in self.kinds], counts)
        self._ends = np.cumsum(counts)[:-1]

    def see(self, temperatures_k: Floats, at_s: float) -> Counts:
        """Return the counts of all at a moment, for their temperatures, (sensors,)."""
        if not self.kinds:
            return ()
        parts = np.split(temperatures_k, self._ends)
        seen = [kind.see(part, at_s) for kind, part in zip(self.kinds, parts, strict=True)]
        return tuple(count for counts in seen for count in counts)

    def level(self, empty_k: Floats, until_s: float) -> Counts:
        """Return the middle counts of the half hour before a moment, in a room that was empty."""
        times = until_s - _APART_S * np.arange(_LOOKS - 1, -1, -1)
        return middle([self.see(empty_k, float(at_s)) for at_s in times])


def read_day(room: Room, lived: Lived, world: np.random.Generator) -> Read:
    """Return what the thermometers of a room count over its day."""
    thermometers = Thermometers(room, world)
    level = thermometers.level(lived.empty_k[0], float(lived.times_s[0]) - _APART_S)
    counts = tuple(
        thermometers.see(seen, float(at_s))
        for seen, at_s in zip(lived.seen_k, lived.times_s, strict=True)
    )
    return Read(level, counts, thermometers.step_k)


def film_day(room: Room, lived: Lived, world: np.random.Generator) -> tuple[Filmed, ...]:
    """Return what the thermopile arrays of a room count at the frames of its day.

    The floor below an array is taken to be as warm as the air there: a plan has no other.
    """
    return tuple(_filmed(room, array, lived, world) for array in room.arrays)


def _filmed(room: Room, array: Array, lived: Lived, world: np.random.Generator) -> Filmed:
    preset = named(array.kind)
    axes = array_axes(preset, array.at_m, array.height_m, model.grid(room))
    sees = Instruments(preset, preset.pixels, world, room.air.baseline_c)
    floor_k = axes.see(lived.air_k)
    start_s = float(lived.frames_s[0])
    before = start_s - _APART_S * np.arange(_LOOKS, 0, -1)
    level = middle([sees.see(floor_k[0], float(at_s)) for at_s in before])
    seen = [
        sees.see(
            people_seen(people, preset, array.at_m, array.height_m, floor),
            float(at_s),
        )
        for people, floor, at_s in zip(lived.people, floor_k, lived.frames_s, strict=True)
    ]
    shape = preset.shape[1], preset.shape[0]
    above_k = sees.kelvin(seen) - sees.kelvin([level])
    return Filmed(preset.name, array.at_m, shape, np.array(seen, dtype=float), above_k)
