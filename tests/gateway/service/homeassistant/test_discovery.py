"""What Home Assistant is told is what it accepts, and the same message every time."""

import json
import math
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from jinja2.sandbox import SandboxedEnvironment

from edge.core.records import Grid, Release
from edge.mechanisms.thermal import Params
from gateway.service import homeassistant, telling
from gateway.settings import config
from gateway.settings.deployment import Deployment
from recovery import thermal
from recovery.thermal import Query

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
    topic, golden = homeassistant.config_topic(deployment(name)), HERE / "golden.json"

    said = homeassistant.message(deployment(name))
    # It drops a whole device for one key that the published schema does not know.
    jsonschema.validate(said, SCHEMA, cls=jsonschema.Draft202012Validator)
    assert said == json.loads(golden.read_text())[topic]


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


# What Home Assistant is told of a map of people: cells and shares, and no warmth.

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


def test_of_people_only_what_may_be_named_is_announced() -> None:
    """The middle of the densest block that is surely above an even share; no cell of noise, and
    nothing of answers that contradict their query."""
    rows = [[0, 0, 2, 1, 0.8, 0.7, 0.9, 2], [0, 1, 1, 1, 0.2, 0.0, 0.3, 1]]
    rows.append([1, 1, 1, 1, 0.0, 0.0, 0.2, 0])
    noise = [[*row[:5], 0.0, 1.0, 1] for row in rows]
    wrong = {"verdict": {"level": "assumptions"}}
    told = []
    for more in ({"blocks": {"level": 0.9, "rows": one}} for one in (rows, noise)):
        results = homeassistant.Results(GRID, middles=True)
        results.take({**MAP, **more}, NOW, 5.0)
        told.append([results.values[name] for name in ("x", "y", "share", "sd")])
    results.take({**MAP, **wrong}, NOW, 5.0)
    told.append([results.values[name] for name in ("x", "y", "share", "sd")])

    assert told == [[0.5, 1.0, 80, 6.1], [None] * 4, [None] * 4]


# What goes to Home Assistant of a map is too coarse to lead back to any device.

MORNING = datetime(2026, 11, 22, 8, tzinfo=UTC)
QUERY = Query(
    grid=Grid((40, 1), 250),
    sensors=(6,),
    spread_m2=1.0,
    epsilon=(8, 1),
    delta=(1, 100_000),
    protect_distance_m=0.5,
    walls="insulated",
)


def shown(event: telling.Event) -> dict[str, Any]:
    """Return what is shown of a map, without the time at which it was."""
    results = homeassistant.Results(QUERY.grid)
    results.take(event, MORNING, 0.0)
    names = ("x", "y", "share", "sources", "error", "contradicted")
    return {name: results.values[name] for name in names}


def drawn(values: list[int], estimator: str = "posterior") -> telling.Event:
    """Return the event of the map of these reports, as the service tells it."""
    plan = thermal.plan(QUERY, [])
    query = replace(QUERY, estimator=estimator)
    found = thermal.recover(query, [Release(plan, values, len(values))])
    return telling.make_map_event(1, found, 0.1)


@pytest.fixture(scope="module")
def reports() -> list[int]:
    """Return reports of six people between 2 and 3.5 m, in grains."""
    scale = 2 ** Params(*thermal.plan(QUERY, []).params).exponent
    return [round(scale * warmth) for warmth in thermal.operator(QUERY)[:, 8:14].sum(axis=1)]


def test_what_is_shown_of_a_map_has_few_values() -> None:
    """A cell, 101 shares, ten errors a decade: some 18 bits, and a report alone may have 16."""
    world, seen = np.random.default_rng(6), set()
    for _ in range(2000):
        mass = world.dirichlet(np.full(40, 0.05))
        credible = {"numbers": [0.2, 0.8], "expected_error": float(world.lognormal())}
        found = shown({"kind": "map", "number": 1, "mass": [mass.tolist()], "credible": credible})
        assert float(found["share"]).is_integer()
        assert 0 <= found["share"] <= 100
        assert found["x"] in {round(0.125 + 0.25 * cell, 3) for cell in range(40)}
        assert found["error"] == float(f"{10 ** (round(10 * np.log10(found['error'])) / 10):.1e}")
        seen.add(json.dumps(found))

    assert len(seen) > 500  # it does say something


@pytest.mark.parametrize(("estimator", "unknown"), [("posterior", True), ("auto", False)])
def test_readings_that_contradict_their_query_are_a_problem(
    reports: list[int], estimator: str, unknown: bool
) -> None:
    """1.7 times as warm as any source can be; an error is said where the map counts on that."""
    bad = drawn([17 * value // 10 for value in reports], estimator)
    good = shown(drawn(reports))  # the control

    assert good["contradicted"] == "OFF"
    assert None not in (good["error"], good["sources"])
    assert [shown(bad)[name] is None for name in ("error", "sources")] == [unknown, unknown]
    assert shown(bad)["contradicted"] == "ON"
    assert bad["verdict"]["why"] not in str(shown(bad))


@pytest.mark.parametrize("error", [math.inf, math.nan])
def test_what_json_cannot_write_is_unknown(error: float) -> None:
    """Home Assistant would drop the whole message."""
    credible = {"numbers": [1.0], "expected_error": error}
    found = shown({"kind": "map", "number": 1, "mass": [[1.0] * 40], "credible": credible})

    assert found["error"] is None
    json.dumps(found, allow_nan=False)
