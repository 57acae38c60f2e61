"""`heatveil recover`: a map from what is public, and from nothing else."""

import json
from collections.abc import Callable
from functools import partial
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gateway.mechanisms import named
from gateway.mechanisms.flags import query_of
from physics.kernel import forward
from physics.places import cell_places, sensor_places
from recovery.maps.heatmap import Unresolved, from_npz

query = partial(query_of, named("thermal"))


@pytest.fixture
def published(heatveil: Callable[..., Any], tmp_path: Path) -> Path:
    """Return published readings, with the map that was drawn of them at once beside it."""
    path = tmp_path / "public.json"
    words = (
        "play",
        "thermal",
        "--sources-random",
        2,
        "--epsilon",
        "4/1",
        "--set",
        "readings=3",
        "--seed",
        3,
    )
    heatveil(*words, "--published", path, "--out", tmp_path / "map.npz")
    return path


@pytest.mark.long
def test_what_is_public_can_be_drawn_anew_by_anybody(
    heatveil: Callable[..., Any], published: Path, tmp_path: Path
) -> None:
    """Another estimator, the same promise; and one that does not exist is named."""
    heatveil("recover", published, "--estimator", "lasso", "--out", tmp_path / "lasso.npz")

    posterior, lasso = (from_npz(tmp_path / name) for name in ("map.npz", "lasso.npz"))
    assert (posterior.estimator, lasso.estimator) == ("posterior", "lasso")
    assert posterior.guarantee == lasso.guarantee
    assert not (posterior.mass == lasso.mass).all()
    assert "estimator is 'magic'" in heatveil("recover", published, "--estimator", "magic").err


def test_the_published_file_holds_no_reading(published: Path) -> None:
    """The true temperatures are nowhere in it: all values are noised whole numbers."""
    found = json.loads(published.read_text())

    assert set(found) == {"schema", "mechanism", "query", "rounds"}
    assert [set(round) for round in found["rounds"]] == [
        {"number", "params", "guarantee", "values"}
    ] * 3
    first, second, third = (np.array(round["values"]) for round in found["rounds"])
    sigma = found["rounds"][0]["params"][4] ** 0.5
    assert np.std(first - second) == pytest.approx(2**0.5 * sigma, rel=0.4)
    assert np.std(second - third) == pytest.approx(2**0.5 * sigma, rel=0.4)


@pytest.mark.long
def test_a_plain_table_of_readings_will_do(heatveil: Callable[..., Any], tmp_path: Path) -> None:
    """Readings of other origin: two columns, and the noise in a flag."""
    asked = query()
    operator = forward(
        cell_places(asked.grid), sensor_places(asked.sensors, asked.grid), asked.spread_m2
    )
    heat = np.zeros(100)
    heat[[29, 69]] = 1
    rows = [f"{sensor},{reading!r}" for sensor, reading in enumerate((operator @ heat).tolist())]
    path, out = tmp_path / "readings.csv", tmp_path / "map.npz"
    path.write_text("\n".join(["sensor,reading", *rows]) + "\n")

    said = heatveil("recover", path, "--sigma", "1/100000", "--out", out)

    assert said.status == 0
    assert from_npz(out).mass[0, [29, 69]] == pytest.approx([0.5, 0.5], abs=0.05)
    assert "If these readings were blurred as stated, with a sigma of 1e-05" in said.out
    assert "epsilon" in said.out
    assert "local" not in said.out
    assert "heatveil was not there" in from_npz(out).guarantee.trust


def test_silent_sensors_and_cold_readings_are_no_fault(
    heatveil: Callable[..., Any], tmp_path: Path
) -> None:
    """Noise goes both ways, and devices fail: neither may stop the map."""
    path = tmp_path / "readings.csv"
    path.write_text("sensor,reading\n3,-0.4\n\n10,1.5\n")

    said = heatveil("recover", path, "--sigma", "1/2")

    assert said.status == 0
    assert "2 of 50 sensors were heard" in said.out


@pytest.mark.long
def test_an_older_map_does_not_stand_for_one_that_was_not_found(
    heatveil: Callable[..., Any],
    published: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whoever opens the file afterwards would take it for the answer to these readings."""
    out = tmp_path / "map.npz"
    before = from_npz(out).guarantee
    monkeypatch.setattr(
        "gateway.cli.recover.recover",
        lambda query, _: Unresolved(query.grid, before, inf, inf, "nothing fits"),
    )
    said = heatveil("recover", published, "--out", out)

    assert said.status == 0
    assert "nothing fits" in said.out
    assert not out.exists()
