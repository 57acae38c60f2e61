"""The sliced distance, against laws and a library."""

import numpy as np
import ot
import pytest

from recovery.distance import sliced, wasserstein2
from tests.recovery.score.test_grid_flow import smooth

WORLD = np.random.default_rng(8)
P, Q = smooth(WORLD, (16, 20)), smooth(WORLD, (16, 20))
PLACES = np.indices((16, 20)).reshape(2, -1).T[:, ::-1] / 20


def test_sliced_is_the_mean_over_lines_of_another_library() -> None:
    """With the same angles."""
    turns = np.pi * (np.arange(64) + 0.5) / 64
    peer = ot.sliced_wasserstein_distance(
        PLACES,
        PLACES,
        P.ravel(),
        Q.ravel(),
        projections=np.stack([np.cos(turns), np.sin(turns)]),
        p=2,
    )

    assert sliced(P, Q) == pytest.approx(peer, rel=1e-9)


def test_sliced_is_below_the_distance_and_that_of_a_point_is_known() -> None:
    """Projections bring masses nearer; between two points the mean of cos**2 is a half."""
    assert sliced(P, Q) < wasserstein2(P, Q)
    one, other = np.zeros((2, 10, 10))
    one[1, 1] = other[4, 5] = 1

    assert sliced(one, other) == pytest.approx(0.5 / 2**0.5)
    assert sliced([1, 0, 0, 0], [0, 0, 0, 1]) == pytest.approx(0.75)
