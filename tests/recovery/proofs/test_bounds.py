"""Theorem 9 in numbers, which no heat it speaks of exceeds; and what no estimator beats."""

import itertools
import math

import cvxpy
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from physics.kernel import forward
from recovery.proofs.bounds import corollary_10, theorem_9, weights_at
from recovery.proofs.le_cam import lower_bound
from recovery.sparse import minimise_l1

# Theorem 9 in numbers: no heat it speaks of lies further, and it says when it says nothing.

CELLS, SENSORS = np.arange(1, 101) / 100, np.arange(1, 51) / 50


def earth_movers(p: np.ndarray, q: np.ndarray) -> float:
    """Return the distance between two heats on the hundred cells, each divided by its sum."""
    return float(np.abs(np.cumsum(p / p.sum() - q / q.sum())).sum() / 100)


def worst_heat(spread: float, radius: float, source: int) -> float:
    """Return the largest error of any heat that the theorem with one source speaks of."""
    operator = forward(CELLS, SENSORS, spread)
    share, scale = cvxpy.Variable(100), cvxpy.Variable()
    truth = np.eye(100)[source]
    # Truth and heat both lie within the radius of the readings: at most twice it apart.
    within = [
        share >= 0,
        cvxpy.sum(share) == 1,
        scale >= 1,
        cvxpy.norm(operator @ share - (operator @ truth) * scale) <= 2 * radius * scale,
    ]
    goal = cvxpy.Maximize(np.abs(CELLS - CELLS[source]) @ share)
    return float(cvxpy.Problem(goal, within).solve(solver=cvxpy.CLARABEL))


@pytest.mark.parametrize("spread", [0.01, 0.05, 0.1])
@pytest.mark.parametrize("sigma", [1e-3, 1e-2, 5e-2])
@pytest.mark.parametrize("source", [28, 49])
def test_the_worst_heat_of_all_is_within_the_bound(
    spread: float, sigma: float, source: int
) -> None:
    """Found as a cone program; the bound is not idle either: a tenth of it is too little."""
    radius = sigma * math.sqrt(50)
    bound = theorem_9(CELLS, SENSORS, spread, radius, CELLS[source])
    worst = worst_heat(spread, radius, source)

    assert worst <= bound.distance + 1e-6
    assert worst > bound.distance / 10


@pytest.mark.parametrize(
    ("spread", "sigma", "sources"),
    [(0.05, 0.01, [0.42]), (0.001, 0.02, [0.25, 0.75]), (0.0005, 0.05, [0.21, 0.51, 0.81])],
)
def test_the_least_heat_is_within_the_bound(
    spread: float, sigma: float, sources: list[float]
) -> None:
    """Algorithm 1 itself, on readings whose noise leaves the truth within the radius."""
    world = np.random.default_rng(11)
    operator = forward(CELLS, SENSORS, spread)
    truth = np.isclose(CELLS[:, None], sources).any(axis=1).astype(float)
    radius = 1.1 * sigma * math.sqrt(50)
    bound = theorem_9(CELLS, SENSORS, spread, radius, sources)
    errors = []
    for _ in range(60):
        noise = sigma * world.normal(size=50)
        if np.linalg.norm(noise) <= radius:
            found = minimise_l1(operator, operator @ truth + noise, radius)
            errors.append(earth_movers(truth, found.heat))

    assert not bound.vacuous
    assert len(errors) > 30
    assert max(errors) <= bound.distance
    # The control: without the noise's share of the radius the bound would be false.
    without = theorem_9(CELLS, SENSORS, spread, 0.0, sources)
    assert max(errors) > without.distance


def test_a_vacuous_bound_says_so_and_why() -> None:
    """Too much noise, sources too near each other, a source at the end of the line."""
    loud = theorem_9(CELLS, SENSORS, 0.05, 30.0, 0.5)
    near = theorem_9(CELLS, SENSORS, 0.05, 0.01, [0.45, 0.55])
    end = theorem_9(CELLS, SENSORS, 0.05, 0.01, 0.01)

    for bound, why in ((loud, "the noise"), (near, "other sources"), (end, "one side")):
        assert bound.vacuous
        assert why in bound.why
        assert bound.distance == bound.printed == pytest.approx(0.99)
    assert theorem_9(CELLS, SENSORS, 0.05, 0.01 * math.sqrt(50), 0.5).why == ""


def test_the_corollary_is_the_theorem_at_the_noise_of_the_promise() -> None:
    """The printed inequality says something from epsilon 50 on at T = 0.05, and not at 29."""
    bounds = [corollary_10(CELLS, SENSORS, 0.05, 0.5, e, 0.1, printed_noise=True) for e in (1, 29)]
    loose, tight = corollary_10(CELLS, SENSORS, 0.05, 0.5, 50, 0.1, printed_noise=True), bounds[1]

    assert loose.printed < 0.99 == pytest.approx(tight.printed)
    assert bounds[0].distance >= tight.distance >= loose.distance
    assert corollary_10(CELLS, SENSORS, 0.05, 0.5, 1, 0.1).distance < bounds[0].distance


def test_the_weighted_reading_is_greatest_for_heat_at_the_source() -> None:
    """Lemma 14, for sensors that stand unevenly: the nearest pairs are taken, one left over."""
    sensors, source, spread = np.array([0.62, 0.38, 0.2, 0.58, 0.45, 0.31]), 0.5, 0.2
    weights = weights_at(sensors, source, spread)
    places = np.linspace(0, 1, 2001)

    assert weights is not None
    assert weights.min() >= 0
    assert np.flatnonzero(weights).tolist() == [0, 1, 3, 4]  # 0.38 and 0.45, 0.58 and 0.62
    weighed = forward(places, sensors, spread).T @ weights
    assert places[weighed.argmax()] == pytest.approx(source, abs=1e-3)


# What no estimator beats: against integrals, brute force, and estimators that try.


def test_two_points_are_the_least_risk_of_two_scenes() -> None:
    """By quadrature: the posterior's better answer, for one sensor and two equal chances."""
    operator, sigma, line = np.array([[0.3, 1.1]]), 0.6, np.array([2.0, 5.0])

    def risk(reading: float) -> float:
        likely = [norm.pdf(reading, warmth, sigma) / 2 for warmth in operator[0]]
        # The answer puts a share at the first place; the error is linear, so an end is best.
        return 3.0 * min(likely)

    least = quad(risk, -5, 6, epsabs=1e-12)[0]

    assert lower_bound(operator, sigma, line).distance == pytest.approx(least, abs=1e-9)


@pytest.mark.parametrize(("sources", "sigma"), [(1, 0.8), (2, 0.8), (1, 0.1), (2, 0.1)])
def test_the_search_against_every_pair_of_scenes(sources: int, sigma: float) -> None:
    """On nine cells, one pair after the other."""
    places = np.arange(9) / 9
    operator = forward(places, places, 0.03)

    def bound(one: tuple[int, ...], other: tuple[int, ...]) -> float:
        change = operator[:, list(one)].sum(axis=1) - operator[:, list(other)].sum(axis=1)
        away = np.abs(places[list(one)] - places[list(other)]).mean()
        return float(away * norm.cdf(-np.linalg.norm(change) / (2 * sigma)))

    scenes = list(itertools.combinations(range(9), sources))
    best = max(bound(*pair) for pair in itertools.combinations(scenes, 2))

    assert lower_bound(operator, sigma, places, sources).distance == pytest.approx(best, rel=1e-9)


def worse_error(noise: float, sigma: float, runs: int = 4000) -> float:
    """Return the mean error, over the worse of two scenes, of whoever takes the nearer one."""
    world = np.random.default_rng(3)
    operator = forward(CELLS, SENSORS, 0.05)
    bound = lower_bound(operator, sigma, CELLS)
    one, other = operator[:, bound.first[0]], operator[:, bound.second[0]]
    apart = abs(CELLS[bound.first[0]] - CELLS[bound.second[0]])
    middle, way = (one + other) / 2, other - one
    wrong = [
        float(
            np.mean(sign * ((warmth + noise * world.normal(size=(runs, 50)) - middle) @ way) > 0)
        )
        for sign, warmth in ((1, one), (-1, other))
    ]
    return apart * max(wrong)


def test_nobody_beats_the_bound_and_the_best_test_attains_it() -> None:
    """The likelihood's own choice between the two scenes errs as much, within chance."""
    operator, sigma = forward(CELLS, SENSORS, 0.05), 0.6865
    bound = lower_bound(operator, sigma, CELLS).distance

    assert worse_error(sigma, sigma) == pytest.approx(bound, rel=0.06)
    assert worse_error(sigma, sigma) > 0.95 * bound
