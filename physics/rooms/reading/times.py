"""Times of day in a room file, hours in which something is on, and what changes over the day."""

import re
from typing import Any

from ..records import Course, Span
from .kinds import NUMBER, Kind, Wrong, number, within


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
