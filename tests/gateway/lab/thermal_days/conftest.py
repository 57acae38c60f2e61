"""A small room that every test of the simulator lives in: a day takes a fifth of a second."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gateway.lab.thermal_days import rooms
from gateway.lab.thermal_days.rooms import load_room, make_model
from gateway.lab.thermal_days.run import play_day
from tests import sites

ROOM = f"""
[room]
name = "small"
size_m = [5.0, 3.0]
height_m = 2.5
cell_mm = 250
mixing_m2_per_s = 0.005
air_changes_per_h = 0.5
supply_c = 19.0
capacity_factor = 8
baseline_c = 20.0
start = "08:00"
duration_h = 6
step_s = 120

{sites.sides("north", "south", "west")}

[east]
u_w_per_m2k = 0.4
outside_c = [["00:00", 2.0], ["14:00", 8.0]]

[[window]]
side = "east"
from_m = 1.0
to_m = 2.0
height_m = 1.2
u_w_per_m2k = 1.3
outside_c = 4.0

[[heater]]
rect_m = [4.5, 0.5, 0.25, 1.0]
power_w = 150
on = [["08:00", "11:00"]]

[[furniture]]
name = "desk"
rect_m = [2.0, 1.0, 0.5, 0.5]

[[person]]
name = "Ada"
activity = "office"
path = [["10:10", 1.0, 1.0], ["10:40", 1.0, 2.0], ["14:00", "stay"]]

[thermometers]
kind = "tmp117"
count = [4, 3]

[privacy]
epsilon = "8/1"
delta = "1/100000"
protect_distance_m = 0.5
readings = 3
every_min = 110
background = "recorded"
people_max = 2
power_max_w = 60
"""
# With these words instead of those above the noise is next to nothing.
QUIET = ('"8/1"', '"10000000/1"')


RESPONSES: dict[Any, Any] = {}


@pytest.fixture(autouse=True)
def responses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work out a room's response once: it knows nothing of people, nor of epsilon."""
    compute = rooms.compute_day_response

    def kept(room: Any, distance_m: float, rounds: Any, through_walls: bool) -> Any:
        built = (room.size_m, room.walls, room.doors, room.thermometers)
        about = (*built, distance_m, tuple(rounds), through_walls)
        if about not in RESPONSES:
            RESPONSES[about] = compute(room, distance_m, rounds, through_walls=through_walls)
        return RESPONSES[about]

    monkeypatch.setattr(rooms, "compute_day_response", kept)


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., Path]:
    """Return what writes the room's file, with words of it replaced: `written((old, new))`."""

    def write(*changes: tuple[str, str], text: str = ROOM) -> Path:
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        path = tmp_path / "room.toml"
        path.write_text(text)
        return path

    return write


@pytest.fixture
def lived(written: Callable[..., Path]) -> Callable[..., Any]:
    """Return what plays the room's day: `lived((old, new), seed=3)`."""

    def run(*changes: tuple[str, str], seed: int | None = 3, estimator: str = "auto") -> Any:
        return play_day(
            make_model(load_room(written(*changes)), estimator), seed, lambda name: None
        )

    return run
