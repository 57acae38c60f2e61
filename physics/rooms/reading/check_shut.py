"""Whether people of a room file go through doors while these stand open.

Those of [[person]] alone, for their ways are known beforehand. Visitors by chance come when they
come, and a recording was made where other doors stood: both go through doors that are shut at
that moment, and of visitors it is only held that a door on their way is open at some time.
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from ..geometry import crossing
from ..raster import door_rect, is_upright
from ..raster import door_wall as wall_of
from ..records import Door, Point, Room, Span, Waypoint
from ..routes import route, standing
from .check_people import RUNNING_M_PER_S, timed
from .lines import Where
from .source import Source
from .times import clock
from .wording import told, xy


class _Leg(NamedTuple):
    """A straight way of a person, and where it stands in the file."""

    where: Where
    name: str
    one: Waypoint
    other: Waypoint


def check_shut(room: Room, source: Source) -> None:
    """Refuse people who go through a door, or stand in it, that is shut for any part of that.

    Raises:
        ValueError: there is one.
    """
    for leg in _legs(room):
        for index, door in enumerate(room.doors):
            span = _crossed_s(room, leg, door)
            if span is None or _is_open(door.open_s, span):
                continue
            start, end = leg.one[1:], leg.other[1:]
            does = f"goes from {xy(*start)} to {xy(*end)}, through" if start != end else "is in"
            since, until = _minutes(span, 1)
            raise source.fault(
                leg.where,
                f"{leg.name} from {clock(leg.one.at_s)} to {clock(leg.other.at_s)} {does} "
                f"{told(('door', index))} (line {source.line(('door', index))}), which is shut "
                f"for some or all of {clock(since)} to {clock(until)}",
                "the door must be open all that time (its key open), or the way another one",
                "people do not walk through a door that is shut, and the promise on foot rests "
                "on that",
                _example(room, leg, door),
            )


def check_shut_to_visitors(room: Room, source: Source) -> None:
    """Refuse visitors by chance whose way leads through a door that is never open in the day.

    Raises:
        ValueError: that is so.
    """
    if room.arrivals is None:
        return
    entrance, day = room.arrivals.entrance_m, room.day
    for index, door in enumerate(room.doors):
        if any(since < day.until_s and until > day.start_s for since, until in door.open_s):
            continue
        for seat in room.arrivals.seats_m or _beside(room, door):
            way = route(room, entrance, seat) or ()
            if any(crossing(a, b, door_rect(room, door)) for a, b in pairwise(way)):
                raise source.fault(
                    ("door", index),
                    f"{told(('door', index))} is never open from {clock(day.start_s)} to "
                    f"{clock(day.until_s)}, and visitors go through it from the entrance "
                    f"{xy(*entrance)} to {xy(*seat)}",
                    "a door on their way must be open at some time",
                    "people do not walk through a door that is shut",
                    f'open = [["{clock(day.start_s)}", "{clock(day.until_s)}"]]',
                )


def _legs(room: Room) -> Iterator[_Leg]:
    for index, person in enumerate(room.people):
        step = 0  # each waypoint is one element of the path
        for stay in person.stays:
            for at, (one, other) in enumerate(pairwise(stay), step + 1):
                yield _Leg(("person", index, "path", at), person.name, one, other)
            step += len(stay)


def _crossed_s(room: Room, leg: _Leg, door: Door) -> Span | None:
    """Return from when to when a leg is in the opening of a door, or None."""
    shares = crossing(leg.one[1:], leg.other[1:], door_rect(room, door))
    lasts_s = leg.other.at_s - leg.one.at_s
    if shares is None or lasts_s == 0:
        return None
    return leg.one.at_s + shares[0] * lasts_s, leg.one.at_s + shares[1] * lasts_s


def _is_open(open_s: tuple[Span, ...], span: Span) -> bool:
    # Hours that touch are one; a thousandth of a second is round-off.
    return any(s <= span[0] + 1e-3 and span[1] <= e + 1e-3 for s, e in _merged(list(open_s)))


def _merged(spans: list[Span]) -> list[Span]:
    merged: list[Span] = []
    for since, until in sorted(spans):
        if merged and since <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(until, merged[-1][1])
        else:
            merged.append((since, until))
    return merged


def _minutes(span: Span, each_s: int = 60) -> Span:
    """Return a span from its whole minutes, or seconds, to them."""
    return each_s * math.floor(span[0] / each_s), each_s * math.ceil(span[1] / each_s)


def _example(room: Room, leg: _Leg, door: Door) -> str:
    """Return a way round that is open all the time, else hours in which everybody gets through."""
    during = (leg.one.at_s, leg.other.at_s)
    others = tuple(it for it in room.doors if it is not door and _is_open(it.open_s, during))
    way = route(replace(room, doors=others), leg.one[1:], leg.other[1:])
    if way is not None:
        length = sum(math.dist(a, b) for a, b in pairwise(way))
        if length <= RUNNING_M_PER_S * (during[1] - during[0]) / 2:
            return timed(way, leg.one, leg.other)
    needed = [_crossed_s(room, one, door) for one in _legs(room)]
    hours = [*door.open_s, *(_minutes(it) for it in needed if it is not None)]
    shown = ", ".join(f'["{clock(since)}", "{clock(until)}"]' for since, until in _merged(hours))
    return f"open = [{shown}]"


def _beside(room: Room, door: Door) -> tuple[Point, ...]:
    """Return the places on both sides of a door where one can stand, a cell away from it."""
    left, top, right, bottom = door_rect(room, door)
    x, y = (left + right) / 2, (top + bottom) / 2
    cell_m = room.cell_mm / 1000
    index = wall_of(room, door)
    upright = index is not None and is_upright(room.walls[index])
    both = (
        ((left - cell_m, y), (right + cell_m, y))
        if upright
        else ((x, top - cell_m), (x, bottom + cell_m))
    )
    return tuple(
        (a, b)
        for a, b in both
        if 0 <= a <= room.size_m[0] and 0 <= b <= room.size_m[1] and not standing(room, (a, b))
    )
