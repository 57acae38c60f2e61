"""What a simulated day is made of: the truth, what was read, what was sent, and what came of it.

The first two of them never leave a real room.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from physics.instruments.records import Counts as Counts
from recovery.maps.heatmap import Credible, Verdict
from recovery.thermal import Query

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
    air_k: Floats  # (frames, rows, columns), above the baseline, with whatever warmed it
    people: tuple[Floats, ...]  # (there, 2), where everybody stood, for each frame
    solver: str  # which one, and why
    unbalanced: float  # what the energy balance does not close by, relative to what was stored

    def step_of(self, at_s: float) -> int:
        """Return the step that is nearest to a time."""
        return int(np.abs(self.times_s - at_s).argmin())

    def frame_of(self, at_s: float) -> int:
        """Return the frame that is nearest to a time."""
        return int(np.abs(self.frames_s - at_s).argmin())


@dataclass(frozen=True, eq=False)
class Read:
    """What the thermometers counted, all day long. Private."""

    level: Counts  # of the room before the day, when nobody was there: public
    counts: tuple[Counts, ...]  # for each step
    step_k: Floats  # (sensors,), what one count is

    def above_k(self, step: int) -> Floats:
        """Return a step's readings less the level, (sensors,), in kelvin; NaN for drop-outs."""
        return (_numbers(self.counts[step]) - _numbers(self.level)) * self.step_k


@dataclass(frozen=True, eq=False)
class Filmed:
    """What one thermopile array counted, at the frames of the day. Private, and not veiled."""

    kind: str
    at_m: tuple[float, float]
    shape: tuple[int, int]  # rows and columns of pixels
    counts: Floats  # (frames, pixels), NaN for drop-outs
    above_k: Floats  # (frames, pixels), less what it counted before the day


@dataclass(frozen=True, eq=False)
class Moment:
    """One round of the day."""

    at_s: float
    sent_k: Floats  # (sensors,), blurred, less what is publicly known; NaN where nothing came
    mass: Floats | None  # (rows, columns), the map; None where there is none
    status: str
    total_w: float  # heat of the map
    heat_w: Floats  # (rows, columns), that people gave off lately: the truth. Private
    emd_m: float | None  # how far the map is from it; None where nobody was there, or no map is
    guess_m: float | None  # and a guess that has seen nothing
    credible: Credible | None = None  # how sure the map is, where its estimator has an opinion
    verdict: Verdict | None = None  # whether its readings can be


@dataclass(frozen=True, eq=False)
class Played:
    """The day with its rounds; without a promise there are none, for nothing is sent."""

    room: Any  # physics.rooms.records.Room
    lived: Lived
    read: Read
    places_m: Floats  # (sensors, 2)
    arrays: tuple[Filmed, ...] = ()
    query: Query | None = None
    moments: tuple[Moment, ...] = ()
    releases: tuple[Any, ...] = ()

    @property
    def scored(self) -> list[Moment]:
        """The rounds in which somebody was there and a map came."""
        return [moment for moment in self.moments if moment.emd_m is not None]


def _numbers(counts: Counts) -> Floats:
    return np.array([np.nan if count is None else count for count in counts], dtype=float)
