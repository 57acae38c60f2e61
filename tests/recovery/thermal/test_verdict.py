"""What a map says of itself: its verdict, its band, and several rounds taken together."""

import re
from dataclasses import replace

import numpy as np
import pytest

from edge.core.records import Grid, Release
from edge.mechanisms.thermal import Params, params_of
from physics.kernel import forward
from physics.places import cell_places, sensor_places
from recovery.distance import earth_movers
from recovery.estimators.record import Prior, Seen
from recovery.estimators.table import estimate
from recovery.estimators.verdict import join_verdicts, judge
from recovery.maps.heatmap import Heatmap, Unresolved, Verdict
from recovery.thermal import Query, certify_shares, make_operator, plan, recover
from recovery.thermal.seen import (
    _estimate_clamp_chance,
    add_up,
    drop_weights,
    find_clamped,
    make_seen,
)

# A map says which sensors lie, which stand at their clamp, and when there is too much noise.

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
    warmth = np.clip(make_operator(LINE) @ heat, PARAMS.low * GRAIN, PARAMS.high * GRAIN)
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

        assert drawn.verdict.level == "sensors"
        assert sorted(sensor for sensor, _ in drawn.verdict.dropped) == [4, 21]
        assert dict(drawn.verdict.dropped)[21] < 0
        assert "4 (+" in drawn.verdict.sentence
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
    assert "the most or the least" in drawn.verdict.sentence
    assert f"sensors {at[0]}, {at[1]}" in drawn.verdict.sentence


def test_a_round_more_finds_what_the_last_one_kept_of_the_room() -> None:
    """Its noise is another, the room is not: worlds and directions are not worked out again."""
    release = released(readings(np.random.default_rng(5), 3))[0]
    seen = [make_seen(LINE, add_up(LINE, [release] * rounds)) for rounds in range(1, 13)]

    assert len({one.sigma for one in seen}) == 12
    assert len({one.make_room() for one in seen}) == 1


def test_more_noise_than_stated_is_told_and_counted_on() -> None:
    """Half as much again, which no single sensor shows."""
    world, level, scale = np.random.default_rng(3), [], []
    for _ in range(20):
        seen = make_seen(LINE, add_up(LINE, released(readings(world, 3, 1.8))))
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
        seen = make_seen(LINE, add_up(LINE, released(warmth)))
        assert seen is not None
        alarms += not judge(seen)[1].fits
        assert find_clamped(LINE, add_up(LINE, released(warmth))) == ()

    assert alarms <= 4  # of 0.005 expected each, this and more comes once in four hundred


def test_the_chance_of_the_clamp_is_how_often_drawn_noise_and_sources_come_there() -> None:
    """At edges that noise alone often reaches, and at those that take a source as well."""
    world, felt, noise = np.random.default_rng(9), make_operator(LINE), np.linspace(0.8, 2.0, 30)
    heats = np.zeros((20_000, 60))
    for heat in heats:
        sources = world.integers(LINE.sources_max + 1)
        np.add.at(heat, world.integers(60, size=sources), 1.0)
    shown = heats @ felt.T + noise * world.normal(size=(20_000, 30))
    for edge in (3.5 * noise, 2 * felt.max() + noise):
        often = np.mean((shown > edge).any(axis=1))

        assert 0.1 < often < 0.9
        assert _estimate_clamp_chance(LINE, edge, felt, noise) == pytest.approx(often, abs=0.02)


def test_one_source_next_to_a_sensor_is_at_no_clamp() -> None:
    """Where there can only be one, its sensor comes as near to the clamp as it can."""
    query = replace(LINE, sources_max=1, sources=1)
    planned = plan(query, ())
    params = params_of(planned)
    warmth = make_operator(query)[:, 30] * 2.0**params.exponent
    release = Release(planned, [round(float(one)) for one in warmth], 30)

    assert max(release.values) > params.high - 4 * params.variance**0.5
    assert find_clamped(query, add_up(query, [release])) == ()


def test_all_at_the_clamp_is_no_map_and_names_them() -> None:
    """There is nothing left to draw."""
    nowhere = recover(LINE, released(np.full(30, -50.0)))

    assert isinstance(nowhere, Unresolved)
    assert "sensors 0, 1, 2" in nowhere.why


def test_an_estimator_asked_by_itself_looks_as_well() -> None:
    """Readings in another unit, and noise of fifty sigma, are no estimate."""
    places = (np.arange(60)[:, None] + 1) / 60
    seen = Seen(
        make_operator(LINE),
        make_operator(LINE)[:, 9],
        SIGMA,
        places,
        (1, 60),
        Prior(1, 2),
        upper=1.0,
    )
    noise = 50 * SIGMA * np.random.default_rng(5).normal(size=30)
    odd = estimate("auto", replace(seen, readings=noise))

    assert estimate("auto", seen).verdict.fits
    for wrong in (odd, estimate("auto", replace(seen, readings=1000 * seen.readings))):
        assert wrong.status.startswith("infeasible")
        assert not wrong.heat.any()
        assert wrong.verdict.level == "assumptions"


def test_of_four_sensors_no_one_can_be_called_the_liar() -> None:
    """Where so few are left they contradict each other; with one more it is named."""
    four, five = (
        judge(Seen(np.ones((count, 2)), np.eye(count)[1] * 50, 1.0, np.eye(2), (1, 2)))[1]
        for count in (4, 5)
    )

    assert (four.level, four.dropped) == ("assumptions", ())
    assert "too few" in four.why
    assert "more than 0" not in four.why
    assert [sensor for sensor, _ in five.dropped] == [1]


def test_no_other_doubt_takes_back_that_a_map_is_not_to_be_trusted() -> None:
    """Both are said, at the level of the graver."""
    grave, mild = Verdict("clamp", "at the clamp"), Verdict("other", "other worlds fit better")
    both = join_verdicts(grave, mild)

    assert grave.contradicts
    assert not mild.contradicts
    assert both == replace(grave, why="at the clamp; other worlds fit better")
    assert join_verdicts(Verdict("fits"), mild) == mild


# What the certificate of a map is good for: which heats, which rooms, which estimators.

LONG = Query(Grid((40, 1), 0), (25,), 0.05, (1, 1), sources_max=3, intensity_max=2.0)
PLACES = (np.arange(40) + 0.5) / 40
OPERATOR = forward(PLACES, (np.arange(25) + 0.5) / 25, 0.05)


def seen(heat: np.ndarray, world: np.random.Generator, free: np.ndarray | None = None) -> Seen:
    """Return what is seen of the heat along a line, at much noise."""
    readings = OPERATOR @ heat + 0.3 * world.normal(size=25)
    return Seen(
        OPERATOR, readings, 0.3, PLACES[:, None], (1, 40), upper=LONG.intensity_max, open=free
    )


def held(powers: tuple[float, ...], runs: int, noise: float = 1.0) -> float:
    """Return how often the band holds sources of these powers, the noise stated too small."""
    world, times = np.random.default_rng(5), 0
    for _ in range(runs):
        heat = np.zeros(40)
        heat[world.choice(40, len(powers), replace=False)] = powers
        given = seen(heat, world)
        band, _ = certify_shares(LONG, replace(given, sigma=given.sigma / noise))
        if band is not None:
            share = heat.cumsum() / heat.sum()
            times += bool((band.low <= share + 1e-9).all() and (share <= band.high + 1e-9).all())
    return times / runs


@pytest.mark.long
@pytest.mark.parametrize("powers", [(0.6,), (2.0, 2.0, 2.0), (0.6, 2.0)])
def test_it_holds_whatever_number_and_powers_the_query_allows(powers: tuple[float, ...]) -> None:
    """At both ends of the range of totals and between: nine in ten at least."""
    assert held(powers, 60) >= 0.9


def test_no_heat_is_thought_of_in_furniture() -> None:
    """Over closed cells no share rises, and what is left is known better."""
    free = np.ones(40, dtype=bool)
    free[10:30] = False
    heat = np.zeros(40)
    heat[5] = 2.0
    given = seen(heat, np.random.default_rng(1), free)
    (band, _), (wider, _) = (
        certify_shares(LONG, given),
        certify_shares(LONG, replace(given, open=None)),
    )

    assert np.ptp(band.low[9:30]) == np.ptp(band.high[9:30]) == 0
    assert (band.high - band.low).sum() < 0.9 * (wider.high - wider.low).sum()


def test_rooms_of_which_nothing_is_proved_have_no_band() -> None:
    """Planes, long lines, a deviation that is too small, readings that nothing explains."""
    given = seen(np.eye(40)[3], np.random.default_rng(2))
    long = replace(given, shape=(1, 1001), operator=np.ones((25, 1001)))

    assert certify_shares(LONG, given)[0] is not None
    assert certify_shares(LONG, replace(given, shape=(8, 5)))[0] is None
    assert certify_shares(LONG, long) == (None, None)
    assert certify_shares(replace(LONG, estimator="l1-printed"), given) == (None, None)
    assert certify_shares(LONG, replace(given, readings=given.readings - 50))[0] is None


def levels(powers: tuple[float, ...], query: Query = LONG, runs: int = 40) -> list[str]:
    """Return the verdicts on sources of these powers, in a line and as if it were a plane."""
    world, found = np.random.default_rng(7), []
    for run in range(runs):
        heat = np.zeros(40)
        heat[world.choice(40, len(powers), replace=False)] = powers
        given = replace(seen(heat, world), shape=(8, 5) if run % 2 else (1, 40))
        verdict = certify_shares(query, given)[1]
        assert bool(verdict.why) != verdict.fits
        found.append(verdict.level)
    return found


@pytest.mark.long
@pytest.mark.parametrize("powers", [(), (0.2,), (0.6,), (2.0, 2.0, 2.0)])
def test_what_the_query_allows_is_not_called_a_contradiction(powers: tuple[float, ...]) -> None:
    """In at most one of a hundred readings, by proof; an empty room is no contradiction."""
    assert set(levels(powers)) == {"fits"}


def test_what_it_does_not_allow_is_called_one() -> None:
    """More sources than it says; and nobody, where it knows of two."""
    assert set(levels((2.0,) * 7)) == {"assumptions"}
    assert set(levels((), replace(LONG, sources=2, intensity_min=2.0))) == {"assumptions"}


# Maps where spread or drift are not known: the whole way from releases.

# Sources are two and equal, so that all scenes can be weighed.
STATED = Query(Grid((60, 1), 0), (40,), 0.02, (10, 1), (1, 10), sources=2, intensity_min=1.0)


def released_of(query: Query, spread: float, cells: list[int], off: float, seed: int) -> Release:
    """What sensors sent of a room whose heat spread so far, all sensors off by so much."""
    planned = plan(query, [])
    params = Params(*planned.params)
    operator = forward(cell_places(query.grid), sensor_places(query.sensors, query.grid), spread)
    world = np.random.default_rng(seed)
    warmth = (operator[:, cells].sum(axis=1) + off) * 2.0**params.exponent
    values = np.rint(warmth + world.normal(0, params.variance**0.5, len(warmth))).astype(int)
    return Release(planned, values.tolist(), len(values))


def distance(query: Query, release: Release, cells: list[int]) -> float:
    """How far the map is from the truth."""
    found = recover(query, [release])
    assert isinstance(found, Heatmap)
    truth = np.zeros((1, 60))
    truth[0, cells] = 1
    return earth_movers(truth, found.mass, normalise=True)


@pytest.mark.long
def test_a_spread_that_is_only_known_within_a_range_is_found() -> None:
    """Heat that spread twice as far: who believes the stated spread is further off."""
    ranged = replace(STATED, spread_max_m2=0.08)
    world, stated, joint = np.random.default_rng(1), [], []
    for trial in range(12):
        cells = sorted(int(cell) for cell in world.choice(60, 2, replace=False))
        release = released_of(STATED, 0.04, cells, 0.0, trial)
        stated.append(distance(STATED, release, cells))
        joint.append(distance(ranged, release, cells))

    assert np.mean(joint) < 0.5 * np.mean(stated)


def test_sensors_that_are_all_off_by_as_much_are_seen_through() -> None:
    """A baseline of an hour ago; the control believes it, and sees warmth that is not there."""
    drifting = replace(STATED, drift=1.0)
    release = released_of(STATED, 0.02, [5, 50], 1.5, 3)

    assert distance(drifting, release, [5, 50]) < 0.02
    (off,) = re.findall(r"sensors \+(\S+) off", recover(drifting, [release]).why)
    assert float(off) == pytest.approx(1.5, abs=0.1)
    blind = recover(STATED, [release])
    assert not isinstance(blind, Heatmap) or distance(STATED, release, [5, 50]) > 0.05


@pytest.mark.parametrize("silent", [[], [3, 4, 5]])
def test_sensors_that_are_silent_are_left_out(silent: list[int]) -> None:
    """Their places leave the operator with them."""
    release = released_of(STATED, 0.03, [20, 45], 0.0, 7)
    values = [None if sensor in silent else value for sensor, value in enumerate(release.values)]

    assert (
        distance(replace(STATED, spread_max_m2=0.06), release._replace(values=values), [20, 45])
        < 0.03
    )


def test_noise_that_was_raised_stays_raised_without_weights() -> None:
    """What judged the readings may have found more noise; the readings are what they were."""
    release = released_of(STATED, 0.03, [20, 45], 0.0, 7)
    drifting = replace(STATED, drift=1.0)
    found = make_seen(drifting, add_up(drifting, [release]))
    plain, _ = drop_weights(drifting, add_up(drifting, [release]), found)
    raised, _ = drop_weights(
        drifting, add_up(drifting, [release]), replace(found, sigma=2 * found.sigma)
    )

    assert raised.sigma == pytest.approx(2 * plain.sigma)
    assert raised.readings == pytest.approx(plain.readings)
