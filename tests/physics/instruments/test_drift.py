"""1/f drift: its law in numbers, and that what is drawn has it."""

import math

import numpy as np
import pytest
from scipy.signal import periodogram

from physics.instruments.drift import TIMES_S, Drift, autocovariance, density

SD = 0.3


def drawn(times: list[float], count: int, seed: int) -> np.ndarray:
    drift = Drift(SD, count, np.random.default_rng(seed))
    return np.array([drift.at(at_s) for at_s in times])


def test_the_law_is_one_over_f_between_its_corners() -> None:
    """Equal power in each octave: the slope of the density is -1 over two decades."""
    frequency = np.geomspace(1e-4, 1e-2, 60)
    slope = np.diff(np.log(density(SD, frequency))) / np.diff(np.log(frequency))
    two_sided = SD**2 / TIMES_S.size / (2 * math.log(2) * frequency)

    assert slope == pytest.approx(-1, abs=0.03)
    assert density(SD, frequency) == pytest.approx(two_sided, rel=0.04)


def test_one_relaxation_alone_is_not() -> None:
    """The negative control: a single process is flat, then falls with the square."""
    one = 2 * 64 / (1 + (2 * math.pi * np.array([1e-4, 2e-4, 1e-1, 2e-1]) * 64) ** 2)
    slopes = np.diff(np.log(one))[[0, 2]] / math.log(2)

    assert slopes == pytest.approx([0, -2], abs=0.02)


def test_density_and_covariance_are_one_law() -> None:
    """Wiener and Khinchin: the cosine transform of the one is the other."""
    frequency = np.geomspace(1e-8, 1e3, 200_001)
    for lag_s in (0.0, 5.0, 700.0):
        turned = density(SD, frequency) * np.cos(2 * math.pi * frequency * lag_s)
        area = 2 * float(np.sum((turned[1:] + turned[:-1]) / 2 * np.diff(frequency)))

        assert area == pytest.approx(autocovariance(SD, lag_s), rel=2e-3)


def test_what_is_drawn_has_the_covariance_at_uneven_times_from_the_first_on() -> None:
    """Stationary from the start, and exact at any gap: 20,000 sensors, within 4 deviations."""
    times = [0.0, 0.7, 12.0, 13.0, 400.0, 30_000.0]
    seen = drawn(times, 20_000, 1)
    found = seen @ seen.T / 20_000
    law = np.array([[autocovariance(SD, a - b) for a in times] for b in times])
    spread = np.sqrt((law**2 + SD**4) / 20_000)

    assert (np.abs(found - law) < 4 * spread).all()
    assert (np.abs(found - SD**2 * np.eye(6)) > 4 * spread).any()  # white noise is refused


def test_the_spectrum_of_what_is_drawn_falls_as_one_over_f() -> None:
    """Periodograms of 200 sensors over four hours: slope -1, within 0.1, and not 0 or -2."""
    frequency, power = periodogram(drawn([4.0 * k for k in range(4096)], 200, 2).T, fs=0.25)
    mean = power.mean(axis=0)
    used = (frequency > 3e-4) & (frequency < 2e-2)
    slope = float(np.polyfit(np.log(frequency[used]), np.log(mean[used]), 1)[0])

    assert slope == pytest.approx(-1, abs=0.1)


def test_times_go_forward() -> None:
    """What was drawn later depends on what was before."""
    drift = Drift(SD, 2, np.random.default_rng(0))
    drift.at(5.0)
    with pytest.raises(ValueError, match="drift at 4 s was asked after that at 5 s"):
        drift.at(4.0)
