"""The tables of a room file that tell of what is built: room, sides, walls, doors, windows."""

from ..model import MATERIALS
from ..records import SIDES
from .keys import WHERE, Key, Table
from .kinds import (
    EXTENT,
    PLACE,
    RECT,
    STEPS,
    TEXT,
    choice,
    number,
)
from .times import HOURS, TIME, WEATHER

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
