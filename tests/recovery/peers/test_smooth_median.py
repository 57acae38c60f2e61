"""The median's smooth sensitivity, against its definition tried over neighbours."""

import itertools
import math

import numpy as np
import pytest

from recovery.peers.smooth_median import heavy, scale, smooth_sensitivity


def local(values: tuple[float, ...], grid: tuple[float, ...]) -> float:
    """Return by how much the median moves at the most where one value is another."""
    middle = (len(values) - 1) // 2
    here = sorted(values)[middle]
    return max(
        abs(sorted((*values[:i], other, *values[i + 1 :]))[middle] - here)
        for i in range(len(values))
        for other in grid
    )


@pytest.mark.parametrize("beta", [0.1, 0.5, 2.0])
def test_it_bounds_every_move_and_changes_little_itself(beta: float) -> None:
    """The two properties that the privacy of its noise rests on, over all triples of a grid."""
    grid = (0.0, 0.2, 0.7, 1.0)
    found = {
        values: smooth_sensitivity(values, beta)
        for values in itertools.combinations_with_replacement(grid, 5)
    }

    for values, bound in found.items():
        assert bound >= local(values, grid) - 1e-12
        for i, other in itertools.product(range(5), grid):
            near = tuple(sorted((*values[:i], other, *values[i + 1 :])))
            assert bound <= math.exp(beta) * found[near] + 1e-12


def test_noise_is_less_where_a_delta_is_allowed() -> None:
    """129 values as in the paper; the pure form's factor is ten over epsilon."""
    values = np.linspace(0, 1, 129)

    assert scale(values, 1.0, 1e-6) < 0.6 * scale(values, 1.0)
    assert scale(values, 1.0) > 10 * smooth_sensitivity(values, 0.1) * 0.99


def test_the_heavy_noise_has_its_density() -> None:
    """Quartiles by an integral: P(|z| < 1) is (sqrt(2)/pi) times 2 * 0.8670."""
    even = (np.arange(100_000) + 0.5) / 100_000
    z = heavy(even)
    places = np.linspace(0, 1, 10_001)
    inside = 2 * math.sqrt(2) / math.pi * np.trapezoid(1 / (1 + places**4), places)

    assert (np.abs(z) < 1).mean() == pytest.approx(inside, abs=1e-3)
    assert np.mean(z) == pytest.approx(0, abs=1e-6)
