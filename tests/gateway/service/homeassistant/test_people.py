"""What Home Assistant is told of a map of people: cells and shares, and no warmth."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from jinja2.sandbox import SandboxedEnvironment

from edge.core.records import Grid
from gateway.service import homeassistant
from gateway.settings import config

GRID = Grid((2, 2), 1000)
NOW = datetime(2026, 11, 22, tzinfo=UTC)
MAP = {"kind": "map", "number": 3, "mass": [[0.1, 0.6], [0.2, 0.1]], "credible": None}


@pytest.fixture
def said(tmp_path: Path) -> dict[str, Any]:
    """Return the components that are announced of the sample of people."""
    path = tmp_path / "site.toml"
    path.write_text(config.sample("disk"))
    found: dict[str, Any] = homeassistant.message(config.load(path))["components"]
    return found


def test_it_speaks_of_people(said: dict[str, Any]) -> None:
    """A source of warmth among them would be an entity that stays unknown for ever."""
    names = " ".join(one["name"].lower() for one in said.values())

    assert "warm" not in names
    assert said["share"]["name"] == "Share of people in the fullest cell"
    assert "sources" not in said


def test_the_share_comes_with_what_it_is_off_by(said: dict[str, Any]) -> None:
    """To two digits, of the cell that is named and of no other."""
    sd = [[0.01, 0.0234], [0.3, 0.3]]
    results = homeassistant.Results(GRID)
    template = SandboxedEnvironment().from_string(said["sd"]["value_template"])

    assert template.render(value_json=results.values) == "None"
    assert results.take({**MAP, "sd": sd}, NOW, 5.0)
    assert results.values["share"] == 60
    assert template.render(value_json=results.values) == "2.3"
    results = homeassistant.Results(GRID)
    results.take({**MAP, "sd": None}, NOW, 5.0)
    assert template.render(value_json=results.values) == "None"
