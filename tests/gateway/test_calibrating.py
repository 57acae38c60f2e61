"""`heatveil calibrate`: which noise, and first of all what it does not hide."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gateway import config


def test_what_is_not_protected_stands_first(heatveil: Callable[..., Any]) -> None:
    """Whoever reads one line only must not go away with a false hope."""
    said = heatveil("calibrate")

    assert said.status == 0
    assert said.out.startswith("NOT PROTECTED: that somebody is there")


def test_the_numbers_are_those_of_outside_computations(heatveil: Callable[..., Any]) -> None:
    """n = 100, m = 50, T = 0.05 at (1, 1e-5): sensitivity, sigma and group distances."""
    found = json.loads(heatveil("calibrate", "--json").out)

    assert found["sensitivity"] == pytest.approx(0.135897, abs=1e-6)
    assert found["sigma"] / found["sensitivity"] == pytest.approx(3.7306, rel=0.02)
    assert found["delivered_epsilon"] == pytest.approx(1, abs=1e-3)
    by_cells = {row["cells"]: row["epsilon"] for row in found["distances"]}
    assert by_cells[1] == pytest.approx(1, abs=0.01)
    assert by_cells[2] == pytest.approx(2.15, abs=0.02)
    assert by_cells[10] == pytest.approx(14.3, abs=0.3)
    assert found["presence_epsilon"] == pytest.approx(139, abs=3)


def test_a_deployment_file_is_calibrated_as_it_stands(
    heatveil: Callable[..., Any], tmp_path: Path
) -> None:
    """What is printed is what `serve` with the same file would ask of the devices."""
    path = tmp_path / "site.toml"
    path.write_text(config.sample())
    found = json.loads(heatveil("calibrate", "--config", path, "--json").out)

    deployed = config.load(path)
    assert found["readings"] == deployed.privacy.readings
    assert found["distances"][0]["distance"] == pytest.approx(deployed.room.cell_mm / 1000)
