"""Where things stand: the paper's places on the unit interval, middles in metres."""

import numpy as np
import pytest

from edge.core.records import Grid
from physics.places import cell_places, is_plane, length_m, nearest_cells, sensor_places


def test_the_unit_interval_has_the_papers_places() -> None:
    """j/n and i/m: the figures of the paper hang on it."""
    grid = Grid((100, 1), 0)

    assert cell_places(grid) == pytest.approx(np.arange(1, 101) / 100)
    assert sensor_places((50,), grid) == pytest.approx(np.arange(1, 51) / 50)
    assert sensor_places((50, 1), grid) == pytest.approx(np.arange(1, 51) / 50)


def test_in_metres_things_stand_in_the_middle_of_their_share() -> None:
    """A corridor of 10 m: the first of five sensors serves the first two metres."""
    grid = Grid((100, 1), 100)

    assert cell_places(grid)[[0, 99]] == pytest.approx([0.05, 9.95])
    assert sensor_places((5,), grid) == pytest.approx([1, 3, 5, 7, 9])
    assert length_m(grid) == 10


def test_a_plane_goes_row_by_row() -> None:
    """x fastest, as the mass of a heat map is read."""
    grid = Grid((3, 2), 0)

    assert is_plane(grid)
    assert cell_places(grid)[:4] == pytest.approx(
        np.array([[1 / 3, 0.5], [2 / 3, 0.5], [1, 0.5], [1 / 3, 1]])
    )
    assert sensor_places((8, 8), grid).shape == (64, 2)


@pytest.mark.parametrize("grid", [Grid((7, 1), 0), Grid((7, 1), 250), Grid((4, 3), 0)])
def test_every_cell_is_the_nearest_to_its_own_place(grid: Grid) -> None:
    """A source put at a cell must come back as that cell, on every kind of grid."""
    places = cell_places(grid)

    assert nearest_cells(places, grid).tolist() == list(range(len(places)))


def test_places_between_cells_go_to_the_nearest_and_the_walls_to_the_last() -> None:
    """Nobody standing inside the walls is without a cell."""
    assert nearest_cells(np.array([0.0, 0.37, 0.38, 1.0]), Grid((4, 1), 0)).tolist() == [
        0,
        0,
        1,
        3,
    ]
    assert nearest_cells(np.array([0.0, 0.49, 0.5, 1.0]), Grid((2, 1), 500)).tolist() == [
        0,
        0,
        1,
        1,
    ]


@pytest.mark.parametrize(
    ("shape", "grid", "fault"),
    [
        ((0,), Grid((4, 1), 0), "0 places were asked for"),
        ((8, 8), Grid((4, 1), 0), "needs 1 count"),
        ((8,), Grid((4, 4), 0), "needs 2 count"),
        ((8,), Grid((0, 1), 0), "the grid is 0 by 1 cells"),
        ((8,), Grid((4, 1), -5), "of -5 mm"),
    ],
)
def test_places_that_cannot_be_are_refused(shape, grid: Grid, fault: str) -> None:
    """A grid of nothing would make an operator of nothing."""
    with pytest.raises(ValueError, match=fault):
        sensor_places(shape, grid)
