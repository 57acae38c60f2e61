"""What a move can change at the worst of all walls, bounded and found."""

import math
from itertools import product

import numpy as np
import pytest

from physics.kernels.robin import forward_robin
from physics.kernels.robin_sensitivity import _felt, robin_sensitivity
from physics.places import Floats
from physics.sensitivity import sensitivity

CELLS, SENSORS = np.arange(1, 41) / 40, np.arange(1, 21) / 20
EVERY = [0.0, *np.geomspace(1e-3, 1e4, 60).tolist(), math.inf]


@pytest.mark.long
@pytest.mark.parametrize(("spread", "cells"), [(0.002, 7), (0.05, 1), (0.25, 7), (0.8, 1)])
def test_no_loss_lets_a_move_change_more_than_the_bound(spread: float, cells: int) -> None:
    """By sixty losses, with the sensitivity as it is without walls that lose."""
    worst = robin_sensitivity(CELLS, SENSORS, spread, (0.0, math.inf), cells=cells)
    felt = [sensitivity(forward_robin(CELLS, SENSORS, spread, loss), cells) for loss in EVERY]

    assert max(felt) <= worst.bound <= 1.0201 * worst.found
    assert worst.found == pytest.approx(max(felt), rel=0.02)
    assert sensitivity(
        forward_robin(CELLS, SENSORS, spread, worst.loss_per_m), cells
    ) == pytest.approx(worst.found)
    # The control: both ends of the range know nothing of what lies between, at long spreads.
    assert spread < 0.1 or max(felt[0], felt[-1]) < 0.9 * max(felt)


def test_between_two_losses_no_readings_change_more_than_these_allow() -> None:
    """Every operator between the two, corner by corner of what a pair of cells can be."""
    world = np.random.default_rng(2)
    for _ in range(20):
        less, more = np.sort(world.normal(size=(2, 3, 2)), axis=0)[::-1]
        pairs = np.array([0]), np.array([1])
        corners = [
            np.where(np.reshape(which, (3, 2)), less, more)
            for which in product((False, True), repeat=6)
        ]
        worst = max(float(np.linalg.norm(one[:, 0] - one[:, 1])) for one in corners)

        assert _felt(less, more, pairs) == pytest.approx(worst)


def test_a_range_may_be_short_or_a_point() -> None:
    """A narrower range is bounded by a wider one; a known loss is its own worst."""
    some = robin_sensitivity(CELLS, SENSORS, 0.3, (0.5, 2.0))
    one = robin_sensitivity(CELLS, SENSORS, 0.3, (2.0, 2.0))

    assert one.bound == one.found <= some.bound
    assert one.found == pytest.approx(sensitivity(forward_robin(CELLS, SENSORS, 0.3, 2.0)))
    assert 0.5 <= some.loss_per_m <= 2.0


def plane(columns: int, rows: int) -> Floats:
    x, y = np.meshgrid((np.arange(columns) + 0.5) / columns, (np.arange(rows) + 0.5) / rows)
    return np.stack([x.ravel(), y.ravel()], axis=1)


@pytest.mark.parametrize("cells", [1, 2])
def test_a_room_is_bounded_too_oblique_moves_and_all(cells: int) -> None:
    """Cells and their pairs are counted in a plane as the sensitivity counts them."""
    places, sensors = plane(7, 5), plane(4, 3)
    worst = robin_sensitivity(
        places, sensors, 0.2, (0.0, math.inf), (1.0, 1.0), cells, (7, 5), within=0.05
    )
    felt = [
        sensitivity(forward_robin(places, sensors, 0.2, loss, (1.0, 1.0)), cells, (7, 5))
        for loss in EVERY[::2]
    ]

    assert max(felt) <= worst.bound <= 1.0501 * max(felt)


@pytest.mark.parametrize("within", [0.0, -1.0, math.nan])
def test_a_bound_as_sharp_as_what_was_found_is_refused(within: float) -> None:
    """It would be sought until patience ends."""
    with pytest.raises(ValueError, match="within is .* but must be above 0"):
        robin_sensitivity(CELLS, SENSORS, 0.05, (0.0, 1.0), within=within)


@pytest.mark.parametrize("losses", [(2.0, 1.0), (-1.0, 1.0), (0.0, math.nan)])
def test_a_range_that_is_none_is_refused(losses: tuple[float, float]) -> None:
    """The bound would be of nothing."""
    with pytest.raises(ValueError, match="losses_per_m is"):
        robin_sensitivity(CELLS, SENSORS, 0.1, losses)
