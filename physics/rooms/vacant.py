"""The empty room beside the clock: what heaters, weather and doors do to it, and how surely.

It is marched as a day is, with nobody in it, and again for each cause that the file may have
wrong, changed by one deviation of its prior: the difference is what sensors show of that cause.
Nothing is assumed of the room but that it can be marched.

Differs from a day that is simulated:
1. The march begins a day before the first moment that is asked for, at the baseline, in long
   steps.
2. The causes are marched in long steps throughout, each with its doors as in the step's middle.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np

from ..diffusion.medium import Drive, fingerprint
from ..diffusion.run import Media, Run, march
from . import model, records
from .records import Course, Floats, Room, Span

# What drives an empty room at any hour of any day, and what its file may have wrong of that.
#
# Times are of the epoch. A file tells one day, and every day is taken to be like it, by the clock
# on the wall here.

# How warm it is outdoors at a time, in degrees; None where that is not known.
Weather = Callable[[float], float | None]
Clock = Callable[[float], float]  # seconds since midnight at a time of the epoch

DAY_S = 86400.0

# One deviation of what a file may have wrong.
_OUTDOORS_K, _NEXT_DOOR_K, _SUPPLY_K = 1.5, 0.5, 0.5
_HEATER, _AIR_CHANGES, _MIXING, _CAPACITY = 1.1, 1.2, 1.2, 1.1  # times what it says
# By day it goes another way than was told, 1.5 K in ten hours, and back at night.
_RAMP = ((0.0, 0.0), (7 * 3600.0, -0.75), (17 * 3600.0, 0.75), (DAY_S, 0.0))
# What is beyond a side is another room if it is always as warm, and about as warm as this one.
_INDOORS_K = 5.0


class Cause(NamedTuple):
    """Something that a file may have wrong: the room with it changed by one deviation."""

    name: str
    room: Room
    warmer_k: Course = ((0.0, 0.0),)  # outdoors, than the file or the weather says
    passes: bool = False  # with the day: tomorrow it is another


def drive_vacant(
    cause: Cause, clock: Clock, weather: Weather = lambda at_s: None
) -> Callable[[float, float], Drive]:
    """Return what drives an empty room over a step, for `march`: a room of `repeat_daily`."""
    still, felt = _set_outdoors(cause.room, 0.0), _compute_outdoor_shares(cause.room)

    def drives(from_s: float, to_s: float) -> Drive:
        step, outdoors_c = make_step(clock, from_s, to_s), weather((from_s + to_s) / 2)
        drive = model.make_empty_drive(cause.room if outdoors_c is None else still, *step)
        warmer = (outdoors_c or 0.0) + records.average_course(cause.warmer_k, *step)
        (west, east), (north, south) = (
            [side + warmer * share for side, share in zip(pair, shares, strict=True)]
            for pair, shares in zip(drive.outside_k, felt, strict=True)
        )
        return drive._replace(outside_k=((west, east), (north, south)))

    return drives


def make_step(clock: Clock, from_s: float, to_s: float) -> tuple[float, float]:
    """Return a step by the clock; one that begins before midnight may end after it."""
    begins_s = clock(from_s)
    return begins_s, begins_s + to_s - from_s


def find_time_of_day(at_s: float) -> float:
    """Return the seconds since midnight on the clock here."""
    now = datetime.fromtimestamp(at_s).astimezone()
    return now.hour * 3600 + now.minute * 60 + now.second + now.microsecond / 1e6


def repeat_daily(room: Room) -> Room:
    """Return a room of which any hour from 00:00 to 24:00 can be asked, for every day is alike.

    What a file tells of the time after 24:00 is told of the morning, where it tells none of that.
    """

    def course(told: Course) -> Course:
        early = tuple((at_s - DAY_S, value) for at_s, value in told if at_s > DAY_S)
        return tuple(pair for pair in early if pair[0] < told[0][0]) + told

    def spans(told: tuple[Span, ...]) -> tuple[Span, ...]:
        first = min((since for since, _ in told), default=0.0)
        early = [(since - DAY_S, min(until - DAY_S, first)) for since, until in told]
        return tuple(one for one in early if max(one[0], 0.0) < one[1]) + told

    return replace(
        room,
        air=room.air._replace(supply_c=course(room.air.supply_c)),
        sides={
            name: side._replace(outside_c=course(side.outside_c))
            for name, side in room.sides.items()
        },
        windows=tuple(one._replace(outside_c=course(one.outside_c)) for one in room.windows),
        doors=tuple(one._replace(open_s=spans(one.open_s)) for one in room.doors),
        heaters=tuple(one._replace(on_s=spans(one.on_s)) for one in room.heaters),
    )


def list_causes(room: Room) -> tuple[Cause, ...]:
    """Return what a file may have wrong, each by one deviation; the first is the file itself."""
    air, found = room.air, [Cause("the file", room)]
    if any(is_outdoors(room, course) for course in _list_outside_courses(room)):
        found.append(Cause("outdoors", room, ((0.0, _OUTDOORS_K),), True))
        found.append(Cause("outdoors, by day", room, _RAMP, True))
    for nth, heater in enumerate(room.heaters):
        stronger = heater._replace(power_w=_HEATER * heater.power_w)
        heaters = (*room.heaters[:nth], stronger, *room.heaters[nth + 1 :])
        found.append(Cause(f"heater {nth + 1}", replace(room, heaters=heaters)))
    for name, side in room.sides.items():
        if side.u_w_per_m2k > 0 and not is_outdoors(room, side.outside_c):
            sides = {
                **room.sides,
                name: side._replace(outside_c=_shift_course_next_door(side.outside_c)),
            }
            found.append(Cause(f"beyond {name}", replace(room, sides=sides), passes=True))
    supply = tuple((at_s, value + _SUPPLY_K) for at_s, value in air.supply_c)
    for what, other in (
        ("supply", air._replace(supply_c=supply)),
        ("ventilation", air._replace(air_changes_per_h=_AIR_CHANGES * air.air_changes_per_h)),
        ("mixing", air._replace(mixing_m2_per_s=_MIXING * air.mixing_m2_per_s)),
        ("capacity", air._replace(capacity_factor=_CAPACITY * air.capacity_factor)),
    ):
        found.append(Cause(what, replace(room, air=other), passes=what == "supply"))
    return tuple(found)


def is_outdoors(room: Room, beyond_c: Course) -> bool:
    """Return whether what is beyond a side is the weather, and no other room."""
    values = [value for _, value in beyond_c]
    return len(set(values)) > 1 or abs(values[0] - room.air.baseline_c) > _INDOORS_K


def _list_outside_courses(room: Room) -> list[Course]:
    sides = [side.outside_c for side in room.sides.values() if side.u_w_per_m2k > 0]
    return sides + [window.outside_c for window in room.windows]


def _shift_course_next_door(course: Course) -> Course:
    return tuple((at_s, value + _NEXT_DOOR_K) for at_s, value in course)


def _set_outdoors(room: Room, outdoors_c: float) -> Room:
    """Return the room with this temperature outdoors, all day."""

    def calm(course: Course) -> Course:
        return ((0.0, outdoors_c),) if is_outdoors(room, course) else course

    return replace(
        room,
        sides={
            name: side._replace(outside_c=calm(side.outside_c))
            for name, side in room.sides.items()
        },
        windows=tuple(one._replace(outside_c=calm(one.outside_c)) for one in room.windows),
    )


def _compute_outdoor_shares(room: Room) -> list[list[Floats]]:
    """Return by how much it is warmer beyond each side where it is one kelvin warmer outdoors."""
    cold, warm = (
        model.make_empty_drive(_set_outdoors(room, value), 0.0, 1.0) for value in (0.0, 1.0)
    )
    return [
        [np.asarray(after) - np.asarray(before) for before, after in zip(*both, strict=True)]
        for both in zip(cold.outside_k, warm.outside_k, strict=True)
    ]


LONG_STEP_S = 600.0


class Seen(NamedTuple):
    """What sensors show of the empty room, in kelvin above the baseline."""

    warmth_k: Floats  # (sensors,)
    causes_k: Floats  # (sensors, causes), what one deviation of each adds to it


class Vacant:
    """The empty room of a file at a time, and beside it what the file may have wrong.

    Args:
        views: (sensors, cells), what each sensor sees of the field.
        at_s: when to begin, at the baseline; it is to go on for `DAY_S` before it is believed.
        weather: outdoors; where it is not known, and without it, it is as the file says.
        clock: the time of the day.
    """

    def __init__(
        self,
        room: Room,
        views: Floats,
        at_s: float,
        weather: Weather = lambda at_s: None,
        clock: Clock | None = None,
    ) -> None:
        self.room, self._views, self._weather = repeat_daily(room), views, weather
        self.clock, self._since_s = clock or find_time_of_day, at_s
        medium = self._make_media(self.room)(at_s, at_s)
        self._now = Run(medium, at_s=at_s)
        self._causes = list_causes(self.room)
        self._beside = [
            Run(self._make_media(cause.room)(at_s, at_s), at_s=at_s) for cause in self._causes
        ]

    @property
    def at_s(self) -> float:
        """The time up to which the march has come."""
        return self._now.at_s

    @property
    def causes(self) -> tuple[Cause, ...]:
        """What the file may have wrong."""
        return self._causes[1:]

    def advance(self, until_s: float) -> Seen:
        """Go on to a time, which may not lie before the last, and return what is seen then.

        The state is that of the last whole step, whenever it was looked at: the same moments are
        marched through with the same steps, and to the same bits.

        Raises:
            ValueError: the time is past already.
        """
        if not until_s >= self.at_s:
            raise ValueError(
                f"until_s is {until_s:.0f} but the march is at {self.at_s:.0f} s already, and "
                "heat does not go back. Begin another, a day before."
            )
        file, day_s = self._causes[0], self._since_s + DAY_S
        whole_s = until_s // LONG_STEP_S * LONG_STEP_S
        step_s = self.room.day.step_s
        if self.at_s < (night_s := min(day_s // LONG_STEP_S * LONG_STEP_S, whole_s)):
            self._march(self._now, file, LONG_STEP_S, night_s)
        self._march(self._now, file, step_s, max(until_s // step_s * step_s, self.at_s))
        for run, cause in zip(self._beside, self._causes, strict=True):
            self._march(run, cause, LONG_STEP_S, max(whole_s, run.at_s))
        seen = self._look(self._now, file, until_s)
        beside = [
            self._look(run, cause, until_s)
            for run, cause in zip(self._beside, self._causes, strict=True)
        ]
        return Seen(seen, np.array(beside[1:]).reshape(-1, len(seen)).T - beside[0][:, None])

    def to_state(self) -> dict[str, Any]:
        """Return what `resumed` goes on from, as arrays."""
        return {
            "digest": np.array(self.digest),
            "since_s": np.array(self._since_s),
            "at_s": np.array([run.at_s for run in (self._now, *self._beside)]),
            "fields_k": np.array([run.field_k for run in (self._now, *self._beside)]),
        }

    @property
    def digest(self) -> str:
        """What tells the march of this room from that of another, in 16 hexadecimal digits."""
        said = hashlib.sha256(repr(self.room).encode())
        for cause in self._causes:
            said.update(fingerprint(self._make_media(cause.room)(0.0, 0.0)).encode())
        said.update(np.ascontiguousarray(self._views).tobytes())
        return said.hexdigest()[:16]

    def resume(self, state: Mapping[str, Any]) -> "Vacant":
        """Return the march that this state was taken of.

        Raises:
            ValueError: it is of another room, or broken.
        """
        try:
            digest, since_s = str(state["digest"]), float(state["since_s"])
            times, fields = np.array(state["at_s"]), np.array(state["fields_k"])
            if digest != self.digest or len(times) != 1 + len(self._beside):
                raise ValueError("it is of another room")
            found = Vacant(self.room, self._views, since_s, self._weather, self.clock)
            runs = [
                Run(run.medium, field, float(at_s))
                for run, field, at_s in zip(
                    (found._now, *found._beside), fields, times, strict=True
                )
            ]
        except (KeyError, TypeError, ValueError) as fault:
            raise ValueError(
                f"the state of the empty room cannot be gone on from ({fault}) but must be of "
                "this very room, or its warmth would be another's. March it again."
            ) from fault
        found._now, found._beside = runs[0], runs[1:]
        return found

    def _look(self, run: Run, cause: Cause, at_s: float) -> Floats:
        """Return what sensors see a part of a step later."""
        if at_s > run.at_s:
            run = Run(run.medium, run.field_k, run.at_s)
            self._march(run, cause, at_s - run.at_s, at_s)
        return np.asarray(self._views @ run.field_k.ravel())

    def _march(self, run: Run, cause: Cause, step_s: float, until_s: float) -> None:
        drives = drive_vacant(cause, self.clock, self._weather)
        for _ in march(run, drives, step_s, until_s, self._make_media(cause.room)):
            pass

    def _make_media(self, room: Room) -> Media:
        return lambda from_s, to_s: model.make_step_medium(
            room, *make_step(self.clock, from_s, to_s)
        )
