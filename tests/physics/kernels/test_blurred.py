"""Sources that are boxes, against points that are added up over them."""

import numpy as np
import pytest

from physics.kernel import AnyWalls, forward
from physics.kernels import blurred
from physics.kernels.blurred import forward_box

NODES, WEIGHTS = np.polynomial.legendre.leggauss(60)


@pytest.mark.parametrize("walls", ["none", "insulated", "cold"])
@pytest.mark.parametrize("spread", [0.003, 0.15, 1.5])
def test_a_box_is_the_mean_of_its_points(walls: AnyWalls, spread: float) -> None:
    """By quadrature; with the box against a wall, in its middle, and all of it."""
    sensors = np.linspace(0, 2, 11)
    for middle, width in ((0.25, 0.5), (0.9, 0.6), (1.0, 2.0)):
        points = middle + width / 2 * NODES
        expected = forward(points, sensors, spread, walls, 2.0) @ WEIGHTS / 2

        assert forward_box([middle], sensors, spread, width, walls, 2.0)[:, 0] == pytest.approx(
            expected, rel=1e-9, abs=1e-14
        )
        assert forward([middle], sensors, spread, "none")[:, 0] != pytest.approx(
            expected, rel=1e-3
        )


@pytest.mark.parametrize("walls", ["insulated", "cold"])
def test_images_and_waves_agree_where_one_hands_over_to_the_other(walls: AnyWalls) -> None:
    """Just below the switch and just above it, where the room is nearly the same."""
    given = [0.3, 0.7], np.linspace(0, 1, 9)
    below, above = (
        forward_box(*given, blurred.SWITCH * (1 + side * 1e-9), 0.4, walls) for side in (-1, 1)
    )

    assert np.abs(below - above).max() < 1e-8


def test_a_plane_of_cells_holds_the_heat_of_all_of_them() -> None:
    """A whole floor of boxes is even from the first, and stays so between insulated walls."""
    centres = np.stack(np.meshgrid(np.arange(4) + 0.5, np.arange(3) + 0.5), -1).reshape(-1, 2)
    even = forward_box(centres, centres, 0.3, 1.0, "insulated", (4.0, 3.0)).sum(axis=1)

    assert even == pytest.approx(np.ones(12), rel=1e-13)


@pytest.mark.parametrize(
    ("width", "said"),
    [(0.0, "width_m is 0"), ((0.1, 0.2), "one number or one"), (0.5, "stands 0.1 m in a wall")],
)
def test_boxes_that_cannot_be_are_refused(width, said: str) -> None:
    """Heat in a wall is not in the room."""
    with pytest.raises(ValueError, match=said):
        forward_box([0.15], [0.5], 0.1, width, "insulated")


def test_far_from_a_box_what_little_there_is_is_right() -> None:
    """Twelve deviations away; of two error functions next to one nothing would be left."""
    points = 0.5 + 0.1 * NODES
    for place in (0.5, 0.65, 1.3, 2.3):
        mean = forward(points, [place], 0.01)[0] @ WEIGHTS / 2

        assert forward_box([0.5], [place], 0.01, 0.2)[0, 0] == pytest.approx(mean, rel=1e-9, abs=0)


def test_a_box_that_fills_the_room_is_felt_alike_everywhere() -> None:
    """At every spread, images just before the waves take over among them."""
    for spread in (1e-4, 0.0217, 0.0869, 0.09999, 0.3):
        felt = forward_box([0.5], [0.0, 0.3, 1.0], spread, 1.0, "insulated")
        assert felt == pytest.approx(1.0, rel=1e-14)
