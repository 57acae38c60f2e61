"""What goes to Home Assistant of a map is too coarse to lead back to any device."""

import json
import math
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

from edge.core.records import Grid, Release
from edge.mechanisms.thermal import Params
from gateway.service import homeassistant, telling
from recovery import thermal
from recovery.thermal import Query

NOW = datetime(2026, 11, 22, 8, tzinfo=UTC)
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
    results.take(event, NOW, 0.0)
    names = ("x", "y", "share", "sources", "error", "contradicted")
    return {name: results.values[name] for name in names}


def drawn(values: list[int]) -> telling.Event:
    """Return the event of the map of these reports, as the service tells it."""
    plan = thermal.plan(QUERY, [])
    found = thermal.recover(QUERY, [Release(plan, values, len(values))])
    return telling.drawn(1, found, 0.1)


@pytest.fixture(scope="module")
def reports() -> list[int]:
    """Return reports of six people between 2 and 3.5 m, in grains."""
    scale = 2 ** Params(*thermal.plan(QUERY, []).params).exponent
    return [round(scale * warmth) for warmth in thermal.operator(QUERY)[:, 8:14].sum(axis=1)]


@pytest.mark.long
def test_reports_that_differ_are_shown_alike(reports: list[int]) -> None:
    """One grain more or less of each device: the map's digits move, what is shown hardly ever.

    So what is shown is of many reports, and leads back to none of them. Hardly ever, for every
    rounding has borders.
    """
    base = drawn(reports)
    moved = alike = 0
    for device in range(6):
        for grain in (-1, 1):
            other = drawn([v + grain * (k == device) for k, v in enumerate(reports)])
            moved += other["credible"] != base["credible"]
            alike += shown(other) == shown(base)

    assert alike >= 8
    assert moved == 12  # the control: full digits would tell all of them apart
    assert shown(base)["x"] is not None


def test_what_is_shown_of_a_map_has_few_values() -> None:
    """A cell, 101 shares, two digits of an error: some 20 bits, and a report alone may have 16."""
    world, seen = np.random.default_rng(6), set()
    for _ in range(2000):
        mass = world.dirichlet(np.full(40, 0.05))
        credible = {"numbers": [0.2, 0.8], "expected_error": float(world.lognormal())}
        found = shown({"kind": "map", "number": 1, "mass": [mass.tolist()], "credible": credible})
        assert float(found["share"]).is_integer()
        assert 0 <= found["share"] <= 100
        assert found["x"] in {round(0.125 + 0.25 * cell, 3) for cell in range(40)}
        assert found["error"] == float(f"{found['error']:.1e}")
        seen.add(json.dumps(found))

    assert len(seen) > 500  # it does say something


@pytest.mark.parametrize("mass", [None, [[0.0] * 40]])
def test_a_map_of_nothing_shows_nothing(mass: Any) -> None:
    """No estimate, or no warmth: unknown, and not the first cell."""
    found = shown({"kind": "map", "number": 1, "mass": mass, "credible": None})

    assert found == dict.fromkeys(found)


def test_a_map_that_contradicts_its_query_is_a_problem_without_an_error(
    reports: list[int],
) -> None:
    """1.7 times as warm as any source can be; the cause, with its digits, stays here."""
    good, bad = drawn(reports), drawn([17 * value // 10 for value in reports])
    names = ("contradicted", "error", "sources")

    assert [shown(good)[name] is None for name in names] == [False, False, False]
    assert [shown(bad)[name] for name in names] == ["ON", None, None]
    assert shown(good)["contradicted"] == "OFF"
    assert bad["verdict"]["why"] not in str(shown(bad))


@pytest.mark.parametrize("error", [math.inf, math.nan])
def test_what_json_cannot_write_is_unknown(error: float) -> None:
    """Home Assistant would drop the whole message."""
    credible = {"numbers": [1.0], "expected_error": error}
    found = shown({"kind": "map", "number": 1, "mass": [[1.0] * 40], "credible": credible})

    assert found["error"] is None
    json.dumps(found, allow_nan=False)


def test_health_is_of_parts_and_of_no_device() -> None:
    """A problem, and which parts; ON is a problem to Home Assistant."""
    parts = {"broker": {"ok": False, "why": "gone"}, "store": {"ok": True, "why": ""}}

    assert homeassistant.health({"ready": False, "parts": parts}) == {
        "problem": "ON",
        "parts": {"broker": "gone"},
    }
    assert homeassistant.health({"ready": True, "parts": {}})["problem"] == "OFF"
