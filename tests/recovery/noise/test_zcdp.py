"""The price that adds up, against an accountant and against the exact Gaussian curve."""

import math

import numpy as np
import pytest
from dp_accounting.rdp import compute_epsilon
from hypothesis import given, settings
from hypothesis import strategies as st

from recovery.noise.gaussian import gaussian_epsilon, zcdp_epsilon, zcdp_rho

powers = st.floats(-3, 3).map(lambda power: 10**power)
deltas = st.floats(-60, -0.1).map(lambda power: 10**power)


@pytest.mark.parametrize(
    ("epsilon", "delta", "sigma"),
    [(1, 1e-5, 4.045), (1, 1e-9, 5.779), (1, 0.1, 1.365), (10, 1e-5, 0.530), (10, 0.5, 0.253)],
)
def test_the_noise_for_one_reading_is_the_published_one(
    epsilon: float, delta: float, sigma: float
) -> None:
    """Numbers computed outside this project pin the exchange rate down."""
    assert math.sqrt(0.5 / zcdp_rho(epsilon, delta)) == pytest.approx(sigma, rel=2e-3)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(powers, deltas)
def test_the_exchange_is_as_good_as_an_accountants_on_a_fine_grid(
    rho: float, delta: float
) -> None:
    """The accountant tries many orders alpha; our search must end as low as the best."""
    orders = 1 + np.exp(np.linspace(-15, 25, 4001))
    theirs, _ = compute_epsilon(orders, rho * orders, delta)

    # On its grid the accountant may end a little above the valley, never below it.
    assert theirs * (1 - 1e-4) - 1e-9 <= zcdp_epsilon(rho, delta) <= theirs * (1 + 1e-9) + 1e-12


@settings(max_examples=100, deadline=None, derandomize=True)
@given(powers, deltas)
def test_the_exchange_never_promises_more_than_the_exact_curve(rho: float, delta: float) -> None:
    """For one Gaussian the truth is known, and zCDP is an upper bound on it."""
    exact = gaussian_epsilon(1 / math.sqrt(2 * rho), delta)

    assert zcdp_epsilon(rho, delta) >= exact * (1 - 2e-9)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(powers, deltas)
def test_there_and_back_is_where_one_started(epsilon: float, delta: float) -> None:
    """The two directions are one formula; a mistake in either would show."""
    assert zcdp_epsilon(zcdp_rho(epsilon, delta), delta) == pytest.approx(epsilon, rel=1e-8)


@pytest.mark.parametrize(("readings", "epsilon"), [(24, 6.0), (144, 18.3), (1440, 94)])
def test_many_readings_cost_what_was_found(readings: int, epsilon: float) -> None:
    """A day of minutes at "epsilon 1" a reading is epsilon 94: the reason for a ledger."""
    exact = gaussian_epsilon(3.7306 / math.sqrt(readings), 1e-5)

    assert exact == pytest.approx(epsilon, rel=0.02)
    assert exact <= zcdp_epsilon(readings * 0.5 / 3.7306**2, 1e-5) <= 1.15 * exact


def test_nothing_released_costs_nothing() -> None:
    """An empty ledger stands at 0."""
    assert zcdp_epsilon(0.0, 1e-5) == 0.0


@pytest.mark.parametrize("rho", [-1.0, math.nan, math.inf])
def test_an_impossible_price_is_refused(rho: float) -> None:
    """A negative price would pay privacy back."""
    with pytest.raises(ValueError, match="rho is"):
        zcdp_epsilon(rho, 1e-5)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, math.inf])
def test_an_impossible_epsilon_is_refused(epsilon: float) -> None:
    """No amount of Gaussian noise reaches epsilon 0 at a small delta."""
    with pytest.raises(ValueError, match="epsilon is"):
        zcdp_rho(epsilon, 1e-5)


def test_an_impossible_delta_is_refused() -> None:
    """Both directions need the same delta."""
    with pytest.raises(ValueError, match="delta is"):
        zcdp_epsilon(1.0, 0.0)
    with pytest.raises(ValueError, match="delta is"):
        zcdp_rho(1.0, 1.0)
