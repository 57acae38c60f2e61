"""The kinds of values that a room file may hold, and what is said of one that will not do."""

import math
import re
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple

from ..records import Course, Point, Rect, Span, Waypoint
from .lines import Where


class Wrong(ValueError):
    """A value that will not do: which part of it, and what is special about it, if anything."""

    def __init__(
        self, given: str = "", at: Where = (), expected: str = "", why: str = "", example: str = ""
    ) -> None:
        super().__init__(given)
        self.given, self.at = given, at
        self.expected, self.why, self.example = expected, why, example


class Kind(NamedTuple):
    """How a value is read, raising `Wrong`, and what is expected, after "must be"."""

    read: Callable[[Any], Any]
    expected: str


def number(least: float, most: float, above: bool = False) -> Kind:
    """Return the kind of a number from `least`, or above it, up to `most`."""

    def read(given: Any) -> float:
        value = _float(given)
        if not least <= value <= most or (above and value == least):
            raise Wrong
        return value

    reach = f"above {least:g}, {most:g} at most" if above else f"from {least:g} to {most:g}"
    return Kind(read, f"a number {reach}")


def whole(least: int, most: int) -> Kind:
    """Return the kind of a whole number."""

    def read(given: Any) -> int:
        if isinstance(given, bool) or not isinstance(given, int) or not least <= given <= most:
            raise Wrong
        return given

    return Kind(read, f"a whole number from {least} to {most}")


def choice(names: Sequence[str]) -> Kind:
    """Return the kind of a name out of a list; it says which is nearest."""

    def read(given: Any) -> str:
        if given not in names:
            near = get_close_matches(str(given), names, 1)
            raise Wrong(example=f'"{near[0]}"' if near else "")
        return str(given)

    return Kind(read, f"one of {', '.join(names)}")


def each(kind: Kind, least: int = 0, single: bool = False) -> Kind:
    """Return the kind of a list of values of one kind; a single one stands for a list of it."""

    def read(given: Any) -> tuple[Any, ...]:
        if single and not isinstance(given, list):
            return (kind.read(given),)
        if not isinstance(given, list) or len(given) < least:
            raise Wrong
        return tuple(within(index, kind, item) for index, item in enumerate(given))

    one = f"{kind.expected}, or " if single else ""
    return Kind(read, f"{one}a list of {least or 'any number'} or more, each {kind.expected}")


def _text(given: Any) -> str:
    if not isinstance(given, str) or not given.strip():
        raise Wrong
    return given


def _flag(given: Any) -> bool:
    if not isinstance(given, bool):
        raise Wrong
    return given


def _float(given: Any) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float) or not math.isfinite(given):
        raise Wrong
    return float(given)


def _pair(given: Any) -> Point:
    if not isinstance(given, list) or len(given) != 2:
        raise Wrong
    return _float(given[0]), _float(given[1])


def _extent(given: Any) -> Point:
    x, y = _pair(given)
    if not (0 < x <= 1000 and 0 < y <= 1000):
        raise Wrong
    return x, y


def _rect(given: Any) -> Rect:
    if not isinstance(given, list) or len(given) != 4:
        raise Wrong
    x, y, wide, deep = (_float(value) for value in given)
    if not (wide > 0 and deep > 0):
        raise Wrong
    return x, y, x + wide, y + deep


def _counts(given: Any) -> tuple[int, int]:
    if not isinstance(given, list) or len(given) != 2:
        raise Wrong
    one = whole(1, 1000)
    return one.read(given[0]), one.read(given[1])


def _ratio(given: Any) -> tuple[int, int]:
    match = re.fullmatch(r"([1-9]\d*)/([1-9]\d*)", str(given))
    if not match:
        raise Wrong
    return int(match[1]), int(match[2])


def _steps(given: Any) -> int:
    value: int = whole(25, 5000).read(given)
    if value % 25:
        raise Wrong(example=f"{max(25, 25 * round(value / 25))}")
    return value


def within(index: int, kind: Kind, given: Any) -> Any:
    """Return an element of a list, read; what is wrong with it says which element it is."""
    try:
        return kind.read(given)
    except Wrong as wrong:
        raise Wrong(
            wrong.given or f"{given!r}",
            (index, *wrong.at),
            wrong.expected or kind.expected,
            wrong.why,
        ) from wrong


NUMBER = Kind(_float, "a finite number")
FLAG = Kind(_flag, "true or false")
TEXT = Kind(_text, "a text in quotes")
PLACE = Kind(_pair, "two numbers [x, y] in metres")
EXTENT = Kind(_extent, "two positive numbers [along x, along y], 1000 at most")
RECT = Kind(_rect, "four numbers [x, y, wide, deep] in metres, the last two positive")
COUNTS = Kind(_counts, "two whole numbers [along x, along y], 1 or more")
STEPS = Kind(_steps, "a whole multiple of 25 from 25 to 5000")
RATIO = Kind(_ratio, "a ratio of positive whole numbers in quotes")


# What a room file may hold: a key with its kind, its example and its reason; a table of them.

REQUIRED = object()


class Key(NamedTuple):
    """One key of a table."""

    kind: Kind
    example: str  # what stands right of the equals sign
    why: str  # after "for"
    default: Any = REQUIRED


class Table(NamedTuple):
    """One table: its keys, and whether there may be several, [[name]]."""

    keys: dict[str, Key]
    many: bool = False


WHERE = "it has to stand somewhere in the plan, [0, 0] being the inner top-left corner"


# Times of day in a room file, hours in which something is on, and what changes over the day.


def seconds(given: Any) -> float:
    """Return the seconds since midnight of "HH:MM" or "HH:MM:SS", up to a week.

    Raises:
        Wrong: something else; it carries an example.

    >>> seconds("08:30")
    30600.0
    """
    match = re.fullmatch(r"(\d{2,3}):([0-5]\d)(?::([0-5]\d))?", str(given))
    if not match or int(match[1]) > 168:
        raise Wrong
    return 3600.0 * int(match[1]) + 60 * int(match[2]) + int(match[3] or 0)


def clock(at_s: float) -> str:
    """Return a moment as a room file writes it.

    >>> clock(30605.0)
    '08:30:05'
    """
    minutes, rest = divmod(round(at_s), 60)
    return f"{minutes // 60:02}:{minutes % 60:02}" + (f":{rest:02}" if rest else "")


def _hours(given: Any) -> tuple[Span, ...]:
    if not isinstance(given, list):
        raise Wrong
    spans: list[Span] = []
    for index, pair in enumerate(given):
        if not isinstance(pair, list) or len(pair) != 2:
            raise Wrong(f"{pair!r}", (index,))
        since, until = (within(index, TIME, moment) for moment in pair)
        if until < since:
            early = f'["00:00", "{clock(until)}"], ' if until else ""
            raise Wrong(
                f"{pair!r}",
                (index,),
                "two parts, where midnight is between",
                example=f'[{early}["{clock(since)}", "24:00"]]',
            )
        if until == since or (spans and since < spans[-1][1]):
            raise Wrong(f"{pair!r}", (index,), expected="later than what is before it")
        spans.append((since, until))
    return tuple(spans)


def course(value_of: Kind) -> Kind:
    """Return the kind of what changes over the day, each value of one kind."""
    expected = f'{value_of.expected}, or a list of ["HH:MM", number] in the order of time'
    return Kind(lambda given: _course(given, value_of), expected)


def _course(given: Any, value_of: Kind) -> Course:
    if not isinstance(given, list):
        return ((0.0, value_of.read(given)),)
    points: list[tuple[float, float]] = []
    for index, pair in enumerate(given):
        if not isinstance(pair, list) or len(pair) != 2:
            raise Wrong(f"{pair!r}", (index,))
        at_s, value = within(index, TIME, pair[0]), within(index, value_of, pair[1])
        if points and at_s <= points[-1][0]:
            raise Wrong(f"{pair!r}", (index,), expected="later than what is before it")
        points.append((at_s, value))
    if not points:
        raise Wrong
    return tuple(points)


TIME = Kind(seconds, 'a time of day in quotes, "HH:MM" or "HH:MM:SS"')
HOURS = Kind(_hours, 'a list of ["HH:MM", "HH:MM"], one after the other')
COURSE = course(NUMBER)
WEATHER = course(number(-90, 100))  # of air, degrees Celsius


# Paths as a room file writes them: times and places, "stay" and "out".

EXPECTED = '["HH:MM", x, y] in metres, ["HH:MM", "stay"] or ["HH:MM", "out"]'
EXAMPLE = '[["08:30", 0.3, 3.8], ["08:31", 1.5, 1.6], ["12:00", "stay"], ["12:00", "out"]]'


def _stays(given: Any) -> tuple[tuple[Waypoint, ...], ...]:
    """Return the stays that a path tells of, each from coming in to going out."""
    if not isinstance(given, list) or not given:
        raise Wrong
    stays: list[list[Waypoint]] = []
    inside, last_s = False, 0.0
    for index, step in enumerate(given):
        at_s = _moment(step, index)
        if at_s < last_s:
            raise Wrong(
                f'a step back from "{clock(last_s)}" to "{step[0]}"',
                (index,),
                f'later at every step, as "{clock(at_s + 86400)}" after midnight',
                "nobody walks back in time",
                EXAMPLE,
            )
        last_s = at_s
        if step[1:] in (["stay"], ["out"]):
            if not inside:
                raise Wrong(
                    f"{step!r} of somebody who is not in the room",
                    (index,),
                    '["HH:MM", x, y] first',
                    "a stay begins where one comes in",
                    EXAMPLE,
                )
            stays[-1].append(Waypoint(at_s, *stays[-1][-1][1:]))
            inside = step[1] == "stay"
            continue
        place = _place(step, index)
        if not inside:
            stays.append([])
        stays[-1].append(Waypoint(at_s, *place))
        inside = True
    for stay in stays:
        if stay[-1].at_s == stay[0].at_s:
            raise Wrong(
                f'a stay at "{clock(stay[0].at_s)}" that takes no time',
                (),
                "at least two moments for each stay",
                "somebody who is there for no time gives no heat",
                EXAMPLE,
            )
    return tuple(tuple(stay) for stay in stays)


def _moment(step: Any, index: int) -> float:
    if not isinstance(step, list) or not step:
        raise _odd(step, index)
    try:
        return seconds(step[0])
    except Wrong as wrong:
        raise _odd(step, index) from wrong


def _place(step: list[Any], index: int) -> tuple[float, float]:
    numbers = [value for value in step[1:] if type(value) in (int, float)]
    if len(step) != 3 or len(numbers) != 2:
        raise _odd(step, index)
    return float(numbers[0]), float(numbers[1])


def _odd(step: Any, index: int) -> Wrong:
    return Wrong(f"{step!r}", (index,), EXPECTED, "", EXAMPLE)


PATH = Kind(_stays, f"a list, each {EXPECTED}")
