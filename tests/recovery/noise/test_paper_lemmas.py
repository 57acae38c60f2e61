"""The paper's lemmas on sensitivity and spectrum: false as printed, and what holds instead."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from physics.kernel import forward, sensitivity

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
