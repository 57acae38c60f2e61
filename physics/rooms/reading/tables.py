"""The tables of a room file: what is built, then people, sensors and the promise."""

from ...air import ACTIVITIES
from ...instruments.presets import PRESETS
from ..model import MATERIALS
from ..records import SIDES
from .kinds import (
    COUNTS,
    COURSE,
    EXTENT,
    FLAG,
    HOURS,
    PATH,
    PLACE,
    RATIO,
    RECT,
    STEPS,
    TEXT,
    TIME,
    WEATHER,
    WHERE,
    Key,
    Table,
    choice,
    each,
    number,
    whole,
)
from .kinds import EXAMPLE as PATH_EXAMPLE

_SIDE = {
    "u_w_per_m2k": Key(
        number(0, 100), "0.35", "it says how much heat the side passes, from air to air"
    ),
    "outside_c": Key(
        WEATHER, '[["06:00", -1.0], ["14:00", 5.0]]', "heat flows by what is beyond the side"
    ),
}
BUILT = {
    "room": Table(
        {
            "name": Key(TEXT, '"office"', "pictures and files are named by it"),
            "size_m": Key(EXTENT, "[6.0, 4.0]", "the room needs walls"),
            "height_m": Key(number(0, 100, above=True), "2.7", "it says how much air there is"),
            "cell_mm": Key(STEPS, "100", "walls are drawn in steps of 25 mm"),
            "mixing_m2_per_s": Key(
                number(0, 10, above=True), "0.005", "it is how fast draughts stir the air", 0.005
            ),
            "air_changes_per_h": Key(number(0, 100), "1.0", "fresh air takes heat away", 0.0),
            "supply_c": Key(WEATHER, "19.0", "it is how warm the fresh air comes in", None),
            "capacity_factor": Key(
                number(1, 1000), "12", "walls and furniture store heat with the air", 12.0
            ),
            "baseline_c": Key(number(-50, 60), "20.0", "temperatures are counted from it", 20.0),
            "start": Key(TIME, '"00:00"', "the simulation begins there", 0.0),
            "duration_h": Key(number(0, 168, above=True), "24", "it ends after so long", 24.0),
            "step_s": Key(number(0.01, 3600), "30", "the simulation goes by steps", 30.0),
        }
    ),
    **{side: Table(_SIDE) for side in SIDES},
    "wall": Table(
        {
            "from_m": Key(PLACE, "[2.0, 0.0]", WHERE),
            "to_m": Key(PLACE, "[2.0, 4.0]", WHERE),
            "thickness_mm": Key(number(1, 2000), "100", "it says how well the wall insulates"),
            "material": Key(
                choice(tuple(MATERIALS)), '"plasterboard"', "it says what heat passes and stays"
            ),
        },
        many=True,
    ),
    "door": Table(
        {
            "at_m": Key(PLACE, "[2.0, 3.0]", WHERE),
            "width_m": Key(number(0.1, 20), "0.9", "heat and people pass through that width"),
            "thickness_mm": Key(number(1, 500), "40", "closed, it is a leaf of wood", 40.0),
            "open": Key(HOURS, '[["08:00", "18:00"]]', "it is closed at all other times", ()),
        },
        many=True,
    ),
    "window": Table(
        {
            "side": Key(choice(SIDES), '"east"', "a window is in an outer side"),
            "from_m": Key(number(0, 1000), "0.6", "it is where along the side it begins"),
            "to_m": Key(number(0, 1000), "3.4", "it is where along the side it ends"),
            "height_m": Key(number(0, 100, above=True), "1.4", "it gives the area", None),
            **_SIDE,
        },
        many=True,
    ),
    "furniture": Table(
        {
            "rect_m": Key(RECT, "[4.4, 0.4, 0.8, 1.2]", "nobody can stand there"),
            "name": Key(TEXT, '"desk"', "faults are told by it", "furniture"),
        },
        many=True,
    ),
    "heater": Table(
        {
            "rect_m": Key(RECT, "[5.8, 1.0, 0.2, 2.0]", WHERE, None),
            "at_m": Key(PLACE, "[5.9, 2.0]", WHERE, None),
            "power_w": Key(number(0, 100_000), "250", "it is the heat that reaches the air"),
            "on": Key(HOURS, '[["06:00", "18:00"]]', "it is off at all other times", None),
        },
        many=True,
    ),
}


_WARM = Key(number(0, 5000), "40", "it is what warms the air at once", None)
_ACTIVITY = Key(choice(tuple(ACTIVITIES)), '"office"', "it says what a person gives off", None)
_SENSOR = "its noise, lag and steps are those of a data sheet"

TABLES = {
    **BUILT,
    "person": Table(
        {
            "name": Key(TEXT, '"Ada"', "faults and tracks are told by it"),
            "activity": _ACTIVITY,
            "power_w": _WARM,
            "path": Key(PATH, PATH_EXAMPLE, "heat is where people are"),
        },
        many=True,
    ),
    "walker": Table(
        {
            "name": Key(TEXT, '"meeting"', "tracks are told by it", "walker"),
            "trace": Key(TEXT, '"positions.csv"', "it holds the recorded places"),
            "sequence": Key(
                TEXT, '"05_05_2021__0to5_people--004__13_10_20"', "a file may hold several", None
            ),
            "activity": _ACTIVITY,
            "power_w": _WARM,
            "frames_per_s": Key(number(0.001, 100), "2.0", "places need times"),
            "frame_px": Key(EXTENT, "[32, 24]", "places are in pixels of it", (32.0, 24.0)),
            "rect_m": Key(RECT, "[0.0, 0.0, 6.0, 4.0]", "the picture shows that floor", None),
            "jump_m": Key(number(0, 100, above=True), "1.5", "nobody goes faster", 1.5),
            "gap_frames": Key(whole(0, 1000), "4", "who is gone for longer is new", 4),
            "at": Key(each(TIME, 1, single=True), '["09:00", "14:00"]', "it is played then"),
        },
        many=True,
    ),
    "arrivals": Table(
        {
            "per_h": Key(
                COURSE, '[["08:00", 6.0], ["18:00", 0.0]]', "so many come, from that time on"
            ),
            "stay_min": Key(number(0, 1440, above=True), "20", "visitors stay so long on average"),
            "activity": _ACTIVITY,
            "power_w": _WARM,
            "speed_m_per_s": Key(number(0.05, 5), "1.0", "they walk to their seat", 1.0),
            "entrance_m": Key(PLACE, "[0.3, 3.8]", "they come in and leave there"),
        }
    ),
    "seat": Table({"at_m": Key(PLACE, "[1.5, 1.6]", "a visitor sits there")}, many=True),
    "thermometers": Table(
        {
            "kind": Key(choice(tuple(PRESETS)), '"tmp117"', _SENSOR),
            "count": Key(COUNTS, "[6, 4]", WHERE, None),
            "places_m": Key(each(PLACE, 1), "[[1.0, 2.0], [5.0, 2.0]]", WHERE, None),
        },
        many=True,
    ),
    "array": Table(
        {
            "kind": Key(choice(tuple(PRESETS)), '"grideye"', _SENSOR),
            "at_m": Key(PLACE, "[3.0, 2.0]", WHERE),
            "height_m": Key(number(0, 100, above=True), "2.6", "it looks down from there"),
        },
        many=True,
    ),
    "privacy": Table(
        {
            "epsilon": Key(RATIO, '"8/1"', "every device must compute the same noise"),
            "delta": Key(RATIO, '"1/100000"', "every device must compute the same noise"),
            "protect_distance_m": Key(
                number(0, 1000, above=True), "0.5", "the veil hides moves so far", 0.5
            ),
            "readings": Key(whole(1, 1_000_000), "48", "all of them share the promise", 1),
            "every_min": Key(number(0, 1440, above=True), "30", "readings need times", 30.0),
            "background": Key(
                choice(("recorded", "following", "gateway")),
                '"recorded"',
                "the empty room has to be taken off somewhere",
                "recorded",
            ),
            "people_max": Key(whole(1, 1000), "5", "the promise counts on no more people", 1),
            "power_max_w": Key(
                number(0, 5000, above=True), "60", "the promise counts on no more heat of one"
            ),
            "through_walls": Key(
                FLAG,
                "true",
                "that hides too in which room somebody is, and takes more noise",
                True,
            ),
        }
    ),
}
