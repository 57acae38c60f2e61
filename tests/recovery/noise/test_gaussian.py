"""The Gaussian calibration, against another accountant and against published numbers."""

import math
from collections.abc import Callable

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

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
