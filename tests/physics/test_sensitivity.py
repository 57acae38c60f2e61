"""The number on which all the noise rests, against figures computed elsewhere."""

import math

import numpy as np
import pytest

from edge.records import Grid
from physics.kernel import forward, moves, sensitivity
from physics.places import cell_places, sensor_places


def line(cells: int, sensors: int, spread: float, walls: str = "none") -> np.ndarray:
    """The paper's operator: sources at j/n, sensors at i/m."""
    grid = Grid((cells, 1), 0)
    return forward(cell_places(grid), sensor_places((sensors,), grid), spread, walls)


def plane(cells: int, sensors: int, spread: float) -> np.ndarray:
    grid = Grid((cells, cells), 0)
    return forward(cell_places(grid), sensor_places((sensors, sensors), grid), spread)


@pytest.mark.parametrize(
    ("cells", "sensors", "spread", "expected"),
    [
        (500, 500, 0.05, 0.085954),
        (1000, 500, 0.05, 0.042977),
        (100, 50, 0.05, 0.135897),
        (100, 50, 0.5, 0.012219),
        (100, 10, 0.05, 0.060906),
    ],
)
def test_free_space_has_the_sensitivity_that_was_computed_apart(
    cells: int, sensors: int, spread: float, expected: float
) -> None:
    """These are the paper's settings; the first is its figure 4."""
    assert sensitivity(line(cells, sensors, spread)) == pytest.approx(expected, abs=5e-7)


@pytest.mark.parametrize(
    ("spread", "expected"),
    [(0.005, 1.061), (0.05, 0.193), (0.1, 0.117), (0.25, 0.0266), (0.5, 0.00226)],
)
def test_insulated_walls_have_the_sensitivity_that_was_computed_apart(
    spread: float, expected: float
) -> None:
    """Walls raise it while the heat is young and lower it when the room has evened out."""
    assert sensitivity(line(100, 50, spread, "insulated")) == pytest.approx(expected, rel=3e-3)


@pytest.mark.parametrize(
    ("cells", "sensors", "spread", "expected"), [(20, 10, 0.05, 0.895), (32, 24, 0.01, 7.457)]
)
def test_a_plane_has_the_sensitivity_of_a_move_to_a_neighbour(
    cells: int, sensors: int, spread: float, expected: float
) -> None:
    """max |dA_x| max |A_y|, as the kernel is a product."""
    operator = plane(cells, sensors, spread)

    assert sensitivity(operator, 1, (cells, cells)) == pytest.approx(expected, rel=5e-4)


@pytest.mark.parametrize(
    ("cells", "ratio"),
    [(1, 1.0), (2, 2.00), (5, 4.99), (10, 9.9), (20, 19.4), (50, 40.9), (99, 45.3)],
)
def test_a_longer_move_costs_more_until_the_room_ends(cells: int, ratio: float) -> None:
    """Nearly in proportion at first: a whole room is 45 cells' worth, not 99."""
    operator = line(100, 50, 0.05)

    assert sensitivity(operator, cells) / sensitivity(operator) == pytest.approx(ratio, rel=6e-3)


def test_wrapping_round_the_end_is_not_our_sensitivity() -> None:
    """The negative control: a maximum that runs to n compares the last cell with the first."""
    operator = line(100, 50, 0.05)
    wrapped = np.linalg.norm(operator - np.roll(operator, -1, axis=1), axis=0).max()

    assert wrapped > 40 * sensitivity(operator)


def test_the_last_pair_of_cells_counts() -> None:
    """The other negative control: a maximum that stops one short misses this operator."""
    operator = np.zeros((2, 5))
    operator[:, 4] = 3, 4

    assert sensitivity(operator) == 5
    assert sensitivity(operator[:, :4]) == 0


def test_a_finer_interval_and_more_sensors_follow_the_law_for_a_small_spread() -> None:
    """(sqrt(m) / n) (sqrt(2 pi) / 16 pi)**(1/2) s**(-3/4), where the sensors are dense."""
    law = math.sqrt(500) / 500 * math.sqrt(math.sqrt(2 * math.pi) / (16 * math.pi))

    assert sensitivity(line(500, 500, 1e-3)) == pytest.approx(law * 1e-3**-0.75, rel=2e-3)


@pytest.mark.parametrize("cells", [1, 2, 3, 4])
def test_in_a_plane_the_rings_hold_every_move_within_a_distance(cells: int) -> None:
    """Protecting a distance must not leave the oblique moves out."""
    shape, operator = (5, 4), np.random.default_rng(1).normal(size=(3, 20))
    column, row = np.arange(20) % 5, np.arange(20) // 5
    within = math.nan
    for i in range(20):
        for j in range(20):
            if 0 < (column[i] - column[j]) ** 2 + (row[i] - row[j]) ** 2 <= cells**2:
                change = float(np.linalg.norm(operator[:, i] - operator[:, j]))
                within = max(change, within) if within == within else change

    assert max(sensitivity(operator, d, shape) for d in range(1, cells + 1)) == pytest.approx(
        within
    )


def test_the_neighbours_in_a_plane_are_the_four_next_cells() -> None:
    """Each edge of the grid once: its reverse differs by a sign alone."""
    blocks = list(moves(np.eye(12), 1, (4, 3)))

    assert sum(block.shape[1] for block in blocks) == 3 * 3 + 4 * 2
    assert all((np.abs(block).sum(axis=0) == 2).all() for block in blocks)


def test_along_a_line_the_moves_are_the_differences_of_columns() -> None:
    """Calibration rounds these very numbers, so their order and sign are fixed."""
    operator = line(10, 4, 0.05)
    (block,) = moves(operator, 3)

    assert block == pytest.approx(operator[:, :-3] - operator[:, 3:])


@pytest.mark.parametrize(
    ("operator", "cells", "shape", "fault"),
    [
        (np.eye(3), 3, None, "the move is 3 cells but 3 by 1 cells have no two that far apart"),
        (np.eye(3), 0, None, "the move is 0 cells"),
        (np.eye(3), 1.5, None, "the move is 1.5 cells"),
        (np.ones((2, 1)), 1, None, "the move is 1 cells but 1 by 1"),
        (np.ones(3), 1, None, r"the operator has shape \(3,\)"),
        (np.ones((0, 3)), 1, None, r"the operator has shape \(0, 3\)"),
        ([[1.0, math.nan]], 1, None, "a value that is not finite"),
        (np.eye(6), 1, (2, 2), "has 4 cells but the operator has 6 sources"),
    ],
)
def test_a_move_that_cannot_be_made_is_refused(operator, cells, shape, fault: str) -> None:
    """A sensitivity of nought by mistake would mean no noise at all."""
    with pytest.raises(ValueError, match=fault):
        sensitivity(operator, cells, shape)
