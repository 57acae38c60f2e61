"""The kinds of values that a room file may hold, and what is said of one that will not do."""

import math
import re
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple

from ..records import Point, Rect
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
