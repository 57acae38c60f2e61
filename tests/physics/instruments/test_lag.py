"""A first-order lag, against its closed forms."""

import math

import numpy as np
import pytest

from physics.instruments.lag import held, straight

LAG_S = 20.0


def after(steps: int, over_s: float) -> float:
    """What a sensor shows of a ramp of 1 K a minute, looked at in so many steps."""
    shown, each = np.zeros(1), over_s / steps
    for step in range(steps):
        before, now = step * each / 60, (step + 1) * each / 60
        shown = straight(shown, np.array([before]), np.array([now]), each, LAG_S)
    return float(shown[0])


@pytest.mark.parametrize("over_s", [1e-9, 0.1, 20.0, 300.0, 1e6])
def test_a_step_is_followed_exponentially(over_s: float) -> None:
    """1 - exp(-t / lag), to the last digits, in one step of any length."""
    shown = held(np.zeros(2), np.array([1.0, -3.0]), over_s, LAG_S)

    assert shown == pytest.approx(-math.expm1(-over_s / LAG_S) * np.array([1, -3]), rel=1e-12)


@pytest.mark.parametrize("steps", [1, 3, 100])
def test_a_ramp_is_followed_a_lag_behind_however_it_is_cut(steps: int) -> None:
    """slope (t - lag (1 - exp(-t / lag))): exact in one step as in a hundred."""
    expected = (90 - LAG_S * -math.expm1(-90 / LAG_S)) / 60

    assert after(steps, 90.0) == pytest.approx(expected, rel=1e-12)


def test_small_steps_of_a_simple_rule_would_not_be_exact() -> None:
    """The negative control: u += dt / lag (T - u), which a test of 1e-12 must tell apart."""
    shown = 0.0
    for step in range(100):
        shown += 0.9 / LAG_S * ((step + 1) * 0.9 / 60 - shown)

    assert abs(shown - after(1, 90.0)) > 1e-4


def test_no_lag_follows_at_once_and_no_time_changes_nothing() -> None:
    """The two limits, without a division by nought."""
    shown, before, now = np.array([5.0]), np.array([1.0]), np.array([2.0])

    assert straight(shown, before, now, 10.0, 0.0) == now
    assert straight(shown, before, now, 0.0, 10.0) == shown
    assert straight(shown, before, now, 1e-12, 10.0) == pytest.approx(shown, rel=1e-11)


@pytest.mark.parametrize(("over_s", "lag_s"), [(-1.0, 2.0), (1.0, -2.0), (math.nan, 1.0)])
def test_time_that_cannot_be_is_refused(over_s: float, lag_s: float) -> None:
    """A sensor does not know what comes."""
    with pytest.raises(ValueError, match="nought or more and finite"):
        held(np.zeros(1), np.zeros(1), over_s, lag_s)
