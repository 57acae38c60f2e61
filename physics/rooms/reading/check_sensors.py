"""Whether the sensors of a room file can see, and whether the promise fits what happens there."""

import numpy as np

from ...instruments.people import HEAD_M
from ...instruments.presets import PRESETS
from ..day import known
from ..geometry import inside
from ..plan import air_cell, rect
from ..records import Point, Room
from ..routes import nearest_free
from .lines import Where
from .source import Source
from .wording import example_of, told, xy


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
