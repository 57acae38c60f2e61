"""What no estimator beats: against integrals, brute force, and estimators that try."""

import itertools

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from physics.kernel import forward
from recovery.proofs.le_cam import lower_bound

CELLS, SENSORS = np.arange(1, 101) / 100, np.arange(1, 51) / 50


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


def test_with_less_noise_than_stated_it_is_beaten() -> None:
    """The negative control: at a third of the noise the same test errs far less."""
    operator, sigma = forward(CELLS, SENSORS, 0.05), 0.6865

    assert worse_error(sigma / 3, sigma) < 0.5 * lower_bound(operator, sigma, CELLS).distance
