"""What no estimator beats: against integrals, brute force, and estimators that try."""

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from physics.kernel import forward, sensitivity
from recovery.noise.gaussian import paper_sigma
from recovery.proofs.le_cam import lower_bound, two_points

CELLS, SENSORS = np.arange(1, 101) / 100, np.arange(1, 51) / 50


def test_two_points_are_the_least_risk_of_two_scenes() -> None:
    """By quadrature: the posterior's better answer, for one sensor and two equal chances."""
    operator, sigma, line = np.array([[0.3, 1.1]]), 0.6, np.array([2.0, 5.0])

    def risk(reading: float) -> float:
        likely = [norm.pdf(reading, warmth, sigma) / 2 for warmth in operator[0]]
        # The answer puts a share at the first place; the error is linear, so an end is best.
        return 3.0 * min(likely)

    least = quad(risk, -5, 6, epsabs=1e-12)[0]

    assert two_points(operator, sigma, line, [0], [1]) == pytest.approx(least, abs=1e-9)


@pytest.mark.parametrize(("sources", "sigma"), [(1, 0.8), (2, 0.8), (3, 0.8), (1, 0.1), (2, 0.1)])
def test_the_search_against_every_pair_of_scenes(sources: int, sigma: float) -> None:
    """On nine cells: exact for one and two sources, and right for three."""
    places = np.arange(9) / 9
    operator = forward(places, places, 0.03)
    scenes = list(itertools.combinations(range(9), sources))
    best = max(
        two_points(operator, sigma, places, one, other)
        for one, other in itertools.combinations(scenes, 2)
    )
    found = lower_bound(operator, sigma, places, sources)

    assert found.distance <= best + 1e-12
    assert found.distance == pytest.approx(best, rel=1e-9 if sources < 3 else 0.3)
    assert len(set(found.first)) == len(set(found.second)) == sources


@pytest.mark.long
@pytest.mark.parametrize(
    ("sources", "published"), [(1, (0.0222, 0.0054, 0.0022)), (2, (0.054, 0.017, 0.0105))]
)
def test_the_figures_at_the_papers_noise(sources: int, published: tuple[float, ...]) -> None:
    """T = 0.05, delta = 0.1, epsilon 1, 4 and 10, the printed deviation."""
    operator = forward(CELLS, SENSORS, 0.05)
    found = [
        lower_bound(operator, paper_sigma(e, 0.1, sensitivity(operator)), CELLS, sources).distance
        for e in (1, 4, 10)
    ]

    assert found == pytest.approx(published, rel=0.02)


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


def test_the_bound_grows_with_the_noise_up_to_half_the_length() -> None:
    """Who sees nothing is wrong by half the distance of the two ends."""
    operator = forward(CELLS, SENSORS, 0.05)
    found = [lower_bound(operator, sigma, CELLS).distance for sigma in (0.1, 1.0, 10.0, 1e6)]

    assert found == sorted(found)
    assert found[-1] == pytest.approx(0.99 / 2, rel=1e-4)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"sources": 0}, "must be from 1"),
        ({"sources": 1.5}, "whole"),
        ({"operator": np.ones((0, 4))}, "none of them 0"),
        ({"sigma": 0.0}, "sigma positive"),
        ({"sigma": math.nan}, "sigma positive"),
        ({"places": np.zeros(4)}, "rising"),
        ({"operator": np.full((2, 4), np.inf)}, "not finite"),
    ],
)
def test_what_cannot_be_meant_is_refused(change: dict[str, object], complaint: str) -> None:
    """Each with what was given and what to do."""
    given = {"operator": np.ones((2, 4)), "sigma": 1.0, "places": np.arange(4.0)}

    with pytest.raises(ValueError, match=complaint):
        lower_bound(**{**given, **change})  # type: ignore[arg-type]


def test_scenes_of_different_numbers_are_refused() -> None:
    """Their shares could not be compared source by source."""
    for first, second in (([0], [1, 2]), ([], [])):
        with pytest.raises(ValueError, match="equally many"):
            two_points(np.ones((2, 4)), 1.0, np.arange(4.0), first, second)


@pytest.mark.parametrize("cell", [-1, 4, 0.5])
def test_sources_in_no_cell_are_refused(cell: float) -> None:
    """The last cell would answer to -1, and be another scene's."""
    with pytest.raises(ValueError, match="must be in cells 0 to 3"):
        two_points(np.ones((2, 4)), 1.0, np.arange(4.0), [cell], [1])
