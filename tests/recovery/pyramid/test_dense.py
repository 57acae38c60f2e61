"""The nearest mass in earth mover's distance, and the heatmap that a map becomes."""

import math

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from recovery.distance import earth_movers
from recovery.pyramid.dense import nearest_mass
from recovery.pyramid.heat import heatmap


def test_mass_that_is_there_stays() -> None:
    """Without noise nothing has to move."""
    truth = np.array([[0.0, 3.0], [1.5, 0.0]])

    np.testing.assert_allclose(nearest_mass(truth, 0.5), truth, atol=1e-9)


def test_a_debt_is_paid_by_the_nearest_mass() -> None:
    """Moving a part by one square costs less than the two that leaving it unexplained does."""
    found = nearest_mass(np.array([[9.0, 0.0, 0.0, -2.0, 5.0]]), 0.2)

    np.testing.assert_allclose(found, [[9, 0, 0, 0, 3]], atol=1e-9)


def test_a_debt_of_all_is_written_off() -> None:
    """Where there is nothing to pay with, nothing is left, and nothing is invented."""
    np.testing.assert_allclose(nearest_mass(np.full((3, 3), -1.0), 1 / 3), 0, atol=1e-9)


def test_a_heatmap_is_the_sum_of_its_definition() -> None:
    """The normaliser belongs to the cell that mass comes from; filters of images differ."""
    mass = np.zeros((5, 7))
    mass[0, 0], mass[3, 4] = 2.0, 1.0
    y, x = np.mgrid[:5, :7]
    expected = np.zeros((5, 7))
    for row, column in ((0, 0), (3, 4)):
        bump = np.exp(-((y - row) ** 2 + (x - column) ** 2) / (2 * 1.3**2))
        expected += mass[row, column] * bump / bump.sum()

    np.testing.assert_allclose(heatmap(mass, 1.3), expected, rtol=1e-12)
    for mode in ("reflect", "constant", "nearest", "mirror", "wrap"):
        assert np.abs(gaussian_filter(mass, 1.3, mode=mode) - expected).max() > 0.01


def test_a_heatmap_without_a_border_brings_maps_no_further_apart() -> None:
    """Lemma B.1; and its normaliser is that of the whole plane."""
    world = np.random.default_rng(2)
    p, q = (world.dirichlet(np.full(16, 0.2)).reshape(4, 4) for _ in range(2))
    wide = [heatmap(one, 0.6, infinite=True) for one in (p, q)]
    longer = wide[0].shape[0] / 4

    assert wide[0].sum() == pytest.approx(1)
    assert earth_movers(*wide, normalise=True) * longer <= earth_movers(p, q) + 1e-9


@pytest.mark.parametrize("sigma", [0.0, -1.0, math.inf, math.nan])
def test_a_width_that_is_none_is_refused(sigma: float) -> None:
    """A Gaussian of no width divides by nought."""
    with pytest.raises(ValueError, match="a sigma above 0"):
        heatmap(np.ones((2, 2)), sigma)
