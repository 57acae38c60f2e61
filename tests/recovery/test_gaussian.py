"""The Gaussian calibration, against another accountant and against published numbers."""

import math

import dp_accounting
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recovery.gaussian import (
    gaussian_delta,
    gaussian_epsilon,
    gaussian_sigma,
)
from recovery.paper import paper_delivers, paper_sigma


def dwork_roth_sigma(epsilon: float, delta: float) -> float:
    """The text-book formula that the paper meant; never used, for it fails above epsilon 1."""
    return math.sqrt(2 * math.log(1.25 / delta)) / epsilon


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


@pytest.mark.long
@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.floats(-5, 5).map(lambda power: 10**power),
    st.floats(-100, -1e-3).map(lambda power: 10**power),
)
def test_the_exact_sigma_is_another_accountants_and_never_below_it(
    epsilon: float, delta: float
) -> None:
    """Two implementations of one curve must meet, and ours may only err towards privacy."""
    ours = gaussian_sigma(epsilon, delta)

    # The other accountant itself loses digits where sigma runs into the millions.
    theirs = dp_accounting.get_sigma_gaussian(epsilon, delta)
    assert -1e-8 * (theirs > 1e4) <= ours / theirs - 1 < 1e-6


def test_a_sigma_one_part_in_a_million_smaller_would_be_caught() -> None:
    """The negative control of the comparison above."""
    weakened = gaussian_sigma(1.0, 1e-5) * (1 - 1e-6)

    assert weakened < dp_accounting.get_sigma_gaussian(1.0, 1e-5)


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


def test_epsilon_zero_is_the_total_variation_of_two_bells() -> None:
    """At epsilon 0 the curve is a known integral: delta = erf(mu / sqrt 8)."""
    assert gaussian_delta(0.0, 2.0) == pytest.approx(math.erf(0.5 / math.sqrt(8)))
    assert gaussian_epsilon(100.0, 0.1) == 0.0


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


@pytest.mark.parametrize(
    ("epsilon", "delta", "real"),
    [(1, 0.1, 1.3e-8), (4, 0.1, 2.2e-7), (10, 0.1, 7.5e-6), (1, 0.01, 4e-24), (10, 0.01, 3e-21)],
)
def test_the_printed_formula_has_a_far_smaller_delta(
    epsilon: float, delta: float, real: float
) -> None:
    """The delta that the printed noise really has at the same epsilon."""
    assert paper_delivers(epsilon, delta)[1] == pytest.approx(real, rel=0.06)


@pytest.mark.parametrize(("delta", "first"), [(1e-9, 3009), (1e-5, 903), (1e-2, 143), (0.1, 39.3)])
def test_the_printed_formula_stops_being_private_where_it_was_found_to(
    delta: float, first: float
) -> None:
    """Lemma 3 says "for all epsilon", which is false; and this is where it ends."""
    assert paper_delivers(0.99 * first, delta)[1] < delta
    assert paper_delivers(1.01 * first, delta)[1] > delta


def test_the_text_book_formula_would_not_pass_for_private() -> None:
    """The formula with the square root fails above epsilon 5.8: the reason it is not here."""
    assert gaussian_delta(10, dwork_roth_sigma(10, 1e-5)) > 1e-5
    assert gaussian_delta(1, dwork_roth_sigma(1, 1e-5)) < 1e-5


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
