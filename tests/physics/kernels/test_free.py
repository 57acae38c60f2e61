"""Sources of some size, which are points that have spread."""

import numpy as np
import pytest
from scipy.stats import norm

from physics.kernel import AnyWalls, forward
from physics.kernels.free import widened


@pytest.mark.parametrize("walls", ["none", "insulated", "cold"])
def test_a_source_of_some_size_is_a_point_that_has_spread(walls: AnyWalls) -> None:
    """A normal density of sources, added up one by one between walls that are far enough."""
    nodes, weights = np.polynomial.legendre.leggauss(120)
    spots, sd, sensors = 1.0 + 0.5 * nodes, 0.05, np.array([0.8, 1.0, 1.3])
    density = norm.pdf(spots, 1.0, sd) * weights * 0.5
    expected = forward(spots, sensors, 0.01, walls, 2.0) @ density

    assert forward([1.0], sensors, widened(0.01, sd), walls, 2.0)[:, 0] == pytest.approx(
        expected, rel=1e-10
    )
    assert forward([1.0], sensors, 0.01, walls, 2.0)[:, 0] != pytest.approx(expected, rel=1e-2)


@pytest.mark.parametrize(
    ("spread", "sd", "said"), [(0.05, -0.1, "source_sd_m is -0.1"), (0, 0, "spread_m2 is 0")]
)
def test_a_size_that_no_source_has_is_refused(spread: float, sd: float, said: str) -> None:
    """A point just now has no kernel, whatever is added to it."""
    with pytest.raises(ValueError, match=said):
        widened(spread, sd)
