"""Nobody as an answer, and what readings of nobody teach: by integrals and by regression."""

from dataclasses import replace

import numpy as np
import pytest

from edge.core.records import Grid, Release
from edge.mechanisms.thermal import params_of
from recovery.estimators.record import Seen
from recovery.maps.heatmap import Heatmap, Unresolved
from recovery.thermal import Query, operator, plan
from recovery.thermal.seen import Levels, deviation, make_seen
from recovery.thermal.vacancy import F_K, Empty, judge, learnt, nobody, unlearnt

SENSORS = 8
QUERY = Query(
    Grid((12, 1), 0),
    (SENSORS,),
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
NOISE_K = deviation(QUERY, params_of(PLANNED), 1)
E_K = np.linspace(1.0, 3.0, SENSORS)
G_K = np.stack([np.linspace(0.2, 1.0, SENSORS), np.linspace(0.5, -0.3, SENSORS)], axis=1)
SOMEBODY = 1.5 * operator(QUERY)[:, 4]


def release(warmth_k: np.ndarray) -> Release:
    """Return what the sensors sent of it, with no noise."""
    grains = np.rint(np.ldexp(warmth_k, EXPONENT))
    return Release(PLANNED, [int(grain) for grain in grains], SENSORS)


def empty(causes_k: np.ndarray = G_K, known: bool = False) -> Empty:
    return Empty(E_K, causes_k, np.zeros(SENSORS), known)


def test_what_the_causes_can_explain_is_nobody_and_what_they_cannot_is_somebody() -> None:
    """A cause moves all sensors together; taken for noise of each, it would be somebody."""
    wrong = E_K + G_K @ np.array([1.2, -0.7])
    found, _ = judge(QUERY, release(wrong), empty(), unlearnt(2))
    there, _ = judge(QUERY, release(wrong + SOMEBODY), empty(), unlearnt(2))
    alone, _ = judge(QUERY, release(wrong), empty(np.zeros((SENSORS, 2))), unlearnt(2))

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

        assert nobody(looked, 4.0) == pytest.approx(1 / (1 + odds), rel=1e-6)
    far = Seen(columns, 1e6 * columns[:, 0], 0.3, np.arange(7.0)[:, None], (1, 7))
    assert nobody(far, 4.0) == 0
    assert nobody(replace(far, readings=-far.readings), 4.0) == pytest.approx(1)


def test_errors_that_sensors_share_are_taken_apart_to_noise_of_each_alone() -> None:
    """The whitened distance is that by the whole covariance."""
    levels = Levels(E_K, np.full(SENSORS, 0.1), 0, G_K)
    looked = make_seen(QUERY, [release(E_K + SOMEBODY)], levels)
    assert looked is not None
    whole = np.diag(np.full(SENSORS, NOISE_K**2 + 0.01)) + G_K @ G_K.T
    heat = np.zeros(12)
    heat[[2, 4]] = 0.5, 1.0
    off = SOMEBODY - operator(QUERY) @ heat
    white = (looked.readings - looked.operator @ heat) / looked.sigma

    assert white @ white == pytest.approx(off @ np.linalg.solve(whole, off), rel=1e-3)


def test_readings_of_nobody_teach_what_regression_over_all_of_them_finds() -> None:
    """One after the other, in either order, a silent sensor left out."""
    effects = [G_K, G_K[::-1]]
    releases = [release(E_K + effect @ np.array([0.8, -0.4])) for effect in effects]
    releases[1].values[3] = None
    belief = back = unlearnt(2)
    for step in (0, 1):
        belief = learnt(belief, QUERY, releases[step], empty(effects[step]))
        back = learnt(back, QUERY, releases[1 - step], empty(effects[1 - step]))
    heard = np.arange(SENSORS) != 3
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
    before = unlearnt(2)
    for warmth, known, teaches in (
        (E_K + SOMEBODY, False, False),
        (E_K, False, True),
        (E_K + SOMEBODY, True, True),
        (E_K + 40 * G_K[:, 0], False, False),  # neither nobody nor anybody is so warm
    ):
        _, after = judge(QUERY, release(warmth), empty(known=known), before)
        assert (after is not before) == teaches
