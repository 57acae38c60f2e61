"""The curve for arrays of points: the device's own, its inverse, and how near it keeps things."""

import numpy as np
import pytest

from edge.mechanisms.ranks import place_of
from recovery.ranks.order import cells_at, cells_of, places_of


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("order", [1, 2, 7, 16])
def test_arrays_go_the_way_of_the_device(axes: int, order: int) -> None:
    """A gateway that decodes another curve draws another map; the two are written apart."""
    cells = np.random.default_rng(order).integers(0, 1 << order, (60, axes))
    places = places_of(cells, order)

    assert places.tolist() == [place_of(cell, order) for cell in cells.tolist()]
    assert (cells_at(places, order, axes) == cells).all()


def test_places_that_are_near_are_points_that_are_near() -> None:
    """|p - p'| <= 3 sqrt(|t - t'|) in the plane, the paper's bound, over random pairs."""
    world = np.random.default_rng(2)
    first = world.integers(0, 4**8, 20_000)
    second = np.clip(first + world.geometric(1e-3, 20_000), 0, 4**8 - 1)
    apart = np.linalg.norm((cells_at(first, 8, 2) - cells_at(second, 8, 2)) / 256, axis=1)
    bound = np.sqrt(np.abs(first - second) / 4**8)

    assert (apart <= 3 * bound).all()
    assert (apart > 1.5 * bound).any()


def test_points_outside_are_clamped_and_points_of_nowhere_refused() -> None:
    """Dropping a point would tell that it was there."""
    cells = cells_of([[-0.5, 0.5], [1.0, 7.0]], 4)

    assert cells.tolist() == [[0, 8], [15, 15]]
    assert cells_of([0.25, 0.75], 2).tolist() == [[1], [3]]
    with pytest.raises(ValueError, match="NaN"):
        cells_of([[0.1, np.nan]], 4)
