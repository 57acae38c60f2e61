"""Room files with one thing wrong in each: the right line, and an example that is right."""

import tomllib
from pathlib import Path

import pytest

from physics.rooms.read import read, sample
from physics.rooms.tables import TABLES

TRACE = "sequence,frame,people,x_px,y_px\n"
WALKER = '[[walker]]\ntrace = "trace.csv"\nactivity = "office"\nframes_per_s = 2.0\nat = "09:00"\n'
ARRIVALS = '[arrivals]\nper_h = 4\nstay_min = 20\nactivity = "seated"\nentrance_m = [0.3, 3.8]\n'
WALL = '[[wall]]\nfrom_m = {}\nto_m = {}\nthickness_mm = 100\nmaterial = "brick"\n'
PRIVACY = "[privacy]\n"

# What is taken out of the sample, what comes instead, the words of the line that must be named
# (the first that begins with them after the edit), and a word of the fault.
FAULTS = {
    "no unit": ("size_m = [6.0, 4.0] ", "size = [6, 4]", "size =", "size has no unit"),
    "other unit": ("thickness_mm = 100", "thickness_cm = 10", "thickness_cm", "another unit"),
    "unknown key": ("air_changes_per_h", "air_changse_per_h", "air_changse", "unknown key"),
    "unknown table": ("[[heater]]", "[[radiator]]", "[[radiator", "'radiator'"),
    "single bracket": ("[[door]]", "[door]", "[door]", "[[door]]"),
    "missing key": ('side = "east"\n', "", "[[window]]", "has no side"),
    "text for number": ("cell_mm = 100 ", 'cell_mm = "100" ', "cell_mm", "cell_mm of [room]"),
    "uneven cells": ("cell_mm = 100 ", "cell_mm = 70 ", "size_m", "whole number of cells"),
    "bad time": ('"08:00", "18:00"', '"8:00", "18:00"', "open", "8:00"),
    "unknown material": ('"plasterboard" ', '"plasterbord" ', "material", "plasterbord"),
    "unknown activity": ('"active"', '"actve"', 'activity = "actve"', "actve"),
    "unknown preset": ('kind = "tmp117"', 'kind = "tmp118"', "kind", "tmp118"),
    "overlapping walls": (
        "[[door]]",
        WALL.format("[2.1, 0.0]", "[2.1, 1.0]") + "[[door]]",
        "[[wall]]+1",
        "overlaps [[wall]] 1 (line 47)",
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
    "through a wall": ('["19:15", 2.05, 3.0],', "", '["19:18", 3.4', "through [[wall]] 1"),
    "through a desk": ('["19:32", 4.2, 3.8],', "", '["19:35", 2.05', "window, south"),
    "back in time": ('["12:46", 2.05', '["12:40", 2.05', '["12:40", 2.05', "a step back"),
    "too fast": ('["16:33", 0.3', '["16:32", 0.3', '["16:32", 0.3', "4 m/s"),
    "sensor in wall": (
        "count = [6, 4] ",
        "places_m = [[1.0, 1.0],\n[2.05, 1.0]]#",
        "[2.05",
        "2 of",
    ),
    "no sensors": ('[thermometers]\nkind = "tmp117"\ncount = [6, 4] ', "# ", "# An", "no [therm"),
    "array as a point": ('kind = "tmp117"', 'kind = "grideye"', "kind", "an array"),
    "step too long": ("step_s = 30 ", "step_s = 600 ", "step_s", "too long"),
    "weak promise": ("power_max_w = 60", "power_max_w = 40", "power_max_w", "cleaner"),
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
    "not TOML": ("height_m = 2.7", "height_m = = 2.7", "height_m = =", "must be TOML"),
}


def refusal(folder: Path, text: str) -> str:
    """Return what is said of a room file."""
    (folder / "room.toml").write_text(text, encoding="utf-8")
    (folder / "trace.csv").write_text(TRACE)
    with pytest.raises(ValueError, match=r"line \d+: .*\. For example:\n    ") as refused:
        read(folder / "room.toml")
    return str(refused.value)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_names_the_line_and_shows_the_right_thing(fault: str, tmp_path: Path) -> None:
    """Who writes a room finds what is wrong in it without asking anybody."""
    out, into, begins, says = FAULTS[fault]
    assert out in sample()  # the edit is one
    text = sample().replace(out, into, 1)
    said = refusal(tmp_path, text)

    nth = begins.endswith("+1")
    if begins:
        rows = text.split("\n")
        at = [
            i for i, row in enumerate(rows, 1) if row.strip().startswith(begins.removesuffix("+1"))
        ]
        assert f"room.toml line {at[nth]}: " in said
    assert says in said
    assert ", but " in said
    assert ", for " in said
    _, example = said.split("For example:\n")
    if fault != "empty trace":
        tomllib.loads("\n".join(row.strip() for row in example.splitlines()))


@pytest.mark.parametrize("fault", ["through a wall", "through a desk"])
def test_the_way_round_that_a_fault_shows_can_be_gone(fault: str, tmp_path: Path) -> None:
    """The corners are copied into the file and it is right; without them it was refused."""
    out, into, _, _ = FAULTS[fault]
    said = refusal(tmp_path, sample().replace(out, into, 1))
    _, example = said.split("For example:\n")
    passer = f'[[person]]\nname = "P"\nactivity = "walking"\n{example.strip()}\n[privacy]'
    (tmp_path / "room.toml").write_text(sample().replace("[privacy]", passer))

    assert len(read(tmp_path / "room.toml").people[-1].stays[0]) > 2


def test_the_sample_is_right_and_says_what_it_means(tmp_path: Path) -> None:
    """Units are those of the keys, and what is left out is filled in."""
    (tmp_path / "room.toml").write_text(sample())
    room = read(tmp_path / "room.toml")
    ada = room.people[0]

    assert room.size_m == (6.0, 4.0)
    assert room.day.until_s == 86400
    assert [len(stay) for stay in ada.stays] == [9, 8]
    assert ada.stays[0][-1] == (12 * 3600 + 180, 0.3, 3.8)
    assert ada.power_w == 70 * 0.4
    assert room.privacy is not None
    assert room.privacy.delta == (1, 100000)
    assert len(room.thermometers[0].places_m) == 24
    assert room.heaters[0].rect_m == pytest.approx((5.8, 1.0, 6.0, 3.0))


@pytest.mark.parametrize("name", TABLES)
def test_every_example_is_one(name: str) -> None:
    """What a fault shows as right is taken."""
    for key, spec in TABLES[name].keys.items():
        spec.kind.read(tomllib.loads(f"{key} = {spec.example}")[key])
