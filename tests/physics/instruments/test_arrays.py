"""What a thermal array at the ceiling sees of the floor, and of people."""

import math

import numpy as np
import pytest

from edge.core.records import Grid
from physics.instruments.presets import find
from physics.instruments.views import (
    EMISSIVITY,
    SURFACE_K,
    array_axes,
    cover,
    footprints,
    people_seen,
)

GRID = Grid((60, 40), 100)  # 6 x 4 m
EYE, WIDE = find("grideye"), find("mlx90640-110")
MIDDLE, CEILING_M = (3.0, 2.0), 2.7


def areas(name: str, distance_m: float) -> np.ndarray:
    """The floor that each pixel sees, (pixels,), in square metres."""
    x, y = footprints(find(name), MIDDLE, distance_m)
    return np.asarray(np.outer(np.diff(y), np.diff(x)).ravel())


@pytest.mark.parametrize(
    ("name", "across_m", "down_m", "inner_m"),
    [
        ("grideye", 2 * math.tan(math.pi / 6), 2 * math.tan(math.pi / 6), 0.131652),
        ("mlx90640-110", 2 * 1.428148, 2 * 0.767327, 0.060065),
        ("mlx90640-55", 2 * 0.520567, 2 * 0.315299, 0.030007),
    ],
)
def test_the_picture_is_as_large_as_the_angles_say(
    name: str, across_m: float, down_m: float, inner_m: float
) -> None:
    """A metre below: twice the tangent of half the view, by tables; inner pixels are smaller."""
    x, y = footprints(find(name), (0.0, 0.0), 1.0)

    assert (x[-1] - x[0], y[-1] - y[0]) == pytest.approx((across_m, down_m), rel=1e-5)
    assert np.diff(x).min() == pytest.approx(inner_m, rel=1e-4)
    assert np.diff(x).argmin() in (len(x) // 2 - 1, len(x) // 2)


def test_pixels_inside_the_room_add_up_to_one_and_tile_the_floor_once() -> None:
    """Every square centimetre of the picture is seen by one pixel: none twice, none lost."""
    views = array_axes(EYE, MIDDLE, CEILING_M, GRID).matrix()
    tiled = areas("grideye", CEILING_M) @ views / 0.01
    x, y = footprints(EYE, MIDDLE, CEILING_M)
    covers = np.outer(
        np.diff(np.clip(np.arange(41) / 10, y[0], y[-1])),
        np.diff(np.clip(np.arange(61) / 10, x[0], x[-1])),
    )

    assert views.sum(axis=1) == pytest.approx(1, abs=1e-12)
    assert tiled == pytest.approx(covers.ravel() / 0.01, abs=1e-9)


def test_pixels_that_look_at_a_wall_see_the_baseline_there() -> None:
    """110 degrees from 2.7 m reach 3.9 m each way: beyond the walls of 6 m there is nothing."""
    axes = array_axes(WIDE, MIDDLE, CEILING_M, GRID)
    seen = axes.matrix().sum(axis=1).reshape(24, 32)

    assert seen[12, 16] == pytest.approx(1)
    assert seen[12, 0] == 0
    assert ((seen > 0.01) & (seen < 0.99)).any()  # and some look at both


def test_a_row_runs_along_x_and_the_first_pixel_is_north_west() -> None:
    """A hot corner of the plan is in the corner of the frame where one looks for it."""
    field = np.zeros((40, 60))
    field[:8, :18] = 1.0  # towards x = 0, y = 0
    frame = array_axes(EYE, MIDDLE, CEILING_M, GRID).see(field).reshape(8, 8)

    assert frame[0, 0] > 0
    assert frame[0, 7] == frame[7, 0] == frame[7, 7] == 0


def test_a_person_covers_the_same_floor_wherever_they_stand() -> None:
    """Shares times footprints are the area of the person; half of it at the picture's border."""
    area = areas("grideye", CEILING_M - 1.6)
    x, _ = footprints(EYE, MIDDLE, CEILING_M - 1.6)
    inside = [cover([[a, b]], EYE, MIDDLE, CEILING_M) @ area for a, b in ((3, 2), (3.1, 1.93))]
    half = cover([[x[-1], 2.0]], EYE, MIDDLE, CEILING_M) @ area

    assert inside == pytest.approx([0.16, 0.16], rel=1e-12)
    assert half == pytest.approx(0.08)


def test_a_person_that_fills_a_pixel_shows_their_surface_and_no_more() -> None:
    """Two in one place are no warmer than one: the upper hides the lower."""
    one = people_seen([[3.0, 2.0]], EYE, MIDDLE, CEILING_M)
    two = people_seen([[3.0, 2.0]] * 2, EYE, MIDDLE, CEILING_M)
    nobody = people_seen(np.zeros((0, 2)), EYE, MIDDLE, CEILING_M, background_k=0.5)

    assert one.max() == two.max() == pytest.approx(EMISSIVITY * SURFACE_K)
    assert (nobody == 0.5).all()


def test_an_array_that_cannot_look_is_refused() -> None:
    """Below heads, on a line, a thermometer, and people who are nowhere."""
    with pytest.raises(ValueError, match=r"distance_m is -0\.1 but must be positive"):
        cover([[3, 2]], EYE, MIDDLE, 1.5)
    with pytest.raises(ValueError, match="the grid is a line"):
        array_axes(EYE, (0.5,), CEILING_M, Grid((10, 1), 100))
    with pytest.raises(ValueError, match="tmp117 has no field of view"):
        array_axes(find("tmp117"), MIDDLE, CEILING_M, GRID)
    with pytest.raises(ValueError, match="not finite"):
        cover([[3, math.nan]], EYE, MIDDLE, CEILING_M)
