"""The tables of a room file: what is built (`built`), then people, sensors and the promise."""

from ...air import ACTIVITIES
from ...instruments.presets import PRESETS
from .built import BUILT
from .keys import WHERE, Key, Table
from .kinds import (
    COUNTS,
    EXTENT,
    FLAG,
    PLACE,
    RATIO,
    RECT,
    TEXT,
    choice,
    each,
    number,
    whole,
)
from .paths import EXAMPLE as PATH_EXAMPLE
from .paths import PATH
from .times import COURSE, TIME

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
