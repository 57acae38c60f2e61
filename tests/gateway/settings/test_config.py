"""The deployment file: the sample loads, and a fault names its place, its value and the need."""

import re
from collections.abc import Callable
from math import prod
from pathlib import Path

import pytest

from gateway.faults import OperatorFault
from gateway.mechanisms import TABLE
from gateway.service.mqtt import access
from gateway.settings import config
from gateway.settings.deployment import Mqtt
from recovery.thermal.query import cell_m


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "gateway.toml"
    path.write_text(text)
    return path


ROOMS = {
    "shorter": (80, "length_m = 4.0"),
    "longer": (80, "length_m = 200.0"),
    "coarse": (25, "length_m = 20.0"),
    "the unit interval": (10, ""),
    "a plane": ([40, 20], "length_m = 10.0"),
    "a narrow plane": ([100, 3], "length_m = 50.0"),
}


@pytest.mark.parametrize("room", ROOMS)
def test_whoever_changes_the_room_alone_is_served_or_told_what_else(
    tmp_path: Path, room: str
) -> None:
    """The first line that a newcomer changes: one sentence at most, and what it says will do."""
    cells, length = ROOMS[room]
    text = config.make_sample().replace("cells = 80 ", f"cells = {cells} ")
    text = text.replace("length_m = 20.0 ", length)
    try:
        query = config.make_query(config.load_deployment(written(tmp_path, text)))
    except OperatorFault as told:
        (instead,) = re.findall(r"Write count = (\[\d+, \d+\]|\d+)", str(told))
        text = text.replace("count = 50 ", f"count = {instead} ")
        query = config.make_query(config.load_deployment(written(tmp_path, text)))

    assert query.grid.shape == (tuple(cells) if isinstance(cells, list) else (cells, 1))
    assert 50 <= prod(query.sensors) <= 54
    assert query.protect_distance_m >= max(0.5, cell_m(query.grid))  # never less than was asked


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("gather_s = 30", "gather = 30", ["[rounds] gather", "did you mean gather_s?"]),
        ("[heat]", "[heet]", ["[heet]", "did you mean heat?"]),
        ('epsilon = "8/1"', "epsilon = 0.5", ["[privacy] epsilon is 0.5", "write 1/2, so"]),
        ('epsilon = "8/1"', 'epsilon = "0.5"', ["[privacy] epsilon", "ratio"]),
        ('delta = "1/100000"', 'delta = "-1/9"', ["[privacy] delta", "ratio"]),
        ("# window_h = 24", "window_h = 0.5", ["window_h is 0.5: it should be a whole number."]),
        ("readings = 24", "readings = 0", ["[privacy] readings is 0", "greater than or equal"]),
        ("spread_m2 = 4.0", "spread_m2 = -1", ["[heat] spread_m2 is -1", "greater than 0"]),
        ("spread_m2 = 4.0", "spread_m2 = nan", ["[heat] spread_m2", "finite"]),
        (
            "length_m = 20.0",
            "length_m = 20.0001",
            ["[room]", "whole millimetres", "20 m would do"],
        ),
        ("cells = 80", "cells = [10, 0]", ["[room] cells", "greater than or equal to 1"]),
        ("count = 50", "", ["[sensors] count is missing"]),
        ("port = 8883", "port = 99999", ["[mqtt] port is 99999", "less than or equal to 65535"]),
        ("# insecure = true", "insecure = true", ["[mqtt]", "in the clear", "remove one"]),
        (
            "keyholder = false",
            'keyholder = "no"',
            ["[privacy] keyholder is 'no'", "true or false"],
        ),
        ("keyholder = false", "keyholder = 1", ["[privacy] keyholder is 1", "true or false"]),
        ("# insecure = true", 'insecure = "yes"', ["[mqtt] insecure is 'yes'", "true or false"]),
        ('name = "lab"', 'name = "lab/#"', ["[site] name is 'lab/#'", "letters, digits"]),
        ("# sampler =", "sampler = 5 #", ["[rounds] sampler is 5", "'exact' or 'table'"]),
        ('walls = "insulated"', 'walls = "brick"', ["[room] walls is 'brick'", "insulated"]),
        (
            "# furniture = [[10,",
            "furniture = [[-1,",
            ["[room] furniture", "greater than or equal"],
        ),
        ('estimator = "auto"', 'estimator = "magic"', ["[rounds] estimator is 'magic'", "lasso"]),
        ("# furniture = [[10,", 'furniture = [["10",', ["[room] furniture", "without quotes"]),
        ("cells = 80", 'cells = ["80", 1]', ["[room] cells 0 is '80'", "without quotes"]),
        ("[site]", "[site", ["cannot be read", "TOML"]),
        (
            "# hours =",
            'hours = "00:00-24:00" #',
            ["[rounds] hours", "to 23:59", "leave it out for all day"],
        ),
        ('epsilon = "8/1"', "epsilon = 8/1", ['ratios such as "8/1" in quotes']),
    ],
)
def test_a_fault_in_the_file_is_one_line_that_says_where_and_what(
    tmp_path: Path, old: str, new: str, words: list[str]
) -> None:
    """Nothing starts on a guess, and nobody has to read our code to mend it."""
    assert old in config.make_sample()
    path = written(tmp_path, config.make_sample().replace(old, new, 1))
    with pytest.raises(OperatorFault) as caught:
        config.load_deployment(path)

    said = str(caught.value)
    assert str(path) in said
    assert "\n" not in said
    for word in words:
        assert word in said


@pytest.mark.parametrize("mechanism", TABLE)
def test_a_number_in_quotes_is_refused_whatever_its_key(tmp_path: Path, mechanism: str) -> None:
    """Of a field that may be left out, too."""
    text, numbers = config.make_sample(mechanism), r"(?m)^(?:# )?(\w+) = (-?[\d.]+)(?= |$)"
    keys = [match[1] for match in re.finditer(numbers, text)]
    with pytest.raises(OperatorFault) as caught:
        config.load_deployment(written(tmp_path, re.sub(numbers, r'\1 = "\2"', text)), {})

    refused = re.findall(r"\[\w+\] (\w+) is '[^']*': [^;]*without quotes", str(caught.value))
    assert sorted(refused) == sorted(keys)


def test_all_faults_are_told_at_once(tmp_path: Path) -> None:
    """Mending them one start at a time would be tedious."""
    text = config.make_sample().replace("port = 8883", "port = 0").replace("every_s", "each_s")
    with pytest.raises(OperatorFault) as caught:
        config.load_deployment(written(tmp_path, text))

    assert "[mqtt] port" in str(caught.value)
    assert "[rounds] each_s" in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"1/100000"', '"2/1"'),  # delta has to be below one
        ("# furniture = [[10, 0, 4, 1]]", "furniture = [[78, 0, 4, 1]]"),  # of 80 cells
        ("# sources = 2", "sources = 9"),  # above sources_max
    ],
)
def test_values_that_do_not_go_together_are_the_operators_fault(
    tmp_path: Path, old: str, new: str
) -> None:
    """Each is well formed, but there is no such room or promise."""
    assert old in config.make_sample()
    path = written(tmp_path, config.make_sample().replace(old, new))
    with pytest.raises(OperatorFault, match="cannot be served"):
        config.make_query(config.load_deployment(path))


def test_the_environment_stands_above_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A container gets its broker this way, and keeps the rest of the file."""
    monkeypatch.setenv("HEATVEIL_MQTT__HOST", "broker.example")

    deployment = config.load_deployment(written(tmp_path, config.make_sample()))

    assert deployment.mqtt.host == "broker.example"
    assert deployment.mqtt.port == 8883
    assert deployment.site.database == tmp_path / "heatveil.sqlite"


@pytest.mark.parametrize(
    ("variable", "value", "found"),
    [
        ("HEATVEIL_ROOM__CELLS", "40", lambda one: one.room.cells == (40, 1)),
        ("HEATVEIL_ROOM__CELLS", "[40, 2]", lambda one: one.room.cells == (40, 2)),
        ("HEATVEIL_MQTT__USERNAME", "{me}", lambda one: one.mqtt.username == "{me}"),
        ("HEATVEIL_PRIVACY__EPSILON", "7/1", lambda one: one.privacy.epsilon == (7, 1)),
        ("HEATVEIL_MQTT", '{"port": "8884"}', lambda one: one.mqtt.port == 8884),
        ("HEATVEIL_SENSORS__COUNT", '["4", "3"]', lambda one: one.sensors.count == (4, 3)),
    ],
)
def test_the_environment_says_what_a_file_can(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
    value: str,
    found: Callable[[config.Deployment], bool],
) -> None:
    """Counts, shapes, ratios and texts that begin as a list would."""
    monkeypatch.setenv(variable, value)

    assert found(config.load_deployment(written(tmp_path, config.make_sample())))


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("HEATVEIL_MQTT__PORT", "x", "[mqtt] port (from the environment: HEATVEIL_MQTT__PORT)"),
        ("HEATVEIL_MQTT__PROT", "1", "HEATVEIL_MQTT__PROT) is not a name known here; did you"),
        ("HEATVEIL_MQTTT__HOST", "x", "no table MQTTT"),
        ("HEATVEIL_MQTT_HOST", "x", "Name it HEATVEIL_MQTT__HOST, or unset it"),
        ("heatveil_mqtt_port", "1", "Name it HEATVEIL_MQTT__PORT, or unset it"),
        ("HEATVEIL_HEAT", "warm", "a table as a whole would have to be JSON"),
    ],
)
def test_what_is_wrong_in_the_environment_is_not_blamed_on_the_file(
    tmp_path: Path, variable: str, value: str, words: str
) -> None:
    """Or passed over: a misspelled broker would leave the file's, and nobody would know why."""
    path = written(tmp_path, config.make_sample())
    with pytest.raises(OperatorFault) as caught:
        config.load_deployment(path, {variable: value})

    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_secrets_for_the_broker_come_from_files(tmp_path: Path) -> None:
    """A password in the deployment file would be in every backup of it."""
    (tmp_path / "password").write_text("sesame\n")
    (tmp_path / "ca.pem").write_text("no certificate")

    assert access.read_password(Mqtt(password_file=tmp_path / "password")) == "sesame"
    assert access.read_password(Mqtt()) is None
    assert access.make_tls_context(Mqtt(insecure=True)) is None
    with pytest.raises(OperatorFault, match="password_file .*nowhere"):
        access.read_password(Mqtt(password_file=tmp_path / "nowhere"))
    both = {"password_file": tmp_path / "nowhere", "ca_file": tmp_path / "neither"}
    for read in (access.read_password, access.make_tls_context):  # whichever is read first
        with pytest.raises(OperatorFault, match=r"nowhere .*neither|neither .*nowhere"):
            read(Mqtt(**both))
    with pytest.raises(OperatorFault, match=r"ca_file .*ca\.pem"):
        access.make_tls_context(Mqtt(ca_file=tmp_path / "ca.pem"))
