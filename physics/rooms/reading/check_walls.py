"""Whether walls, furniture and heaters of a room file fit into the room and beside each other."""

from itertools import combinations

from ..geometry import TOUCH_M, overlap, within
from ..raster import is_upright, wall_rect
from ..records import Rect, Room, Wall
from .lines import Where
from .source import Source
from .wording import told, xy


def check_walls(room: Room, source: Source) -> None:
    """Refuse walls that slant, leave the room or overlap.

    Raises:
        ValueError: there is one.
    """
    wide, deep = room.size_m
    for index, wall in enumerate(room.walls):
        (x0, y0), (x1, y1) = wall.from_m, wall.to_m
        if (x0 == x1) == (y0 == y1):
            raise source.fault(
                ("wall", index, "to_m"),
                f"{told(('wall', index))} goes from {xy(x0, y0)} to {xy(x1, y1)}",
                "a wall must run along x or along y",
                "cells are square and a slanting wall would leak between them",
                f"to_m = {xy(x0, y1 if y1 != y0 else deep)}",
            )
        for key, (x, y) in (("from_m", wall.from_m), ("to_m", wall.to_m)):
            if not (0 <= x <= wide and 0 <= y <= deep):
                raise source.fault(
                    ("wall", index, key),
                    f"{key} of {told(('wall', index))} is {xy(x, y)}",
                    f"must be within the room, {xy(0, 0)} to {xy(wide, deep)}",
                    "nothing is simulated beyond it; the outer sides are [north] to [west]",
                    f"{key} = {xy(min(max(x, 0), wide), min(max(y, 0), deep))}",
                )
    for (one, wall), (two, other) in combinations(enumerate(room.walls), 2):
        along_x = wall.from_m[1] == wall.to_m[1]
        common = overlap(wall_rect(wall), wall_rect(other))
        if common and along_x == (other.from_m[1] == other.to_m[1]):
            raise source.fault(
                ("wall", two),
                f"{told(('wall', two))} overlaps {told(('wall', one))} (line "
                f"{source.line(('wall', one))}) from {xy(*common[:2])} to {xy(*common[2:])}",
                "walls that run the same way must not overlap, though they may touch",
                "one place is of one material",
                _aside(room, wall, other),
            )


def _aside(room: Room, wall: Wall, other: Wall) -> str:
    # The second wall, moved across until it touches the first: to the far side, or the near one.
    across = 0 if is_upright(wall) else 1
    apart = (wall.thickness_mm + other.thickness_mm) / 2000
    middle = wall.from_m[across]
    moved = middle + apart if middle + apart <= room.size_m[across] else middle - apart
    ends = []
    for end in (other.from_m, other.to_m):
        place = [*end]
        place[across] = moved
        ends.append(xy(*place))
    return f"from_m = {ends[0]}\nto_m = {ends[1]}"


def check_things(room: Room, source: Source) -> None:
    """Refuse furniture and heaters that leave the room or stand in a wall.

    Raises:
        ValueError: there is one.
    """
    things: list[tuple[Where, Rect]] = [
        (("furniture", index), piece.rect_m) for index, piece in enumerate(room.furniture)
    ]
    things += [(("heater", index), heater.rect_m) for index, heater in enumerate(room.heaters)]
    for where, rect in things:
        if not within(rect, room.size_m):
            wide, deep = (min(rect[axis + 2] - rect[axis], room.size_m[axis]) for axis in (0, 1))
            x = min(max(rect[0], 0.0), room.size_m[0] - wide)
            y = min(max(rect[1], 0.0), room.size_m[1] - deep)
            raise source.fault(
                (*where, "rect_m"),
                f"{told(where)} reaches from {xy(*rect[:2])} to {xy(*rect[2:])}",
                f"must be within the room, {xy(0, 0)} to {xy(*room.size_m)}",
                "nothing is simulated beyond it",
                f"rect_m = [{x:.4g}, {y:.4g}, {wide:.4g}, {deep:.4g}]",
            )
        for index, wall in enumerate(room.walls):
            common = overlap(rect, wall_rect(wall))
            if common:
                raise source.fault(
                    (*where, "rect_m"),
                    f"{told(where)} is in {told(('wall', index))} (line "
                    f"{source.line(('wall', index))}) from {xy(*common[:2])} to "
                    f"{xy(*common[2:])}",
                    "must stand beside walls",
                    "one place is wall or it is not",
                    _beside(room, rect, common),
                )


def _beside(room: Room, rect: Rect, common: Rect) -> str:
    # What of it is before the wall, or behind it, whichever is more.
    left, top, right, bottom = rect
    rests = (
        (left, top, common[0], bottom),
        (common[2], top, right, bottom),
        (left, top, right, common[1]),
        (left, common[3], right, bottom),
    )
    best = max(rests, key=lambda it: max(it[2] - it[0], 0) * max(it[3] - it[1], 0))
    wide, deep = best[2] - best[0], best[3] - best[1]
    if min(wide, deep) < TOUCH_M:  # all of it is in the wall: moved behind it, or before
        wide, deep = right - left, bottom - top
        behind = common[2] + wide <= room.size_m[0]
        best = (common[2] if behind else common[0] - wide, top, right, bottom)
    return f"rect_m = [{best[0]:.4g}, {best[1]:.4g}, {wide:.4g}, {deep:.4g}]"
