"""A simulated day: marched through, read by instruments, and what it is made of."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from physics.diffusion.medium import Drive, Medium
from physics.diffusion.run import Run, march
from physics.instruments.chain import Instruments, median_counts
from physics.instruments.presets import Counts as Counts
from physics.instruments.presets import find_preset
from physics.rooms import model, plan
from physics.rooms.day import Day
from physics.rooms.records import Room
from physics.rooms.vacant import DAY_S, LONG_STEP_S, Cause, drive_vacant, repeat_daily
from recovery.maps.heatmap import Credible, Verdict
from recovery.thermal import Query

from ...output import Stage

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
    unbalanced: float  # what the energy balance does not close by, relative to what was stored

    def find_step(self, at_s: float) -> int:
        """Return the step that is nearest to a time."""
        return int(np.abs(self.times_s - at_s).argmin())

    def find_frame(self, at_s: float) -> int:
        """Return the frame that is nearest to a time."""
        return int(np.abs(self.frames_s - at_s).argmin())


@dataclass(frozen=True, eq=False)
class Readings:
    """What the thermometers counted, all day long. Private."""

    level: Counts  # of the room before the day, when nobody was there: public
    counts: tuple[Counts, ...]  # for each step
    step_k: Floats  # (sensors,), what one count is

    def subtract_level_k(self, step: int) -> Floats:
        """Return a step's readings less the level, (sensors,), in kelvin; NaN for drop-outs."""
        counts, level = (np.array(one, dtype=float) for one in (self.counts[step], self.level))
        return (counts - level) * self.step_k


@dataclass(frozen=True, eq=False)
class Moment:
    """One round of the day."""

    at_s: float
    sent_k: Floats  # (sensors,), blurred, less what is publicly known; NaN where nothing came
    mass: Floats | None  # (rows, columns), the map; None where there is none
    status: str
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
    read: Readings
    places_m: Floats  # (sensors, 2)
    query: Query | None = None
    moments: tuple[Moment, ...] = ()
    releases: tuple[Any, ...] = ()

    @property
    def scored(self) -> list[Moment]:
        """The rounds in which somebody was there and a map came."""
        return [moment for moment in self.moments if moment.emd_m is not None]


# A day in a room, marched through: every instant at the thermometers, some of the whole field.

FRAMES = 96  # whole fields that are kept of a day, evenly: a quarter of an hour apart


class LivingRoom:
    """A room going through its day, with its people and, side by side, without them.

    Args:
        views: (sensors, heat cells), what each sensor sees of the field.
        stage: hears how far the night before has come.
    """

    def __init__(
        self, room: Room, day: Day, views: Floats, stage: Stage = lambda name: None
    ) -> None:
        self.room, self.day, self._views = room, day, views
        stage("letting the room settle overnight")
        medium, start_s = model.make_medium(room, room.day.start_s), room.day.start_s
        self._run = Run(medium, self._simulate_night(), start_s)

    def _simulate_night(self) -> Floats:
        """Return the field twice at the start of the day: nobody has been there since."""
        start_s = self.room.day.start_s
        by_day = repeat_daily(self.room)

        def media(from_s: float, to_s: float) -> Medium:
            return model.make_step_medium(by_day, from_s % DAY_S, from_s % DAY_S + to_s - from_s)

        # Long steps would ring with a heater that is switched.
        since_s = start_s - DAY_S
        run = Run(media(since_s, since_s), at_s=since_s)
        drives = drive_vacant(Cause("the file", by_day), lambda at_s: at_s % DAY_S)
        for _ in march(run, drives, LONG_STEP_S, start_s, media):
            pass
        return np.stack([run.field_k, run.field_k])

    @property
    def at_s(self) -> float:
        """The time, in seconds since midnight."""
        return self._run.at_s

    @property
    def unbalanced(self) -> float:
        """What the energy balance does not close by, relative to what passed through it."""
        balance = self._run.balance
        passed = [balance.stored_j, balance.powered_j, balance.out_j, balance.ventilated_j]
        rest = passed[0] - (passed[1] - passed[2] - passed[3])
        most = max(float(np.abs(part).max()) for part in passed)
        return float(np.abs(rest).max()) / most if most else 0.0

    @property
    def warmth_k(self) -> Floats:
        """What people have warmed, (rows, columns) of the map, in kelvin."""
        there, empty = self._run.field_k
        return plan.average_air(self.room, there - empty)

    @property
    def air_k(self) -> Floats:
        """How warm the air is, (rows, columns) of the map, in kelvin above the baseline."""
        return plan.average_air(self.room, self._run.field_k[0])

    @property
    def seen_k(self) -> Floats:
        """What each sensor sees, (2, sensors): with people, and had nobody been there."""
        if not len(self._views):
            return np.zeros((2, 0))
        return np.asarray(self._run.field_k.reshape(2, -1) @ self._views.T)

    @property
    def people_m(self) -> Floats:
        """Where everybody stands, (there, 2)."""
        places = [track.find_place(self.at_s) for track in self.day.list_present(self.at_s)]
        return np.array([place for place in places if place is not None]).reshape(-1, 2)

    def advance(self, until_s: float) -> None:
        """Go on to a time, in steps of the room's own."""

        def drives(from_s: float, to_s: float) -> Drive:
            empty = model.make_empty_drive(self.room, from_s, to_s)
            people = model.sum_body_heat(self.room, self.day, from_s, to_s)
            return empty._replace(power_w=np.stack([empty.power_w + people, empty.power_w]))

        def media(from_s: float, to_s: float) -> Medium:
            return model.make_step_medium(self.room, from_s, to_s)

        for _ in march(self._run, drives, self.room.day.step_s, until_s, media):
            pass


def simulate_day(
    living: LivingRoom, stage: Stage = lambda name: None, rounds_s: Sequence[float] = ()
) -> Lived:
    """Return the whole day of a room.

    Args:
        rounds_s: when something is asked: the whole field is kept of these moments too.
    """
    clock = living.room.day
    steps = round((clock.until_s - clock.start_s) / clock.step_s)
    times: Floats = np.asarray(clock.start_s + clock.step_s * np.arange(steps + 1), np.float64)
    kept = set(np.unique(np.linspace(0, steps, min(FRAMES, steps) + 1).round().astype(int)))
    kept |= {round((at_s - clock.start_s) / clock.step_s) for at_s in rounds_s}
    seen, frames, air = [], [], []
    people: list[Floats] = []
    for index, at_s in enumerate(times):
        living.advance(float(at_s))
        seen.append(living.seen_k)
        if index in kept:
            stage(f"living through the day, {index / max(steps, 1):.0%}")
            frames.append(living.warmth_k)
            air.append(living.air_k)
            people.append(living.people_m)
    both = np.array(seen)
    return Lived(
        times_s=times,
        seen_k=both[:, 0],
        empty_k=both[:, 1],
        frames_s=times[sorted(kept)],
        warmth_k=np.array(frames),
        air_k=np.array(air),
        people=tuple(people),
        unbalanced=living.unbalanced,
    )


def average_recent_watts(room: Room, day: Day, at_s: float, hold_s: float) -> Floats:
    """Return the watts that people gave off lately in each cell of the map, as a mean.

    What a map is held against: (rows, columns).
    """
    return plan.add_heat(
        room, model.sum_body_heat(room, day, max(room.day.start_s, at_s - hold_s), at_s)
    )


# Instruments that look at a lived day: the thermometers at every step.

# Half an hour of looks at the empty room, before anybody comes.
_LOOKS, _APART_S = 31, 60.0


class Thermometers:
    """Every thermometer of a room, kind by kind, in the order of its file."""

    def __init__(self, room: Room, world: np.random.Generator) -> None:
        self.kinds = [
            Instruments(find_preset(group.kind), len(group.places_m), world, room.air.baseline_c)
            for group in room.thermometers
        ]
        counts = [kind.count for kind in self.kinds]
        self.step_k = np.repeat([float(kind.step) for kind in self.kinds], counts)
        self._ends = np.cumsum(counts)[:-1]

    def count(self, temperatures_k: Floats, at_s: float) -> Counts:
        """Return the counts of all at a moment, for their temperatures, (sensors,)."""
        if not self.kinds:
            return ()
        parts = np.split(temperatures_k, self._ends)
        seen = [kind.measure(part, at_s) for kind, part in zip(self.kinds, parts, strict=True)]
        return tuple(count for counts in seen for count in counts)

    def measure_level(self, empty_k: Floats, until_s: float) -> Counts:
        """Return the middle counts of the half hour before a moment, in a room that was empty."""
        times = until_s - _APART_S * np.arange(_LOOKS - 1, -1, -1)
        return median_counts([self.count(empty_k, float(at_s)) for at_s in times])


def read_day(room: Room, lived: Lived, world: np.random.Generator) -> Readings:
    """Return what the thermometers of a room count over its day."""
    thermometers = Thermometers(room, world)
    level = thermometers.measure_level(lived.empty_k[0], float(lived.times_s[0]) - _APART_S)
    counts = tuple(
        thermometers.count(seen, float(at_s))
        for seen, at_s in zip(lived.seen_k, lived.times_s, strict=True)
    )
    return Readings(level, counts, thermometers.step_k)
