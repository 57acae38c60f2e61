"""A map says which sensors lie, which stand at their clamp, and when there is too much noise."""

from dataclasses import replace

import numpy as np
import pytest

from edge.core.records import Grid, Release
from edge.mechanisms.thermal import params_of
from recovery.estimators.record import Prior, Seen
from recovery.estimators.table import estimate
from recovery.estimators.verdict import join, judge
from recovery.maps.heatmap import Heatmap, Unresolved, Verdict
from recovery.thermal import Query, operator, plan, recover
from recovery.thermal.seen import find_clamped
from recovery.thermal.seen import make_seen as look

# One to three equal sources, for a map is then had in no time.
LINE = Query(
    Grid((60, 1), 0), (30,), 0.05, (4, 1), sources_max=8, intensity_min=1.0, estimator="entropy"
)
PLANNED = plan(LINE, ())
PARAMS = params_of(PLANNED)
GRAIN = 2.0**-PARAMS.exponent
SIGMA = PARAMS.variance**0.5 * GRAIN


def readings(world: np.random.Generator, sources: int, times: float = 1.0) -> np.ndarray:
    """What sensors send of so many sources, with so many times the noise."""
    heat = np.zeros(60)
    heat[world.choice(60, sources, replace=False)] = 1
    warmth = np.clip(operator(LINE) @ heat, PARAMS.low * GRAIN, PARAMS.high * GRAIN)
    return np.asarray(warmth + times * SIGMA * world.normal(size=30))


def released(warmth: np.ndarray) -> list[Release]:
    return [Release(PLANNED, [round(float(one) / GRAIN) for one in warmth], len(warmth))]


def found(warmth: np.ndarray) -> Heatmap:
    """The map of these readings, which there has to be."""
    drawn = recover(LINE, released(warmth))
    assert isinstance(drawn, Heatmap)
    return drawn


def test_sensors_that_lie_are_named_and_the_map_is_that_of_the_others() -> None:
    """Both of them, the others alone; and the map as if they had kept silent."""
    world = np.random.default_rng(1)
    for _ in range(2):
        warmth = readings(world, 3)
        warmth[[4, 21]] += 9 * SIGMA, -12 * SIGMA
        drawn, silent = found(warmth), released(warmth)
        for sensor in (4, 21):
            silent[0].values[sensor] = None
        without = recover(LINE, silent)

        assert drawn.verdict is not None
        assert drawn.verdict.level == "sensors"
        assert sorted(sensor for sensor, _ in drawn.verdict.dropped) == [4, 21]
        assert dict(drawn.verdict.dropped)[21] < 0
        assert "4 (+" in drawn.verdict.says
        assert isinstance(without, Heatmap)
        assert drawn.mass == pytest.approx(without.mass, abs=1e-9)


def test_sensors_at_the_clamp_are_no_warmth() -> None:
    """More sources than stated: all that stand there are left out, and no error is said."""
    world = np.random.default_rng(2)
    warmth = readings(world, 13)
    drawn, silent = found(warmth), released(warmth)
    at = drawn.verdict.clamped if drawn.verdict else ()
    for sensor in at:
        silent[0].values[sensor] = None
    without = recover(LINE, silent)

    assert len(at) > 3
    assert isinstance(without, Heatmap)
    assert drawn.mass == pytest.approx(without.mass, abs=1e-9)
    assert drawn.contradicted
    assert drawn.credible is None
    assert drawn.certified is None
    assert "the most or the least" in drawn.verdict.says
    assert f"sensors {at[0]}, {at[1]}" in drawn.verdict.says


def test_more_noise_than_stated_is_told_and_counted_on() -> None:
    """Half as much again, which no single sensor shows."""
    world, level, scale = np.random.default_rng(3), [], []
    for _ in range(20):
        seen = look(LINE, released(readings(world, 3, 1.8)))
        assert seen is not None
        kept, verdict = judge(seen)
        level.append(verdict.level)
        scale.append(kept.sigma / seen.sigma)

    assert level.count("sensors") >= 18
    assert 1.3 < float(np.median(scale)) < 2.2


def test_where_all_is_as_stated_hardly_anything_is_said() -> None:
    """Nothing in 98 of 100 for the sensors, with spreads, walls and slopes that are a bit off."""
    world, alarms = np.random.default_rng(4), 0
    for trial in range(150):
        warmth = readings(world, trial % 9)
        seen = look(LINE, released(warmth))
        assert seen is not None
        alarms += not judge(seen)[1].fits
        assert find_clamped(LINE, released(warmth)) == ()

    assert alarms <= 4  # of 0.005 expected each, this and more comes once in four hundred


def test_one_source_next_to_a_sensor_is_at_no_clamp() -> None:
    """Where there can only be one, its sensor comes as near to the clamp as it can."""
    query = replace(LINE, sources_max=1, sources=1)
    planned = plan(query, ())
    params = params_of(planned)
    warmth = operator(query)[:, 30] * 2.0**params.exponent
    release = Release(planned, [round(float(one)) for one in warmth], 30)

    assert max(release.values) > params.high - 4 * params.variance**0.5
    assert find_clamped(query, [release]) == ()


def test_all_at_the_clamp_is_no_map_and_names_them() -> None:
    """There is nothing left to draw."""
    nowhere = recover(LINE, released(np.full(30, -50.0)))

    assert isinstance(nowhere, Unresolved)
    assert "sensors 0, 1, 2" in nowhere.why


def test_an_estimator_asked_by_itself_looks_as_well() -> None:
    """Readings in another unit, and noise of fifty sigma, are no estimate."""
    places = (np.arange(60)[:, None] + 1) / 60
    seen = Seen(
        operator(LINE), operator(LINE)[:, 9], SIGMA, places, (1, 60), Prior(1, 2), upper=1.0
    )
    noise = 50 * SIGMA * np.random.default_rng(5).normal(size=30)
    odd = estimate("auto", replace(seen, readings=noise))

    assert estimate("auto", seen).verdict.fits
    for wrong in (odd, estimate("auto", replace(seen, readings=1000 * seen.readings))):
        assert wrong.status.startswith("infeasible")
        assert not wrong.heat.any()
        assert wrong.verdict.level == "assumptions"


def test_no_other_doubt_takes_back_that_a_map_is_not_to_be_trusted() -> None:
    """Both are said, at the level of the graver."""
    grave, mild = Verdict("clamp", "at the clamp"), Verdict("other", "other worlds fit better")
    both = join(grave, mild)

    assert grave.contradicts
    assert not mild.contradicts
    assert both == replace(grave, why="at the clamp; other worlds fit better")
    assert join(Verdict("fits"), mild) == mild
