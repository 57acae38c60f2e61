"""One line between two walls: two forms that share no formula."""

import numpy as np
import pytest

from physics.kernels import line


@pytest.mark.parametrize("walls", ["insulated", "cold"])
def test_images_and_waves_agree_where_one_hands_over_to_the_other(walls: str) -> None:
    """They share no formula, so agreement to rounding checks both."""
    places = np.linspace(0, 1, 41)
    given = places, places, line.SWITCH, walls, 1.0

    assert np.abs(line.images(*given) - line.waves(*given)).max() < 1e-12
