"""Readings less the empty room: an unknown level, and rounds in which nobody is there."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from edge.core.entropy import Tape
from edge.core.records import Grid, Reading, Release, Round
from edge.mechanisms import thermal as device
from edge.mechanisms.thermal import params_of
from physics.kernel import forward
from physics.places import cell_places, sensor_places
from physics.sensors import to_grains
from recovery import thermal
from recovery.estimators.record import Seen
from recovery.maps.heatmap import Heatmap, Unresolved
from recovery.thermal import Query, make_operator, plan
from recovery.thermal.seen import Levels, add_up, compute_deviation, learn_empty_levels, make_seen
from recovery.thermal.vacancy import (
    F_K,
    Empty,
    find_chance_of_nobody,
    judge,
    learn_causes,
    make_prior_belief,
)

# The room's own warmth, found after the veil: against the truth, in releases of real plans.

Floats = NDArray[np.float64]

SENSORS, OWN_K = 12, 0.02
ROOM = Query(
    Grid((40, 1), 100),
    (SENSORS,),
    0.05,
    (400, 1),
    readings=40,
    step=Fraction(1, 128),
    sensor_noise=OWN_K,
    background="gateway",
    background_k=4.0,
    empty_readings=20,
    sources=1,
    intensity_min=1.0,
)
PLAN = thermal.plan(ROOM, ())
SIGMA_K = PLAN.params[4] ** 0.5 * 2.0 ** -PLAN.params[1]
LEVELS_K = np.linspace(-1.5, 2.5, SENSORS)  # a cold window at one end, a heater at the other


def released(rooms_k: Floats, seed: str, plan: Round = PLAN) -> list[Release]:
    """Return a release for each row of what sensors feel, (readings, sensors), in kelvin."""
    tape, world, found = Tape(seed.encode()), np.random.default_rng(len(seed)), []
    for nth, room_k in enumerate(rooms_k):
        felt = room_k + world.normal(0, OWN_K, room_k.shape)
        values = to_grains(felt, plan.params[1], ROOM.step)
        asked = plan._replace(number=nth + 7)
        payload = device.report(asked, Reading(0, values), tape)
        found.append(device.release(asked, [payload], tape))
    return found


def misses(estimates: list[tuple[Floats, Floats]], truth: Floats) -> Floats:
    """Return by how many of its standard errors each level is off."""
    return np.concatenate([(level - truth) / error for level, error in estimates])


def test_levels_of_empty_hours_are_as_near_as_they_say() -> None:
    """120 levels: their misses have deviation one, but for three and a half of its own."""
    found = []
    for nth in range(10):
        made = learn_empty_levels(released(np.tile(LEVELS_K, (20, 1)), f"empty {nth}"), OWN_K)
        found.append((made.level_k, made.error_k))
    off = misses(found, LEVELS_K)

    assert found[0][1] == pytest.approx(np.hypot(SIGMA_K, OWN_K) / 20**0.5, rel=0.01)
    assert abs(off.mean()) < 3.5 / 120**0.5
    assert abs((off**2).mean() - 1) < 3.5 * (2 / 120) ** 0.5
    # What a coarse converter rounds off does not average away.
    coarse = []
    for one in released(np.tile(LEVELS_K, (20, 1)), "empty 0"):
        params = (*one.round.params[:5], 1 << 14, *one.round.params[6:])
        coarse.append(one._replace(round=one.round._replace(params=params)))
    rounded_k = 2.0 ** (14 - coarse[0].round.params[1]) / 12**0.5
    expected = np.hypot(found[0][1], rounded_k)
    assert learn_empty_levels(coarse, OWN_K).error_k == pytest.approx(expected, rel=1e-4)
    # The control: an error that leaves the veil's noise out is refused by the same measure.
    assert ((off * found[0][1][0] / (OWN_K / 20**0.5)) ** 2).mean() > 3


def test_the_map_finds_who_stands_before_a_wall_that_is_not_even() -> None:
    """With levels of the empty room it is as if the wall were even; without them it is lost."""
    operator = forward(
        np.asarray(cell_places(ROOM.grid)),
        np.asarray(sensor_places(ROOM.sensors, ROOM.grid)),
        ROOM.spread_m2,
        "none",
    )
    person = operator[:, 11]
    rooms = np.vstack([np.tile(LEVELS_K, (20, 1)), np.tile(LEVELS_K + person, (20, 1))])
    releases = released(rooms, "map")
    found = thermal.recover(ROOM, releases, certify=False)
    given = thermal.recover(
        replace(ROOM, empty_readings=1),
        releases[20:],
        False,
        learn_empty_levels(releases[:20], OWN_K),
    )
    unaware = thermal.recover(
        replace(ROOM, background="recorded", empty_readings=0), releases[20:], certify=False
    )

    assert isinstance(found, Heatmap)
    assert isinstance(given, Heatmap)
    assert int(np.argmax(found.mass)) == 11
    np.testing.assert_allclose(found.mass, given.mass)
    assert not isinstance(unaware, Heatmap) or int(np.argmax(unaware.mass)) != 11


def test_a_silent_first_reading_does_not_make_a_later_one_empty() -> None:
    """It counts among those that are known to be of nobody; without it somebody is the room."""
    rooms = np.vstack([np.tile(LEVELS_K, (20, 1)), np.tile(LEVELS_K + 3.0, (20, 1))])
    releases = released(rooms, "first")
    deaf = [one._replace(values=[None] * SENSORS, reports=0) for one in releases]
    found = make_seen(ROOM, add_up(ROOM, [*deaf[:1], *releases[1:]]))
    wrong = make_seen(ROOM, add_up(ROOM, releases[1:]))

    assert abs(found.readings.mean() - 3.0) < 3.5 * found.sigma / SENSORS**0.5
    assert abs(wrong.readings.mean() - 3.0) > 10 * found.sigma / SENSORS**0.5
    unknown = thermal.recover(ROOM, [*deaf[:20], *releases[20:]])
    assert isinstance(unknown, Unresolved)
    assert "both in the empty room and after it" in unknown.why


# Nobody as an answer, and what readings of nobody teach: by integrals and by regression.

STANDING = 8
QUERY = Query(
    Grid((12, 1), 0),
    (STANDING,),
    0.05,
    (100_000, 1),
    sources_max=2,
    intensity_max=2.0,
    readings=8,
    background_k=8.0,
    estimator="lasso",
)
PLANNED = plan(QUERY, [])
assert PLANNED is not None
EXPONENT = params_of(PLANNED).exponent
NOISE_K = compute_deviation(QUERY, params_of(PLANNED), 1)
E_K = np.linspace(1.0, 3.0, STANDING)
G_K = np.stack([np.linspace(0.2, 1.0, STANDING), np.linspace(0.5, -0.3, STANDING)], axis=1)
SOMEBODY = 1.5 * make_operator(QUERY)[:, 4]


def release(warmth_k: np.ndarray) -> Release:
    """Return what the sensors sent of it, with no noise."""
    grains = np.rint(np.ldexp(warmth_k, EXPONENT))
    return Release(PLANNED, [int(grain) for grain in grains], STANDING)


def empty_room(causes_k: np.ndarray = G_K, known: bool = False) -> Empty:
    return Empty(E_K, causes_k, np.zeros(STANDING), known)


def test_what_the_causes_can_explain_is_nobody_and_what_they_cannot_is_somebody() -> None:
    """A cause moves all sensors together; taken for noise of each, it would be somebody."""
    wrong = E_K + G_K @ np.array([1.2, -0.7])
    found, _ = judge(QUERY, release(wrong), empty_room(), make_prior_belief(2))
    there, _ = judge(QUERY, release(wrong + SOMEBODY), empty_room(), make_prior_belief(2))
    alone, _ = judge(
        QUERY, release(wrong), empty_room(np.zeros((STANDING, 2))), make_prior_belief(2)
    )

    assert isinstance(found, Heatmap)
    assert found.nobody is not None
    assert found.nobody > 0.9
    assert (found.total, found.status[:6]) == (0.0, "nobody")
    assert isinstance(there, Heatmap)
    assert there.nobody is not None
    assert there.nobody < 0.01
    assert there.total == pytest.approx(1.5, rel=0.1)
    assert isinstance(alone, Unresolved) or (alone.nobody or 0.0) < 0.01


def test_the_chance_of_nobody_is_that_of_an_integral_over_cells_and_powers() -> None:
    """By the trapezoid rule, on readings that favour either; and finite where they are absurd."""
    rng = np.random.default_rng(3)
    columns = rng.uniform(0, 1, (5, 7))
    for readings in (0.3 * rng.normal(size=5), 0.8 * columns[:, 2], -2 * columns[:, 1]):
        looked = Seen(columns, readings, 0.3, np.arange(7.0)[:, None], (1, 7))
        powers = np.linspace(0, 4.0, 40_001)
        off = readings[:, None, None] - columns[:, :, None] * powers
        ratio = np.exp(-(np.square(off).sum(0) - np.square(readings).sum()) / (2 * 0.3**2))
        odds = np.trapezoid(ratio, powers, axis=1).mean() / 4.0

        assert find_chance_of_nobody(looked, 4.0) == pytest.approx(1 / (1 + odds), rel=1e-6)
    far = Seen(columns, 1e6 * columns[:, 0], 0.3, np.arange(7.0)[:, None], (1, 7))
    assert find_chance_of_nobody(far, 4.0) == 0
    assert find_chance_of_nobody(replace(far, readings=-far.readings), 4.0) == pytest.approx(1)


def test_errors_that_sensors_share_are_taken_apart_to_noise_of_each_alone() -> None:
    """The whitened distance is that by the whole covariance."""
    levels = Levels(E_K, np.full(STANDING, 0.1), 0, G_K)
    looked = make_seen(QUERY, add_up(QUERY, [release(E_K + SOMEBODY)], levels))
    assert looked is not None
    whole = np.diag(np.full(STANDING, NOISE_K**2 + 0.01)) + G_K @ G_K.T
    heat = np.zeros(12)
    heat[[2, 4]] = 0.5, 1.0
    off = SOMEBODY - make_operator(QUERY) @ heat
    white = (looked.readings - looked.operator @ heat) / looked.sigma

    assert white @ white == pytest.approx(off @ np.linalg.solve(whole, off), rel=1e-3)


def test_readings_of_nobody_teach_what_regression_over_all_of_them_finds() -> None:
    """One after the other, in either order, a silent sensor left out."""
    effects = [G_K, G_K[::-1]]
    releases = [release(E_K + effect @ np.array([0.8, -0.4])) for effect in effects]
    releases[1].values[3] = None
    belief = back = make_prior_belief(2)
    for step in (0, 1):
        belief = learn_causes(belief, QUERY, releases[step], empty_room(effects[step]))
        back = learn_causes(back, QUERY, releases[1 - step], empty_room(effects[1 - step]))
    heard = np.arange(STANDING) != 3
    design = np.concatenate([effects[0], effects[1][heard]])
    sent = [np.array(one.values, dtype=float) * 2.0**-EXPONENT - E_K for one in releases]
    noise = NOISE_K**2 + F_K**2
    precision = design.T @ design / noise + np.eye(2)
    mean = np.linalg.solve(precision, design.T @ np.concatenate([sent[0], sent[1][heard]]) / noise)

    assert belief.mean == pytest.approx(mean, rel=1e-6)
    assert belief.covariance == pytest.approx(np.linalg.inv(precision), rel=1e-6)
    assert back.mean == pytest.approx(mean, rel=1e-6)


def test_only_readings_of_nobody_teach() -> None:
    """Somebody's warmth would be taken for the weather, and be missing from then on."""
    before = make_prior_belief(2)
    for warmth, known, teaches in (
        (E_K + SOMEBODY, False, False),
        (E_K, False, True),
        (E_K + SOMEBODY, True, True),
        (E_K + 40 * G_K[:, 0], False, False),  # neither nobody nor anybody is so warm
    ):
        _, after = judge(QUERY, release(warmth), empty_room(known=known), before)
        assert (after is not before) == teaches
