"""Heat that was given off lately: three ways to add it up, which share no formula."""

import numpy as np
import pytest

from physics.kernels import continuous
from physics.kernels.robin import SWITCH
from physics.kernels.young import young_from_images, young_from_kernels


@pytest.mark.parametrize("walls", ["insulated", "cold"])
def test_images_modes_and_kernels_agree_where_one_hands_over_to_the_other(walls: str) -> None:
    """Of the second half of what is young, images, modes and quadrature say the same."""
    lengths = np.array([1.0, 1.7])
    world = np.random.default_rng(4)
    sources, sensors = world.random((2, 4, 2)) * lengths
    first, last = SWITCH * 0.5, SWITCH
    both = young_from_images(sources, sensors, last, 0.3, walls, lengths)
    early = young_from_images(sources, sensors, first, 0.3, walls, lengths)
    late = continuous._old(sources, sensors, first, last, walls, lengths, 0.0, 0.3)

    assert early + late == pytest.approx(both, rel=1e-10, abs=1e-13)
    given = sources, sensors, first, last, walls, tuple(lengths.tolist())

    assert young_from_kernels(*given, 0.0, 0.3) == pytest.approx(late, rel=1e-10, abs=1e-13)
