"""Whether recorded people and visitors by chance fit into the room of a file."""

from ..records import Room
from ..routes import obstacles, route
from .check_standing import WARM, check_stands, in_the_way
from .lines import Where
from .source import Source
from .wording import told, xy

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
