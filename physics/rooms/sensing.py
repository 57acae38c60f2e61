"""What a room file says of its sensors, and of what the veil is asked for, as records."""

from typing import NamedTuple, TypeAlias

Point: TypeAlias = tuple[float, float]  # x, y in metres


class Thermometers(NamedTuple):
    """Contact sensors of one kind."""

    kind: str  # a preset of physics/instruments
    places_m: tuple[Point, ...]


class Array(NamedTuple):
    """A thermopile array that looks down."""

    kind: str
    at_m: Point
    height_m: float


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
