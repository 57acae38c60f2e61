"""Paths that somebody can walk, and such as nobody can."""

import math

import numpy as np
import pytest

from physics.kernels.paths import Path


@pytest.mark.parametrize(
    ("path", "said"),
    [
        (([0.0], [[0.1, 0.1]], [1.0]), "1 instants, 1 places and 1 rates but needs two"),
        (([0.0, 1.0], [[0.1, 0.1]], [1.0, 1.0]), "2 instants, 1 places"),
        (([1.0, 0.0], [[0.1, 0.1]] * 2, [1.0, 1.0]), "an instant before the one above"),
        (([0.0, 1.0], [[0.1, math.nan]] * 2, [1.0, 1.0]), "not finite"),
    ],
)
def test_paths_that_nobody_walks_are_refused(path, said: str) -> None:
    """Heat has an age, so a path has an order."""
    with pytest.raises(ValueError, match=said):
        Path(*(np.array(part) for part in path))
