"""What a room file says, as records: plain numbers in SI units, nothing left to look up.

Plan view: x goes right, y goes down, the origin is the inner top-left corner; north is the side
y = 0 and west the side x = 0. Times are seconds since midnight of the first day.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from ..places import Floats as Floats

# What a room file says of its sensors, and of what the veil is asked for, as records.

Point: TypeAlias = tuple[float, float]  # x, y in metres


class Thermometers(NamedTuple):
    """Contact sensors of one kind."""

    kind: str  # a preset of physics/instruments
    places_m: tuple[Point, ...]


class Privacy(NamedTuple):
    """What the veil is asked for, in plain numbers; the ratios are whole numbers."""

    epsilon: tuple[int, int]
    delta: tuple[int, int]
    protect_distance_m: float
    readings: int
    every_min: float
    background: str  # "recorded", "following" or "gateway"
    people_max: int
    power_max_w: float
    # Paths are displaced through walls too, so that it is hidden in which room somebody is.
    through_walls: bool = True


Rect: TypeAlias = tuple[float, float, float, float]  # left, top, right, bottom in metres
Span: TypeAlias = tuple[float, float]  # from, until in seconds since midnight
# What changes over the day: (second, value), linear in between, constant before and after.
Course: TypeAlias = tuple[tuple[float, float], ...]
# Recorded positions: frame numbers, and the places of people in each.
Frames: TypeAlias = tuple[tuple[int, tuple[Point, ...]], ...]
SIDES = ("north", "east", "south", "west")


class Waypoint(NamedTuple):
    """Where somebody is at a moment; linear in between."""

    at_s: float
    x_m: float
    y_m: float


class Air(NamedTuple):
    """The air of the room, and what warms with it."""

    mixing_m2_per_s: float  # turbulent diffusivity
    air_changes_per_h: float
    capacity_factor: float  # heat that room and furniture take up, over what the air alone does
    baseline_c: float  # what temperatures are counted from
    supply_c: Course  # of the air that ventilation brings in


class Clock(NamedTuple):
    """When the simulation begins, how long it takes, and its step."""

    start_s: float
    duration_h: float
    step_s: float

    @property
    def until_s(self) -> float:
        """When the simulation ends."""
        return self.start_s + 3600 * self.duration_h


class Wall(NamedTuple):
    """A partition inside the room, along x or along y, told by its middle line."""

    from_m: Point
    to_m: Point
    thickness_mm: float
    material: str


class Door(NamedTuple):
    """An opening in a wall; closed it is a leaf of wood."""

    at_m: Point  # the middle of the opening
    width_m: float
    thickness_mm: float
    open_s: tuple[Span, ...]

    def is_open(self, at_s: float) -> bool:
        """Return whether it stands open."""
        return any(since <= at_s < until for since, until in self.open_s)


class Side(NamedTuple):
    """How an outer side passes heat: from the room's air to what is beyond."""

    u_w_per_m2k: float
    outside_c: Course


class Window(NamedTuple):
    """A part of an outer side that passes heat in another way."""

    side: str  # one of SIDES
    from_m: float  # along the side, from its end at the smaller coordinate
    to_m: float
    height_m: float  # of the glass itself
    u_w_per_m2k: float
    outside_c: Course


class Furniture(NamedTuple):
    """Where nobody can stand."""

    rect_m: Rect
    name: str


class Heater(NamedTuple):
    """Something warm that is not a person."""

    rect_m: Rect
    power_w: float
    on_s: tuple[Span, ...]


class Person(NamedTuple):
    """Somebody whose day is known: one path for each stay in the room."""

    name: str
    activity: str
    power_w: float  # what heats the air at once: the convective share of the sensible heat
    stays: tuple[tuple[Waypoint, ...], ...]


class Walker(NamedTuple):
    """Recorded positions, as people of this room."""

    name: str
    power_w: float
    frames: Frames  # places in metres
    frames_per_s: float
    jump_m: float  # how far one person gets between two frames, at most
    gap_frames: int  # how long one may be lost and still be known again
    at_s: tuple[float, ...]  # when the recording is played


class Arrivals(NamedTuple):
    """Visitors by chance: who comes in, sits for a while, and leaves."""

    per_h: Course  # the rate from that second on
    stay_min: float  # mean; the law is exponential
    power_w: float
    speed_m_per_s: float
    entrance_m: Point
    seats_m: tuple[Point, ...]  # none: anywhere free


@dataclass(frozen=True, slots=True, eq=False)
class Room:
    """Everything that a room file says. Equal only to itself, so that work on it can be kept."""

    name: str
    size_m: Point
    height_m: float
    cell_mm: int
    air: Air
    day: Clock
    sides: Mapping[str, Side]
    walls: tuple[Wall, ...] = ()
    doors: tuple[Door, ...] = ()
    windows: tuple[Window, ...] = ()
    furniture: tuple[Furniture, ...] = ()
    heaters: tuple[Heater, ...] = ()
    people: tuple[Person, ...] = ()
    walkers: tuple[Walker, ...] = ()
    arrivals: Arrivals | None = None
    thermometers: tuple[Thermometers, ...] = ()
    privacy: Privacy | None = None

    def find_open_doors(self, at_s: float) -> tuple[bool, ...]:
        """Return which doors stand open at a moment."""
        return tuple(door.is_open(at_s) for door in self.doors)


# What changes over the day: temperatures between times, hours in which something is on.


def average_course(course: Course, from_s: float, to_s: float) -> float:
    """Return the mean of a course over a step, exactly; its value where the step is empty.

    >>> average_course(((0.0, 10.0), (100.0, 20.0)), 50.0, 150.0)
    18.75
    """
    at_s, values = (np.array(part) for part in zip(*course, strict=True))
    if to_s <= from_s:
        return float(np.interp(from_s, at_s, values))
    inside = at_s[(at_s > from_s) & (at_s < to_s)]
    corners = np.concatenate(([from_s], inside, [to_s]))
    heights = np.interp(corners, at_s, values)
    return float(np.diff(corners) @ (heights[1:] + heights[:-1]) / (2 * (to_s - from_s)))


def compute_covered_share(spans: Sequence[Span], from_s: float, to_s: float) -> float:
    """Return which share of a step lies within the hours, which do not overlap.

    >>> compute_covered_share([(0.0, 60.0), (90.0, 200.0)], 30.0, 130.0)
    0.7
    """
    within = (max(0.0, min(until, to_s) - max(since, from_s)) for since, until in spans)
    return sum(within) / (to_s - from_s)
