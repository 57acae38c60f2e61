"""Noise that is enough for the shortest spread of a range is enough for the whole of it."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from edge.records import Grid
from physics.kernel import forward, sensitivity
from physics.kernels.robin import forward_robin
from physics.places import cell_places, length_m, sensor_places
from recovery.noise.calibrate import calibrate
from recovery.noise.whole import reach, shifts, whole_square
from recovery.thermal.noise import calibration, room
from recovery.thermal.query import Query, protected_cells

LINE = Query(Grid((100, 1), 0), (50,), 0.025, (1, 1))
SPARSE = Query(Grid((20, 1), 500), (6,), 0.05, (1, 1), walls="insulated", protect_distance_m=1.5)
ROOM = Query(Grid((6, 5), 500), (3, 2), 0.05, (1, 1), step=Fraction(1, 16), intensity_max=4.0)


@pytest.mark.parametrize("query", [LINE, SPARSE, ROOM])
@pytest.mark.parametrize("range_of", [4.0, 100.0])
def test_noise_for_the_least_spread_hides_a_move_at_every_spread_of_the_range(
    query: Query, range_of: float
) -> None:
    """By brute force: whole numbers as sent, every protected move, three hundred spreads."""
    made, moved = calibration(query), reach(query.grid.shape, protected_cells(query))
    squares = [
        whole_square(
            shifts(room(query).operator(spread), query.grid.shape, moved, query.intensity_max),
            made.exponent,
            query.step,
        )
        for spread in query.spread_m2 * np.geomspace(1, range_of, 300)
    ]

    assert max(squares) <= made.sensitivity_squared


def test_noise_for_the_middle_of_a_range_would_not_do() -> None:
    """The control: who states the likeliest spread promises nothing of the shorter ones."""
    middle = replace(LINE, spread_m2=0.05)
    stated = calibration(middle).sensitivity
    worst = max(
        sensitivity(forward(np.arange(1, 101) / 100, np.arange(1, 51) / 50, spread))
        for spread in np.geomspace(0.025, 0.1, 50)
    )

    assert worst > 1.5 * stated
    assert worst <= calibration(LINE).sensitivity * (1 + 1e-9)


@pytest.mark.parametrize("spread", [0.05, 0.2, 0.5])
def test_noise_for_insulated_walls_does_not_hide_a_move_between_walls_that_lose(
    spread: float,
) -> None:
    """So a query whose walls lose heat must have its own noise, or be refused."""
    query = replace(LINE, spread_m2=spread, walls="insulated")
    places = cell_places(query.grid), sensor_places(query.sensors, query.grid)
    losing = [
        forward_robin(*places, spread, loss, length_m(query.grid))
        for loss in (0.3, 1.0, 3.0, 10.0, math.inf)
    ]
    felt = max(sensitivity(operator) for operator in losing)

    assert felt > 1.05 * calibration(query).sensitivity
    # With the operators of such walls among those it is given, the noise is enough.
    made = calibrate(np.array(losing), (100, 1), 1, query.epsilon, query.delta)
    assert made.sensitivity >= felt * (1 - 1e-9)
