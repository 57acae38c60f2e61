"""Orders on a grid: row by row, squares within squares, the Hilbert curve."""

from itertools import pairwise

import pytest

from edge.core import grid
from edge.core.records import Grid

SIDES = [1, 2, 4, 16, 32]


@pytest.mark.parametrize("side", SIDES)
def test_the_hilbert_curve_visits_every_cell_by_single_steps(side: int) -> None:
    """That is the whole of what makes it that curve."""
    square = Grid((side, side), 0)
    curve = [grid.hilbert_cell(square, place) for place in range(side * side)]
    steps = [abs(a - c) + abs(b - d) for (a, b), (c, d) in pairwise(curve)]

    assert sorted(curve) == sorted((x, y) for x in range(side) for y in range(side))
    assert set(steps) <= {1}
    assert [grid.hilbert(square, cell) for cell in curve] == list(range(side * side))


@pytest.mark.parametrize("side", SIDES)
def test_a_square_of_the_hilbert_curve_is_a_square_of_the_grid(side: int) -> None:
    """Every quarter of the curve fills one quadrant, at every level."""
    square = Grid((side, side), 0)
    for level in range(grid.levels(square) + 1):
        size = 4 ** (grid.levels(square) - level)
        for start in range(0, side * side, size):
            places = range(start, start + size)
            held = {grid.square(square, grid.hilbert_cell(square, p), level) for p in places}

            assert len(held) == 1


def test_a_path_leads_to_its_cell() -> None:
    """Halving by each quadrant in turn ends on the cell."""
    square = Grid((8, 8), 0)
    for number in range(64):
        cell = grid.cell_at(square, number)
        x = y = 0
        for quadrant in grid.path(square, cell):
            x, y = 2 * x + quadrant % 2, 2 * y + quadrant // 2

        assert (x, y) == cell
        assert grid.index(square, cell) == number


def test_outsiders_are_moved_in() -> None:
    """Dropping them would tell that there was somebody."""
    field = Grid((5, 3), 100)

    assert grid.nearest(field, (-2, 9)) == (0, 2)
    assert grid.nearest(field, (4, 1)) == (4, 1)
    assert grid.cells(field) == 15


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (6, 6)])
def test_squares_within_squares_need_a_power_of_two(shape: tuple[int, int]) -> None:
    """Else a square of a level would stick out of the grid."""
    with pytest.raises(ValueError, match="power of two"):
        grid.levels(Grid(shape, 0))


def test_a_level_that_is_not_there_is_refused() -> None:
    """A shift by a negative number is no square."""
    with pytest.raises(ValueError, match="level 4"):
        grid.square(Grid((8, 8), 0), (0, 0), 4)
