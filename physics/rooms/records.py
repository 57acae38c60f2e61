"""What a room file says, as records: plain numbers in SI units, nothing left to look up.

Plan view: x goes right, y goes down, the origin is the inner top-left corner; north is the side
y = 0 and west the side x = 0. Times are seconds since midnight of the first day.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from ..places import Floats as Floats
from .sensing import Array as Array
from .sensing import Point as Point
from .sensing import Privacy as Privacy
from .sensing import Thermometers as Thermometers

Rect: TypeAlias = tuple[float, float, float, float]  # left, top, right, bottom in metres
Span: TypeAlias = tuple[float, float]  # from, until in seconds since midnight
# What changes over the day: (second, value), linear in between, constant before and after.
Course: TypeAlias = tuple[tuple[float, float], ...]
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
    frames: tuple[tuple[int, tuple[Point, ...]], ...]  # frame, places in metres
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
    arrays: tuple[Array, ...] = ()
    privacy: Privacy | None = None

    def opened(self, at_s: float) -> tuple[bool, ...]:
        """Return which doors stand open at a moment."""
        return tuple(door.is_open(at_s) for door in self.doors)
