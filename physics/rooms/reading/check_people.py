"""Whether people of a room file can be where they are told to be, and go there in the time."""

import math
from itertools import pairwise

import numpy as np

from ..geometry import crossing
from ..raster import is_upright
from ..records import Point, Room, Waypoint
from ..routes import obstacles, route
from .check_standing import check_stands
from .lines import Where
from .source import Source
from .times import clock
from .wording import xy

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
    for it in obstacles(room):
        shares = crossing(start, end, it.rect_m)
        if shares:
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
