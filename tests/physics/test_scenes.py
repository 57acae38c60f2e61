"""Scenes: random ones, and what becomes of a source between the cells."""

import numpy as np
import pytest

from edge.core.records import Grid
from physics.kernel import forward
from physics.places import cell_places, sensor_places
from physics.scenes import Scene, random_sources

LINE, PLANE = Grid((100, 1), 0), Grid((5, 4), 250)


@pytest.mark.parametrize("grid", [LINE, PLANE])
@pytest.mark.parametrize("k", [1, 4])
def test_random_sources_stand_in_different_cells(grid: Grid, k: int) -> None:
    """Two in one cell would be a source of twice the power that was allowed."""
    heat = random_sources(k, grid, np.random.default_rng(6)).heat(grid)

    assert heat.sum() == k
    assert heat.max() == 1
    assert len(heat) == grid.shape[0] * grid.shape[1]


def test_a_scene_warms_the_sensors_as_the_heat_of_its_cells_does() -> None:
    """Two ways to one truth, where the sources stand at the cells."""
    scene = random_sources(3, LINE, np.random.default_rng(8))
    sensors = sensor_places((50,), LINE)
    expected = forward(cell_places(LINE), sensors, 0.05) @ scene.heat(LINE)

    assert scene.temperatures(sensors, 0.05) == pytest.approx(expected)


def test_a_source_between_the_cells_goes_to_the_nearest() -> None:
    """The truth that a map is scored against is at most half a cell off."""
    scene = Scene(np.array([0.123, 0.127, 1.0]), np.array([1.0, 0.5, 0.25]))
    heat = scene.heat(LINE)

    assert np.flatnonzero(heat).tolist() == [11, 12, 99]
    assert heat[[11, 12, 99]].tolist() == [1.0, 0.5, 0.25]


@pytest.mark.parametrize("k", [0, -1, 101, 1.5])
def test_a_number_of_sources_that_cannot_be_is_refused(k) -> None:
    """One in each cell is the most."""
    with pytest.raises(ValueError, match="sources were asked for but 100 cells hold 1 to 100"):
        random_sources(k, LINE, np.random.default_rng(0))


def test_random_sources_keep_out_of_the_furniture() -> None:
    """Every free cell is as likely, and no other one is ever warm."""
    free = np.array([True, False, False, True, True, False])
    world = np.random.default_rng(8)
    seen = sum(
        random_sources(2, Grid((6, 1), 0), world, free=free).heat(Grid((6, 1), 0))
        for _ in range(900)
    )

    assert seen[~free].tolist() == [0, 0, 0]
    assert seen[free] == pytest.approx([600, 600, 600], abs=60)
    with pytest.raises(ValueError, match="3 cells hold"):
        random_sources(4, Grid((6, 1), 0), world, free=free)
