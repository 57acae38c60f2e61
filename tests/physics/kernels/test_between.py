"""One door to walls of any kind."""

import numpy as np
import pytest

from physics.kernel import forward
from physics.kernels.between import axis_modes, forward_between
from physics.kernels.robin import forward_robin

LENGTHS = (3.0, 2.0)


@pytest.mark.parametrize("walls", ["insulated", "cold", 0.7, [[0.0, np.inf], [2.0, 0.1]]])
def test_names_and_losses_open_the_same_rooms(walls) -> None:
    """Whichever kernel it is, its modes make it too."""
    sources, sensors = np.random.default_rng(0).random((2, 5, 2)) * LENGTHS
    found = forward_between(sources, sensors, 0.4, walls, LENGTHS)
    named = isinstance(walls, str)
    expected = (forward if named else forward_robin)(sources, sensors, 0.4, walls, LENGTHS)
    x, y = axis_modes(sources, sensors, 0.4, walls, np.array(LENGTHS))

    assert (found == expected).all()
    assert x.kernel(0.4) * y.kernel(0.4) == pytest.approx(expected, rel=1e-11)
    assert found != pytest.approx(forward(sources, sensors, 0.4), rel=1e-2)
