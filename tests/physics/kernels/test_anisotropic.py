"""Heat that spreads faster one way, against somebody else's normal density."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from physics.kernel import forward, sensitivity
from physics.kernels.anisotropic import forward_anisotropic

PLANE = np.array([[0.5, 0.2], [0.2, 0.3]])
ROOM = np.array([[0.5, 0.1, 0.0], [0.1, 0.3, -0.2], [0.0, -0.2, 0.4]])


@pytest.mark.parametrize("spread", [PLANE, ROOM])
@pytest.mark.parametrize("sd", [0.0, 0.3])
def test_the_kernel_is_the_normal_density_of_twice_the_spread(spread, sd: float) -> None:
    """S = 2 D t, and a source of some size adds its own variance to every axis."""
    axes = len(spread)
    sources, sensors = np.random.default_rng(1).random((2, 7, axes))
    law = 2 * spread + sd**2 * np.eye(axes)
    expected = [[multivariate_normal.pdf(y, x, law) for x in sources] for y in sensors]

    assert forward_anisotropic(sources, sensors, spread, sd) == pytest.approx(
        np.array(expected), rel=1e-12
    )
    # The control: the covariance is not the spread itself.
    assert forward_anisotropic(sources, sensors, spread / 2, sd) != pytest.approx(
        np.array(expected), rel=0.1
    )


def test_a_spread_alike_in_every_direction_is_one_number() -> None:
    """Then it is the kernel without walls, and a move is felt as much."""
    sources, sensors = np.random.default_rng(2).random((2, 6, 3))
    alike = forward_anisotropic(sources, sensors, 0.05 * np.eye(3))
    free = forward(sources, sensors, 0.05)

    assert alike == pytest.approx(free, rel=1e-12)
    assert sensitivity(alike) == pytest.approx(sensitivity(free), rel=1e-12)


def test_heat_is_nowhere_that_it_cannot_have_come() -> None:
    """However far that is: its square is no float any more."""
    assert forward_anisotropic([[0.0, 0.0]], [[1e200, -1e250]], np.eye(2)).tolist() == [[0.0]]


@pytest.mark.parametrize(
    ("spread", "said"),
    [
        (0.1, r"shape \(\) but must be \(2, 2\)"),
        (np.eye(3), r"shape \(3, 3\) but must be \(2, 2\)"),
        ([[0.1, 0.05], [0.0, 0.1]], "must be symmetric"),
        ([[0.1, 0.2], [0.2, 0.1]], "must be positive in all"),
        ([[0.1, 0.1], [0.1, 0.1]], "must be positive in all"),
        ([[np.nan, 0.1], [0.1, 0.1]], "finite numbers"),
    ],
)
def test_a_matrix_by_which_heat_cannot_spread_is_refused(spread, said: str) -> None:
    """One that shrinks heat somewhere would warm a place from nothing."""
    with pytest.raises(ValueError, match=said):
        forward_anisotropic([[0.0, 0.0]], [[1.0, 0.0]], spread)
