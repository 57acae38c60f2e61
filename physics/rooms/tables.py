"""The tables of a room file: every key with its kind, its bounds, its reason and an example."""

import re
from collections.abc import Callable, Collection
from difflib import get_close_matches
from typing import Annotated, Any, ClassVar, TypeAlias

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    Strict,
    StringConstraints,
    model_validator,
)
from pydantic_core import PydanticCustomError

from ..air import ACTIVITIES
from ..instruments.presets import PRESETS
from .model import MATERIALS
from .records import SIDES, Course, Rect, Span, Waypoint


def make_error(expected: str, *at: int | str) -> PydanticCustomError:
    """Return the error of a value: what it must be, and in which part of it that is not so."""
    return PydanticCustomError("room_file", expected, {"at": at})


# Kinds of values.


def parse_clock(given: Any) -> float:
    """Return the seconds since midnight of "HH:MM" or "HH:MM:SS", up to a week.

    Raises:
        ValueError: something else.

    >>> parse_clock("08:30")
    30600.0
    """
    match = re.fullmatch(r"(\d{2,3}):([0-5]\d)(?::([0-5]\d))?", str(given))
    if not match or int(match[1]) > 168:
        raise make_error('it must be a time of day in quotes, "HH:MM" or "HH:MM:SS"')
    return 3600.0 * int(match[1]) + 60 * int(match[2]) + int(match[3] or 0)


def format_clock(at_s: float) -> str:
    """Return a moment as a room file writes it.

    >>> format_clock(30605.0)
    '08:30:05'
    """
    minutes, rest = divmod(round(at_s), 60)
    return f"{minutes // 60:02}:{minutes % 60:02}" + (f":{rest:02}" if rest else "")


def _make_choice_check(names: Collection[str]) -> Callable[[str], str]:
    def check(given: str) -> str:
        if given not in names:
            near = get_close_matches(given, names, 1)
            meant = f" (is it {near[0]}?)" if near else ""
            raise make_error(f"it must be one of {', '.join(names)}{meant}")
        return given

    return check


def _parse_ratio(given: Any) -> tuple[int, int]:
    match = re.fullmatch(r"([1-9]\d*)/([1-9]\d*)", str(given))
    if not match:
        raise make_error("it must be a ratio of positive whole numbers in quotes")
    return int(match[1]), int(match[2])


def _compute_corners(given: tuple[float, float, float, float]) -> Rect:
    x, y, wide, deep = given
    return x, y, x + wide, y + deep


def _check_span_order(spans: tuple[Span, ...]) -> tuple[Span, ...]:
    last = 0.0
    for index, (since, until) in enumerate(spans):
        if until < since:
            raise make_error("it must be written in two parts, where midnight is between", index)
        if until == since or since < last:
            raise make_error("it must be later than what is before it", index)
        last = until
    return spans


def _check_not_empty(given: Any) -> Any:
    if not given:
        raise make_error("it must not be empty")
    return given


def _check_course_order(course: Course) -> Course:
    for index in range(1, len(course)):
        if course[index][0] <= course[index - 1][0]:
            raise make_error("it must be later than what is before it", index)
    return course


def _parse_step(given: Any) -> tuple[Any, ...]:
    """Return a step of a path: a time and a place, "stay" or "out"."""
    if isinstance(given, list) and given:
        rest = given[1:]
        if rest in (["stay"], ["out"]):
            return parse_clock(given[0]), rest[0]
        if len(rest) == 2 and all(type(value) in (int, float) for value in rest):
            return parse_clock(given[0]), float(rest[0]), float(rest[1])
    raise make_error('it must be ["HH:MM", x, y] in metres, ["HH:MM", "stay"] or ["HH:MM", "out"]')


def _parse_stays(steps: tuple[tuple[Any, ...], ...]) -> tuple[tuple[Waypoint, ...], ...]:
    """Return the stays that a path tells of, each from coming in to going out."""
    stays: list[list[Waypoint]] = []
    inside, last_s = False, 0.0
    for index, (at_s, *place) in enumerate(steps):
        if at_s < last_s:
            raise make_error(
                f'no step must go back, here from "{format_clock(last_s)}" to '
                f'"{format_clock(at_s)}"; after midnight it is "{format_clock(at_s + 86400)}"',
                index,
            )
        last_s = at_s
        if len(place) == 2:
            if not inside:
                stays.append([])
            stays[-1].append(Waypoint(at_s, *place))
            inside = True
            continue
        if not inside:
            raise make_error('["HH:MM", x, y] must come first, for nobody is in the room', index)
        stays[-1].append(Waypoint(at_s, *stays[-1][-1][1:]))
        inside = place == ["stay"]
    for stay in stays:
        if stay[-1].at_s == stay[0].at_s:
            raise make_error(f'the stay at "{format_clock(stay[0].at_s)}" must take some time')
    return tuple(tuple(stay) for stay in stays)


Text = Annotated[str, StringConstraints(pattern=r"\S")]
Flag = Annotated[bool, Strict()]
Number = Annotated[float, Strict()]
Positive = Annotated[float, Strict(), Field(gt=0)]
Whole = Annotated[int, Strict()]
Place: TypeAlias = tuple[Number, Number]
_Length = Annotated[float, Strict(), Field(gt=0, le=1000)]
Extent: TypeAlias = tuple[_Length, _Length]
Area = Annotated[tuple[Number, Number, Positive, Positive], AfterValidator(_compute_corners)]
_Count = Annotated[int, Strict(), Field(ge=1, le=1000)]
Counts: TypeAlias = tuple[_Count, _Count]
Ratio = Annotated[tuple[int, int], BeforeValidator(_parse_ratio)]
Time = Annotated[float, BeforeValidator(parse_clock)]
Hours = Annotated[tuple[tuple[Time, Time], ...], AfterValidator(_check_span_order)]


def _wrap_constant(given: Any) -> Any:
    return given if isinstance(given, list) else [["00:00", given]]


_Celsius = Annotated[float, Strict(), Field(ge=-90, le=100)]
Weather = Annotated[
    tuple[tuple[Time, _Celsius], ...],
    BeforeValidator(_wrap_constant),
    AfterValidator(_check_not_empty),
    AfterValidator(_check_course_order),
]
_PerHour = Annotated[float, Strict(), Field(ge=0, le=3600)]  # more is a slip of the pen
Rates = Annotated[
    tuple[tuple[Time, _PerHour], ...],
    BeforeValidator(_wrap_constant),
    AfterValidator(_check_not_empty),
    AfterValidator(_check_course_order),
]
Times = Annotated[
    tuple[Time, ...],
    BeforeValidator(lambda given: given if isinstance(given, list) else [given]),
    AfterValidator(_check_not_empty),
]
Path = Annotated[
    tuple[Annotated[Any, BeforeValidator(_parse_step)], ...],
    AfterValidator(_check_not_empty),
    AfterValidator(_parse_stays),
]
Activity = Annotated[str, AfterValidator(_make_choice_check(ACTIVITIES))]
Sensor = Annotated[str, AfterValidator(_make_choice_check(PRESETS))]

_WHERE = "it has to stand somewhere in the plan, [0, 0] being the inner top-left corner"


def _make_key(example: str, why: str, default: Any = ..., **bounds: Any) -> Any:
    """Return a key with what stands right of its equals sign, and what comes after "for"."""
    return Field(default, description=why, examples=[example], **bounds)


class Table(BaseModel):
    """A table of a room file, of which nothing is left over that is not understood."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)
    either: ClassVar[tuple[str, ...]] = ()  # keys of which exactly one is needed

    @model_validator(mode="after")
    def _check_either(self) -> "Table":
        found = [key for key in self.either if getattr(self, key) is not None]
        if self.either and len(found) != 1:
            has = " and ".join(found) or "neither " + " nor ".join(self.either)
            expected = f"exactly one of {' and '.join(self.either)} is needed"
            raise PydanticCustomError("room_file", expected, {"at": found[1:], "has": has})
        return self


class RoomTable(Table):
    """[room]."""

    name: Text = _make_key('"office"', "pictures and files are named by it")
    size_m: Extent = _make_key("[6.0, 4.0]", "the room needs walls")
    height_m: Number = _make_key("2.7", "it says how much air there is", gt=0, le=100)
    cell_mm: Whole = _make_key(
        "100", "walls are drawn in steps of 25 mm", ge=25, le=5000, multiple_of=25
    )
    mixing_m2_per_s: Number = _make_key(
        "0.005", "it is how fast draughts stir the air", 0.005, gt=0, le=10
    )
    air_changes_per_h: Number = _make_key("1.0", "fresh air takes heat away", 0.0, ge=0, le=100)
    supply_c: Weather | None = _make_key("19.0", "it is how warm the fresh air comes in", None)
    capacity_factor: Number = _make_key(
        "12", "walls and furniture store heat with the air", 12.0, ge=1, le=1000
    )
    baseline_c: Number = _make_key("20.0", "temperatures are counted from it", 20.0, ge=-50, le=60)
    start: Time = _make_key('"00:00"', "the simulation begins there", 0.0)
    duration_h: Number = _make_key("24", "it ends after so long", 24.0, gt=0, le=168)
    step_s: Number = _make_key("30", "the simulation goes by steps", 30.0, ge=0.01, le=3600)


class SideTable(Table):
    """[north], [east], [south] and [west]."""

    u_w_per_m2k: Number = _make_key(
        "0.35", "it says how much heat the side passes, from air to air", ge=0, le=100
    )
    outside_c: Weather = _make_key(
        '[["06:00", -1.0], ["14:00", 5.0]]', "heat flows by what is beyond the side"
    )


class WallTable(Table):
    """[[wall]]."""

    from_m: Place = _make_key("[2.0, 0.0]", _WHERE)
    to_m: Place = _make_key("[2.0, 4.0]", _WHERE)
    thickness_mm: Number = _make_key("100", "it says how well the wall insulates", ge=1, le=2000)
    material: Annotated[str, AfterValidator(_make_choice_check(MATERIALS))] = _make_key(
        '"plasterboard"', "it says what heat passes and stays"
    )


class DoorTable(Table):
    """[[door]]."""

    at_m: Place = _make_key("[2.0, 3.0]", _WHERE)
    width_m: Number = _make_key("0.9", "heat and people pass through that width", ge=0.1, le=20)
    thickness_mm: Number = _make_key("40", "closed, it is a leaf of wood", 40.0, ge=1, le=500)
    open: Hours = _make_key('[["08:00", "18:00"]]', "it is closed at all other times", ())


class WindowTable(SideTable):
    """[[window]]."""

    side: Annotated[str, AfterValidator(_make_choice_check(SIDES))] = _make_key(
        '"east"', "a window is in an outer side"
    )
    from_m: Number = _make_key("0.6", "it is where along the side it begins", ge=0, le=1000)
    to_m: Number = _make_key("3.4", "it is where along the side it ends", ge=0, le=1000)
    height_m: Number | None = _make_key("1.4", "it gives the area", None, gt=0, le=100)


class FurnitureTable(Table):
    """[[furniture]]."""

    rect_m: Area = _make_key("[4.4, 0.4, 0.8, 1.2]", "nobody can stand there")
    name: Text = _make_key('"desk"', "faults are told by it", "furniture")


class HeaterTable(Table):
    """[[heater]]."""

    either = ("rect_m", "at_m")
    rect_m: Area | None = _make_key("[5.8, 1.0, 0.2, 2.0]", _WHERE, None)
    at_m: Place | None = _make_key("[5.9, 2.0]", _WHERE, None)
    power_w: Number = _make_key("250", "it is the heat that reaches the air", ge=0, le=100_000)
    on: Hours | None = _make_key('[["06:00", "18:00"]]', "it is off at all other times", None)


class WarmTable(Table):
    """What people give off, told by what they do or in watts."""

    either = ("activity", "power_w")
    activity: Activity | None = _make_key('"office"', "it says what a person gives off", None)
    power_w: Number | None = _make_key(
        "40", "it is what warms the air at once", None, ge=0, le=5000
    )

    @property
    def air_w(self) -> float:
        """What warms the air at once."""
        return ACTIVITIES[self.activity].air_w if self.activity else float(self.power_w or 0)


class PersonTable(WarmTable):
    """[[person]]."""

    name: Text = _make_key('"Ada"', "faults and tracks are told by it")
    path: Path = _make_key(
        '[["08:30", 0.3, 3.8], ["08:31", 1.5, 1.6], ["12:00", "stay"], ["12:00", "out"]]',
        "heat is where people are",
    )


class WalkerTable(WarmTable):
    """[[walker]]."""

    name: Text = _make_key('"meeting"', "tracks are told by it", "walker")
    trace: Text = _make_key('"positions.csv"', "it holds the recorded places")
    sequence: Text | None = _make_key('"monday-1"', "a file may hold several", None)
    frames_per_s: Number = _make_key("2.0", "places need times", ge=0.001, le=100)
    frame_px: Extent = _make_key("[32, 24]", "places are in pixels of it", (32.0, 24.0))
    rect_m: Area | None = _make_key("[0.0, 0.0, 6.0, 4.0]", "the picture shows that floor", None)
    jump_m: Number = _make_key("1.5", "nobody goes faster", 1.5, gt=0, le=100)
    gap_frames: Whole = _make_key("4", "who is gone for longer is new", 4, ge=0, le=1000)
    at: Times = _make_key('["09:00", "14:00"]', "it is played then")


class ArrivalsTable(WarmTable):
    """[arrivals]."""

    per_h: Rates = _make_key('[["08:00", 6.0], ["18:00", 0.0]]', "so many come, from that time on")
    stay_min: Number = _make_key("20", "visitors stay so long on average", gt=0, le=1440)
    speed_m_per_s: Number = _make_key("1.0", "they walk to their seat", 1.0, ge=0.05, le=5)
    entrance_m: Place = _make_key("[0.3, 3.8]", "they come in and leave there")


class SeatTable(Table):
    """[[seat]]."""

    at_m: Place = _make_key("[1.5, 1.6]", "a visitor sits there")


class ThermometersTable(Table):
    """[thermometers], or several [[thermometers]]."""

    either = ("count", "places_m")
    kind: Sensor = _make_key('"tmp117"', "its noise, lag and steps are those of a data sheet")
    count: Counts | None = _make_key("[6, 4]", _WHERE, None)
    places_m: Annotated[tuple[Place, ...], AfterValidator(_check_not_empty)] | None = _make_key(
        "[[1.0, 2.0], [5.0, 2.0]]", _WHERE, None
    )


class PrivacyTable(Table):
    """[privacy]."""

    epsilon: Ratio = _make_key('"8/1"', "every device must compute the same noise")
    delta: Ratio = _make_key('"1/100000"', "every device must compute the same noise")
    protect_distance_m: Number = _make_key(
        "0.5", "the veil hides moves so far", 0.5, gt=0, le=1000
    )
    readings: Whole = _make_key("48", "all of them share the promise", 1, ge=1, le=1_000_000)
    every_min: Number = _make_key("30", "readings need times", 30.0, gt=0, le=1440)
    background: Annotated[
        str, AfterValidator(_make_choice_check(("recorded", "following", "gateway")))
    ] = _make_key('"recorded"', "the empty room has to be taken off somewhere", "recorded")
    people_max: Whole = _make_key("5", "the promise counts on no more people", 1, ge=1, le=1000)
    power_max_w: Number = _make_key(
        "60", "the promise counts on no more heat of one", gt=0, le=5000
    )
    through_walls: Flag = _make_key(
        "true", "that hides too in which room somebody is, and takes more noise", True
    )


class Document(Table):
    """A whole room file."""

    room: RoomTable
    north: SideTable | None = None
    east: SideTable | None = None
    south: SideTable | None = None
    west: SideTable | None = None
    wall: tuple[WallTable, ...] = ()
    door: tuple[DoorTable, ...] = ()
    window: tuple[WindowTable, ...] = ()
    furniture: tuple[FurnitureTable, ...] = ()
    heater: tuple[HeaterTable, ...] = ()
    person: tuple[PersonTable, ...] = ()
    walker: tuple[WalkerTable, ...] = ()
    arrivals: ArrivalsTable | None = None
    seat: tuple[SeatTable, ...] = ()
    thermometers: Annotated[
        tuple[ThermometersTable, ...],
        BeforeValidator(lambda given: [given] if isinstance(given, dict) else given),
    ] = ()
    privacy: PrivacyTable | None = None
