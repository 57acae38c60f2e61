"""The nearest mass in earth mover's distance, and the heatmap that a map becomes."""

import numpy as np
from scipy.ndimage import gaussian_filter

from recovery.pyramid.dense import heatmap, nearest_mass


def test_a_debt_is_paid_by_the_nearest_mass() -> None:
    """Moving a part by one square costs less than the two that leaving it unexplained does."""
    found = nearest_mass(np.array([[9.0, 0.0, 0.0, -2.0, 5.0]]), 0.2)

    np.testing.assert_allclose(found, [[9, 0, 0, 0, 3]], atol=1e-9)


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
