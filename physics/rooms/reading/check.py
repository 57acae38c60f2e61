"""What the parts of a room file must be beside each other."""

import math
import re

import numpy as np

from ...diffusion.assemble import step_fault
from ...instruments.presets import PRESETS
from ...instruments.views import HEAD_M
from ..day import known, nearest_free
from ..geometry import inside
from ..model import medium
from ..plan import air_cell, rect
from ..records import Point, Room
from .check_built import (
    check_doors,
    check_things,
    check_times,
    check_walls,
    check_warmth,
    check_windows,
)
from .check_people import (
    check_arrivals,
    check_paths,
    check_shut,
    check_shut_to_visitors,
    check_walkers,
)
from .lines import Where
from .source import Source, example_of, told, xy

# Whether the sensors of a room file can see, and whether the promise fits what happens there.


def check_sensors(room: Room, source: Source) -> None:
    """Refuse a room without sensors, and sensors outside, in a wall, or of the wrong shape.

    Raises:
        ValueError: that is so.
    """
    if not room.thermometers and not room.arrays:
        raise source.fault(
            (),
            "there are no [thermometers] and no [[array]]",
            "at least one sensor is needed",
            "nothing is measured otherwise",
            "[thermometers]\n" + 'kind = "tmp117"\ncount = [6, 4]',
        )
    for index, group in enumerate(room.thermometers):
        table = source.group(index)
        if PRESETS[group.kind].shape != (1, 1):
            raise source.fault(
                (*table, "kind"),
                f"kind is {group.kind}, an array",
                "[thermometers] are of one pixel",
                "an array looks down from its height",
                example_of("array"),
            )
        for number, place in enumerate(group.places_m):
            key = "places_m" if (*table, "places_m") in source.lines else "count"
            who = f"thermometer {number + 1} of {told(table)}"
            where: Where = (*table, key, number) if key == "places_m" else (*table, key)
            _sees(room, source, where, who, place, "places_m = [{}]")
    for index, array in enumerate(room.arrays):
        where = ("array", index)
        if PRESETS[array.kind].shape == (1, 1):
            raise source.fault(
                (*where, "kind"),
                f"kind is {array.kind}, a thermometer",
                "an [[array]] has many pixels",
                "a thermometer has no field of view",
                'kind = "grideye"',
            )
        _sees(room, source, (*where, "at_m"), told(where), array.at_m, "at_m = {}")
        if not HEAD_M < array.height_m <= room.height_m:
            raise source.fault(
                (*where, "height_m"),
                f"{told(where)} is at {array.height_m:g} m",
                f"must be above {HEAD_M:g} m, and in the room to {room.height_m:g} m",
                "it looks down on the heads of people",
                f"height_m = {room.height_m:g}",
            )


def check_promise(room: Room, source: Source) -> None:
    """Refuse a promise that counts on less heat, fewer people or more time than there are.

    Raises:
        ValueError: that is so.
    """
    promise = room.privacy
    if promise is None:
        return
    num, den = promise.delta
    if num >= den:
        raise source.fault(
            ("privacy", "delta"),
            f"delta is {num}/{den}",
            "it must be below one",
            "it is the chance with which nothing at all is promised",
            'delta = "1/100000"',
        )
    _far_enough(room, promise.protect_distance_m, source)
    minutes = promise.readings * promise.every_min
    if minutes > 60 * room.day.duration_h:
        raise source.fault(
            ("privacy", "readings"),
            f"{promise.readings} readings, one every {promise.every_min:g} minutes, take "
            f"{minutes / 60:g} h",
            f"the simulation takes {room.day.duration_h:g} h (duration_h)",
            "each reading is of a moment that is simulated",
            f"readings = {max(1, int(60 * room.day.duration_h // promise.every_min))}",
        )
    people: list[tuple[Where, str, float]] = [
        (("person", index), person.name, person.power_w)
        for index, person in enumerate(room.people)
    ]
    people += [
        (("walker", index), walker.name, walker.power_w)
        for index, walker in enumerate(room.walkers)
    ]
    if room.arrivals is not None:
        people.append((("arrivals",), "a visitor", room.arrivals.power_w))
    for where, name, power_w in people:
        if power_w > promise.power_max_w:
            raise source.fault(
                ("privacy", "power_max_w"),
                f"power_max_w is {promise.power_max_w:g}, and {name} (line "
                f"{source.line(where)}) warms the air by {power_w:g} W",
                "it must be at least what anybody gives",
                "the noise hides no stronger source than that",
                f"power_max_w = {power_w:.4g}"
                if power_w == float(f"{power_w:.4g}")
                else f"power_max_w = {power_w + 1:.0f}",
            )
    most = _most(room)
    if most > promise.people_max:
        raise source.fault(
            ("privacy", "people_max"),
            f"people_max is {promise.people_max}, and {most} are there at once",
            "it must be at least as many",
            "a map is read for no more people than that",
            f"people_max = {most}",
        )


def _far_enough(room: Room, distance_m: float, source: Source) -> None:
    cell_m, room_m = room.cell_mm / 1000, max(room.size_m)
    if not cell_m * (1 - 1e-9) <= distance_m <= room_m:
        told_m = ("privacy", "protect_distance_m") in source.lines
        raise source.fault(
            ("privacy", "protect_distance_m"),
            f"protect_distance_m is {distance_m:g}{'' if told_m else ' where it is left out'}",
            f"it must be from one cell, {cell_m:g} (cell_mm), to the room's longer side, "
            f"{room_m:g}",
            "a shorter move cannot be told apart, a longer one does not exist",
            f"protect_distance_m = {cell_m if distance_m < cell_m else room_m:g}",
        )


def _sees(room: Room, source: Source, where: Where, who: str, place: Point, example: str) -> None:
    if air_cell(room, place) is None:
        outside = not all(0 <= at <= size for at, size in zip(place, room.size_m, strict=True))
        doors = (rect(room, "door", nth) for nth in range(len(room.doors)))
        opening = any(inside(place, it) for it in doors)
        what = "outside the room" if outside else "in a door" if opening else "in a wall"
        raise source.fault(
            where,
            f"{who} is {what} at {xy(*place)}",
            "a sensor must be in the room's air, and walls are drawn in whole steps of 25 mm",
            "it would measure the wall",
            example.format(xy(*(nearest_free(room, place) or place))),
        )


def _most(room: Room) -> int:
    """Return how many are there at once at most, of those who are known."""
    turns = sorted(
        turn for track in known(room) for turn in ((track.at_s[0], 1), (track.at_s[-1], -1))
    )
    # At one moment, whoever leaves goes first.
    return int(np.max(np.cumsum([change for _, change in turns]), initial=0))


# Whether the step of a room file can follow its people.

_DO = re.compile(r"(\S+) s would do")


def check_step(room: Room, source: Source) -> None:
    """Refuse a step in which somebody goes through the whole room and more.

    A way within one step is right as a mean, so shorter ways may take less than a step; visitors
    by chance are not counted.

    Raises:
        ValueError: the step is too long.
    """
    fault = _fault(room, room.day.step_s)
    if fault:
        shorter, again = room.day.step_s, fault
        while again:  # what moves in a part of a step goes as far in a shorter one
            shorter = float(_DO.search(again)[1])  # type: ignore[index]
            again = _fault(room, shorter)
        raise source.fault(
            ("room", "step_s"),
            _DO.sub(f"{shorter:g} s would do", fault),
            "each step must follow where the heat comes from",
            "a map is of one moment",
            f"step_s = {shorter:g}",
        )


def _fault(room: Room, step_s: float) -> str:
    return step_fault(
        medium(room, room.day.start_s),
        step_s,
        _quickest_m_per_s(room, step_s),
        math.hypot(*room.size_m),
        always_damped=True,
    )


def _quickest_m_per_s(room: Room, step_s: float) -> float:
    """Return the furthest way within any one step, over the step."""
    furthest = 0.0
    for track in known(room):
        gone = np.hypot(*np.diff(track.places_m, axis=0, prepend=track.places_m[:1]).T).cumsum()
        # The furthest way begins or ends at a corner.
        after = np.interp(track.at_s + step_s, track.at_s, gone) - gone
        before = gone - np.interp(track.at_s - step_s, track.at_s, gone)
        furthest = max(furthest, float(np.max(after)), float(np.max(before)))
    return furthest / step_s


# Each group rests on the ones before: what stands in a wrong wall is not told as well.
_GROUPS = (
    (check_walls, check_times),
    (check_doors, check_windows, check_things),
    (check_paths, check_walkers, check_arrivals, check_sensors, check_promise),
    (check_shut, check_shut_to_visitors, check_warmth),
    (check_step,),
)


def check(room: Room, source: Source) -> list[ValueError]:
    """Return why a room cannot be built, walked in or measured; nothing where it can.

    Of each kind of fault the first one, with the file, the line, what was given, what was
    expected and why, and an example of the right thing.
    """
    found: list[ValueError] = []
    for group in _GROUPS:
        for one in group:
            try:
                one(room, source)
            except ValueError as fault:
                found.append(fault)
        if found:
            break
    return found
