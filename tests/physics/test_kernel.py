"""The forward operator against laws of heat and against other people's code."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.linalg import expm
from scipy.stats import norm

from edge.core.records import Grid
from physics import kernel
from physics.kernel import forward, heat_kernel, sensitivity
from physics.places import cell_places, sensor_places
from recovery.thermal.query import Query

# One line between two walls: two forms that share no formula.


@pytest.mark.parametrize("walls", ["insulated", "cold"])
@pytest.mark.parametrize("length", [1.0, 4.0])
def test_images_and_waves_agree_where_one_hands_over_to_the_other(
    walls: str, length: float
) -> None:
    """They share no formula, so agreement to rounding checks both."""
    places = np.linspace(0, length, 41)
    given = places, places, kernel.SWITCH * length**2, walls, length

    assert np.abs(kernel.sum_images(*given) - kernel.sum_waves(*given)).max() < 1e-12


@pytest.mark.parametrize("spread", [1e-6, 0.05, 0.5, 40.0])
def test_the_free_kernel_is_the_normal_density_of_variance_two_spreads(spread: float) -> None:
    """Someone else's density is the outside check of ours."""
    distance = np.linspace(-3, 3, 61)

    assert heat_kernel(distance, spread) == pytest.approx(
        norm.pdf(distance, scale=math.sqrt(2 * spread)), rel=1e-12, abs=1e-300
    )


def test_the_operator_has_a_row_for_each_sensor_and_a_column_for_each_source() -> None:
    """Turned round it would still multiply when both counts agree, and be wrong."""
    operator = forward([0.2, 0.3, 0.9], [0.1, 0.6], 0.05)

    assert operator.shape == (2, 3)
    assert operator[1, 2] == pytest.approx(heat_kernel(0.3, 0.05))


@pytest.mark.parametrize("length", [1.0, 4.0])
@pytest.mark.parametrize("source", [0.0, 0.13, 0.5, 1.0])
@pytest.mark.parametrize("spread", [1e-3, 0.02, 0.0999, 0.1001, 1.0, 50.0])
def test_insulated_walls_keep_all_the_heat(source: float, spread: float, length: float) -> None:
    """No heat passes an insulated wall, so the room holds one unit for ever."""

    def warmth(place: float) -> float:
        return float(
            forward([source * length], [place], spread * length**2, "insulated", length)[0, 0]
        )

    held, _ = quad(warmth, 0, length, points=[source * length], epsabs=1e-12, limit=200)
    free, _ = quad(lambda place: float(forward([0.1], [place], 0.05)[0, 0]), 0, 1)

    assert held == pytest.approx(1, abs=1e-9)
    assert free < 0.7  # the paper's own model has no walls


@pytest.mark.parametrize(("walls", "at_end"), [("insulated", -1), ("cold", -3)])
def test_walls_agree_with_heat_that_flows_from_cell_to_cell(walls: str, at_end: int) -> None:
    """A finite-volume room knows nothing of kernels; its error falls with the square of a cell."""
    spread, errors = 0.02, []
    for cells in (50, 100):
        flow = -2 * np.eye(cells) + np.eye(cells, k=1) + np.eye(cells, k=-1)
        flow[0, 0] = flow[-1, -1] = at_end  # of a cold wall, half a cell away
        centres = (np.arange(cells) + 0.5) / cells
        stepped = expm(flow * cells**2 * spread) * cells
        errors.append(np.abs(forward(centres, centres, spread, walls) - stepped).max())

    assert errors[0] / errors[1] == pytest.approx(4, rel=0.05)


@pytest.mark.parametrize("walls", ["none", "insulated"])
def test_a_plane_is_the_product_of_its_axes(walls: kernel.Walls) -> None:
    """Heat spreads along x and along y at once and independently."""
    sources = np.array([[0.1, 1.9], [0.7, 0.2], [0.4, 1.1]])
    sensors = np.array([[0.5, 0.5], [0.2, 1.5]])
    across = forward(sources[:, 0], sensors[:, 0], 0.08, walls, 1.0)
    down = forward(sources[:, 1], sensors[:, 1], 0.08, walls, 2.0)

    assert forward(sources, sensors, 0.08, walls, (1.0, 2.0)) == pytest.approx(across * down)


@pytest.mark.parametrize("walls", ["none", "insulated"])
def test_a_grid_row_by_row_has_the_columns_of_its_cells_bit_for_bit(walls: kernel.Walls) -> None:
    """A grid has a shorter way to its operator, on which every plane's sensitivity rests."""
    grid = Grid((7, 4), 0)
    cells, sensors = cell_places(grid), sensor_places((3, 2), grid)
    mixed = np.random.default_rng(0).permutation(len(cells))
    apart = forward(cells[mixed], sensors, 0.05, walls)
    alone = np.hstack([forward(cells[[cell]], sensors, 0.05, walls) for cell in mixed])

    assert (forward(cells, sensors, 0.05, walls)[:, mixed] == apart).all()
    assert apart == pytest.approx(alone, rel=1e-12)


@pytest.mark.parametrize("spread", [0.0, -0.05, math.nan, math.inf])
@pytest.mark.parametrize("walls", ["none", "insulated"])
def test_a_spread_that_is_not_positive_is_refused(spread: float, walls: kernel.Walls) -> None:
    """Such a kernel would be a spike or nonsense, and the noise calibrated on it too."""
    with pytest.raises(ValueError, match=f"spread_m2 is {spread:g} but must be positive"):
        forward([0.5], [0.5], spread, walls)


@pytest.mark.parametrize(
    ("sources", "sensors", "options", "fault"),
    [
        ([], [0.5], {}, "sources_m has no place but at least one is needed"),
        ([0.5], [math.nan], {}, "sensors_m holds a value that is not finite"),
        ([[0.1, 0.2, 0.3, 0.4]], [0.5], {}, r"sources_m has shape \(1, 4\) but must be"),
        ([[0.1, 0.2]], [0.5], {}, "have 2, 1 and 1 axes"),
        ([0.5], [0.5], {"walls": "brick"}, "walls is 'brick' but must be"),
        ([0.5, 1.2], [0.5], {"walls": "insulated"}, r"sources_m\[1\] is 1.2 but must be between"),
        ([0.5], [0.5], {"walls": "insulated", "length_m": 0.0}, "length_m is 0 but must be"),
    ],
)
def test_places_without_a_meaning_are_refused(sources, sensors, options, fault) -> None:
    """One bad place would spoil every reading, so it is named at once."""
    with pytest.raises(ValueError, match=fault):
        forward(sources, sensors, 0.05, **options)


def test_only_what_a_promise_covers_may_be_asked_for() -> None:
    """Cold walls can be simulated, but how much a move is felt is not bounded along spreads."""
    given = {"sensors": (8,), "spread_m2": 0.05, "epsilon": (1, 1)}

    assert Query(Grid((10, 1), 0), walls="insulated", **given).walls == "insulated"
    with pytest.raises(ValueError, match="walls is 'cold' but must be 'none' or 'insulated'"):
        Query(Grid((10, 1), 0), walls="cold", **given)


# The number on which all the noise rests, against figures computed elsewhere.


def line(cells: int, sensors: int, spread: float, walls: str = "none") -> np.ndarray:
    """The paper's operator: sources at j/n, sensors at i/m."""
    grid = Grid((cells, 1), 0)
    return forward(cell_places(grid), sensor_places((sensors,), grid), spread, walls)


@pytest.mark.parametrize(
    ("cells", "sensors", "spread", "walls", "expected"),
    [
        (500, 500, 0.05, "none", 0.085954),
        (1000, 500, 0.05, "none", 0.042977),
        (100, 50, 0.05, "none", 0.135897),
        (100, 50, 0.5, "none", 0.012219),
        (100, 10, 0.05, "none", 0.060906),
        (100, 50, 0.005, "insulated", 1.061),
        (100, 50, 0.05, "insulated", 0.193),
        (100, 50, 0.5, "insulated", 0.00226),
    ],
)
def test_the_sensitivity_is_the_one_that_was_computed_apart(
    cells: int, sensors: int, spread: float, walls: str, expected: float
) -> None:
    """The paper's settings, the first its figure 4; walls raise it while the heat is young."""
    within = {"abs": 5e-7} if walls == "none" else {"rel": 3e-3}  # as many digits as are known

    assert sensitivity(line(cells, sensors, spread, walls)) == pytest.approx(expected, **within)


@pytest.mark.parametrize(
    ("cells", "sensors", "spread", "expected"), [(20, 10, 0.05, 0.895), (32, 24, 0.01, 7.457)]
)
def test_a_plane_has_the_sensitivity_of_a_move_to_a_neighbour(
    cells: int, sensors: int, spread: float, expected: float
) -> None:
    """max |dA_x| max |A_y|, as the kernel is a product."""
    grid = Grid((cells, cells), 0)
    operator = forward(cell_places(grid), sensor_places((sensors, sensors), grid), spread)

    assert sensitivity(operator, 1, (cells, cells)) == pytest.approx(expected, rel=5e-4)


def test_the_last_pair_of_cells_counts() -> None:
    """The other negative control: a maximum that stops one short misses this operator."""
    operator = np.zeros((2, 5))
    operator[:, 4] = 3, 4

    assert sensitivity(operator) == 5
    assert sensitivity(operator[:, :4]) == 0


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
