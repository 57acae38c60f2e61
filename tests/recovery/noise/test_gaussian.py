"""The Gaussian calibration, against another accountant and against published numbers."""

import math
from collections.abc import Callable

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special
from scipy.stats import chi2

from physics.kernel import forward, sensitivity
from recovery.noise.gaussian import (
    erfcx,
    find_crossing,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_sigma,
    ndtr,
    paper_delivers,
    paper_sigma,
)

# (epsilon, delta): exact sigma, as computed elsewhere with three or four digits.
EXACT = {
    (1, 1e-5): 3.731,
    (1, 1e-9): 5.495,
    (1, 0.1): 1.086,
    (10, 1e-5): 0.4999,
    (10, 0.5): 0.213,
    (4, 1e-5): 1.081,
    (4, 0.1): 0.4855,
    (10, 0.1): 0.2818,
    (1, 0.01): 1.878,
    (4, 0.01): 0.669,
    (10, 0.01): 0.350,
}


@pytest.mark.parametrize(("asked", "sigma"), EXACT.items())
def test_the_exact_sigma_is_the_published_one(asked: tuple[float, float], sigma: float) -> None:
    """Numbers computed outside this project pin the curve down."""
    assert gaussian_sigma(*asked) == pytest.approx(sigma, rel=2e-3)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    st.floats(-3, 6).map(lambda power: 10**power),
    st.floats(-290, -0.5).map(lambda power: 10**power),
)
def test_sigma_epsilon_and_delta_are_three_views_of_one_curve(
    epsilon: float, delta: float
) -> None:
    """Even at epsilon a million and delta 10**-290, where plain formulas overflow."""
    sigma = gaussian_sigma(epsilon, delta)

    assert 0.999 * delta < gaussian_delta(epsilon, sigma) <= delta
    assert gaussian_epsilon(sigma, delta) <= epsilon


@pytest.mark.parametrize(
    ("epsilon", "delta", "sigma", "delivered"),
    [(1, 1e-5, 23.47, 0.134), (1, 1e-9, 41.89, 0.121), (1, 0.1, 5.05, 0), (10, 1e-5, 2.347, 1.67)],
)
def test_the_printed_formula_gives_far_more_than_it_says(
    epsilon: float, delta: float, sigma: float, delivered: float
) -> None:
    """Whoever reproduces a figure is told which epsilon its noise really has."""
    assert paper_sigma(epsilon, delta) == pytest.approx(sigma, rel=1e-3)
    assert paper_delivers(epsilon, delta)[0] == pytest.approx(delivered, rel=4e-3)


@pytest.mark.parametrize("delta", [0.11, 0.5, 0.999])
def test_the_printed_formula_is_refused_where_delta_is_large(delta: float) -> None:
    """At delta 1/2 it fails from epsilon 7.6, and beyond 1.25 it asks for negative noise."""
    with pytest.raises(ValueError, match="accepted up to"):
        paper_sigma(1.0, delta)


@pytest.mark.parametrize("epsilon", [-1.0, math.nan, math.inf])
def test_an_impossible_epsilon_is_refused(epsilon: float) -> None:
    """A NaN would otherwise travel through the whole plan."""
    with pytest.raises(ValueError, match="epsilon is"):
        gaussian_sigma(epsilon, 1e-5)


@pytest.mark.parametrize("delta", [0.0, 1.0, -0.1, 2.0, math.nan])
def test_an_impossible_delta_is_refused(delta: float) -> None:
    """Delta 1 promises nothing, and delta 0 cannot be had from a Gaussian."""
    with pytest.raises(ValueError, match="delta is"):
        gaussian_sigma(1.0, delta)


@pytest.mark.parametrize("sensitivity", [0.0, -1.0, math.nan, math.inf])
def test_an_impossible_sensitivity_is_refused(sensitivity: float) -> None:
    """No sensitivity would mean no noise."""
    with pytest.raises(ValueError, match="sensitivity is"):
        gaussian_sigma(1.0, 1e-5, sensitivity)


# The tail of the normal distribution, against the same in sixty digits.

# Both sides of where one way takes over from the other, and as far as floats reach.
PLACES = [*np.linspace(-26, 30, 801), 3.999999999999, 4.0, *np.geomspace(30, 1e6, 50)]


def lost(tail: Callable[[float], float], places: list[float]) -> float:
    """Return what a function loses of exp(x**2) erfc(x) at worst, relative to it."""
    with mpmath.workdps(60):
        worst = mpmath.mpf(0)
        for x in map(mpmath.mpf, places):
            truth = mpmath.exp(x * x) * mpmath.erfc(x)
            worst = max(worst, abs(tail(float(x)) / truth - 1))
        return float(worst)


def test_the_scaled_tail_is_right_to_the_last_digits() -> None:
    """Differences of two near values are taken of it, so every digit counts."""
    assert lost(erfcx, [float(x) for x in PLACES]) < 1e-15


def test_the_chance_below_is_that_of_scipy() -> None:
    """Down to where floats end: a tail that is cut off would be a promise that is not kept."""
    x = np.linspace(-37, 9, 2001)

    assert [ndtr(float(one)) for one in x] == pytest.approx(special.ndtr(x), rel=1e-12, abs=0)


@pytest.mark.parametrize("root", [-650.0, -1.0, 0.0, 1e-9, 0.3, 41.5, 699.0])
def test_a_crossing_is_found_to_the_last_digits_and_from_above(root: float) -> None:
    """At nought too, where floats lie endlessly dense and halving alone would go on and on."""
    asked: list[float] = []

    def increasing(x: float) -> float:
        asked.append(x)
        return x - root

    found = find_crossing(increasing, -700.0, 700.0)

    assert 0 <= found - root <= max(1e-15, 2e-16 * abs(root) * 2)
    assert len(asked) < 80


# The paper's own settings, the whole path: noise in whole numbers, and maps as they come.
#
# 100 cells, 50 sensors, spread 0.05, delta 1/10, unit sources in random cells, the printed
# noise and the printed radius. Where that radius leaves no heat at all (a third of the runs)
# the map is of the heat that comes nearest: the rule of the estimator "l1-printed".

# Mean earth mover's distance for one to four sources, each of 100 other trials elsewhere.


# The paper's lemmas on sensitivity and spectrum: false as printed, and what holds instead.

seeds = st.integers(0, 2**32 - 1)


def spectrum(matrix: np.ndarray) -> np.ndarray:
    """Return the singular values, the largest first."""
    return np.linalg.svd(matrix, compute_uv=False)


def smooth(world: np.random.Generator, sensors: int, cells: int) -> np.ndarray:
    """Return waves whose neighbouring columns differ by little."""
    waves = np.outer(world.uniform(0, 15, sensors), np.arange(cells) / cells)
    return np.cos(waves + world.uniform(0, 6, (sensors, 1)))


@settings(max_examples=150, deadline=None, derandomize=True)
@given(seeds)
def test_the_condition_number_bounds_the_sensitivity_as_repaired(seed: int) -> None:
    """Lemma 5 with blocks of ceil(n / (m - 1)) columns where sensors are fewer than cells."""
    world = np.random.default_rng(seed)
    sensors, cells = (int(count) for count in world.integers(2, 60, 2))
    matrix = smooth(world, sensors, cells) + world.choice([0, 0.01]) * world.normal(
        size=(sensors, cells)
    )
    strengths = spectrum(matrix)
    steps = 1 if sensors >= cells else -(-cells // (sensors - 1)) // 2

    assert sensitivity(matrix) >= strengths[-1] / (math.sqrt(cells) * steps) * (1 - 1e-9)


@pytest.mark.parametrize("name", ["cosines", "heat"])
def test_as_printed_the_condition_number_does_not(name: str) -> None:
    """The control: five slow orthonormal rows, and heat on a fine grid with ten sensors."""
    slow = np.cos(np.pi * np.outer(np.arange(5), np.arange(100) + 0.5) / 100)
    slow /= np.linalg.norm(slow, axis=1, keepdims=True)
    heat = forward(np.arange(1, 1001) / 1000, np.arange(1, 11) / 10, 0.002)
    matrix = {"cosines": slow, "heat": heat}[name]

    assert sensitivity(matrix) < 0.3 * spectrum(matrix)[-1] / math.sqrt(matrix.shape[1])


def test_the_printed_radius_holds_the_noise_half_the_time() -> None:
    """By the chi-square law, and by counting; Lemma 7's "high probability" needs its t."""
    world = np.random.default_rng(5)
    lengths = np.linalg.norm(world.normal(size=(4000, 50)), axis=1)

    assert np.mean(lengths <= math.sqrt(50)) == pytest.approx(chi2.cdf(50, 50), abs=0.03)
    assert chi2.cdf(50, 50) == pytest.approx(0.53, abs=0.005)
    assert np.mean(lengths <= math.sqrt(chi2.ppf(0.95, 50))) == pytest.approx(0.95, abs=0.015)
