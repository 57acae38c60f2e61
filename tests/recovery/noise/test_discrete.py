"""The one step of the calibration that is not a theorem: continuous curve, discrete noise.

Noise is calibrated by the continuous Gaussian's curve and drawn from the discrete one. One in
a thousand more sigma, and at least a hundred grains of it, must make up for the difference.
"""

import math

import numpy as np
import pytest

from recovery.noise.gaussian import gaussian_epsilon


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
