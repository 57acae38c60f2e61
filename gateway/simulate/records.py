"""What a simulated day leaves: what was warm, what was sent, and what was recovered of it.

Only a simulation has all three side by side; the first of them never leaves a real room.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Lived:
    """A day as it was in the room: warmth is of people alone, in kelvin.

    Steps are the instants of the simulation, the first of them the start; frames are the fewer
    of them at which the whole field was kept.
    """

    times_s: Floats  # (steps,), since the start of the day
    seen_k: Floats  # (steps, sensors), the true temperature at each, above the baseline
    empty_k: Floats  # (steps, sensors), the same had nobody been there
    frames_s: Floats  # (frames,)
    warmth_k: Floats  # (frames, rows, columns)
    people: tuple[Floats, ...]  # (there, 2), where everybody stood, for each frame
    solver: str  # which one, and why
    unbalanced: float  # what the energy balance does not close by, relative to what was stored


@dataclass(frozen=True, eq=False)
class Moment:
    """One round of the day."""

    at_s: float
    read: tuple[int | None, ...]  # counts of each converter; None for a drop-out. Private
    sent_k: Floats  # (sensors,), blurred; NaN where nothing came
    mass: Floats | None  # (rows, columns), the map; None where there is none
    status: str
    total_w: float  # heat of the map
    heat_w: Floats  # (rows, columns), that people gave off lately: the truth. Private
    emd_m: float | None  # how far the map is from it; None where nobody was there, or no map is
    guess_m: float | None  # and a guess that has seen nothing


@dataclass(frozen=True, eq=False)
class Played:
    """The day with its rounds."""

    room: Any  # physics.rooms.records.Room
    query: Any  # recovery.thermal.Query
    lived: Lived
    moments: tuple[Moment, ...]
    releases: tuple[Any, ...]
    places_m: Floats  # (sensors, 2)

    @property
    def scored(self) -> list[Moment]:
        """The rounds in which somebody was there and a map came."""
        return [moment for moment in self.moments if moment.emd_m is not None]
