"""What is known of the empty room beside its file: the weather, levels, hours, a virtual clock."""

from collections.abc import Mapping
from datetime import datetime
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from gateway.devices.enrol import enrol
from gateway.faults import OperatorFault
from gateway.mechanisms import find_mechanism, flags
from gateway.mechanisms.flags import parse_query
from gateway.mechanisms.thermal.deployment import plan_first_round
from gateway.mechanisms.thermal.vacant import load_outdoor_temperature
from gateway.service.drawing import find_vacancy
from gateway.service.serving import has_clock_jumped, read_level_time_s
from gateway.settings import config
from gateway.settings.deployment import Deployment
from gateway.settings.roomfile import Vacancy
from tests.gateway.lab.thermal_days.conftest import ROOM

HOUR_S = 3600.0
NINE_S = datetime(2026, 1, 12, 9).astimezone().timestamp()


def test_weather_is_straight_between_readings_and_unknown_in_gaps(tmp_path: Path) -> None:
    """What is no number is no reading; a header and half a line are passed over."""
    path = tmp_path / "weather.csv"
    path.write_text(
        "time,celsius\n0,1.0\n3600,3.0\n2000,nan\n1970-01-01T02:00:00+00:00,5.0\n7300,inf\n"
        "30000,9.0\n31000,"
    )
    at, notes = load_outdoor_temperature(path, 0.0, 10 * HOUR_S)

    assert [at(second) for second in (0, 1800, 7200)] == [1.0, 2.0, 5.0]
    assert at(9000) is None  # five hours to the next
    assert at(30000 + 2 * HOUR_S) == 9.0
    assert at(30000 + 4 * HOUR_S) is None
    assert len(notes) == 1
    assert "weather.csv tells nothing of" in notes[0]
    assert load_outdoor_temperature(path, 0.0, 7200.0)[1] == []


def test_a_weather_file_that_is_not_there_is_told_and_stops_nothing(tmp_path: Path) -> None:
    """The room file's own weather is its prior."""
    at, notes = load_outdoor_temperature(tmp_path / "none.csv", 0.0, 1.0)

    assert at(0.0) is None
    assert "none.csv cannot be read" in notes[0]
    assert load_outdoor_temperature(None, 0.0, 1.0)[1] == []


@pytest.mark.parametrize(
    ("said", "at_s"),
    [
        (b'{"recorded_ms": 1700000000500}', 1_700_000_000.5),
        (b'{"recorded_ms": true}', None),
        (b'{"recorded_ms": -5}', None),
        (b'{"recorded_ms": 1e12}', None),
        (b'{"recorded_ms": 1152921504606846976}', None),
        (b'{"other": 1, "limits": [{}]}', None),
        (b'{"limits": {"clock": "something else"}}', None),
        (b"[1, 2]", None),
        *((junk, None) for junk in (b"", b"{", b"[" * 4000, b"\xff", b" " * 5000 + b"{}")),
    ],
)
def test_a_device_says_when_its_level_was_recorded_or_nothing(
    said: bytes, at_s: float | None
) -> None:
    """Its `meta` is not signed, so nothing in it may do more harm than to a map."""
    assert read_level_time_s(said) == at_s
    assert not has_clock_jumped(said)


class Kept:
    """A store with one round in it."""

    def find_opened_s(self, name: bytes) -> float:
        return NINE_S - 5 * HOUR_S  # it was asked again

    def find_answered_s(self, name: bytes) -> float:
        return NINE_S

    def load_empty_room(self) -> bytes:
        return b"state"


def deployment(folder: Path, room: str = "", sensors: str = "background_k = 6.0") -> Deployment:
    """Return a deployment in the small room."""
    (folder / "room.toml").write_text(ROOM)
    path = folder / "site.toml"
    path.write_text(
        f'[site]\nname = "lab"\n[room]\nplan = "room.toml"\n{room}\n[heat]\n[sensors]\n{sensors}\n'
        '[privacy]\nepsilon = "8/1"\ndelta = "1/100000"\nprotect_distance_m = 0.5\nreadings = 3\n'
    )
    return config.load_deployment(path)


def asked(made: Deployment, told_s: Mapping[str, float] = {}) -> Vacancy | None:
    devices = enrol.derive_gateway_half(enrol.enrol_fleet("lab", 12).secrets)
    return find_vacancy(made, devices, Kept(), told_s, b"name")  # type: ignore[arg-type]


def test_levels_and_hours_are_those_of_the_sensors_and_of_the_clock_here(tmp_path: Path) -> None:
    """Each device has its own level; of the others nothing is known."""
    found = asked(deployment(tmp_path), {"node-03": NINE_S - 60, "stranger": 1.0})

    assert found.recorded_s == (*[None] * 3, NINE_S - 60, *[None] * 8)
    assert found.at_s == NINE_S
    assert not found.known
    assert found.state == b"state"
    night = asked(deployment(tmp_path, 'empty = "20:00-10:00"\nweather = "w.csv"'))
    assert night.known
    assert night.weather == tmp_path / "w.csv"


def test_a_virtual_room_has_a_clock_of_its_own(tmp_path: Path) -> None:
    """It begins when its devices recorded their level, and a minute is an hour there."""
    made = deployment(tmp_path, 'begins = "07:00"\nspeed = 60')
    names = [*enrol.derive_gateway_half(enrol.enrol_fleet("lab", 12).secrets).by_name]
    found = asked(made, dict.fromkeys(names, NINE_S - 180))

    assert found.at_s == NINE_S - 2 * HOUR_S + 3 * HOUR_S
    assert set(found.recorded_s) == {NINE_S - 2 * HOUR_S}


def test_nothing_is_taken_from_a_level_that_follows(tmp_path: Path) -> None:
    """What it has made of the room depends on who was there."""
    follows = 'background_k = 6.0\nbackground = "following"\nslew = "1/100"'
    assert asked(deployment(tmp_path, sensors=follows)) is None


@pytest.mark.parametrize("key", ['weather = "w.csv"', 'empty = "20:00-06:00"', "speed = 2.0"])
def test_what_a_room_without_a_file_has_no_use_for_is_refused(tmp_path: Path, key: str) -> None:
    """It would do nothing unnoticed."""
    path = tmp_path / "site.toml"
    path.write_text(config.make_sample().replace("cells = 80", f"cells = 80\n{key}"))
    with pytest.raises(OperatorFault, match="stands beside no plan"):
        config.load_deployment(path)


# Flags and settings: what becomes of each, and what is refused.

query = partial(parse_query, find_mechanism("thermal"))


def test_without_flags_the_query_is_the_papers() -> None:
    """n = 100, m = 50, T = 0.05, one cell hidden; only delta is smaller than the paper's."""
    found = query()

    assert (found.grid, found.sensors, found.spread_m2) == (((100, 1), 0), (50,), 0.05)
    assert (found.epsilon, found.delta) == ((1, 1), (1, 100000))
    assert found.protect_distance_m is None


@pytest.mark.parametrize(
    ("setting", "name", "value"),
    [
        ("readings=4", "readings", 4),
        ("protect_distance_m=0.05", "protect_distance_m", 0.05),
        ("protect_distance_m=none", "protect_distance_m", None),
        ("walls=insulated", "walls", "insulated"),
        ("walls=none", "walls", "none"),
        ("step=1/16", "step", Fraction(1, 16)),
        ("sigma=1/10", "sigma", (1, 10)),
        ("epsilon=1/2", "epsilon", (1, 2)),
        ("keyholder=true", "keyholder", True),
        (" failure = 0.1 ", "failure", 0.1),
        ("sources=2", "sources", 2),
        ("furniture=0,0,4,1; 50,0,3,1", "furniture", ((0, 0, 4, 1), (50, 0, 3, 1))),
        ("estimator=lasso", "estimator", "lasso"),
    ],
)
def test_every_kind_of_field_can_be_set(setting: str, name: str, value: Any) -> None:
    """A setting takes the type of its field, so that nothing is a text by accident."""
    assert getattr(query(settings=[setting]), name) == value


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("redings=4", "did you mean readings"),
        ("grid=3", "use --cells"),
        ("readings", "name=value"),
        ("=4", "is not a setting"),
        ("readings=four", "whole number"),
        ("readings=4.0", "whole number"),
        ("failure=often", "is not a number"),
        ("keyholder=perhaps", "true or false"),
        ("step=0.0625", "ratio"),
        ("walls=brick", "insulated"),
        ("furniture=a table", "rectangles"),
        ("furniture=1,2", "within the 100 by 1"),
        ("estimator=magic", "robust, entropy"),
    ],
)
def test_a_setting_that_means_nothing_is_refused(setting: str, says: str) -> None:
    """A setting that is ignored would be believed to hold."""
    with pytest.raises(OperatorFault, match=says):
        query(settings=[setting])


def test_a_length_makes_cells_of_whole_millimetres() -> None:
    """Twenty metres in eighty cells are cells of 250 mm, the same on every device."""
    assert flags.make_grid("80", 20.0) == ((80, 1), 250)
    with pytest.raises(OperatorFault, match="whole millimetres"):
        flags.make_grid("100", 3.3333)


def test_what_cannot_fit_in_memory_is_refused_before_it_is_tried() -> None:
    """A machine that swaps itself to death says nothing at all."""
    with pytest.raises(OperatorFault, match="fit in memory"):
        query(cells="1000000", sensors="1000")


@pytest.mark.parametrize("intensity", ["1e300", "1e307", "1e-300"])
def test_numbers_beyond_all_computing_are_the_operators_fault(intensity: str) -> None:
    """An overflow deep in the calibration is no bug of ours, and no board has such grains."""
    with pytest.raises(OperatorFault, match=r"none that a sensor has|too large to compute"):
        plan_first_round(query(settings=[f"intensity_max={intensity}"]))
