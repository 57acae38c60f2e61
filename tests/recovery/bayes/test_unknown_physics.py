"""Sources found without knowing how far heat has spread, or how sensors drift."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal, norm, truncnorm

from physics.kernel import forward
from recovery.bayes import unknown_physics
from recovery.bayes.unknown_physics import Joint, Physics, estimate_jointly, explore
from recovery.estimators.record import Floats, Prior, Seen

CELLS, SENSORS = np.arange(1, 101) / 100, np.arange(1, 51) / 50
SHORT, STATED, LONG = 0.025, 0.05, 0.1


def distance(heat: Floats, truth: Floats) -> float:
    """Earth mover's, along the unit interval, of shares of heat."""
    apart = np.cumsum(heat / heat.sum() - truth / truth.sum())
    return float(np.abs(apart)[:-1].sum() / len(truth))


def scene(sources: int, world: np.random.Generator) -> Floats:
    truth = np.zeros(100)
    truth[world.choice(100, sources, replace=False)] = 1
    return truth


def seen_of(operator: Floats, readings: Floats, sigma: float, prior: Prior) -> Seen:
    places = np.arange(1, operator.shape[1] + 1)[:, None] / operator.shape[1]
    return Seen(operator, readings, sigma, places, (1, operator.shape[1]), prior)


def brute(
    seen: Seen, physics: Physics, spreads: Floats
) -> tuple[Floats, Floats, Floats, float, Floats]:
    """Every set of cells at every spread of a fine grid, with the noise's whole covariance.

    Returns the chance of each spread, presence, the median share, the evidence over
    that of no source, and what is expected of the drift.
    """
    sensors, cells = seen.operator.shape
    first = physics.sensors_m.reshape(sensors, -1)[:, 0]
    across = (first - first.mean()) / np.ptp(first)
    basis = np.column_stack([np.full(sensors, physics.offset), physics.slope * across])
    law = multivariate_normal(np.zeros(sensors), seen.sigma**2 * np.eye(sensors) + basis @ basis.T)
    sets = [
        (number, chosen)
        for number in range(seen.prior.fewest, seen.prior.most + 1)
        for chosen in itertools.combinations(range(cells), number)
    ]
    logs, heats = np.empty((len(spreads), len(sets))), np.zeros((len(sets), cells))
    for row, (number, chosen) in enumerate(sets):
        heats[row, list(chosen)] = seen.prior.warmest
        logs[:, row] = -math.log(math.comb(cells, number))
    logs -= math.log(seen.prior.most + 1 - seen.prior.fewest) + law.logpdf(seen.readings)
    made = [physics.make_operator(seen.places, spread) for spread in spreads]
    for line, operator in enumerate(made):
        logs[line] += law.logpdf(seen.readings - heats @ operator.T)
    total = float(logsumexp(logs))
    chances = np.exp(logs - total)
    warmed = np.zeros(sensors)
    for row, operator in zip(chances, made, strict=True):
        warmed += operator @ (row @ heats)
    terms = basis.T @ np.linalg.solve(law.cov, seen.readings - warmed)
    shares = np.cumsum(heats, axis=1) / heats.sum(axis=1)[:, None]
    order = np.argsort(shares, axis=0)
    upto = np.cumsum(chances.sum(axis=0)[order], axis=0)
    at = np.argmax(upto >= 0.5, axis=0)
    middle = shares[order[at, np.arange(cells)], np.arange(cells)]
    present = chances.sum(axis=0) @ (heats > 0)
    drifted = terms * [physics.offset, physics.slope]
    return chances.sum(axis=1), present, middle, total - math.log(len(spreads)), drifted


@pytest.mark.parametrize(
    ("walls", "drifts", "sigma"),
    [("none", 0.0, 0.5), ("insulated", 0.4, 0.1), ("none", 2.0, 0.02)],
)
def test_the_spread_is_weighed_as_every_set_at_every_spread_weighs_it(
    walls: str, drifts: float, sigma: float
) -> None:
    """By brute force over sets and four hundred spreads, drift as part of the covariance."""
    world = np.random.default_rng(11)
    cells, sensors = np.arange(1, 13) / 12, np.arange(1, 8) / 7
    physics = Physics(sensors, (0.01, 0.08), walls, offset=drifts, slope=drifts / 2)  # type: ignore[arg-type]
    truth = physics.make_operator(cells[:, None], 0.03)
    readings = truth[:, [2, 8]].sum(axis=1) + sigma * world.standard_normal(7) + drifts
    seen = seen_of(truth, readings, sigma, Prior(1, 3))
    ladder = np.exp(np.linspace(math.log(0.01), math.log(0.08), 801)[1::2])
    chances, present, middle, evidence, drifted = brute(seen, physics, ladder)
    found = estimate_jointly(seen, physics)
    credible = found.estimate.credible

    assert found.log_evidence == pytest.approx(evidence, abs=0.05)
    assert credible.present.ravel() == pytest.approx(present, abs=0.01)
    assert np.cumsum(found.estimate.heat) / found.estimate.heat.sum() == pytest.approx(middle)
    assert [found.offset, *found.slopes] == pytest.approx(
        drifted.tolist(), abs=0.03 * (1 + drifts)
    )
    for chance in (0.05, 0.5, 0.95):
        expected = float(np.interp(chance, np.cumsum(chances), np.log(ladder)))
        assert math.log(found.spread_m2.compute_quantile(chance)) == pytest.approx(
            expected, abs=0.03
        )


@pytest.mark.parametrize("counted", [True, False])
def test_a_room_whose_spread_is_unknown_is_mapped(
    counted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a plane, counted or drawn, against every pair of cells at a hundred spreads."""
    world = np.random.default_rng(23)
    x, y = np.meshgrid((np.arange(6) + 0.5) / 6, (np.arange(5) + 0.5) / 6)
    places = np.stack([x.ravel(), y.ravel()], axis=1)
    sensors = places[::3] + 0.03
    physics = Physics(sensors, (0.01, 0.04), "insulated", length_m=1.0)
    real = physics.make_operator(places, 0.02)
    readings = real[:, [4, 20]].sum(axis=1) + 0.3 * world.standard_normal(len(sensors))
    seen = Seen(real, readings, 0.3, places, (5, 6), Prior(2, 2))
    ladder = np.exp(np.linspace(math.log(0.01), math.log(0.04), 201)[1::2])
    chances, present, _, evidence, _ = brute(seen, physics, ladder)
    if not counted:
        monkeypatch.setattr(unknown_physics, "can_enumerate", lambda seen: False)
    found, far = estimate_jointly(seen, physics), 1 if counted else 10
    credible = found.estimate.credible

    assert found.log_evidence == pytest.approx(evidence, abs=0.06 * far)
    assert credible.present.ravel() == pytest.approx(present, abs=0.01 * far)
    for chance in (0.1, 0.5, 0.9):
        expected = float(np.interp(chance, np.cumsum(chances), np.log(ladder)))
        assert math.log(found.spread_m2.compute_quantile(chance)) == pytest.approx(
            expected, abs=0.03 if counted else 0.1
        )


def drifting(offset: float, slope: float) -> tuple[Joint, Joint, Floats]:
    """The same scene with drift allowed for, and not; and its truth."""
    world = np.random.default_rng(2)
    truth, operator = scene(3, world), forward(CELLS, SENSORS, STATED)
    readings = operator @ truth + 0.05 * world.standard_normal(50)
    readings += offset + slope * (SENSORS - SENSORS.mean()) / np.ptp(SENSORS)
    seen = seen_of(operator, readings, 0.05, Prior(1, 4))
    physics = Physics(SENSORS, (STATED, STATED), offset=1.0, slope=1.0)
    ignorant = replace(physics, offset=0.0, slope=0.0)
    return estimate_jointly(seen, physics), estimate_jointly(seen, ignorant), truth


def test_sensors_that_drift_together_do_not_move_the_map() -> None:
    """Half a kelvin on all of them is ten deviations of the noise, and no source's work."""
    allowed, ignored, truth = drifting(0.5, -0.8)
    still, _, _ = drifting(0.0, 0.0)

    assert allowed.offset == pytest.approx(0.5, abs=0.2)
    assert allowed.slopes == pytest.approx((-0.8,), abs=0.3)
    assert distance(allowed.estimate.heat, truth) < 0.05
    assert distance(allowed.estimate.heat, still.estimate.heat) < 0.01
    assert distance(ignored.estimate.heat, truth) > 3 * distance(allowed.estimate.heat, truth)
    assert (ignored.offset, ignored.slopes) == (0.0, (0.0,))


@pytest.mark.parametrize("wide", [3.0, 0.1, 0.01, 3e-4])
def test_the_grid_is_as_fine_as_the_density_is_sharp(wide: float) -> None:
    """A Gaussian's integral is known, and few looks suffice for it however narrow it is."""
    looks, law = [], truncnorm(-0.337 / wide, 0.663 / wide, 0.337, wide)

    def look(place: float) -> tuple[float, float, float]:
        looks.append(place)
        return 7 - ((place - 0.337) / wide) ** 2 / 2, 0.0, place

    found = explore(np.linspace(0, 1, 5), look)
    inside = norm.cdf(0.663 / wide) - norm.cdf(-0.337 / wide)

    assert found.log_evidence == pytest.approx(
        7 + math.log(inside * wide * math.sqrt(2 * math.pi)), abs=0.02
    )
    assert np.abs(law.cdf(found.places) - found.upto).max() < 0.01
    assert found.chances @ found.found == pytest.approx(law.mean(), abs=0.1 * wide)
    assert len(looks) == len(set(looks)) < 45


# Many posteriors made one: each has the say that its chance gives it.
