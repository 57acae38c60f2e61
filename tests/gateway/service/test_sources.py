"""One answer: whoever shows the sources of a map shows the same ones, and no more than it says."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

import msgspec
import numpy as np
import pytest

from edge.core.records import Grid, Release
from edge.mechanisms.thermal import params_of
from gateway.mechanisms import find
from gateway.mechanisms.summary import format_place
from gateway.service import homeassistant, telling
from gateway.web.operations import Map
from recovery import thermal
from recovery.maps.heatmap import Credible, Heatmap
from recovery.thermal import Query

LINE = Query(Grid((40, 1), 250), (16,), 1.0, (4, 1), protect_distance_m=0.5, sources_max=5)
PLANE = replace(LINE, grid=Grid((10, 8), 500), sensors=(4, 3), sources_max=2)
UNIT = replace(PLANE, grid=Grid((9, 9), 0), spread_m2=0.05, protect_distance_m=None)


def _drawn(query: Query, heat: np.ndarray, seed: int) -> Heatmap:
    """Return the map of a scene, as it comes out of the veil."""
    planned = thermal.plan(query, [])
    params, world = params_of(planned), np.random.default_rng(seed)
    grain = 2.0**-params.exponent
    felt = thermal.operator(query) @ heat
    blurred = felt + grain * params.variance**0.5 * world.normal(size=len(felt))
    values = [round(float(one) / grain) for one in blurred]
    found = thermal.recover(query, [Release(planned, values, len(values))])
    assert isinstance(found, Heatmap)
    return found


def _worlds() -> Iterator[tuple[Query, Heatmap]]:
    for seed, (query, count, power) in enumerate(
        [(LINE, 3, 1.0), (LINE, 12, 0.4), (PLANE, 2, 1.0), (UNIT, 3, 1.0)]
    ):
        cells = query.grid.shape[0] * query.grid.shape[1]
        heat = np.zeros(cells)
        heat[np.random.default_rng(seed).choice(cells, count, replace=False)] = power
        for estimator in ("auto", "entropy"):
            one = replace(query, estimator=estimator)
            yield one, _drawn(one, heat, seed)


def _torn() -> tuple[Query, Heatmap]:
    """Return a map of five heaps of which a posterior says that there are two or three."""
    mass = np.zeros((1, 40))
    mass[0, [2, 10, 18, 26, 34]] = 0.3, 0.1, 0.25, 0.15, 0.2
    credible = Credible(0.9, mass, np.array([0.0, 0.0, 0.4, 0.45, 0.1, 0.05]))
    guarantee = thermal.plan(LINE, []).guarantee
    return LINE, Heatmap(LINE.grid, mass, guarantee, 3.0, "optimal", "auto", credible=credible)


def test_page_text_api_and_home_assistant_show_the_same_sources() -> None:
    """A table of five below "most likely 3", or another place elsewhere, tells nobody anything."""
    torn = 0
    for query, found in (_torn(), *_worlds()):
        event = json.loads(json.dumps(telling.drawn(1, found, 0.1)))
        api = msgspec.convert(event, Map)
        lines = " ".join(find("thermal").lines(found))
        results = homeassistant.Results(query.grid)
        results.take(event, datetime.now(UTC), 0.0)
        shown = results.values
        if not found.total:
            assert api.sources == []
            continue
        axes = ("x", "y")[: 1 + (query.grid.shape[1] > 1)]
        for one in api.sources:
            at = np.array([getattr(one, axis) for axis in axes])
            assert f"{one.share:.0%} near {format_place(at, query.grid)}" in lines
        if api.sources:
            first = api.sources[0]
            cell = query.grid.cell_mm / 1000 or 1 / query.grid.shape[0]
            assert shown["share"] == round(100 * first.share)
            assert abs(shown["x"] - first.x) <= cell / 2 + 1e-3
        if api.credible is None:
            assert shown["sources"] is None
            continue
        assert api.credible.says in lines
        likeliest = shown["sources"]
        assert 1 <= len(api.sources) <= likeliest
        low = Credible(0.9, found.mass, np.array(api.credible.numbers)).between[0]
        assert ("holds several" in api.credible.says) == (len(api.sources) < low)
        assert sum(one.share for one in api.sources) == pytest.approx(1)
        torn += len(api.sources) == 3 and found.estimator == "auto"

    assert torn  # the control: five heaps, three sources
