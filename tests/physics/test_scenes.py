"""Scenes: random ones, and what becomes of a source between the cells."""

import math
from fractions import Fraction

import numpy as np
import pytest

from edge.core.records import Grid
from physics.places import cell_places, length_m, nearest_cells, sensor_places
from physics.scenes import draw_sources
from physics.sensors import PointSensors, to_grains

LINE, PLANE = Grid((100, 1), 0), Grid((5, 4), 250)


@pytest.mark.parametrize("grid", [LINE, PLANE])
@pytest.mark.parametrize("k", [1, 4])
def test_random_sources_stand_in_different_cells(grid: Grid, k: int) -> None:
    """Two in one cell would be a source of twice the power that was allowed."""
    heat = draw_sources(k, grid, np.random.default_rng(6)).heat(grid)

    assert heat.sum() == k
    assert heat.max() == 1
    assert len(heat) == grid.shape[0] * grid.shape[1]


def test_random_sources_keep_out_of_the_furniture() -> None:
    """Every free cell is as likely, and no other one is ever warm."""
    free = np.array([True, False, False, True, True, False])
    world = np.random.default_rng(8)
    seen = sum(
        draw_sources(2, Grid((6, 1), 0), world, free=free).heat(Grid((6, 1), 0))
        for _ in range(900)
    )

    assert seen[~free].tolist() == [0, 0, 0]
    assert seen[free] == pytest.approx([600, 600, 600], abs=60)
    with pytest.raises(ValueError, match="3 cells hold"):
        draw_sources(4, Grid((6, 1), 0), world, free=free)


# Virtual sensors: noise of the world, steps of the converter, whole grains; in that order.

PLACES = np.linspace(0.1, 1, 10)


def test_the_converter_counts_before_the_grains_are_made() -> None:
    """Grains of 1/256 from steps of 1/16: only every sixteenth grain can be reported."""
    readings = np.linspace(-1, 1, 333)
    counted = to_grains(readings, 8, Fraction(1, 16))

    assert {grain % 16 for grain in counted} == {0}
    assert max(abs(g / 256 - t) for g, t in zip(counted, readings, strict=True)) <= 1 / 32


@pytest.mark.parametrize(
    ("reading", "grain"),
    [(0.5, 1), (-0.5, 0), (1.5, 2), (-1.5, -1), (0.49999999999999994, 0), (2.0**60 + 256, None)],
)
def test_the_nearest_grain_is_exact_and_a_tie_goes_up(reading: float, grain: int | None) -> None:
    """floor(x + 1/2) in floats is wrong just below a half; in fractions it cannot be."""
    assert to_grains([reading], 0) == (int(reading) if grain is None else grain,)


def test_noise_has_the_size_that_was_asked_for_and_comes_from_the_world() -> None:
    """The same world gives the same noise, and only there it is drawn."""
    sensors = PointSensors(np.zeros(20000), noise_sd=0.026)
    truth = np.full(20000, 0.3)
    noise = sensors.measure(truth, np.random.default_rng(5)) - truth
    again = sensors.measure(truth, np.random.default_rng(5)) - truth

    assert noise.std() == pytest.approx(0.026, rel=0.02)
    assert abs(noise.mean()) < 4 * 0.026 / math.sqrt(20000)
    assert (noise == again).all()


def test_rounding_of_an_operator_is_not_taken_for_a_negative_truth() -> None:
    """Thin factors leave a nought a little off; a source below nought leaves much more."""
    truth = np.array([1.0, -1e-15] + [0.5] * 8)

    assert PointSensors(PLACES).measure(truth, np.random.default_rng(0)).min() < 0


@pytest.mark.parametrize(
    ("truth", "fault"),
    [
        ([0.1] * 9 + [math.nan], "sensor 9 reads nan but a reading must be a finite"),
        ([math.inf] + [0.1] * 9, "sensor 0 reads inf"),
        ([0.1] * 4 + [-0.2] + [0.1] * 5, "sensor 4 is to see -0.2 K"),
        ([0.1] * 9, r"temperatures of shape \(9,\) but 10 sensors"),
    ],
)
def test_what_no_sensor_can_see_is_refused(truth, fault: str) -> None:
    """The sensor is named, for somebody has to go and look at it."""
    with pytest.raises(ValueError, match=fault):
        PointSensors(PLACES).measure(truth, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("step", "behind"), [(None, Fraction(1, 4)), (Fraction(1, 4), Fraction(-1, 4))]
)
def test_a_converter_is_behind_another_or_there_is_none(
    step: Fraction | None, behind: Fraction
) -> None:
    """Alone it would be left out in silence, and less noise be drawn than its steps ask for."""
    with pytest.raises(ValueError, match="behind"):
        PointSensors(PLACES, step=step, behind=behind)


# Where things stand: the paper's places on the unit interval, middles in metres.


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
