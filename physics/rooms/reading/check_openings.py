"""Whether doors and windows of a room file are in a wall and in a side."""

from itertools import combinations

from ..geometry import overlap
from ..raster import door_rect, door_wall
from ..records import Room
from .lines import Where
from .source import Source
from .wording import told, xy


def check_doors(room: Room, source: Source) -> None:
    """Refuse doors that are in no wall, or in each other.

    Raises:
        ValueError: there is one.
    """
    for index, door in enumerate(room.doors):
        if door_wall(room, door) is None:
            raise source.fault(
                ("door", index, "at_m"),
                f"{told(('door', index))} at {xy(*door.at_m)}, {door.width_m:g} m wide, is in "
                "no [[wall]]",
                "the whole opening must be in one wall",
                "a door is a part of a wall that opens",
                _door_example(room, door.width_m),
            )
    for (one, door), (two, other) in combinations(enumerate(room.doors), 2):
        if overlap(door_rect(room, door), door_rect(room, other)):
            raise source.fault(
                ("door", two),
                f"{told(('door', two))} overlaps {told(('door', one))} (line "
                f"{source.line(('door', one))})",
                "doors must stand beside each other",
                "one opening is open or closed, not both",
                f"width_m = {min(door.width_m, other.width_m) / 2:g}",
            )


def _door_example(room: Room, width_m: float) -> str:
    if not room.walls:
        return "[[wall]]\nfrom_m = [2.0, 0.0]\nto_m = [2.0, 4.0]\nthickness_mm = 100\n" + (
            'material = "plasterboard"\n[[door]]\nat_m = [2.0, 3.0]\nwidth_m = 0.9'
        )
    wall = room.walls[0]
    middle = [(a + b) / 2 for a, b in zip(wall.from_m, wall.to_m, strict=True)]
    length = max(abs(a - b) for a, b in zip(wall.from_m, wall.to_m, strict=True))
    return f"at_m = {xy(*middle)}\nwidth_m = {min(width_m, length):g}"


def check_windows(room: Room, source: Source) -> None:
    """Refuse windows that are longer than their side, higher than the room, or in each other.

    Raises:
        ValueError: there is one.
    """
    for index, window in enumerate(room.windows):
        length = room.size_m[1 if window.side in ("east", "west") else 0]
        where: Where = ("window", index)
        if not window.from_m < window.to_m <= length + 1e-9:
            raise source.fault(
                (*where, "to_m"),
                f"{told(where)} goes from {window.from_m:g} to {window.to_m:g} m",
                f"must go up, and to {length:g} m at most, where the {window.side} side ends",
                "a window is a part of its side",
                f"from_m = 0.0\nto_m = {length:g}",
            )
        if window.height_m > room.height_m:
            raise source.fault(
                (*where, "height_m"),
                f"{told(where)} is {window.height_m:g} m high",
                f"the room is {room.height_m:g} m high",
                "a window is a part of its side",
                f"height_m = {room.height_m:g}",
            )
    for (one, window), (two, other) in combinations(enumerate(room.windows), 2):
        common = min(window.to_m, other.to_m) - max(window.from_m, other.from_m)
        if window.side == other.side and common > 1e-9:
            side_m = room.size_m[1 if window.side in ("east", "west") else 0]
            raise source.fault(
                ("window", two),
                f"{told(('window', two))} overlaps {told(('window', one))} (line "
                f"{source.line(('window', one))}) by {common:g} m of the {window.side} side",
                "windows must stand beside each other",
                "a place in a side passes heat in one way",
                f"from_m = {window.to_m:g}\nto_m = {side_m:g}"
                if window.to_m < side_m
                else f"from_m = 0.0\nto_m = {window.from_m:g}",
            )
