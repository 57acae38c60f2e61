"""What the noise gives away, held against dp_accounting, which shares no line with us."""

import math

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld

from gateway.audit import hockey

INTERVAL = 1e-5


def theirs(shift: int, variance: float, times: int = 1) -> pld.PrivacyLossDistribution:
    made = pld.from_discrete_gaussian_mechanism(
        math.sqrt(variance), sensitivity=shift, value_discretization_interval=INTERVAL
    )
    return made.self_compose(times) if times > 1 else made


@pytest.mark.parametrize(("shift", "variance"), [(1, 2.5), (3, 90.0), (27, 100.0**2)])
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.5])
def test_one_sensor_gives_away_what_others_reckon(
    shift: int, variance: float, epsilon: float
) -> None:
    """Theirs is rounded to the safe side by their grid, ours is the sum itself."""
    ours = hockey.delta(epsilon, hockey.along_one(shift, variance))
    bound = theirs(shift, variance).get_delta_for_epsilon(epsilon)

    assert ours <= bound + 2 * hockey.FLOATS
    assert ours == pytest.approx(bound, rel=1e-3, abs=1e-9)


@pytest.mark.long
@pytest.mark.parametrize("readings", [1, 3])
def test_several_sensors_give_away_what_others_reckon(readings: int) -> None:
    """Losses add up over sensors and readings; ours may be too large by the blur, never less."""
    shifts, variance, delta = (19, -19, 7, 0, 3), 80.0**2, 1e-5
    other = theirs(19, variance, 2 * readings)
    for shift in (7, 3):
        other = other.compose(theirs(shift, variance, readings))
    bound = other.get_epsilon_for_delta(delta)
    ours = hockey.epsilon(delta, hockey.together(shifts, variance, readings))

    assert ours == pytest.approx(bound, abs=hockey.BLUR + 10 * INTERVAL)
    fine = hockey.epsilon(delta, hockey.together(shifts, variance, readings, blur=2e-5))
    assert fine - 2e-5 <= bound
    assert fine <= ours


def test_the_grid_agrees_with_the_sum() -> None:
    """The same neighbours by both ways: one sensor, on the grid and off it."""
    exact = hockey.along_one(27, 100.0**2)
    blurred = hockey.together([27], 100.0**2, blur=1e-5)

    for delta in (1e-3, 1e-6):
        assert 0 <= hockey.epsilon(delta, blurred) - hockey.epsilon(delta, exact) <= 1.1e-5


def test_too_little_noise_gives_more_away() -> None:
    """The control: sigma 10 % smaller is a larger epsilon, and by how much is known."""
    full, less = (
        hockey.epsilon(1e-5, hockey.together([27] * 4, (part * 200) ** 2)) for part in (1.0, 0.9)
    )

    assert less / full == pytest.approx(1 / 0.9, rel=0.05)


def test_a_sum_of_discrete_gaussians_is_their_convolution() -> None:
    """Two at a time, the straightforward way."""
    values, two = hockey.discrete_gaussian(4.0, 2)
    _, one = hockey.discrete_gaussian(4.0)
    straight = np.convolve(one, one)
    middle = len(straight) // 2

    assert two.sum() == pytest.approx(1)
    assert two == pytest.approx(straight[middle + values[0] : middle + values[-1] + 1], abs=1e-14)


def test_a_grid_that_would_blur_the_bound_is_refused() -> None:
    """Better no number than one that proves nothing."""
    with pytest.raises(ValueError, match="Take a smaller room"):
        hockey.together([1000], 1.0)
