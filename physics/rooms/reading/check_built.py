"""Whether what a room file tells of what is built, of times and of warmth can be."""

import math
from collections.abc import Iterator
from itertools import combinations
from typing import Any, NamedTuple

from ...air import AIR_J_PER_M3K
from .. import records
from ..geometry import TOUCH_M, overlap, within
from ..plan import door_rect, door_wall, is_upright, wall_rect
from ..records import SIDES, Course, Rect, Room, Wall
from .kinds import Wrong, clock, seconds
from .lines import Where
from .source import Source, told, xy


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
                "walls are drawn in squares of 25 mm, and a slanting one would pass too much",
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


_MIDNIGHT_S = 86400.0


def check_times(room: Room, source: Source) -> None:
    """Refuse times after "24:00" that the simulation does not last to, and doors between steps.

    Those of weather may be later: it is linear in between.

    Raises:
        ValueError: there is one.
    """
    if room.day.start_s > _MIDNIGHT_S:
        raise source.fault(
            ("room", "start"),
            f'start is "{clock(room.day.start_s)}"',
            'it must be "24:00" at the latest',
            "the simulation begins on the first day",
            f'start = "{clock(room.day.start_s % _MIDNIGHT_S)}"',
        )
    last_s = max(_MIDNIGHT_S, room.day.until_s)
    for where, at_s in _times(source.document, ()):
        if at_s <= last_s or "outside_c" in where or "supply_c" in where:
            continue
        ends = clock(last_s)
        raise source.fault(
            where,
            f'there is a time "{clock(at_s)}"',
            'times of a day run to "24:00", later ones are of the next day, and this room is '
            f'simulated to "{clock(room.day.until_s)}" (start and duration_h)',
            "what comes later would be left out",
            f'duration_h = {-(-(at_s - room.day.start_s) // 3600):g}  # or a time to "{ends}"',
        )
    for nth, door in enumerate(room.doors):
        for row, span in enumerate(door.open_s):
            for at_s in span:
                steps = (at_s - room.day.start_s) / room.day.step_s
                if not 0 < steps < (room.day.until_s - room.day.start_s) / room.day.step_s:
                    continue
                if abs(steps - round(steps)) > 1e-6:
                    near_s = room.day.start_s + room.day.step_s * round(steps)
                    shown = [clock(near_s if it == at_s else it) for it in span]
                    raise source.fault(
                        ("door", nth, "open", row),
                        f'[[door]] {nth + 1} moves at "{clock(at_s)}"',
                        f"it must move on a step of {room.day.step_s:g} s (step_s) from the "
                        f'start, "{clock(room.day.start_s)}"',
                        "a step knows one state of the doors, and so does the promise",
                        f'open = [["{shown[0]}", "{shown[1]}"]]',
                    )


def _times(value: Any, where: Where) -> Iterator[tuple[Where, float]]:
    if isinstance(value, dict):
        for key, part in value.items():
            if key not in ("name", "trace", "sequence", "start"):
                yield from _times(part, (*where, key))
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from _times(part, (*where, index))
    elif isinstance(value, str):
        try:
            yield where, seconds(value)
        except Wrong:
            return  # a word


# Beyond these nobody is in a room, and what is said of its air and its sensors does not hold.
COLDEST_C, WARMEST_C = -40.0, 60.0
_MOST_STEPS = 2000


class _Way(NamedTuple):
    """A way that heat takes out of the room, in W/K, to where it is so warm."""

    where: Where
    w_per_k: float
    course: Course


def check_warmth(room: Room, source: Source) -> None:
    """Refuse heaters and weather with which the empty room gets warmer or colder than rooms are.

    The room is taken as one: air, and what stores heat with it, from baseline_c on, with what its
    sides, windows and ventilation pass and its heaters give. A part of it may get warmer still.

    Raises:
        ValueError: it does.
    """
    ways = _ways(room)
    extremes = _extremes(room, ways, 1.0)
    worst = next((it for it in extremes if not COLDEST_C <= it[1] <= WARMEST_C), None)
    if worst is None:
        return
    at_s, worst_c = worst
    where, example = _weather(ways, worst_c)
    if worst_c > WARMEST_C and room.heaters:
        still = _extremes(room, ways, 0.0)[1][1]
        if still < WARMEST_C:
            where, example = _weaker(room, worst_c, still)
    given = f"{told(where[:-1])} (its {where[-1]}) and what else there is bring the empty room"
    raise source.fault(
        where,
        f"{given} to {worst_c:.0f} C at {clock(60 * round(at_s / 60))}",
        f"it must stay within {COLDEST_C:g} and {WARMEST_C:g} C",
        "no room with people is so, and its air and its sensors are other ones there",
        example,
    )


def _ways(room: Room) -> list[_Way]:
    found: list[_Way] = []
    for side in SIDES:
        length_m = room.size_m[1 if side in ("east", "west") else 0]
        glazed_m2 = 0.0
        for index, window in enumerate(room.windows):
            if window.side == side:
                area_m2 = (window.to_m - window.from_m) * window.height_m
                glazed_m2 += area_m2
                passed = area_m2 * window.u_w_per_m2k
                found.append(_Way(("window", index, "outside_c"), passed, window.outside_c))
        wall = room.sides[side]
        passed = max(length_m * room.height_m - glazed_m2, 0.0) * wall.u_w_per_m2k
        found.append(_Way((side, "outside_c"), passed, wall.outside_c))
    fresh = AIR_J_PER_M3K * _volume_m3(room) * room.air.air_changes_per_h / 3600
    return [*found, _Way(("room", "supply_c"), fresh, room.air.supply_c)]


def _extremes(
    room: Room, ways: list[_Way], heated: float
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return when the empty room is coldest and warmest, and how warm, with a share of heaters.

    Exact for what is constant over a step: C dT/dt = P + sum G (outside - T).
    """
    stored = AIR_J_PER_M3K * room.air.capacity_factor * _volume_m3(room)
    passed = sum(way.w_per_k for way in ways)
    lasts_s = room.day.until_s - room.day.start_s
    steps = min(_MOST_STEPS, math.ceil(lasts_s / 600))
    step_s = lasts_s / steps
    warm_c = room.air.baseline_c
    coldest = warmest = (room.day.start_s, warm_c)
    for nth in range(steps):
        since = room.day.start_s + nth * step_s
        until = since + step_s
        power = sum(it.power_w * records.share(it.on_s, since, until) for it in room.heaters)
        flow = heated * power + sum(
            way.w_per_k * (records.mean(way.course, since, until) - warm_c) for way in ways
        )
        rate = passed / stored
        lasting_s = -math.expm1(-rate * step_s) / rate if rate > 0 else step_s
        warm_c += flow / stored * lasting_s
        coldest = min(coldest, (until, warm_c), key=lambda it: it[1])
        warmest = max(warmest, (until, warm_c), key=lambda it: it[1])
    return coldest, warmest


def _weaker(room: Room, worst_c: float, still_c: float) -> tuple[Where, str]:
    """Return the strongest heater, and a power with which all in proportion are weak enough."""
    index = max(range(len(room.heaters)), key=lambda it: room.heaters[it].power_w)
    power_w = room.heaters[index].power_w
    # The heat adds up, so to a third of the way to the warmest there is, as heaters are.
    aim_c = still_c + min(10.0, (WARMEST_C - still_c) / 2)
    enough = power_w * (aim_c - still_c) / (worst_c - still_c)
    return ("heater", index, "power_w"), f"power_w = {float(f'{enough:.2g}'):g}"


def _weather(ways: list[_Way], worst_c: float) -> tuple[Where, str]:
    """Return what pulls the room furthest out, and a temperature that does not."""
    sign = 1.0 if worst_c > WARMEST_C else -1.0
    way = max(ways, key=lambda it: it.w_per_k * max(sign * value for _, value in it.course))
    return way.where, f"{way.where[-1]} = {20.0 if sign > 0 else 5.0:.1f}"


def _volume_m3(room: Room) -> float:
    return room.size_m[0] * room.size_m[1] * room.height_m
