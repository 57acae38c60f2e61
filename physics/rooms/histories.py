"""How the doors of a room stood before a reading, counted back from it."""

from collections.abc import Iterable
from itertools import groupby
from typing import NamedTuple

from .records import Room


class Since(NamedTuple):
    """So many steps with these doors open, and no other."""

    opened: tuple[bool, ...]
    steps: int


History = tuple[Since, ...]


def history(room: Room, at_s: float) -> History:
    """Return how the doors stood, from a moment back to the start of the day.

    Raises:
        ValueError: a moment outside of the day.
    """
    day = room.day
    if not day.start_s + day.step_s <= at_s <= day.until_s:
        raise ValueError(
            f"the reading is at {at_s:g} s but the day is from {day.start_s:g} to "
            f"{day.until_s:g}: before it there is nothing to feel, and after it nothing is known. "
            "Give a moment within the day."
        )
    count = round((at_s - day.start_s) / day.step_s)
    middles = [day.start_s + day.step_s * (nth - 0.5) for nth in range(count, 0, -1)]
    stood = [tuple(door.is_open(at) for door in room.doors) for at in middles]
    return tuple(Since(opened, len(list(same))) for opened, same in groupby(stood))


def constant(room: Room) -> list[History]:
    """Return a day for each way the doors stand at some time, which longest first: none moves."""
    whole = history(room, room.day.until_s)
    lasting: dict[tuple[bool, ...], int] = {}
    for one in whole:
        lasting[one.opened] = lasting.get(one.opened, 0) + one.steps
    states = sorted(lasting, key=lambda opened: -lasting[opened])
    return [(Since(opened, sum(lasting.values())),) for opened in states]


def longest(histories: Iterable[History]) -> list[History]:
    """Return those that no other goes on from: who was there longer has changed no less."""
    several = list(dict.fromkeys(histories))
    return [
        one
        for one in several
        if not any(other != one and _goes_on(other, one) for other in several)
    ]


def _goes_on(other: History, one: History) -> bool:
    """Say whether a history begins with all of another."""
    *before, last = one
    if len(other) < len(one) or other[: len(before)] != tuple(before):
        return False
    same = other[len(before)]
    return same.opened == last.opened and same.steps >= last.steps
