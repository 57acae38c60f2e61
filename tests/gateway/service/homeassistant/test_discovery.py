"""What Home Assistant is told is what it accepts, and the same message every time."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from jinja2.sandbox import SandboxedEnvironment

from gateway.service import homeassistant
from gateway.settings import config
from gateway.settings.deployment import Deployment

HERE = Path(__file__).parent
SCHEMA = json.loads((HERE / "device_discovery.schema.json").read_text())
SITES = {
    "expiring": {"homeassistant": {"enabled": True, "prefix": "home/ha", "expire_s": 7200.5}},
    "plane": {"room": {"cells": [8, 4], "length_m": 4.0}, "sensors": {"count": [4, 2]}},
    "unit": {"room": {"cells": 10}},
}


def deployment(name: str) -> Deployment:
    """Return a deployment of a site by that name."""
    given: dict[str, Any] = {
        "site": {"name": name},
        "room": {"cells": 80, "length_m": 20.0},
        "heat": {"spread_m2": 4.0},
        "sensors": {"count": 50},
        "privacy": {"epsilon": "8/1", "delta": "1/100000"},
        "homeassistant": {"enabled": True},
    }
    return Deployment(**(given | SITES[name]))


@pytest.mark.parametrize("name", SITES)
def test_the_announcement_is_the_golden_one(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every entity is known to somebody's dashboard by its ids: they change on purpose alone."""
    monkeypatch.setattr(homeassistant, "version", lambda _: "0.0.0")
    said = homeassistant.message(deployment(name))
    golden = HERE / "golden" / f"{name}.json"

    assert json.loads(golden.read_text()) == {homeassistant.config_topic(deployment(name)): said}


@pytest.mark.parametrize("name", SITES)
def test_the_announcement_is_what_the_published_schema_accepts(name: str) -> None:
    """Home Assistant drops a whole device for one key that it does not know."""
    said = homeassistant.message(deployment(name))
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(said, SCHEMA, cls=jsonschema.Draft202012Validator)


def test_every_template_finds_its_value_in_the_state() -> None:
    """Rendered as Home Assistant does; a key that is misspelled shows "unknown" for ever."""
    environment = SandboxedEnvironment()
    values = {name: number for number, name in enumerate(homeassistant.NAMES, 100)}
    health = {"problem": "ON", "parts": {"broker": "gone"}}
    rendered = {}
    for key, one in homeassistant.message(deployment("plane"))["components"].items():
        value = health if key == "problem" else values
        rendered[key] = environment.from_string(one["value_template"]).render(value_json=value)

    assert rendered.pop("problem") == "ON"
    assert sorted(map(int, rendered.values())) == sorted(values.values())


def test_the_sample_deployment_announces_nothing_of_a_device() -> None:
    """A name of a thermometer, or a count of its messages, would show when somebody is there."""
    loaded = config.load(Path(config.__file__).parents[1] / "sample.toml")
    said = json.dumps(homeassistant.message(loaded))

    assert "node" not in said
    assert "heatveil/1/lab/+" not in said
