"""Whether the empty room of a file stays as warm as rooms are."""

import math
from typing import NamedTuple

from ...air import AIR_J_PER_M3K
from .. import courses
from ..records import SIDES, Course, Room
from .lines import Where
from .source import Source
from .times import clock
from .wording import told

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
        power = sum(it.power_w * courses.share(it.on_s, since, until) for it in room.heaters)
        flow = heated * power + sum(
            way.w_per_k * (courses.mean(way.course, since, until) - warm_c) for way in ways
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
