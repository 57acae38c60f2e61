"""The thermal mechanism from the query to the map, on the path that a release takes."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import edge.mechanisms.thermal
from edge.core.entropy import Tape
from edge.core.records import Grid, Reading, Release
from edge.mechanisms.thermal import Params
from physics.kernel import forward
from physics.places import cell_places, sensor_places
from physics.sensors import to_grains
from recovery.distance import earth_movers
from recovery.maps.heatmap import Heatmap, Unresolved
from recovery.sparse import minimise_l1
from recovery.thermal import Query, make_operator, plan, recover

LINE = Query(Grid((40, 1), 0), (25,), 0.02, (1, 1), estimator="l1")
CORRIDOR = Query(
    Grid((40, 1), 250),
    (20,),
    0.5,
    (4, 1),
    protect_distance_m=1.0,
    walls="insulated",
    readings=3,
    estimator="l1",
)
PLANE = Query(Grid((6, 4), 500), (4, 3), 0.3, (10, 1), estimator="l1")


def scene(query: Query, *cells: int) -> np.ndarray:
    """One unit of heat in each of these cells."""
    heat = np.zeros(query.grid.shape[0] * query.grid.shape[1])
    heat[list(cells)] = 1
    return heat


def readings_of(query: Query, heat: np.ndarray):
    """What every sensor privately reads in a round."""

    def readings(planned):
        exponent = Params(*planned.params).exponent
        values = to_grains(make_operator(query) @ heat, exponent, query.step)
        return [Reading(sensor, (value,)) for sensor, value in enumerate(values)]

    return readings


def told(query: Query, values: np.ndarray | list, number: int = 1) -> Release:
    """A release of these temperatures, whole grains, None where a sensor kept silent."""
    planned = plan(query, ())
    grain = 2.0 ** -Params(*planned.params).exponent
    whole = [None if value is None else round(value / grain) for value in values]
    return Release(planned._replace(number=number), whole, len(whole))


def test_a_round_holds_whole_numbers_and_the_whole_promise() -> None:
    """Floats end here: what follows must be the same on every device."""
    planned = plan(LINE, ())

    assert all(type(number) is int for number in planned.params)
    assert (planned.number, planned.mechanism, planned.grid) == (1, "thermal", LINE.grid)
    promise = planned.guarantee
    assert (promise.epsilon, promise.delta) == ((1, 1), (1, 100000))
    assert promise.rho[1] == 2 * Params(*planned.params).variance
    assert "1 cell of 1/40" in promise.neighbours
    assert "how many" in promise.unprotected
    assert "local" in promise.trust


def test_rounds_end_after_the_readings_asked_for() -> None:
    """Each later round is the same but for its number, so each costs the same."""
    rounds = [plan(CORRIDOR, [None] * number) for number in range(4)]

    assert [planned and planned.number for planned in rounds] == [1, 2, 3, None]
    assert rounds[0]._replace(number=2) == rounds[1]
    assert "window of 3 readings" in rounds[0].guarantee.unit
    assert "at most 1 m" in rounds[0].guarantee.neighbours


@pytest.mark.parametrize(
    ("query", "said"),
    [
        (
            LINE,
            "stronger than 1, all stand at points of the map's grid, heat had a spread of at "
            "least 0.02, and there are no walls",
        ),
        (CORRIDOR, "heat had a spread of at least 0.5 m2, and no heat passes the walls"),
        (replace(LINE, delta=(1, 10), calibration="paper"), "a spread of exactly 0.02,"),
    ],
)
def test_what_is_taken_for_known_of_the_world_stands_in_the_promise(
    query: Query, said: str
) -> None:
    """No device can see to it, so whoever reads the promise must."""
    assert said in plan(query, ()).guarantee.neighbours


def test_what_the_paper_really_gives_stands_in_its_promise() -> None:
    """Its label is kept, and the truth put beside it."""
    planned = plan(replace(LINE, delta=(1, 10), calibration="paper"), ())

    assert "really gives epsilon 0 at delta 1/10" in planned.guarantee.unit


def test_a_key_holder_is_promised_nothing() -> None:
    """Nobody may take the promise to hold against whoever can subtract the noise."""
    planned = plan(replace(LINE, keyholder=True), ())

    assert Params(*planned.params).keyholder == 1
    assert "against the holder of the devices' keys nothing is promised" in planned.guarantee.trust
    assert "SIM-CDP" in planned.guarantee.trust


@pytest.mark.parametrize("query", [LINE, CORRIDOR, PLANE])
def test_no_scene_within_the_assumptions_is_clamped(query: Query) -> None:
    """As many sources as allowed, as strong as allowed, wherever they stand."""
    params = Params(*plan(query, ()).params)
    warmest = query.sources_max * query.intensity_max * make_operator(query).max()

    assert max(to_grains([warmest], params.exponent, query.step)) <= params.high
    assert params.low == -params.high


def test_the_promise_names_what_it_rests_on_to_the_last_digit() -> None:
    """Rounded up, it would promise a warmer source than the noise hides; and steps may flip."""
    query = Query(Grid((6, 1), 500), (3,), 0.123456789, (1, 1), intensity_max=1.2345674)
    stepped = replace(query, step=Fraction(1, 16))
    said = [plan(one, ()).guarantee.neighbours for one in (query, stepped)]

    assert "no source is stronger than 1.2345674," in said[0]
    assert "at least 0.123456789 m2" in said[0]
    assert "whole steps of 1/16 K" in said[1]
    assert "steps" not in said[0]


def test_heat_that_spread_longer_is_not_clamped_either() -> None:
    """Sensors far from every cell warm up late: at the stated spread they feel little."""
    query = Query(Grid((6, 1), 500), (3,), 0.004, (1, 1))
    params = Params(*plan(query, ()).params)
    places = cell_places(query.grid), sensor_places(query.sensors, query.grid)
    later = [forward(*places, 0.004 * 1.003**k, "none", 3.0).max() for k in range(2000)]

    assert max(later) > 1.1 * make_operator(query).max()
    assert math.ldexp(query.sources_max * max(later), params.exponent) <= params.high


def test_the_radius_holds_the_truth_as_often_as_it_says() -> None:
    """Ninety-five times in a hundred; the printed one about half the time."""
    kept = {}
    for name in ("l1", "l1-printed"):
        query = replace(LINE, estimator=name)
        heat = scene(query, 12, 28)
        radius, inside = None, 0
        for trial in range(300):
            rng = Tape(b"radius %d" % trial)
            planned = plan(query, ())
            payloads = [
                edge.mechanisms.thermal.report(planned, reading, rng)
                for reading in readings_of(query, heat)(planned)
            ]
            if radius is None:
                radius = _radius(query)
            grain = 2.0 ** -Params(*planned.params).exponent
            sent = np.array(edge.mechanisms.thermal.release(planned, payloads, rng).values) * grain
            inside += float(np.linalg.norm(sent - make_operator(query) @ heat)) <= radius
        kept[name] = inside / 300

    assert kept["l1"] == pytest.approx(0.95, abs=0.035)
    assert 0.4 < kept["l1-printed"] < 0.65


def _radius(query: Query) -> float:
    """The radius that recovery uses, as it reports it where nothing is feasible."""
    nowhere = recover(replace(query, estimator=query.estimator), [told(query, [-50.0] * 25)])
    if isinstance(nowhere, Unresolved):
        return nowhere.radius
    params = Params(*plan(query, ()).params)
    return math.sqrt(25 * params.variance) * 2.0**-params.exponent


def test_silent_sensors_are_left_out() -> None:
    """Lost frames cost sharpness, not the map; a lost sensor costs its row."""
    query = replace(LINE, epsilon=(1000, 1), readings=2)
    warmth = list(make_operator(query) @ scene(query, 20))
    gaps = [None if sensor % 5 == 0 else value for sensor, value in enumerate(warmth)]
    lost = [None if sensor % 5 < 2 else value for sensor, value in enumerate(warmth)]
    found = recover(query, [told(query, gaps), told(query, lost, number=2)])

    assert isinstance(found, Heatmap)
    assert earth_movers(found.mass, scene(query, 20)[None], normalise=True) < 0.02


def test_a_sensor_heard_once_weighs_less_than_one_heard_nine_times() -> None:
    """The map is that of readings in units of each sensor's own noise."""
    query = replace(LINE, epsilon=(40, 1), readings=9)
    warmth = make_operator(query) @ scene(query, 12, 30)
    warmth[12:] += np.tile([0.4, -0.3, 0.2, -0.4], 4)[:13]
    rarely = [*warmth[:12], *[None] * 13]
    found = recover(query, [told(query, list(warmth)), *[told(query, rarely)] * 8])

    times = np.where(np.arange(25) < 12, 9, 1)
    params = Params(*plan(query, ()).params)
    grain = 2.0**-params.exponent
    unit = np.sqrt(params.variance * grain**2 / times + grain**2 / 12)
    quantile = math.sqrt(37.65248)  # of chi-square with 25 degrees of freedom, 95 in a hundred
    by_hand = minimise_l1(make_operator(query) / unit[:, None], warmth / unit, quantile)

    assert found.mass[0] == pytest.approx(by_hand.heat / by_hand.objective, abs=5e-3)
    assert found.total == pytest.approx(by_hand.objective, rel=1e-3)


def test_nobody_heard_is_no_map() -> None:
    """A result that says what to look at, not an exception."""
    found = recover(LINE, [told(LINE, [None] * 25)])

    assert isinstance(found, Unresolved)
    assert "no sensor was heard" in found.why


def test_readings_that_no_heat_explains_are_unresolved() -> None:
    """With the least residual, the radius, and what would help."""
    wild = [(-1) ** sensor * 30.0 for sensor in range(25)]
    found = recover(LINE, [told(LINE, wild)])

    assert isinstance(found, Unresolved)
    assert found.least_residual > found.radius > 0
    assert "Take another reading" in found.why


def test_the_printed_estimator_takes_the_nearest_heat_and_says_so() -> None:
    """The rule that reproduces the paper's figures where its radius leaves nothing."""
    wild = [(-1) ** sensor * 30.0 + 10 for sensor in range(25)]
    found = recover(replace(LINE, estimator="l1-printed"), [told(LINE, wild)])

    assert isinstance(found, Heatmap)
    assert found.status.startswith("infeasible: no heat lies within")


@pytest.mark.parametrize(
    ("releases", "why"),
    [
        ([], "come of 0 different plans"),
        ([told(LINE, [0.0] * 24)], "with 25"),
        ([told(replace(LINE, epsilon=(2, 1)), [0.0] * 25), told(LINE, [0.0] * 25)], "2 different"),
        ([told(CORRIDOR, [0.0] * 25)], "of another room"),
        ([Release(plan(LINE, ()), [0.5] * 25, 25)], r"released 0.5 .*kelvin times 2\*\*"),
        ([Release(plan(LINE, ()), [math.nan] * 25, 25)], "released nan"),
        ([Release(plan(LINE, ()), ["1"] * 25, 25)], "released '1'"),
    ],
)
def test_releases_of_something_else_are_refused(releases: list, why: str) -> None:
    """Mixed rounds would give a map that no promise covers."""
    with pytest.raises(ValueError, match=why):
        recover(LINE, releases)


def test_noise_too_wide_for_a_report_is_refused_with_the_way_out() -> None:
    """Cut numbers would be neither private nor useful."""
    with pytest.raises(ValueError, match="Ask for a larger epsilon"):
        plan(replace(LINE, epsilon=(1, 10**8), delta=(1, 10**9)), ())
