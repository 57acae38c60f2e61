"""Whether people of a room file can be where they are told to be, and go there in the time.

Those of [[person]] go through doors while these stand open, for their ways are known beforehand.
Visitors by chance wait for a door, or do not come in; of them it is held that a door on their way
is open at some time. What a recording has beyond a wall or a shut door is gone at once.
"""

import math
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..day import followed, is_straight, may_stand, nearest_free, route, walked
from ..geometry import crossing, inside
from ..plan import door_wall, is_upright, rect
from ..records import Door, Point, Rect, Room, Span, Waypoint
from .kinds import clock
from .lines import Where
from .source import Source, told, xy

WARM = "heat is where people are, and nobody is inside of things"


class Obstacle(NamedTuple):
    """What nobody can walk through, as it is drawn."""

    rect_m: Rect
    called: str
    where: Where  # in the room file


@lru_cache(maxsize=8)
def obstacles(room: Room) -> tuple[Obstacle, ...]:
    """Return what is in the way in a room: walls without their doors, and furniture."""
    doors = [rect(room, "door", nth) for nth in range(len(room.doors))]
    found = [
        Obstacle(part, f"[[wall]] {nth + 1}", ("wall", nth))
        for nth, wall in enumerate(room.walls)
        for part in _without(rect(room, "wall", nth), doors, axis=1 if is_upright(wall) else 0)
    ]
    return *found, *(
        Obstacle(rect(room, "furniture", nth), piece.name, ("furniture", nth))
        for nth, piece in enumerate(room.furniture)
    )


def check_stands(
    room: Room, source: Source, where: Where, who: str, place: Point, key: str = ""
) -> None:
    """Refuse a place where nobody can stand, and name the nearest one where one can.

    Args:
        where: the place in the file: an element of a path, or a key.
        who: what the fault begins with.
        key: what stands before the place in the file, where it is not in a path.

    Raises:
        ValueError: nobody can.
    """
    it = in_the_way(room, place)
    near = nearest_free(room, place) if it else None
    if it and near is None:
        raise source.fault(
            ("room", "size_m"),
            "walls and furniture fill the whole room",
            f"{who} needs a place to stand",
            WARM,
            f"size_m = {xy(2 * room.size_m[0], 2 * room.size_m[1])}",
        )
    if near is not None:
        example = f"{key}{xy(*near)}"
        if len(where) == 4:
            _, person, _, step = where
            path = [point for stay in room.people[int(person)].stays for point in stay]
            at_s = path[int(step)].at_s
            example = (
                f'path = [["{clock(at_s)}", {near[0]:.4g}, {near[1]:.4g}], '
                f'["{clock(at_s + 3600)}", "stay"]]'
            )
        raise source.fault(
            where,
            f"{who} is {it} at {xy(*place)}",
            f"must be where one can stand, within {xy(0, 0)} and {xy(*room.size_m)}",
            WARM,
            example,
        )


def in_the_way(room: Room, place: Point) -> str:
    """Return what a place is in, as one would say it, or "" where one can stand."""
    if not all(0 <= at <= size for at, size in zip(place, room.size_m, strict=True)):
        return "outside the room"
    if may_stand(room, place):
        return ""
    it = next((it for it in obstacles(room) if inside(place, it.rect_m)), None)
    return f"in {it.called}" if it else "between things that touch"


def _without(rect: Rect, holes: list[Rect], axis: int) -> list[Rect]:
    """Return what is left of a wall along an axis once its doors are taken out."""
    left = [rect]
    for hole in holes:
        if not (hole[1 - axis] == rect[1 - axis] and hole[3 - axis] == rect[3 - axis]):
            continue  # in another wall
        parts = []
        for piece in left:
            for since, until in (
                (piece[axis], min(piece[axis + 2], hole[axis])),
                (max(piece[axis], hole[axis + 2]), piece[axis + 2]),
            ):
                if until > since:
                    cut = list(piece)
                    cut[axis], cut[axis + 2] = since, until
                    parts.append((cut[0], cut[1], cut[2], cut[3]))
        left = parts
    return left


# Faster than this is a slip of the pen, not a person in a room.
RUNNING_M_PER_S = 4.0


def check_paths(room: Room, source: Source) -> None:
    """Refuse people who leave the room by a wall, stand in things, or go through them.

    Raises:
        ValueError: there is one.
    """
    for index, person in enumerate(room.people):
        step = 0  # each waypoint is one element of the path
        for stay in person.stays:
            for point in stay:
                where: Where = ("person", index, "path", step)
                check_stands(
                    room, source, where, f"{person.name} at {clock(point.at_s)}", point[1:]
                )
                step += 1
            for at, (one, other) in enumerate(pairwise(stay), step - len(stay) + 1):
                _goes(room, source, ("person", index, "path", at), person.name, (one, other))


def _goes(
    room: Room, source: Source, where: Where, name: str, leg: tuple[Waypoint, Waypoint]
) -> None:
    one, other = leg
    start, end = one[1:], other[1:]
    times = f"{name} from {clock(one.at_s)} to {clock(other.at_s)}"
    length = math.dist(start, end)
    if length > RUNNING_M_PER_S * (other.at_s - one.at_s):
        later = clock(one.at_s + max(math.ceil(length), 1))
        raise source.fault(
            where,
            f"{times} goes {length:.3g} m",
            f"must go at {RUNNING_M_PER_S:g} m/s at most",
            "nobody is in two places at once",
            f'path = [["{clock(one.at_s)}", {start[0]:.4g}, {start[1]:.4g}], '
            f'["{later}", {end[0]:.4g}, {end[1]:.4g}]]',
        )
    if is_straight(room, start, end):
        return
    met = [(shares, it) for it in obstacles(room) if (shares := crossing(start, end, it.rect_m))]
    if not met:  # along an edge that two things share, or where two walls touch
        raise source.fault(
            where,
            f"{times} goes from {xy(*start)} to {xy(*end)}, between things that touch",
            "must go where there is room to pass",
            "people do not walk through things, and their heat does not either",
            timed(route(room, start, end) or (start,), one, other),
        )
    shares, it = min(met, key=lambda pair: pair[0])
    x, y = ((1 - shares[0]) * a + shares[0] * b for a, b in zip(start, end, strict=True))
    raise source.fault(
        where,
        f"{times} goes from {xy(*start)} to {xy(*end)}, through {it.called} (line "
        f"{source.line(it.where)}) at {xy(x, y)}",
        "must go round, or through a door",
        "people do not walk through things, and their heat does not either",
        _round(room, one, other, it.where),
    )


def _round(room: Room, one: Waypoint, other: Waypoint, where: Where) -> str:
    """Return a path with the corners of a way round, in the same time; else a door."""
    way = route(room, one[1:], other[1:])
    return _door(room, one, other, where) if way is None else timed(way, one, other)


def timed(way: tuple[Point, ...], one: Waypoint, other: Waypoint) -> str:
    """Return a path along the corners of a way, from one waypoint's time to the other's."""
    far = np.concatenate(([0.0], np.cumsum([math.dist(a, b) for a, b in pairwise(way)])))
    at_s = one.at_s + (other.at_s - one.at_s) * far / far[-1]
    steps = ", ".join(
        f'["{clock(moment)}", {x:.4g}, {y:.4g}]'
        for moment, (x, y) in zip(at_s.tolist(), way, strict=True)
    )
    return f"path = [{steps}]"


def _door(room: Room, one: Waypoint, other: Waypoint, where: Where) -> str:
    """Return a door where a straight way meets a wall; a path that stays, where it is no wall."""
    if where[0] != "wall":
        x, y = f"{one.x_m:.4g}", f"{one.y_m:.4g}"
        return f'path = [["{clock(one.at_s)}", {x}, {y}], ["{clock(other.at_s)}", "stay"]]'
    wall = room.walls[int(where[1])]
    across = 0 if is_upright(wall) else 1
    ends = [one[1:], other[1:]]
    share = np.clip((wall.from_m[across] - ends[0][across]) / _apart(ends, across), 0, 1)
    low, high = sorted((wall.from_m[1 - across], wall.to_m[1 - across]))
    width = min(0.9, high - low)
    along = float(ends[0][1 - across] + share * (ends[1][1 - across] - ends[0][1 - across]))
    middle = min(max(along, low + width / 2), high - width / 2)
    at = (wall.from_m[0], middle) if across == 0 else (middle, wall.from_m[1])
    since, until = 60 * math.floor(one.at_s / 60), 60 * math.ceil(other.at_s / 60)
    hours = f'open = [["{clock(since)}", "{clock(until)}"]]'
    return f"[[door]]\nat_m = {xy(*at)}\nwidth_m = {width:g}\n{hours}"


def _apart(ends: list[tuple[float, float]], across: int) -> float:
    return (ends[1][across] - ends[0][across]) or 1.0


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
            if any(crossing(a, b, _opening(room, door)) for a, b in pairwise(way)):
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
    shares = crossing(leg.one[1:], leg.other[1:], _opening(room, door))
    lasts_s = leg.other.at_s - leg.one.at_s
    if shares is None or lasts_s == 0:
        return None
    return leg.one.at_s + shares[0] * lasts_s, leg.one.at_s + shares[1] * lasts_s


def _is_open(open_s: tuple[Span, ...], span: Span) -> bool:
    # Hours that touch are one; a millionth of a second is round-off.
    return any(s <= span[0] + 1e-6 and span[1] <= e + 1e-6 for s, e in _merged(list(open_s)))


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
    others = tuple(it is not door and _is_open(it.open_s, during) for it in room.doors)
    way = route(room, leg.one[1:], leg.other[1:], others)
    if way is not None:
        length = sum(math.dist(a, b) for a, b in pairwise(way))
        if length <= RUNNING_M_PER_S * (during[1] - during[0]) / 2:
            return timed(way, leg.one, leg.other)
    needed = [_crossed_s(room, one, door) for one in _legs(room)]
    hours = [*door.open_s, *(_minutes(it) for it in needed if it is not None)]
    shown = ", ".join(f'["{clock(since)}", "{clock(until)}"]' for since, until in _merged(hours))
    return f"open = [{shown}]"


def _opening(room: Room, door: Door) -> Rect:
    return rect(room, "door", room.doors.index(door))


def _beside(room: Room, door: Door) -> tuple[Point, ...]:
    """Return the places on both sides of a door where one can stand, a cell away from it."""
    left, top, right, bottom = _opening(room, door)
    x, y = (left + right) / 2, (top + bottom) / 2
    cell_m = room.cell_mm / 1000
    index = door_wall(room, door)
    upright = index is not None and is_upright(room.walls[index])
    both = (
        ((left - cell_m, y), (right + cell_m, y))
        if upright
        else ((x, top - cell_m), (x, bottom + cell_m))
    )
    return tuple(
        (a, b)
        for a, b in both
        if 0 <= a <= room.size_m[0] and 0 <= b <= room.size_m[1] and may_stand(room, (a, b))
    )


# More than one every second is a slip of the pen.
MOST_PER_H = 3600.0


def check_walkers(room: Room, source: Source) -> None:
    """Refuse recordings that do not fit into the room.

    Raises:
        ValueError: there is one.
    """
    for index, walker in enumerate(room.walkers):
        places = [place for _, frame in walker.frames for place in frame]
        for place in places:
            it = in_the_way(room, place)
            if it:
                lost = sum(1 for other in places if in_the_way(room, other))
                key = "rect_m" if ("walker", index, "rect_m") in source.lines else "trace"
                raise source.fault(
                    ("walker", index, key),
                    f"{told(('walker', index))} is {it} at {xy(*place)}, and so are {lost} of "
                    f"its {len(places)} places",
                    "recorded people must be where one can stand",
                    WARM,
                    _clear(room),
                )
        for track in walked(room, walker):
            lasts = np.diff(track.at_s) > 0
            shut = lasts & ~followed(room, track.at_s, track.places_m)
            if shut.any():
                at_s = float(track.at_s[np.flatnonzero(shut)[0]])
                raise source.fault(
                    ("walker", index, "at"),
                    f"{told(('walker', index))} stands in a door that is shut, at {clock(at_s)}",
                    "the doors must be open where recorded people stand",
                    WARM,
                    'at = ["09:00"]',
                )


def check_arrivals(room: Room, source: Source) -> None:
    """Refuse visitors who cannot come in, sit, or get to their seat.

    Raises:
        ValueError: that is so.
    """
    if room.arrivals is None:
        return
    for index, (_, rate) in enumerate(room.arrivals.per_h):
        if not 0 <= rate <= MOST_PER_H:
            raise source.fault(
                ("arrivals", "per_h", index),
                f"per_h of [arrivals] has {rate:g}",
                f"must be from 0 to {MOST_PER_H:g}",
                "so many come in an hour",
                'per_h = [["08:00", 6.0], ["18:00", 0.0]]',
            )
    entrance = room.arrivals.entrance_m
    check_stands(room, source, ("arrivals", "entrance_m"), "entrance_m", entrance, "entrance_m = ")
    for index, seat in enumerate(room.arrivals.seats_m):
        where: Where = ("seat", index, "at_m")
        check_stands(room, source, where, told(("seat", index)), seat, "at_m = ")
        if route(room, entrance, seat) is None:
            raise source.fault(
                where,
                f"there is no way from the entrance {xy(*entrance)} to {told(('seat', index))} "
                f"at {xy(*seat)}",
                "every seat must be reached",
                "visitors walk to it",
                f"at_m = {xy(*entrance)}",
            )


def _clear(room: Room) -> str:
    """Return the largest key rect_m, along x, that holds none of the things in the way."""
    edges = sorted(
        {0.0, room.size_m[0], *(edge for it in obstacles(room) for edge in it.rect_m[::2])}
    )
    best = (0.0, 0.1)
    for index, left in enumerate(edges):
        for right in edges[index + 1 :]:
            taken = any(
                it.rect_m[0] < right - 1e-9 and left + 1e-9 < it.rect_m[2]
                for it in obstacles(room)
            )
            if not taken and right - left > best[1] - best[0]:
                best = (left, right)
    return f"rect_m = [{best[0]:.4g}, 0.0, {best[1] - best[0]:.4g}, {room.size_m[1]:g}]"
