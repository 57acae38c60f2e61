"""The empty room beside the clock, held against balances that one line of arithmetic gives."""

from pathlib import Path

import numpy as np
import pytest

from physics.places import Floats
from physics.rooms import model
from physics.rooms.read import read
from physics.rooms.records import Room
from physics.rooms.vacant import DAY_S, Vacant, daily, list_causes

# One cell, quickly stirred: one temperature, settled within the hour.
ROOM = """
[room]
name = "closet"
size_m = [2.0, 2.0]
height_m = 2.5
cell_mm = 2000
mixing_m2_per_s = 1.0
air_changes_per_h = 0.0
capacity_factor = 1
baseline_c = 20.0
step_s = 600
duration_h = 26
[east]
u_w_per_m2k = 4.0
outside_c = [["00:00", 5.0], ["01:00", 10.0], ["24:00", 10.0]]
[west]
u_w_per_m2k = 2.0
outside_c = 21.0
[thermometers]
kind = "tmp117"
places_m = [[1.0, 1.0]]
"""
SIDE_M2 = 2.0 * 2.5
HEATER = '[[heater]]\nrect_m = [0.0, 0.0, 2.0, 2.0]\npower_w = 60\non = [["22:00", "26:00"]]\n'


def clock(at_s: float) -> float:
    """Return the time of the day where midnight is a whole number of days."""
    return at_s % DAY_S


@pytest.fixture
def closet(tmp_path: Path) -> Room:
    """Return the room of these tests."""
    (tmp_path / "closet.toml").write_text(ROOM + HEATER)
    return read(tmp_path / "closet.toml")


def views(room: Room) -> Floats:
    """Return one sensor that sees the whole room."""
    cells = len(model.find_free_cells(room))
    return np.full((1, cells), 1 / cells)


def settled_k(power_w: float, east_c: float, west_c: float = 21.0) -> float:
    """Return how warm the room gets, but for the way to its walls: what comes in goes out."""
    through = 4.0 * SIDE_M2, 2.0 * SIDE_M2
    return (power_w + through[0] * (east_c - 20) + through[1] * (west_c - 20)) / sum(through)


def test_the_empty_room_comes_to_its_balance_and_each_cause_to_its_own(closet: Room) -> None:
    """The heater is on for two hours, which are long for so little air."""
    march = Vacant(closet, views(closet), 20 * 3600.0, clock=clock)
    seen = march.go(DAY_S)
    names = [cause.name for cause in march.causes]
    by_name = dict(zip(names, seen.causes_k[0], strict=True))

    assert seen.warmth_k[0] == pytest.approx(settled_k(60, 10.0), rel=5e-3)
    assert by_name["heater 1"] == pytest.approx(settled_k(66, 10) - settled_k(60, 10), rel=5e-3)
    assert by_name["outdoors"] == pytest.approx(1.5 * 4 / 6, rel=5e-3)
    assert by_name["beyond west"] == pytest.approx(0.5 * 2 / 6, rel=5e-3)
    assert by_name["ventilation"] == 0
    assert [cause.name for cause in march.causes if cause.passes] == [
        "outdoors",
        "outdoors, by day",
        "beyond west",
        "supply",
    ]


def test_the_night_after_the_day_of_a_file_is_the_morning_of_the_next(closet: Room) -> None:
    """On till 26:00 is on till two, every night, and a door that is always open is so once."""
    every = daily(closet)
    watts = [
        model.drive_empty(every, 3600.0 * hour, 3600.0 * hour + 60).power_w.sum()
        for hour in (1, 3, 21, 23)
    ]
    assert watts == pytest.approx([60, 0, 0, 60])
    assert closet.sides["east"].outside_c == every.sides["east"].outside_c


def test_weather_that_is_known_takes_the_place_of_the_files_and_gaps_fall_back(
    closet: Room,
) -> None:
    """Outdoors alone: the neighbour's room is as warm as before."""
    until_s = 5 * 3600.0
    warm = Vacant(closet, views(closet), 0.0, lambda at_s: 16.0, clock).go(until_s)
    lost = Vacant(closet, views(closet), 0.0, lambda at_s: None, clock).go(until_s)

    assert warm.warmth_k[0] == pytest.approx(settled_k(0, 16.0), rel=5e-3)
    assert lost.warmth_k[0] == pytest.approx(settled_k(0, 10.0), rel=5e-3)


def test_stopped_and_resumed_it_goes_on_to_the_same_bits_wherever_it_was_looked_at(
    closet: Room,
) -> None:
    """The state is of whole steps, so a look in between leaves no trace."""
    through = Vacant(closet, views(closet), 0.0, clock=clock)
    whole = through.go(7200.0)
    stopped = Vacant(closet, views(closet), 0.0, clock=clock)
    stopped.go(1234.5)
    resumed = Vacant(closet, views(closet), 0.0, clock=clock).resumed(stopped.state())
    parts = resumed.go(7200.0)

    assert parts.warmth_k.tobytes() == whole.warmth_k.tobytes()
    assert parts.causes_k.tobytes() == whole.causes_k.tobytes()
    with pytest.raises(ValueError, match="heat does not go back"):
        resumed.go(1234.5)


def test_a_state_of_another_room_or_a_broken_one_is_not_gone_on_from(
    closet: Room, tmp_path: Path
) -> None:
    """Its warmth would be another's, and nobody would see it in the map."""
    state = Vacant(closet, views(closet), 0.0, clock=clock).state()
    (tmp_path / "other.toml").write_text((ROOM + HEATER).replace("power_w = 60", "power_w = 61"))
    other = read(tmp_path / "other.toml")
    fresh = Vacant(closet, views(closet), 0.0, clock=clock)

    with pytest.raises(ValueError, match="another room"):
        Vacant(other, views(other), 0.0, clock=clock).resumed(state)
    for broken in (
        {name: part for name, part in state.items() if name != "fields_k"},
        state | {"fields_k": state["fields_k"][:, :0]},
        state | {"fields_k": state["fields_k"] * np.nan},
        state | {"at_s": state["at_s"][1:]},
    ):
        with pytest.raises(ValueError, match="cannot be gone on from"):
            fresh.resumed(broken)


def test_a_side_at_one_temperature_near_the_rooms_own_is_another_room(closet: Room) -> None:
    """It is no weather: what a weather file says is not said of it."""
    names = [cause.name for cause in list_causes(closet)]
    assert "beyond west" in names
    assert "beyond east" not in names
