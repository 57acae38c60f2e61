"""What point sensors, boxes and beams see of a field."""

import numpy as np
import pytest

from edge.records import Grid
from physics.instruments.views import beam_views, box_views, point_views
from physics.places import cell_places

GRID = Grid((30, 20), 200)  # 6 x 4 m
WORLD = np.random.default_rng(5)
INSIDE = WORLD.uniform((1, 1), (5, 3), (40, 2))


def gaussian(at: np.ndarray, middle: np.ndarray, variance: float) -> np.ndarray:
    """A plane Gaussian of unit heat at (places, 2)."""
    apart = ((at - middle) ** 2).sum(axis=-1)
    return np.asarray(np.exp(-apart / (2 * variance)) / (2 * np.pi * variance))


@pytest.mark.parametrize(
    ("views", "near"),
    [
        (point_views(INSIDE, GRID), 1e-12),
        # Cells are even, so a border that cuts one is off by slope x cell**2 / 8 side.
        (box_views(INSIDE, 0.7, GRID), 5 * 0.2**2 / (8 * 0.7)),
        (beam_views(INSIDE, 0.2, GRID), 1e-3),
    ],
    ids=["point", "box", "beam"],
)
def test_a_view_inside_the_room_adds_up_to_one_and_reads_a_slope_at_its_middle(
    views: np.ndarray, near: float
) -> None:
    """A mean of a straight slope is its value in the middle; nothing is lost or invented."""
    x, y = cell_places(GRID).T
    middle = 1.5 + 2 * INSIDE[:, 0] - 3 * INSIDE[:, 1]

    assert views.min() >= 0
    assert views.sum(axis=1) == pytest.approx(1, abs=1e-6)
    assert views @ (1.5 + 2 * x - 3 * y) == pytest.approx(middle, abs=near)


def test_a_point_is_read_straight_between_four_middles() -> None:
    """In the middle of a cell its own value, at a corner the mean of four."""
    field = WORLD.random(600)
    seen = point_views(np.array([[0.1, 0.1], [0.5, 0.3], [0.2, 0.2]]), GRID) @ field

    assert seen[:2] == pytest.approx(field[[0, 32]], abs=1e-15)
    assert seen[2] == pytest.approx(field[[0, 1, 30, 31]].mean())


def test_at_the_walls_a_point_reads_the_outermost_cell() -> None:
    """Nothing is known beyond the last middle, and extrapolation could invent a warm wall."""
    field = WORLD.random(600)
    corners = np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 4.0], [6.0, 4.0]])

    assert (point_views(corners, GRID) @ field).tolist() == field[[0, 29, 570, 599]].tolist()


def test_what_lies_beyond_a_wall_is_at_the_baseline() -> None:
    """A box in a corner sees a quarter of the room: the rest is wall, and reads nought."""
    corner = np.zeros((1, 2))

    assert box_views(corner, 0.8, GRID).sum() == pytest.approx(0.25)
    assert beam_views(corner, 0.3, GRID).sum() == pytest.approx(0.25)
    assert box_views(np.array([[3.0, 0.0]]), 0.8, GRID).sum() == pytest.approx(0.5)


def test_a_beam_adds_its_variance_to_that_of_the_heat() -> None:
    """The closed form of the physics: a Gaussian seen through a Gaussian is a wider one."""
    fine = Grid((300, 200), 20)
    middle, heat, beam = np.array([3.1, 2.05]), 0.3**2, 0.25**2
    field = gaussian(cell_places(fine), middle, heat)
    at = np.array([[3.1, 2.05], [3.5, 2.0], [2.6, 1.6], [3.0, 2.6]])
    seen = beam_views(at, 0.25, fine) @ field

    assert seen == pytest.approx(gaussian(at, middle, heat + beam), rel=2e-3)
    assert seen[0] < 0.7 * gaussian(at, middle, heat)[0]  # and without it, far off


def test_on_a_line_the_paper_s_cells_stand_at_their_right_end() -> None:
    """The unit interval has no walls, and its places are j/n."""
    line = Grid((10, 1), 0)
    field = np.arange(1, 11) / 10

    assert point_views(np.array([0.1, 0.55, 1.0]), line) @ field == pytest.approx([0.1, 0.55, 1])


def test_a_view_from_outside_the_room_is_refused() -> None:
    """There is no air to touch; and a box or beam has an extent."""
    with pytest.raises(ValueError, match="must be within 0 and 6 x 4"):
        point_views(np.array([[6.2, 1.0]]), GRID)
    with pytest.raises(ValueError, match="side_m is 0"):
        box_views(INSIDE, 0.0, GRID)
    with pytest.raises(ValueError, match="deviation_m is nan"):
        beam_views(INSIDE, float("nan"), GRID)
