"""Room files with one thing wrong in each: the right line, and an example that is right."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from physics.air import ACTIVITIES
from physics.rooms.check import _compute_extremes, _list_heat_ways
from physics.rooms.read import read_room, read_sample
from physics.rooms.records import Air, Clock, Heater, Room, Side
from physics.rooms.tables import Document, Table

# People of a room file as records: what they give off, and where a recording shows them.

ROOM = """
[room]
name = "r"
size_m = [6.0, 4.0]
height_m = 2.5
cell_mm = 100
[thermometers]
kind = "tmp117"
count = [2, 2]
[[walker]]
trace = "trace.csv"
activity = "walking"
frames_per_s = 2.0
frame_px = [16, 12]
rect_m = [1.0, 2.0, 4.0, 1.5]
at = "09:00"
"""


def test_a_recording_is_put_on_its_floor(tmp_path: Path) -> None:
    """Corner, middle and far corner of the frame are those of the rectangle that it shows."""
    (tmp_path / "trace.csv").write_text("frame,x_px,y_px\n0,0,0\n1,8,6\n2,16,12\n")
    (tmp_path / "room.toml").write_text(ROOM)
    (walker,) = read_room(tmp_path / "room.toml").walkers

    places = [place for _, (place,) in walker.frames]
    assert [xy for place in places for xy in place] == pytest.approx([1, 2, 3, 2.75, 5, 3.5])
    assert walker.power_w == pytest.approx(110 * 0.51)  # ASHRAE, still air, what is not radiated
    assert walker.power_w < ACTIVITIES["walking"].sensible_w


# The sample with a whole day, a reading every half an hour, and cells of 100 mm.
OFFICE = read_sample()
for shorter, longer in (
    ("cell_mm = 200 ", "cell_mm = 100 "),
    ('start = "07:00"', 'start = "00:00"'),
    ("duration_h = 13", "duration_h = 24"),
    ("step_s = 60 ", "step_s = 30 "),
    ("protect_distance_m = 0.2", "protect_distance_m = 0.5"),
    ("readings = 2 ", "readings = 48 "),
    ("every_min = 270 ", "every_min = 30 "),
    ("power_max_w = 32", "power_max_w = 60"),
):
    OFFICE = OFFICE.replace(shorter, longer, 1)
TRACE = "sequence,frame,people,x_px,y_px\n"
WALKER = '[[walker]]\ntrace = "trace.csv"\nactivity = "office"\nframes_per_s = 2.0\nat = "09:00"\n'
ARRIVALS = '[arrivals]\nper_h = 4\nstay_min = 20\nactivity = "seated"\nentrance_m = [0.3, 3.8]\n'
WALL = '[[wall]]\nfrom_m = {}\nto_m = {}\nthickness_mm = 100\nmaterial = "brick"\n'
PRIVACY = "[privacy]\n"

# What is taken out of the room, what comes instead, the words of the line that must be named
# (the first that begins with them after the edit), and a word of the fault.
FAULTS = {
    "no unit": ("size_m = [6.0, 4.0] ", "size = [6, 4]", "size =", "is it size_m?"),
    "other unit": (
        "thickness_mm = 100",
        "thickness_cm = 10",
        "thickness_cm",
        "is it thickness_mm?",
    ),
    "unknown key": ("air_changes_per_h", "air_changse_per_h", "air_changse", "unknown key"),
    "unknown table": ("[[heater]]", "[[radiator]]", "[[radiator", "'radiator'"),
    "single bracket": ("[[door]]", "[door]", "[door]", "[[door]]"),
    "missing key": ('side = "east"\n', "", "[[window]]", "has no side"),
    "half a number": ("cell_mm = 100 ", "cell_mm = 100.5 ", "cell_mm", "be a whole number"),
    "half a size": ("size_m = [6.0, 4.0] ", "size_m = [6.0] ", "size_m", "have more entries"),
    "no table": ("[room]", "room = 3\n[zoom]", "room =", "room is no table"),
    "two powers": (
        'activity = "active"',
        'activity = "active"\npower_w = 20.0',
        "power_w = 20",
        "has activity and power_w",
    ),
    "no power": ('activity = "active"', "", "", "has neither activity nor power_w"),
    "text for number": ("cell_mm = 100 ", 'cell_mm = "100" ', "cell_mm", "cell_mm of [room]"),
    "uneven cells": ("cell_mm = 100 ", "cell_mm = 300 ", "cell_mm", "as in a room of [6, 3.9]"),
    "uneven room": ("size_m = [6.0, 4.0] ", "size_m = [6.013, 4.0] ", "cell_mm", "whole number"),
    "through a shut door": (
        '"18:00"], ["19:00", "19:40"]',
        '"18:00"]',
        '["19:15", 2.05',
        "is in [[door]] 1 (line 56) at 19:14:33, when it is shut",
    ),
    "in a shut door": (
        '["17:48", 0.3, 3.8]',
        '["18:05", "stay"],\n    ["18:06", 0.3, 3.8]',
        '["18:05", "stay"]',
        "is in [[door]] 1",
    ),
    "a thermostat": (
        "power_w = 250",
        "power_w = 250\nthermostat_c = 21.0",
        "thermostat_c",
        "it answers people",
    ),
    "an array": ("[privacy]", "[[array]]\n[privacy]", "[[array]]", "physics.fleet"),
    "a furnace": ("power_w = 250", "power_w = 40_000", "power_w", "462 C at 18:00"),
    "an icy day": (
        "[west]                       # the neighbour\nu_w_per_m2k = 1.0\noutside_c = 21.0",
        "[west]\nu_w_per_m2k = 100\noutside_c = -85.0",
        "outside_c = -85",
        "-40 and 60 C",
    ),
    "a move in a cell": (
        "protect_distance_m = 0.5",
        "protect_distance_m = 0.05",
        "protect_distance_m",
        "from one cell, 0.1 (cell_mm), to the room's longer side, 6",
    ),
    "a later start": ('start = "00:00"', 'start = "30:00"', "start", '"24:00" at the latest'),
    "a later day": ('["17:48", 0.3', '["25:00", 0.3', '["25:00", 0.3', 'run to "24:00"'),
    "bad time": ('"08:00", "18:00"', '"8:00", "18:00"', "open", "8:00"),
    "unknown material": ('"plasterboard" ', '"plasterbord" ', "material", "plasterbord"),
    "unknown activity": ('"active"', '"actve"', 'activity = "actve"', "actve"),
    "unknown preset": ('kind = "tmp117"', 'kind = "tmp118"', "kind", "tmp118"),
    "overlapping walls": (
        "[[door]]",
        WALL.format("[2.1, 0.0]", "[2.1, 1.0]") + "[[door]]",
        "[[wall]]+1",
        "overlaps [[wall]] 1 (line 50)",
    ),
    "slanting wall": ("to_m = [2.05, 4.0]", "to_m = [2.5, 4.0]", "to_m = [2.5", "along x"),
    "wall outside": ("to_m = [2.05, 4.0]", "to_m = [2.05, 4.5]", "to_m = [2.05", "within"),
    "door in no wall": ("at_m = [2.05, 3.0]", "at_m = [3.05, 3.0]", "at_m = [3.05", "no [[wall]]"),
    "door too wide": ("width_m = 0.9", "width_m = 2.9", "at_m = [2.05", "no [[wall]]"),
    "window beyond": ("to_m = 3.4", "to_m = 4.4", "to_m = 4.4", "east side ends"),
    "furniture in wall": ("[0.5, 1.0, 0.7,", "[1.5, 1.0, 0.7,", "rect_m = [1.5", "[[wall]] 1"),
    "heater outside": ("[5.8, 1.0, 0.2", "[5.9, 1.0, 0.2", "rect_m = [5.9", "within the room"),
    "person outside": ('["13:59", 0.25,', '["13:59", -0.25,', '["13:59", -0.25', "outside"),
    "person in wall": ('["19:11", 1.6,', '["19:11", 2.05,', '["19:11", 2.05', "in [[wall]] 1"),
    "person in desk": ('["08:48", 3.3,', '["08:48", 2.9,', '["08:48", 2.9', "partition"),
    "through a wall": (
        '["19:15", 2.05, 3.0],',
        "",
        '["19:18", 3.4',
        "on the way is in [[wall]] 1",
    ),
    "through a desk": ('["19:32", 4.2, 3.8],', "", '["19:35", 2.05', "window, south"),
    "back in time": ('["12:46", 2.05', '["12:40", 2.05', '["12:40", 2.05', "no step must go back"),
    "too fast": ('["16:33", 0.3', '["16:32", 0.3', '["16:32", 0.3', "4 m/s"),
    "sensor in wall": (
        "count = [6, 4] ",
        "places_m = [[1.0, 1.0],\n[2.05, 1.0]]#",
        "[2.05",
        "2 of",
    ),
    "no sensors": ('[thermometers]\nkind = "tmp117"\ncount = [6, 4] ', "# ", "# An", "no [therm"),
    "array as a point": ('kind = "tmp117"', 'kind = "grideye"', "kind", "an array"),
    "door off the step": (
        '["08:00", "18:00"]',
        '["08:00:10", "18:00"]',
        "open",
        "on a step of 30 s",
    ),
    "cell of no quanta": ("cell_mm = 100", "cell_mm = 110", "cell_mm", "multiple of 25"),
    "step too long": ("step_s = 30 ", "step_s = 1200 ", "step_s", "must be shorter"),
    "weak promise": ("power_max_w = 60", "power_max_w = 30", "power_max_w", "Cem"),
    "few people": ("people_max = 5", "people_max = 2", "people_max", "at once"),
    "long promise": ("every_min = 30", "every_min = 30.5", "readings", "24.4 h"),
    "decimal epsilon": ('epsilon = "8/1"', "epsilon = 8.0", "epsilon", "ratio"),
    "odd path": ('["17:45", "stay"]', '["17:45", "stays"]', '["17:45"', "stays"),
    "empty trace": (PRIVACY, WALKER + PRIVACY, "", "no position"),
    "far seat": (
        PRIVACY,
        ARRIVALS + "[[seat]]\nat_m = [4.8, 1.0]\n" + PRIVACY,
        "at_m = [4.8",
        "in",
    ),
    "seat for nobody": (PRIVACY, "[[seat]]\nat_m = [1.0, 1.0]\n" + PRIVACY, "[[seat", "no [arr"),
    "visitors below none": (
        PRIVACY,
        ARRIVALS.replace("per_h = 4", 'per_h = [["08:00", 4],\n["09:00", -4]]') + PRIVACY,
        '["09:00", -4',
        "-4",
    ),
    "too many cells": (
        "size_m = [6.0, 4.0] ",
        "size_m = [600.0, 400.0] ",
        "cell_mm",
        "6000 x 4000",
    ),
    "too cold": ("outside_c = 21.0", "outside_c = -300", "outside_c = -300", "at least -90"),
    "sure to fail": ('"1/100000"', '"1/1"', "delta", "below one"),
    "over midnight": ('["06:00", "18:00"]', '["22:00", "06:00"]', "on =", "midnight"),
    "no trace": (PRIVACY, WALKER.replace("trace.", "tracks.") + PRIVACY, "trace", "'tracks.csv'"),
    "not TOML": ("height_m = 2.7", "height_m = = 2.7", "height_m = =", "must be TOML"),
}


def refusal(folder: Path, text: str) -> str:
    """Return what is said of a room file."""
    (folder / "room.toml").write_text(text, encoding="utf-8")
    (folder / "trace.csv").write_text(TRACE)
    with pytest.raises(ValueError, match=r"line \d+: .*, but .*, for .*\.") as refused:
        read_room(folder / "room.toml")
    return str(refused.value)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_names_the_line_and_what_is_needed(fault: str, tmp_path: Path) -> None:
    """Who writes a room finds what is wrong in it without asking anybody."""
    out, into, begins, says = FAULTS[fault]
    assert out in OFFICE  # the edit is one
    text = OFFICE.replace(out, into, 1)
    said = refusal(tmp_path, text)

    nth = begins.endswith("+1")
    if begins:
        rows = text.split("\n")
        at = [
            i for i, row in enumerate(rows, 1) if row.strip().startswith(begins.removesuffix("+1"))
        ]
        assert f"room.toml line {at[nth]}: " in said
    assert says in said


VISITED = """
[room]
name = "r"
size_m = [6.0, 4.0]
height_m = 2.5
cell_mm = 100
[[wall]]
from_m = [2.0, 0.0]
to_m = [2.0, 4.0]
thickness_mm = 100
material = "brick"
[[door]]
at_m = [2.0, 2.0]
width_m = 0.9
open = {}
[thermometers]
kind = "tmp117"
count = [2, 2]
"""


@pytest.mark.parametrize("seats", ["", "[[seat]]\nat_m = [4.0, 2.0]\n"])
def test_visitors_need_a_door_that_is_open_at_some_time(seats: str, tmp_path: Path) -> None:
    """To their seats, or to wherever they may sit; without the door they would never be there."""
    told = VISITED + ARRIVALS.replace("[0.3, 3.8]", "[0.3, 3.0]") + seats
    said = refusal(tmp_path, told.format("[]"))

    assert "at some time" in said
    assert read_again(tmp_path, told.format('[["08:00", "18:00"]]')) == 0


def test_a_room_of_one_heater_is_as_warm_as_its_losses_say() -> None:
    """In the end power over conductance, with whole days of the sample's cells left out."""
    calm = {name: Side(1.0, ((0.0, 0.0),)) for name in ("north", "east", "south", "west")}
    air = Air(0.005, 1.0, 1.0, 20.0, ((0.0, 0.0),))
    heater = Heater((1.0, 1.0, 2.0, 2.0), 500.0, ((0.0, 1e6),))
    room = Room("r", (4.0, 3.0), 2.5, 100, air, Clock(0.0, 100.0, 60.0), calm, heaters=(heater,))
    (_, coldest), (_, warmest) = _compute_extremes(room, _list_heat_ways(room), 1.0)

    assert warmest == 20.0
    assert coldest == pytest.approx(500 / (2 * 7.0 * 2.5 + 1206.0 * 30.0 / 3600), rel=1e-6)


def test_a_right_file_says_what_it_means(tmp_path: Path) -> None:
    """Units are those of the keys, and what is left out is filled in."""
    (tmp_path / "room.toml").write_text(OFFICE)
    room = read_room(tmp_path / "room.toml")
    ada = room.people[0]

    assert room.size_m == (6.0, 4.0)
    assert room.day.until_s == 86400
    assert [len(stay) for stay in ada.stays] == [9, 8]
    assert ada.stays[0][-1] == (12 * 3600 + 180, 0.3, 3.8)
    assert ada.power_w == 70 * 0.4
    assert room.privacy.delta == (1, 100000)
    assert len(room.thermometers[0].places_m) == 24
    assert room.heaters[0].rect_m == pytest.approx((5.8, 1.0, 6.0, 3.0))


def test_every_example_is_one() -> None:
    """What a fault shows as right is taken, but for what excludes another key."""
    for name, field in Document.model_fields.items():
        for model in models(field.annotation):
            rows = [
                f"{key} = {spec.examples[0]}"
                for key, spec in model.model_fields.items()
                if key not in model.either[1:]
            ]
            model.model_validate(tomllib.loads("\n".join(rows)))
            assert rows, name


def models(kind: Any) -> list[type[Table]]:
    """Return the tables in an annotation."""
    if isinstance(kind, type):
        return [kind] if issubclass(kind, Table) else []
    return [model for part in getattr(kind, "__args__", ()) for model in models(part)]


@pytest.mark.parametrize(
    ("raw", "line", "says"),
    [
        (OFFICE.encode("utf-16"), 1, "byte 0xff"),
        (b'[room]\nname = "B\xfcro"\n', 2, "byte 0xfc"),
        (b"", 1, r"no \[room\]"),
    ],
)
def test_a_file_of_another_kind_is_told_apart(
    raw: bytes, line: int, says: str, tmp_path: Path
) -> None:
    """Editors save what they like; a mark at the start and other line ends are none of ours."""
    path = tmp_path / "room.toml"
    path.write_bytes(raw)
    with pytest.raises(ValueError, match=rf"room.toml line {line}: .*{says}"):
        read_room(path)
    for none in (tmp_path, tmp_path / "none.toml"):
        with pytest.raises(ValueError, match="cannot be read"):
            read_room(none)
    path.write_bytes(b"\xef\xbb\xbf" + OFFICE.replace("\n", "\r\n").encode())

    assert read_room(path).name == "office"


def test_faults_are_told_together_in_order_of_lines(tmp_path: Path) -> None:
    """Five at most, none twice, and none of what rests on a wrong wall."""
    edits = [FAULTS[name] for name in ("other unit", "no unit", "unknown activity")]
    text = OFFICE
    for out, into, _, _ in edits:
        text = text.replace(out, into, 1)
    said = refusal(tmp_path, text)
    many = refusal(tmp_path, text + "".join(f"[nothing{at}]\n" for at in range(9)))
    slanting = refusal(tmp_path, OFFICE.replace("to_m = [2.05, 4.0]", "to_m = [2.5, 4.0]"))

    lines = [int(part.split(":")[0]) for part in said.split("room.toml line ")[1:]]
    assert lines == sorted(lines)
    assert len(lines) == 5
    assert many.count("room.toml line") == 5
    assert many.endswith("and 9 more")
    assert slanting.count("room.toml line") == 1


def test_a_dash_is_shorter_than_a_step_and_a_run_to_and_fro_is_not(tmp_path: Path) -> None:
    """Three metres in two seconds are a mean over a step; twelve are all over the room."""
    runner = '[[person]]\nname = "R"\npower_w = 30\npath = [{}]\n[privacy]'
    ways = [f'["08:00:{2 * at:02}", {(2.5, 5.5)[at % 2]}, 3.8]' for at in range(5)]
    dash = OFFICE.replace("[privacy]", runner.format(", ".join(ways[:2])))
    (tmp_path / "room.toml").write_text(dash)
    said = refusal(tmp_path, dash.replace(ways[1], ", ".join(ways[1:])))

    assert read_again(tmp_path, dash) == 6
    assert "goes 12 m" in said


def read_again(folder: Path, text: str) -> int:
    """Return how many people a file has."""
    (folder / "room.toml").write_text(text)
    return len(read_room(folder / "room.toml").people)


def test_recorded_people_stand_in_doors_that_are_open(tmp_path: Path) -> None:
    """The same recording in the middle of the door: it is open at nine, and shut at twenty."""
    (tmp_path / "door.csv").write_text("frame,x_px,y_px\n0,16,12\n1,16,12\n")
    told = WALKER.replace("trace.csv", "door.csv") + "rect_m = [2.0, 2.9, 0.1, 0.2]\n"
    late = told.replace("09:00", "20:00")

    assert "door that is shut, at 20:00" in refusal(
        tmp_path, OFFICE.replace(PRIVACY, late + PRIVACY, 1)
    )
    (tmp_path / "room.toml").write_text(OFFICE.replace(PRIVACY, told + PRIVACY, 1))
    assert len(read_room(tmp_path / "room.toml").walkers) == 1


def test_a_heater_in_the_step_of_a_thin_wall_warms_nothing_and_is_refused(tmp_path: Path) -> None:
    """20 mm of wall are drawn as 25, and what stands in the rest would divide by no air."""
    thin = OFFICE.replace("thickness_mm = 100", "thickness_mm = 20", 1)
    text = thin.replace("[5.8, 1.0, 0.2, 2.0]", "[2.061, 0.5, 0.01, 1.0]", 1)

    assert "into the air" in refusal(tmp_path, text)
    assert read_again(tmp_path, text.replace("[2.061, 0.5, 0.01", "[2.061, 0.5, 0.1", 1)) == 5
