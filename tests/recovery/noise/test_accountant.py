"""The accountant against another one, over the whole range that anybody may ask for.

Within one part in a million, and never below: an epsilon too small is a promise that is not
kept, and a sigma too small is noise that does not keep it."""

import math
from collections.abc import Callable
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.rdp import compute_epsilon
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from recovery.noise.gaussian import (
    erfcx,
    find_crossing,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_log_delta,
    gaussian_sigma,
    ndtr,
    paper_delivers,
    paper_sigma,
    zcdp_delta,
    zcdp_epsilon,
    zcdp_rho,
)

MILLIONTH = 1e-6


def true_log_delta(epsilon: float, mu: float) -> mpmath.mpf:
    """Return Balle and Wang's curve with eighty digits, as it is printed."""

    def bell(x: mpmath.mpf) -> mpmath.mpf:
        return mpmath.erfc(-x / mpmath.sqrt(2)) / 2

    far, wide = mpmath.mpf(epsilon), mpmath.mpf(mu)
    near = bell(wide / 2 - far / wide)
    return mpmath.log(near - mpmath.exp(far) * bell(-wide / 2 - far / wide))


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.floats(-5, 6).map(lambda x: 10**x), st.floats(-4, 3).map(lambda x: 10**x))
def test_floats_lose_less_than_is_set_against_them(epsilon: float, mu: float) -> None:
    """The margin of every answer rests on this number: 1e-10 of the logarithm of delta."""
    with mpmath.workdps(80):
        truth = true_log_delta(epsilon, mu)
        if truth > -700:  # below that a float holds no delta
            assert abs(gaussian_log_delta(epsilon, mu) - truth) < 1e-10
            assert mpmath.log(mpmath.mpf(gaussian_delta(epsilon, 1 / mu))) >= truth


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.floats(-3, 2).map(lambda x: 10**x), st.floats(-12, -1).map(lambda x: 10**x))
def test_no_answer_is_below_the_truth(epsilon: float, delta: float) -> None:
    """With eighty digits instead of sixteen: the promise is kept, not nearly kept."""
    sigma = gaussian_sigma(epsilon, delta)
    found = gaussian_epsilon(sigma, delta)
    with mpmath.workdps(80):
        asked = mpmath.log(mpmath.mpf(delta))

        assert true_log_delta(epsilon, 1 / sigma) <= asked
        assert found == 0 or true_log_delta(found, 1 / sigma) <= asked
        assert true_log_delta(epsilon, (1 + MILLIONTH) / sigma) > asked


@pytest.mark.long
@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.floats(-4, 3).map(lambda x: 10**x), st.floats(-12, -1).map(lambda x: 10**x))
def test_the_exchange_of_zcdp_is_never_below_the_formula(rho: float, delta: float) -> None:
    """Corollary 13 with eighty digits, at the best of a great many orders."""
    found = zcdp_epsilon(rho, delta)
    with mpmath.workdps(80):
        # The valley is where the derivative of the sum by alpha is nought.
        price, log_delta = mpmath.mpf(rho), mpmath.log(mpmath.mpf(delta))

        def cost(log_less: mpmath.mpf) -> mpmath.mpf:
            less = mpmath.exp(log_less)
            first = (1 + less) * price - (log_delta + mpmath.log1p(less)) / less
            return first - mpmath.log1p(1 / less)

        low, high = mpmath.mpf(-20), mpmath.mpf(60)
        for _ in range(60):  # thirds, until the valley is known to ten digits, its floor to twenty
            left, right = low + (high - low) / 3, high - (high - low) / 3
            low, high = (low, right) if cost(left) < cost(right) else (left, high)
        least = max(cost(low), 0)

        assert least <= found <= least * (1 + MILLIONTH) + 1e-13


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.floats(-3, 2).map(lambda x: 10**x), st.floats(-12, -1).map(lambda x: 10**x))
def test_the_exchange_is_the_one_of_another_accountant(epsilon: float, delta: float) -> None:
    """At its own orders, laid closely about the best: one part in a million, and not below."""
    rho = zcdp_rho(epsilon, delta)
    orders = 1 + np.geomspace(0.02, 1e8, 2001)
    for _ in range(3):  # closer and closer about its own best
        theirs, best = compute_epsilon(orders, rho * orders, delta)
        orders = 1 + (best - 1) * np.geomspace(0.98, 1.02, 2001)

    ours = zcdp_epsilon(rho, delta)
    # Theirs is a minimum over a grid, which the valley's floor may lie a little below.
    assert theirs * (1 - MILLIONTH) - 1e-12 <= ours <= theirs * (1 + MILLIONTH) + 1e-12
    assert ours <= epsilon <= ours * (1 + 1e-9)
    assert zcdp_delta(rho, epsilon) == pytest.approx(delta, rel=1e-8)


@pytest.mark.parametrize("readings", [1, 2, 24, 144])
@pytest.mark.parametrize("sigma", [0.5, 3.7306])
def test_many_releases_cost_what_their_privacy_loss_says(readings: int, sigma: float) -> None:
    """Distributions of privacy loss, composed: an accountant that knows no formula of ours."""
    one = pld.from_gaussian_mechanism(sigma, value_discretization_interval=1e-3)
    theirs = one.self_compose(readings).get_epsilon_for_delta(1e-5)
    exact = gaussian_epsilon(sigma / math.sqrt(readings), 1e-5)

    # Theirs is rounded up to its grid of losses.
    assert exact == pytest.approx(theirs, rel=2e-6)
    assert exact <= zcdp_epsilon(readings * 0.5 / sigma**2, 1e-5) <= 1.16 * exact


def test_a_price_is_taken_as_the_exact_fraction_that_it_is() -> None:
    """A ledger adds fractions; only at the very end is there a float, and it is not too small."""
    third = Fraction(1, 3)

    assert zcdp_epsilon(third, 1e-5) >= zcdp_epsilon(float(third), 1e-5) * (1 - 1e-15)
    assert zcdp_epsilon(Fraction(0), 1e-5) == 0.0


# The price that adds up, against an accountant and against the exact Gaussian curve.


@pytest.mark.parametrize(
    ("epsilon", "delta", "sigma"),
    [(1, 1e-5, 4.045), (1, 1e-9, 5.779), (1, 0.1, 1.365), (10, 1e-5, 0.530), (10, 0.5, 0.253)],
)
def test_the_noise_for_one_reading_is_the_published_one(
    epsilon: float, delta: float, sigma: float
) -> None:
    """Numbers computed outside this project pin the exchange rate down."""
    assert math.sqrt(0.5 / zcdp_rho(epsilon, delta)) == pytest.approx(sigma, rel=2e-3)


# The one step of the calibration that is not a theorem: continuous curve, discrete noise.
#
# Noise is calibrated by the continuous Gaussian's curve and drawn from the discrete one. One in
# a thousand more sigma, and at least a hundred grains of it, must make up for the difference.


def discrete_delta(epsilon: float, shifts: tuple[int, ...], variance: int) -> float:
    """The exact delta of discrete Gaussians, summed over all they can draw.

    Source: Canonne, Kamath and Steinke 2020, Theorem 7, for several coordinates: the loss
    is (2 Z + |shift|**2) / 2 variance with Z = sum of shift_j z_j.
    """
    reach = 14 * math.isqrt(variance)
    single = np.exp(-np.square(np.arange(-reach, reach + 1.0)) / (2 * variance))
    single /= single.sum()
    law = np.array([1.0])
    for shift in shifts:
        spread = np.zeros(2 * reach * shift + 1)
        spread[::shift] = single
        law = np.convolve(law, spread) if len(law) == 1 else _fast_convolve(law, spread)
    z = np.arange(len(law)) - len(law) // 2
    square = sum(shift**2 for shift in shifts)
    over = law[(2 * z + square) / (2 * variance) > epsilon].sum()
    under = law[(2 * z - square) / (2 * variance) > epsilon].sum()
    return float(over - math.exp(epsilon) * under)


def _fast_convolve(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    size = len(one) + len(other) - 1
    return np.fft.irfft(np.fft.rfft(one, size) * np.fft.rfft(other, size), size)


@pytest.mark.parametrize("shifts", [(27,), (92,), (19, 19), (3, 25, 10), (1, 1, 1, 1)])
def test_one_in_a_thousand_more_sigma_makes_up_for_whole_numbers(shifts: tuple[int, ...]) -> None:
    """At a hundred grains of sigma the exact discrete delta stays under the curve's."""
    variance = 100**2
    apart = math.sqrt(sum(shift**2 for shift in shifts) / variance)
    delta = 1e-5
    claimed = gaussian_epsilon(1 / (1.001 * apart), delta)
    exact = discrete_delta(claimed, shifts, variance)

    assert 0.9 * delta < exact <= delta
    # The control: without the margin, or with a coarser grain, it would be too small.
    assert discrete_delta(0.98 * claimed, shifts, variance) > delta


# The Gaussian calibration, against another accountant and against published numbers.

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
