"""What the parts of a room file must be beside each other.

People go through doors while these stand open, for their ways are known beforehand. Visitors by
chance wait for a door, or do not come in; of them it is held that there is a way for them at some
time. What a recording has beyond a wall or a shut door is gone at once.
"""

import math
from collections.abc import Iterator
from itertools import combinations, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..air import AIR_J_PER_M3K
from ..instruments.presets import PRESETS
from ..places import cell_places
from . import records
from .day import check_route, find_route, is_straight, list_known_tracks, may_stand, replay_tracks
from .model import measure_cover
from .plan import (
    QUANTUM_MM,
    door_rect,
    find_air_cell,
    find_door_wall,
    find_free_cells,
    find_rectangle,
    make_grid,
    make_lattice,
    make_plan,
    wall_rect,
)
from .records import SIDES, Course, Floats, Point, Rect, Room, Waypoint
from .source import Source, Where, describe_table, xy
from .tables import format_clock, parse_clock

Faults = Iterator[ValueError]

# Closer than this is touching, of what is told in the file: half a millimetre.
_TOUCH_M = 5e-4
_MIDNIGHT_S = 86400.0
# Faster than this is a slip of the pen, not a person in a room.
_RUNNING_M_PER_S = 4.0
_WARM = "heat is where people are, and nobody is inside of things"
# Beyond these nobody is in a room, and what is said of its air and its sensors does not hold.
_COLDEST_C, _WARMEST_C = -40.0, 60.0
_MOST_STEPS = 2000


def check_room(room: Room, source: Source) -> list[ValueError]:
    """Return why a room cannot be built, walked in or measured; nothing where it can.

    Of each kind of fault the first one. Each group rests on the ones before: what stands in a
    wrong wall is not told as well.
    """
    for group in (
        (_refuse_bad_walls, _refuse_late_times, _refuse_moves_mid_step),
        (_refuse_bad_doors, _refuse_bad_windows, _refuse_misplaced_things),
        (
            _refuse_bad_paths,
            _refuse_bad_walkers,
            _refuse_bad_arrivals,
            _refuse_bad_sensors,
            _refuse_bad_promise,
        ),
        (_refuse_shut, _refuse_extreme_warmth),
        (_refuse_long_step,),
    ):
        found = [next(one(room, source), None) for one in group]
        if any(found):
            return [fault for fault in found if fault]
    return []


def _refuse_bad_walls(room: Room, source: Source) -> Faults:
    """Refuse walls that slant, leave the room or overlap."""
    wide, deep = room.size_m
    for index, wall in enumerate(room.walls):
        (x0, y0), (x1, y1) = wall.from_m, wall.to_m
        if (x0 == x1) == (y0 == y1):
            yield source.make_fault(
                ("wall", index, "to_m"),
                f"{describe_table(('wall', index))} goes from {xy(x0, y0)} to {xy(x1, y1)}",
                "a wall must run along x or along y",
                "walls are drawn in squares of 25 mm, and a slanting one would pass too much",
            )
        for key, (x, y) in (("from_m", wall.from_m), ("to_m", wall.to_m)):
            if not (0 <= x <= wide and 0 <= y <= deep):
                yield source.make_fault(
                    ("wall", index, key),
                    f"{key} of {describe_table(('wall', index))} is {xy(x, y)}",
                    f"must be within the room, {xy(0, 0)} to {xy(wide, deep)}",
                    "nothing is simulated beyond it; the outer sides are [north] to [west]",
                )
    for (one, wall), (two, other) in combinations(enumerate(room.walls), 2):
        along_x = wall.from_m[1] == wall.to_m[1]
        common = _intersect_rectangles(wall_rect(wall), wall_rect(other))
        if common and along_x == (other.from_m[1] == other.to_m[1]):
            yield source.make_fault(
                ("wall", two),
                f"{describe_table(('wall', two))} overlaps "
                f"{_describe_entry(source, 'wall', one)} from "
                f"{xy(*common[:2])} to {xy(*common[2:])}",
                "walls that run the same way must not overlap, though they may touch",
                "one place is of one material",
            )


def _refuse_late_times(room: Room, source: Source) -> Faults:
    """Refuse times after "24:00" that the simulation does not last to.

    Those of weather may be later: it is linear in between.
    """
    if room.day.start_s > _MIDNIGHT_S:
        yield source.make_fault(
            ("room", "start"),
            f'start is "{format_clock(room.day.start_s)}"',
            'it must be "24:00" at the latest',
            "the simulation begins on the first day",
        )
    last_s = max(_MIDNIGHT_S, room.day.until_s)
    for where, at_s in _read_times(source.document, ()):
        if at_s > last_s and "outside_c" not in where and "supply_c" not in where:
            yield source.make_fault(
                where,
                f'there is a time "{format_clock(at_s)}"',
                'times of a day run to "24:00", later ones are of the next day, and this room is '
                f'simulated to "{format_clock(room.day.until_s)}" (start and duration_h)',
                "what comes later would be left out",
            )


def _refuse_moves_mid_step(room: Room, source: Source) -> Faults:
    """Refuse doors that move between two steps of the simulation."""
    day = room.day
    for nth, door in enumerate(room.doors):
        for row, span in enumerate(door.open_s):
            for at_s in span:
                steps = (at_s - day.start_s) / day.step_s
                if day.start_s < at_s < day.until_s and abs(steps - round(steps)) > 1e-6:
                    yield source.make_fault(
                        ("door", nth, "open", row),
                        f'[[door]] {nth + 1} moves at "{format_clock(at_s)}"',
                        f"it must move on a step of {day.step_s:g} s (step_s) from the start, "
                        f'"{format_clock(day.start_s)}"',
                        "a step knows one state of the doors, and so does the promise",
                    )


def _read_times(value: Any, where: Where) -> Iterator[tuple[Where, float]]:
    if isinstance(value, dict):
        for key, part in value.items():
            if key not in ("name", "trace", "sequence", "start"):
                yield from _read_times(part, (*where, key))
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from _read_times(part, (*where, index))
    elif isinstance(value, str):
        try:
            yield where, parse_clock(value)
        except ValueError:
            return  # a word


def _refuse_bad_doors(room: Room, source: Source) -> Faults:
    """Refuse doors that are in no wall, or in each other."""
    for index, door in enumerate(room.doors):
        if find_door_wall(room, door) is None:
            yield source.make_fault(
                ("door", index, "at_m"),
                f"{describe_table(('door', index))} at {xy(*door.at_m)}, {door.width_m:g} m wide, "
                "is in no [[wall]]",
                "the whole opening must be in one wall",
                "a door is a part of a wall that opens",
            )
    for (one, door), (two, other) in combinations(enumerate(room.doors), 2):
        if _intersect_rectangles(door_rect(room, door), door_rect(room, other)):
            yield source.make_fault(
                ("door", two),
                f"{describe_table(('door', two))} overlaps {_describe_entry(source, 'door', one)}",
                "doors must stand beside each other",
                "one opening is open or closed, not both",
            )


def _refuse_bad_windows(room: Room, source: Source) -> Faults:
    """Refuse windows that are longer than their side, higher than the room, or in each other."""
    for index, window in enumerate(room.windows):
        length = room.size_m[1 if window.side in ("east", "west") else 0]
        where: Where = ("window", index)
        if not window.from_m < window.to_m <= length + 1e-9:
            yield source.make_fault(
                (*where, "to_m"),
                f"{describe_table(where)} goes from {window.from_m:g} to {window.to_m:g} m",
                f"must go up, and to {length:g} m at most, where the {window.side} side ends",
                "a window is a part of its side",
            )
        if window.height_m > room.height_m:
            yield source.make_fault(
                (*where, "height_m"),
                f"{describe_table(where)} is {window.height_m:g} m high",
                f"the room is {room.height_m:g} m high",
                "a window is a part of its side",
            )
    for (one, window), (two, other) in combinations(enumerate(room.windows), 2):
        common = min(window.to_m, other.to_m) - max(window.from_m, other.from_m)
        if window.side == other.side and common > 1e-9:
            yield source.make_fault(
                ("window", two),
                f"{describe_table(('window', two))} overlaps "
                f"{_describe_entry(source, 'window', one)} by "
                f"{common:g} m of the {window.side} side",
                "windows must stand beside each other",
                "a place in a side passes heat in one way",
            )


def _refuse_misplaced_things(room: Room, source: Source) -> Faults:
    """Refuse furniture and heaters that leave the room or stand in a wall."""
    things: list[tuple[Where, Rect]] = [
        (("furniture", index), piece.rect_m) for index, piece in enumerate(room.furniture)
    ]
    things += [(("heater", index), heater.rect_m) for index, heater in enumerate(room.heaters)]
    wide, deep = room.size_m
    for where, (left, top, right, bottom) in things:
        span = f"{describe_table(where)} reaches from {xy(left, top)} to {xy(right, bottom)}"
        if min(left, top, wide - right, deep - bottom) < -_TOUCH_M:
            yield source.make_fault(
                (*where, "rect_m"),
                span,
                f"must be within the room, {xy(0, 0)} to {xy(wide, deep)}",
                "nothing is simulated beyond it",
            )
        for index, wall in enumerate(room.walls):
            if _intersect_rectangles((left, top, right, bottom), wall_rect(wall)):
                yield source.make_fault(
                    (*where, "rect_m"),
                    f"{span}, into {_describe_entry(source, 'wall', index)}",
                    "must stand beside walls",
                    "one place is wall or it is not",
                )
        if where[0] == "heater" and not measure_cover(room, (left, top, right, bottom)).any():
            yield source.make_fault(
                (*where, "rect_m"),
                f"{span}, where no air is",
                f"must reach {QUANTUM_MM} mm into the air, for walls are drawn in such steps",
                "its heat warms the air",
            )


def _refuse_bad_paths(room: Room, source: Source) -> Faults:
    """Refuse people who leave the room by a wall, stand in things, run, or go through them."""
    for where, name, one, other in _yield_legs(room):
        for step, point in ((-1, one), (0, other)):
            at: Where = (*where[:-1], int(where[-1]) + step)
            yield from _refuse_blocked_place(
                room, source, at, f"{name} at {format_clock(point.at_s)}", point[1:]
            )
        start, end = one[1:], other[1:]
        times = f"{name} from {format_clock(one.at_s)} to {format_clock(other.at_s)}"
        length = math.dist(start, end)
        if length > _RUNNING_M_PER_S * (other.at_s - one.at_s):
            yield source.make_fault(
                where,
                f"{times} goes {length:.3g} m",
                f"must go at {_RUNNING_M_PER_S:g} m/s at most",
                "nobody is in two places at once",
            )
        if not is_straight(room, start, end):
            way = np.linspace(start, end, 2 + math.ceil(1000 * length / QUANTUM_MM)).tolist()
            met = (_describe_obstacle(room, source, (x, y)) for x, y in way)
            through = next((it for it in met if it), "between things that touch")
            yield source.make_fault(
                where,
                f"{times} goes from {xy(*start)} to {xy(*end)}, and on the way is {through}",
                "must go round, or through a door",
                "people do not walk through things, and their heat does not either",
            )


def _refuse_shut(room: Room, source: Source) -> Faults:
    """Refuse people who go through a door, or stand in it, that is shut for any part of that."""
    for where, name, one, other in _yield_legs(room):
        at_s, places = np.array([one.at_s, other.at_s]), np.array([one[1:], other[1:]])
        if one.at_s == other.at_s or check_route(room, at_s, places).all():
            continue
        moment, door = next(_yield_shut_crossings(room, one, other), (one.at_s, 0))
        yield source.make_fault(
            where,
            f"{name} from {format_clock(one.at_s)} to {format_clock(other.at_s)} is in "
            f"{_describe_entry(source, 'door', door)} at {format_clock(moment)}, when it is shut",
            "the door must be open all the time (its key open), or the route must avoid it",
            "nobody walks through a shut door, and the promise for people on foot rests on that",
        )


def _yield_shut_crossings(
    room: Room, one: Waypoint, other: Waypoint
) -> Iterator[tuple[float, int]]:
    """Yield when a leg is in the opening of a shut door, and in which."""
    moves = {at_s for door in room.doors for span in door.open_s for at_s in span}
    even = np.linspace(one.at_s, other.at_s, 2 + math.ceil(1000 * math.dist(one[1:], other[1:])))
    for at_s in sorted({*even.tolist(), *(it for it in moves if one.at_s < it < other.at_s)}):
        share = (at_s - one.at_s) / (other.at_s - one.at_s)
        x, y = ((1 - share) * a + share * b for a, b in zip(one[1:], other[1:], strict=True))
        for nth, door in enumerate(room.doors):
            left, top, right, bottom = find_rectangle(room, "door", nth)
            if left < x < right and top < y < bottom and not door.is_open(at_s):
                yield at_s, nth


def _refuse_bad_walkers(room: Room, source: Source) -> Faults:
    """Refuse recordings that do not fit into the room."""
    for index, walker in enumerate(room.walkers):
        places = [place for _, frame in walker.frames for place in frame]
        lost = [place for place in places if not may_stand(room, place)]
        if lost:
            key = "rect_m" if ("walker", index, "rect_m") in source.lines else "trace"
            yield source.make_fault(
                ("walker", index, key),
                f"{describe_table(('walker', index))} is "
                f"{_describe_obstacle(room, source, lost[0])} at {xy(*lost[0])}, "
                f"and so are {len(lost)} of its {len(places)} places",
                "recorded people must be where one can stand",
                _WARM,
            )
        for track in replay_tracks(room, walker):
            shut = (np.diff(track.at_s) > 0) & ~check_route(room, track.at_s, track.places_m)
            if shut.any():
                at_s = float(track.at_s[np.flatnonzero(shut)[0]])
                yield source.make_fault(
                    ("walker", index, "at"),
                    f"{describe_table(('walker', index))} stands in a door that is shut, at "
                    f"{format_clock(at_s)}",
                    "the doors must be open where recorded people stand",
                    _WARM,
                )


def _refuse_bad_arrivals(room: Room, source: Source) -> Faults:
    """Refuse visitors who cannot come in, sit, or get to their seat at any time of the day."""
    if room.arrivals is None:
        return
    entrance, day = room.arrivals.entrance_m, room.day
    yield from _refuse_blocked_place(
        room, source, ("arrivals", "entrance_m"), "entrance_m", entrance
    )
    opened = tuple(
        any(since < day.until_s and until > day.start_s for since, until in door.open_s)
        for door in room.doors
    )
    for index, seat in enumerate(room.arrivals.seats_m):
        where: Where = ("seat", index, "at_m")
        yield from _refuse_blocked_place(
            room, source, where, describe_table(("seat", index)), seat
        )
        if find_route(room, entrance, seat, opened) is None:
            yield source.make_fault(
                where,
                f"there is no way from the entrance {xy(*entrance)} to "
                f"{describe_table(('seat', index))} at {xy(*seat)} by "
                "doors that are open at some time of the day",
                "every seat must be reached",
                "visitors walk to it, and through no door that is shut",
            )
    if not room.arrivals.seats_m and not all(opened):
        places = cell_places(make_grid(room))[find_free_cells(room)]
        lost = _label_reachable(room, entrance, places, (True,) * len(opened)) == 1
        if (lost & (_label_reachable(room, entrance, places, opened) == 0)).any():
            door = opened.index(False)
            yield source.make_fault(
                ("door", door),
                f"{describe_table(('door', door))} is never open from "
                f"{format_clock(day.start_s)} to {format_clock(day.until_s)}, and visitors "
                "sit everywhere from the entrance on",
                "a door on their way must be open at some time",
                "people do not walk through a door that is shut",
            )


def _label_reachable(
    room: Room, entrance: Point, places_m: Floats, opened: tuple[bool, ...]
) -> NDArray[np.int_]:
    """Return 1 for places that air joins to the entrance, 0 for others, -1 where no air is."""
    known = make_lattice(room, opened)
    cell = known.find_cells(np.concatenate([[entrance], places_m]))
    side = known.side[known.corners[cell, 0]]
    return np.where(cell < 0, -1, side == side[0])[1:]


def _refuse_bad_sensors(room: Room, source: Source) -> Faults:
    """Refuse a room without sensors, and sensors outside, in a wall, or of the wrong shape."""
    if not room.thermometers:
        yield source.make_fault(
            (),
            "there are no [thermometers]",
            "at least one sensor is needed",
            "nothing is measured otherwise",
        )
    for index, group in enumerate(room.thermometers):
        table: Where = ("thermometers", index)
        if PRESETS[group.kind].shape != (1, 1):
            yield source.make_fault(
                (*table, "kind"),
                f"kind is {group.kind}, an array",
                "[thermometers] are of one pixel",
                "what a pixel sees from afar is not simulated",
            )
        for number, place in enumerate(group.places_m):
            who = f"thermometer {number + 1} of {describe_table(table)}"
            at: Where = (*table, "places_m", number)
            yield from _refuse_airless_sensor(room, source, at, who, place)


def _refuse_bad_promise(room: Room, source: Source) -> Faults:
    """Refuse a promise that counts on less heat, fewer people or more time than there are."""
    promise = room.privacy
    if promise is None:
        return
    num, den = promise.delta
    if num >= den:
        yield source.make_fault(
            ("privacy", "delta"),
            f"delta is {num}/{den}",
            "it must be below one",
            "it is the chance with which nothing at all is promised",
        )
    cell_m, room_m, distance_m = room.cell_mm / 1000, max(room.size_m), promise.protect_distance_m
    if not cell_m * (1 - 1e-9) <= distance_m <= room_m:
        stands = ("privacy", "protect_distance_m") in source.lines
        yield source.make_fault(
            ("privacy", "protect_distance_m"),
            f"protect_distance_m is {distance_m:g}{'' if stands else ' where it is left out'}",
            f"it must be from one cell, {cell_m:g} (cell_mm), to the room's longer side, "
            f"{room_m:g}",
            "a shorter move cannot be told apart, a longer one does not exist",
        )
    minutes = promise.readings * promise.every_min
    if minutes > 60 * room.day.duration_h:
        yield source.make_fault(
            ("privacy", "readings"),
            f"{promise.readings} readings, one every {promise.every_min:g} minutes, take "
            f"{minutes / 60:g} h",
            f"the simulation takes {room.day.duration_h:g} h (duration_h)",
            "each reading is of a moment that is simulated",
        )
    people: list[tuple[Where, str, float]] = [
        (("person", index), one.name, one.power_w) for index, one in enumerate(room.people)
    ]
    people += [(("walker", nth), one.name, one.power_w) for nth, one in enumerate(room.walkers)]
    if room.arrivals is not None:
        people.append((("arrivals",), "a visitor", room.arrivals.power_w))
    for where, name, power_w in people:
        if power_w > promise.power_max_w:
            yield source.make_fault(
                ("privacy", "power_max_w"),
                f"power_max_w is {promise.power_max_w:g}, and {name} (line "
                f"{source.find_line(where)}) warms the air by {power_w:.10g} W",
                "it must be at least what anybody gives",
                "the noise hides no stronger source than that",
            )
    turns = sorted(
        turn
        for track in list_known_tracks(room)
        for turn in ((track.at_s[0], 1), (track.at_s[-1], -1))
    )
    # At one moment, whoever leaves goes first.
    most = int(np.max(np.cumsum([change for _, change in turns]), initial=0))
    if most > promise.people_max:
        yield source.make_fault(
            ("privacy", "people_max"),
            f"people_max is {promise.people_max}, and {most} are there at once",
            "it must be at least as many",
            "a map is read for no more people than that",
        )


def _refuse_long_step(room: Room, source: Source) -> Faults:
    """Refuse a step in which somebody goes through the whole room and more.

    A way within one step is right as a mean, so shorter ways may take less than a step; visitors
    by chance are not counted.
    """
    step_s, furthest = room.day.step_s, 0.0
    for track in list_known_tracks(room):
        gone = np.hypot(*np.diff(track.places_m, axis=0, prepend=track.places_m[:1]).T).cumsum()
        # The furthest way within one step begins or ends at a corner.
        after = np.interp(track.at_s + step_s, track.at_s, gone) - gone
        before = gone - np.interp(track.at_s - step_s, track.at_s, gone)
        furthest = max(furthest, float(np.max(after)), float(np.max(before)))
    room_m = math.hypot(*room.size_m)
    if furthest > room_m:
        yield source.make_fault(
            ("room", "step_s"),
            f"in a step of {step_s:g} s somebody goes {furthest:.3g} m, and the whole room is "
            f"{room_m:.3g} m",
            f"a step must be shorter, {step_s * room_m / furthest:.2g} s or less",
            "a map is of one moment, and each step must follow where the heat comes from",
        )


class _Way(NamedTuple):
    """A way that heat takes out of the room, in W/K, to where it is so warm."""

    where: Where
    w_per_k: float
    course: Course


def _refuse_extreme_warmth(room: Room, source: Source) -> Faults:
    """Refuse heaters and weather with which the empty room gets warmer or colder than rooms are.

    The room is taken as one: air, and what stores heat with it, from baseline_c on, with what its
    sides, windows and ventilation pass and its heaters give. A part of it may get warmer still.
    """
    ways = _list_heat_ways(room)
    extremes = _compute_extremes(room, ways, 1.0)
    worst = next((it for it in extremes if not _COLDEST_C <= it[1] <= _WARMEST_C), None)
    if worst is None:
        return
    at_s, worst_c = worst
    sign = 1.0 if worst_c > _WARMEST_C else -1.0
    # What pulls the room furthest out, unless it is its heaters.
    where = max(ways, key=lambda it: it.w_per_k * max(sign * k for _, k in it.course)).where
    if sign > 0 and room.heaters and _compute_extremes(room, ways, 0.0)[1][1] < _WARMEST_C:
        strongest = max(range(len(room.heaters)), key=lambda it: room.heaters[it].power_w)
        where = ("heater", strongest, "power_w")
    yield source.make_fault(
        where,
        f"{describe_table(where[:-1])} (its {where[-1]}) and what else there is bring the empty "
        f"room to {worst_c:.0f} C at {format_clock(60 * round(at_s / 60))}",
        f"it must stay within {_COLDEST_C:g} and {_WARMEST_C:g} C",
        "no room with people is so, and its air and its sensors are other ones there",
    )


def _list_heat_ways(room: Room) -> list[_Way]:
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
    fresh = AIR_J_PER_M3K * _compute_volume_m3(room) * room.air.air_changes_per_h / 3600
    return [*found, _Way(("room", "supply_c"), fresh, room.air.supply_c)]


def _compute_extremes(
    room: Room, ways: list[_Way], heated: float
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return when the empty room is coldest and warmest, and how warm, with a share of heaters.

    Exact for what is constant over a step: C dT/dt = P + sum G (outside - T).
    """
    stored = AIR_J_PER_M3K * room.air.capacity_factor * _compute_volume_m3(room)
    passed = sum(way.w_per_k for way in ways)
    lasts_s = room.day.until_s - room.day.start_s
    steps = min(_MOST_STEPS, math.ceil(lasts_s / 600))
    step_s = lasts_s / steps
    warm_c = room.air.baseline_c
    coldest = warmest = (room.day.start_s, warm_c)
    for nth in range(steps):
        since = room.day.start_s + nth * step_s
        until = since + step_s
        power = sum(
            it.power_w * records.compute_covered_share(it.on_s, since, until)
            for it in room.heaters
        )
        flow = heated * power + sum(
            way.w_per_k * (records.average_course(way.course, since, until) - warm_c)
            for way in ways
        )
        rate = passed / stored
        lasting_s = -math.expm1(-rate * step_s) / rate if rate > 0 else step_s
        warm_c += flow / stored * lasting_s
        coldest = min(coldest, (until, warm_c), key=lambda it: it[1])
        warmest = max(warmest, (until, warm_c), key=lambda it: it[1])
    return coldest, warmest


def _compute_volume_m3(room: Room) -> float:
    return room.size_m[0] * room.size_m[1] * room.height_m


# Places, legs of paths, and how a part of the file is called.


def _yield_legs(room: Room) -> Iterator[tuple[Where, str, Waypoint, Waypoint]]:
    """Yield the straight ways of people, each with where its end stands in the file, and whose."""
    for index, person in enumerate(room.people):
        step = 0  # each waypoint is one element of the path
        for stay in person.stays:
            for at, (one, other) in enumerate(pairwise(stay), step + 1):
                yield ("person", index, "path", at), person.name, one, other
            step += len(stay)


def _refuse_blocked_place(
    room: Room, source: Source, where: Where, who: str, place: Point
) -> Faults:
    """Refuse a place where nobody can stand; `who` is what the fault begins with."""
    if not may_stand(room, place):
        yield source.make_fault(
            where,
            f"{who} is {_describe_obstacle(room, source, place)} at {xy(*place)}",
            f"must be where one can stand, within {xy(0, 0)} and {xy(*room.size_m)}",
            _WARM,
        )


def _refuse_airless_sensor(
    room: Room, source: Source, where: Where, who: str, place: Point
) -> Faults:
    if find_air_cell(room, place) is None:
        yield source.make_fault(
            where,
            f"{who} is {_describe_obstacle(room, source, place) or 'in a door'} at {xy(*place)}",
            "a sensor must be in the room's air, and walls are drawn in whole steps of 25 mm",
            "it would measure the wall",
        )


def _describe_obstacle(room: Room, source: Source, place: Point) -> str:
    """Return what a place is in, as one would say it, or "" where one can stand."""
    if not all(0 <= at <= size for at, size in zip(place, room.size_m, strict=True)):
        return "outside the room"
    if may_stand(room, place):
        return ""
    drawn = make_plan(room)
    column, row = (int(1000 * it / QUANTUM_MM) for it in place)
    nth = int(drawn.wall[min(row, len(drawn.wall) - 1), min(column, len(drawn.wall[0]) - 1)])
    if nth:
        return f"in {_describe_entry(source, 'wall', nth - 1)}"
    for index, piece in enumerate(room.furniture):
        left, top, right, bottom = find_rectangle(room, "furniture", index)
        if left <= place[0] <= right and top <= place[1] <= bottom:
            return f"in {piece.name} (line {source.find_line(('furniture', index))})"
    return "between things that touch"


def _describe_entry(source: Source, table: str, nth: int) -> str:
    return f"{describe_table((table, nth))} (line {source.find_line((table, nth))})"


def _intersect_rectangles(one: Rect, other: Rect) -> Rect | None:
    """Return what two rectangles have in common, or None; to touch is not to overlap."""
    left, top = (max(pair) for pair in zip(one[:2], other[:2], strict=True))
    right, bottom = (min(pair) for pair in zip(one[2:], other[2:], strict=True))
    apart = right - left > _TOUCH_M and bottom - top > _TOUCH_M
    return (left, top, right, bottom) if apart else None
