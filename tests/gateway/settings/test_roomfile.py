"""A deployment whose room has a file: what that says is taken, and nothing is said twice."""

import json
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from edge.core.records import Release
from gateway.cli.recover import pack_public_file
from gateway.faults import OperatorFault
from gateway.mechanisms.thermal.calibrate import explain_calibration
from gateway.mechanisms.thermal.calibrate_numbers import try_maps
from gateway.mechanisms.thermal.world import Room, load_scene
from gateway.service.ledger import check_terms, make_terms
from gateway.service.solver import Solver
from gateway.settings import config
from physics.response import Response
from recovery.maps.heatmap import Heatmap
from recovery.thermal import plan
from tests import sites

ROOM = f"""
[room]
name = "small"
size_m = [3.0, 2.0]
height_m = 2.5
cell_mm = 250
mixing_m2_per_s = 0.005
air_changes_per_h = 1.0
supply_c = 20.0
capacity_factor = 6
baseline_c = 20.0
start = "00:00"
duration_h = 1
step_s = 60

{sites.sides("north", "south", "west", "east")}

[thermometers]
kind = "tmp117"
count = [3, 2]

[privacy]
epsilon = "8/1"
delta = "1/100000"
protect_distance_m = 0.5
readings = 1
every_min = 30
background = "recorded"
people_max = 2
power_max_w = 80
"""
DEPLOYED = """
[room]
plan = "small.toml"

[privacy]
epsilon = "8/1"
delta = "1/100000"
protect_distance_m = 0.5
"""


def deployed(tmp_path: Path, more: str = "", room: str = ROOM) -> Path:
    (tmp_path / "small.toml").write_text(room)
    path = tmp_path / "gateway.toml"
    path.write_text(DEPLOYED + more)
    return path


@pytest.mark.long
def test_the_room_file_gives_cells_sensors_converter_and_response(tmp_path: Path) -> None:
    deployment = config.load_deployment(deployed(tmp_path))
    query = config.make_query(deployment)

    assert query.grid == ((12, 8), 250)
    assert query.sensors == (6,)
    assert query.step == Fraction(1, 128)
    assert (query.intensity_max, query.sources_max) == (80.0, 2)
    assert query.spread_m2 == math.inf
    assert query.response is config.make_query(deployment).response
    found = try_maps(query, lambda stage: None)
    assert found.off is None or found.off < found.blind
    made = explain_calibration(
        query, every_s=None, as_json=True, plot=None, inputs=[], stage=print
    )
    numbers = json.loads("\n".join(made.lines))
    assert numbers["what_if"][0]["spread_m2"] is None
    assert query.response.digest in numbers["neighbours"]
    with pytest.raises(OperatorFault, match="--published"):
        pack_public_file(query, ())


def test_a_converter_behind_that_of_the_thermometers_is_planned_for(tmp_path: Path) -> None:
    """Six thermometers of a kind that rounds twice."""
    room = ROOM.replace('"tmp117"', '"bme280"')
    sensors = config.load_deployment(deployed(tmp_path, room=room)).sensors

    assert (sensors.adc_step, sensors.adc_behind) == ((1, 100), (1, 250))


@pytest.mark.long
def test_the_process_that_draws_maps_gets_the_response_too(tmp_path: Path) -> None:
    """It is another process, and a virtual fleet's room warms its thermometers in watts."""
    query = config.make_query(config.load_deployment(deployed(tmp_path)))
    world = np.random.default_rng(2)
    room = Room(query, load_scene(query, None, 1, world), world)
    round = plan(query, ())
    assert round is not None
    values = [reading.values[0] for reading in room.read_devices(round)]
    with Solver(30.0) as solver:
        drawn = solver.recover("thermal", query, [Release(round, values, len(values))])

    assert room.temperatures.max() > 1
    assert isinstance(drawn, Heatmap)
    assert drawn.mass.shape == (8, 12)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ("[heat]\nspread_m2 = 1.0\n", "[heat] spread_m2 is given together with [room] plan"),
        ("[sensors]\ncount = 6\n", "[sensors] count is given together with [room] plan"),
        ("[sensors]\ndrift_sd = 0.1\n", "[sensors] drift_sd is given together with [room] plan"),
        (
            '[rounds]\ncalibration = "paper"\n',
            "[rounds] calibration is given together with [room] plan",
        ),
        ("[heat]\nintensity_max = 40.0\n", "[heat] intensity_max is 40.0 but the room file"),
    ],
)
def test_what_is_said_twice_is_refused(tmp_path: Path, more: str, words: str) -> None:
    """Noise for one of two rooms would not hide what the other shows."""
    with pytest.raises(OperatorFault) as caught:
        config.load_deployment(deployed(tmp_path, more))
    assert words in str(caught.value)


def test_the_response_is_for_the_distance_that_the_deployment_protects(tmp_path: Path) -> None:
    """Nearer than that paths are compared cell by cell, and the noise is for two cells here."""
    query = config.make_query(config.load_deployment(deployed(tmp_path)))

    assert {1, 2} <= set(query.response.far_cells)
    changes = query.response.changes
    assert changes.joint[query.response.find_distance(2)] > 1.2 * changes.joint[0]


def test_a_wrong_room_file_is_told_of_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(OperatorFault, match=r"small\.toml.*line"):
        config.load_deployment(
            deployed(tmp_path, room=ROOM.replace("cell_mm = 250", "cell_mm = 0"))
        )
    path = deployed(tmp_path)
    (tmp_path / "small.toml").unlink()
    with pytest.raises(OperatorFault, match="cannot be read"):
        config.load_deployment(path)


def test_a_room_file_that_changes_makes_another_response(tmp_path: Path) -> None:
    """Stale noise would be for a room that is no more."""
    path = deployed(tmp_path)
    first = config.make_query(config.load_deployment(path)).response
    (tmp_path / "small.toml").write_text(ROOM.replace("0.005", "0.0040"))
    query = config.make_query(config.load_deployment(path))
    second = query.response

    assert first.digest != second.digest
    promised = [
        make_terms(made.guarantee)
        for response in (first, second)
        if (made := plan(replace(query, response=response), ()))
    ]
    with pytest.raises(OperatorFault, match="promises something else than its database"):
        check_terms(*promised)
    assert not np.allclose(first.operator, second.operator)
    (tmp_path / "small.toml").write_text(ROOM + "through_walls = false\n")
    on_foot = config.make_query(config.load_deployment(path)).response
    assert (first.through_walls, on_foot.through_walls) == (True, False)
    assert on_foot.digest != first.digest


@pytest.mark.long
def test_what_proves_the_noise_is_found_once_and_kept_beside_the_room(tmp_path: Path) -> None:
    """Elsewhere it gives the same noise; spoilt it gives more, and the table says so."""

    def loaded(folder: str) -> tuple[Path, Response]:
        (tmp_path / folder).mkdir()
        path = deployed(tmp_path / folder, room=ROOM + "through_walls = false\n")
        for kept in tmp_path.glob("*.bound"):
            (path.parent / kept.name).write_bytes(kept.read_bytes())
        made = config.make_query(config.load_deployment(path)).response
        assert made is not None
        return path, made

    path, first = loaded("first")
    (kept,) = path.parent.glob("small.*.bound")
    assert first.digest in kept.name
    again = tmp_path / kept.name
    again.write_bytes(kept.read_bytes())
    stamp = again.read_bytes()
    path, moved = loaded("moved")
    assert (moved.changes.joint == first.changes.joint).all()
    assert (path.parent / kept.name).read_bytes() == stamp
    again.write_bytes(b"spoilt")
    path, spoilt = loaded("spoilt")
    assert (spoilt.changes.joint >= first.changes.joint).all()
    query = config.make_query(config.load_deployment(path))
    made = explain_calibration(query, every_s=None, as_json=False, plot=None, inputs=[], stage=str)
    assert "each lag at its worst" in " ".join(made.lines)


def test_several_rooms_are_refused(tmp_path: Path) -> None:
    """Noise, devices and budget are those of one room's walls."""
    path = deployed(tmp_path)
    path.write_text(DEPLOYED.replace('"small.toml"', '["small.toml", "large.toml"]'))

    with pytest.raises(OperatorFault, match="names 2 files, but a gateway serves one room"):
        config.load_deployment(path)
