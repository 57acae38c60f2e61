"""The deployment file explained: the sample loads, and the schema says what the program says."""

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from gateway.cli.config import all_explained, describe
from gateway.settings import config
from gateway.settings.deployment import Deployment

Heatveil = Callable[..., Any]
SAMPLE = tomllib.loads(config.sample())


def accepts(given: Any) -> bool:
    """Return what an editor says of a file."""
    validator = jsonschema.Draft202012Validator(describe())
    return bool(validator.is_valid(given))


def loads(given: Any) -> bool:
    """Return what the program says of it."""
    try:
        Deployment(**given)
    except ValueError:
        return False
    return True


def changed(table: str, key: str, value: Any) -> dict[str, Any]:
    """Return the sample with one value changed."""
    return {**SAMPLE, table: {**SAMPLE.get(table, {}), key: value}}


def test_the_sample_is_printed_as_it_is_and_loads(tmp_path: Path, heatveil: Heatveil) -> None:
    """`heatveil config --sample > gateway.toml` is how everybody begins."""
    said = heatveil("config", "--sample")
    (tmp_path / "gateway.toml").write_text(said.out)

    assert said.out == config.sample()
    assert config.load(tmp_path / "gateway.toml").site.name == "lab"
    assert heatveil("config").out == said.out


def test_the_schema_is_json_schema_and_takes_the_sample(heatveil: Heatveil) -> None:
    """An editor that marks the sample as wrong is switched off."""
    printed = json.loads(heatveil("config", "--schema").out)
    jsonschema.Draft202012Validator.check_schema(printed)

    assert printed == describe()
    assert accepts(SAMPLE)


@pytest.mark.parametrize(
    ("table", "key", "value"),
    [
        ("mqtt", "port", 1883),
        ("mqtt", "port", 70_000),
        ("mqtt", "port", "http"),
        ("mqtt", "prot", 1883),
        ("room", "cells", [8, 4]),
        ("room", "cells", [8, 4, 2]),
        ("room", "cells", 0),
        ("rounds", "estimator", "guess"),
        ("rounds", "quorum", 0),
        ("homeassistant", "enabled", True),
        ("homeassistant", "enabled", "yes"),
        ("privacy", "epsilon", 1),
        ("privacy", "epsilon", [1, 2]),
        ("workers", "partitions", 257),
        ("guard", "minutes", 60),
        ("sensors", "background", "hidden"),
        ("planet", "name", "mars"),
    ],
)
def test_editor_and_program_agree(table: str, key: str, value: Any) -> None:
    """What is marked does not load, and what loads is not marked; a ratio is better quoted."""
    given = changed(table, key, value)

    assert accepts(given) == loads(given) or (key, value) == ("privacy", [1, 2])


def test_every_key_of_the_sample_is_explained_and_every_key_is_in_it() -> None:
    """A key that only the code knows is a key that nobody uses."""
    schema = describe()
    words = all_explained()
    named = {"port", "username", "delta", "mechanism", "calibration"}  # say it themselves
    for table, reference in schema["properties"].items():
        keys = schema["$defs"][reference["$ref"].rpartition("/")[2]]["properties"]
        assert {key for key in keys if (table, key) not in words} <= named, table
        assert {key for name, key in words if name == table} <= keys.keys(), table
