"""A day in a room, marched through: every instant at the thermometers, some of the whole field."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from physics.diffusion.march import march
from physics.diffusion.medium import Drive, Medium
from physics.diffusion.run import Run
from physics.rooms import model, plan
from physics.rooms.causes import DAY_S, Cause, daily, driven
from physics.rooms.day import Day
from physics.rooms.records import Room
from physics.rooms.vacant import LONG_STEP_S

from ..output import Stage
from .records import Lived

Floats = NDArray[np.float64]

FRAMES = 96  # whole fields that are kept of a day, evenly: a quarter of an hour apart


class Living:
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
        # Damped throughout, as the response is that noise is scaled to: else people who come at
        # the start would show more, in the first steps, than the promise counts on.
        medium, start_s = model.medium(room, room.day.start_s), room.day.start_s
        self._run = Run(medium, self._night(), start_s, always_damped=True)

    def _night(self) -> Floats:
        """Return the field twice at the start of the day: nobody has been there since."""
        start_s = self.room.day.start_s
        by_day = daily(self.room)

        def media(from_s: float, to_s: float) -> Medium:
            return model.media(by_day, from_s % DAY_S, from_s % DAY_S + to_s - from_s)

        # Long steps would ring with a heater that is switched.
        since_s = start_s - DAY_S
        run = Run(media(since_s, since_s), at_s=since_s, always_damped=True)
        drives = driven(Cause("the file", by_day), lambda at_s: at_s % DAY_S)
        for _ in march(run, drives, LONG_STEP_S, start_s, media):
            pass
        return np.stack([run.field_k, run.field_k])

    @property
    def at_s(self) -> float:
        """The time, in seconds since midnight."""
        return self._run.at_s

    @property
    def solver(self) -> str:
        """Which solver steps, and why."""
        return self._run.solver

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
        return plan.mean(self.room, there - empty)

    @property
    def air_k(self) -> Floats:
        """How warm the air is, (rows, columns) of the map, in kelvin above the baseline."""
        return plan.mean(self.room, self._run.field_k[0])

    @property
    def seen_k(self) -> Floats:
        """What each sensor sees, (2, sensors): with people, and had nobody been there."""
        if not len(self._views):
            return np.zeros((2, 0))
        return np.asarray(self._run.field_k.reshape(2, -1) @ self._views.T)

    @property
    def people_m(self) -> Floats:
        """Where everybody stands, (there, 2)."""
        places = [track.place(self.at_s) for track in self.day.present(self.at_s)]
        return np.array([place for place in places if place is not None]).reshape(-1, 2)

    def go(self, until_s: float) -> None:
        """Go on to a time, in steps of the room's own."""

        def drives(from_s: float, to_s: float) -> Drive:
            empty = model.empty(self.room, from_s, to_s)
            people = model.heat(self.room, self.day, from_s, to_s)
            return empty._replace(power_w=np.stack([empty.power_w + people, empty.power_w]))

        def media(from_s: float, to_s: float) -> Medium:
            return model.media(self.room, from_s, to_s)

        for _ in march(self._run, drives, self.room.day.step_s, until_s, media):
            pass


def lived(
    living: Living, stage: Stage = lambda name: None, rounds_s: Sequence[float] = ()
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
        living.go(float(at_s))
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
        solver=living.solver,
        unbalanced=living.unbalanced,
    )


def lately(room: Room, day: Day, at_s: float, hold_s: float) -> Floats:
    """Return the watts that people gave off lately in each cell of the map, as a mean.

    What a map is held against: (rows, columns).
    """
    return plan.added(room, model.heat(room, day, max(room.day.start_s, at_s - hold_s), at_s))
