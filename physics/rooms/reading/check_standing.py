"""Whether one can stand at a place of a room file, and where one could instead."""

import numpy as np

from ...places import cell_places
from ..geometry import inside
from ..model import free, grid
from ..records import Point, Room
from ..routes import obstacles, standing
from .lines import Where
from .source import Source
from .times import clock
from .wording import xy

WARM = "heat is where people are, and nobody is inside of things"


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
    if it and not free(room).any():
        raise source.fault(
            ("room", "size_m"),
            "walls and furniture fill the whole room",
            f"{who} needs a place to stand",
            WARM,
            f"size_m = {xy(2 * room.size_m[0], 2 * room.size_m[1])}",
        )
    if it:
        near = nearest_free(room, place)
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
    it = standing(room, place)
    return f"in {it.called}" if it else ""


def nearest_free(room: Room, place: Point) -> Point:
    """Return the middle of the nearest cell where one can stand; the place where there is none."""
    places = cell_places(grid(room))
    clear = free(room) & ~np.array(
        [any(inside((x, y), it.rect_m) for it in obstacles(room)) for x, y in places.tolist()]
    )
    if not clear.any():
        return place
    x, y = places[clear][np.argmin(np.hypot(*(places[clear] - place).T))].tolist()
    return x, y
