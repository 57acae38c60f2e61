"""The forward operator against laws of heat and against other people's code."""

import math
import warnings

import numpy as np
import pytest
from scipy.fft import dct, idct
from scipy.integrate import quad
from scipy.linalg import expm
from scipy.stats import norm

from edge.records import Grid
from physics import kernel
from physics.kernel import forward, heat_kernel
from recovery.thermal.query import Query

# One line between two walls: two forms that share no formula.


@pytest.mark.parametrize("walls", ["insulated", "cold"])
def test_images_and_waves_agree_where_one_hands_over_to_the_other(walls: str) -> None:
    """They share no formula, so agreement to rounding checks both."""
    places = np.linspace(0, 1, 41)
    given = places, places, kernel.SWITCH, walls, 1.0

    assert np.abs(kernel.images(*given) - kernel.waves(*given)).max() < 1e-12


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

    assert held == pytest.approx(1, abs=1e-9)


def test_free_space_loses_heat_from_the_interval() -> None:
    """The negative control of the law above: the paper's own model has no walls."""
    held, _ = quad(lambda place: float(forward([0.1], [place], 0.05)[0, 0]), 0, 1)

    assert held < 0.7


@pytest.mark.parametrize("spread", [0.005, 0.05, 0.5])
def test_insulated_walls_agree_with_the_cosine_transform_on_cell_centres(spread: float) -> None:
    """The modes of an insulated line sampled at cell centres are those of the DCT-II."""
    cells = 128
    centres = (np.arange(cells) + 0.5) / cells
    decay = np.exp(-spread * (np.pi * np.arange(cells)) ** 2)
    expected = idct(dct(np.eye(cells), axis=0) * decay[:, None], axis=0) * cells

    assert np.abs(forward(centres, centres, spread, "insulated") - expected).max() < 1e-11


def test_insulated_walls_agree_with_heat_that_flows_from_cell_to_cell() -> None:
    """A finite-volume room knows nothing of kernels; it must come out the same."""
    cells, spread = 200, 0.02
    flow = -2 * np.eye(cells) + np.eye(cells, k=1) + np.eye(cells, k=-1)
    flow[0, 0] = flow[-1, -1] = -1
    centres = (np.arange(cells) + 0.5) / cells
    expected = expm(flow * cells**2 * spread) * cells
    operator = forward(centres, centres, spread, "insulated")

    assert np.abs(operator - expected).max() < 1e-3 * operator.max()


def test_walls_far_away_do_not_matter() -> None:
    """Between walls a hundred spreads off, the heat cannot know of them."""
    places = np.linspace(48, 52, 9)

    assert forward(places, places, 0.3, "insulated", 100.0) == pytest.approx(
        forward(places, places, 0.3)
    )


@pytest.mark.parametrize("walls", ["none", "insulated"])
def test_a_plane_is_the_product_of_its_axes(walls: kernel.Walls) -> None:
    """Heat spreads along x and along y at once and independently."""
    sources = np.array([[0.1, 1.9], [0.7, 0.2], [0.4, 1.1]])
    sensors = np.array([[0.5, 0.5], [0.2, 1.5]])
    across = forward(sources[:, 0], sensors[:, 0], 0.08, walls, 1.0)
    down = forward(sources[:, 1], sensors[:, 1], 0.08, walls, 2.0)

    assert forward(sources, sensors, 0.08, walls, (1.0, 2.0)) == pytest.approx(across * down)


def test_the_smallest_and_the_largest_numbers_pass_without_a_warning() -> None:
    """A vanishing kernel is nought; a simulator must not fill the log with overflow."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        far = heat_kernel([0.0, 1e-160, 1e300, np.inf], 5e-324)
        wide = heat_kernel([0.0, 1e300], 1e308)

    assert far[0] > 1e160
    assert far[2:].tolist() == [0.0, 0.0]
    assert 0 < wide[0] < 1e-153


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
        ([0.5], np.zeros((0, 1)), {}, "sensors_m has no place but at least one is needed"),
        ([0.5], [math.nan], {}, "sensors_m holds a value that is not finite"),
        ([math.inf], [0.5], {}, "sources_m holds a value that is not finite"),
        (0.5, [0.5], {}, r"sources_m has shape \(\) but must be"),
        ([[0.1, 0.2, 0.3, 0.4]], [0.5], {}, r"sources_m has shape \(1, 4\) but must be"),
        ([[0.1, 0.2]], [0.5], {}, "have 2, 1 and 1 axes"),
        ([0.5], [0.5], {"length_m": (1.0, 1.0)}, "have 1, 1 and 2 axes"),
        ([0.5], [0.5], {"walls": "brick"}, "walls is 'brick' but must be"),
        ([0.5, 1.2], [0.5], {"walls": "insulated"}, r"sources_m\[1\] is 1.2 but must be between"),
        ([0.5], [-0.1], {"walls": "insulated"}, r"sensors_m\[0\] is -0.1 but must be between"),
        ([0.5], [0.5], {"walls": "insulated", "length_m": 0.0}, "length_m is 0 but must be"),
        ([0.5], [0.5], {"walls": "insulated", "length_m": math.nan}, "length_m is nan but must"),
    ],
)
def test_places_without_a_meaning_are_refused(sources, sensors, options, fault) -> None:
    """One bad place would spoil every reading, so it is named at once."""
    with pytest.raises(ValueError, match=fault):
        forward(sources, sensors, 0.05, **options)


def test_a_distance_that_is_not_a_number_is_refused() -> None:
    """A NaN would travel into every score."""
    with pytest.raises(ValueError, match="distance_m holds a NaN"):
        heat_kernel([0.1, math.nan], 0.05)


def test_cold_walls_agree_with_heat_that_flows_from_cell_to_cell() -> None:
    """The error falls with the square of a cell, which only the right kernel lets it do."""
    spread, errors = 0.02, []
    for cells in (50, 100):
        flow = -2 * np.eye(cells) + np.eye(cells, k=1) + np.eye(cells, k=-1)
        flow[0, 0] = flow[-1, -1] = -3  # half a cell from the wall
        centres = (np.arange(cells) + 0.5) / cells
        stepped = expm(flow * cells**2 * spread) * cells
        errors.append(np.abs(forward(centres, centres, spread, "cold") - stepped).max())

    assert errors[0] / errors[1] == pytest.approx(4, rel=0.05)


@pytest.mark.parametrize("spread", [1e-3, 0.09, 0.11, 2.0])
def test_cold_walls_take_heat_and_insulated_ones_send_it_back(spread: float) -> None:
    """Images in the near wall cancel in their sum: those of a ring twice as long are left."""
    near, far = np.array([0.2, 0.35]), np.array([0.1, 0.8])
    cold, insulated = (forward(near, far, spread, walls) for walls in ("cold", "insulated"))
    ring = sum(
        np.exp(-((far[:, None] - near - 2 * j) ** 2) / (4 * spread)) for j in range(-40, 41)
    ) / math.sqrt(4 * math.pi * spread)

    assert cold + insulated == pytest.approx(2 * ring, rel=1e-12)
    assert (cold <= insulated).all()
    assert cold[0, 0] < insulated[0, 0]


@pytest.mark.parametrize("walls", ["none", "insulated", "cold"])
def test_a_room_of_three_axes_is_the_product_of_its_lines(walls: kernel.AnyWalls) -> None:
    """And what one wait leaves, waited on, is what one longer wait leaves: summed over a box."""
    world, lengths = np.random.default_rng(3), (3.0, 2.0, 2.5)
    sources, sensors = world.random((2, 6, 3)) * lengths
    expected = np.ones((6, 6))
    for axis, length in enumerate(lengths):
        expected *= forward(sources[:, axis], sensors[:, axis], 0.7, walls, length)

    assert forward(sources, sensors, 0.7, walls, lengths) == pytest.approx(expected, rel=1e-13)
    if walls == "none":
        return
    nodes, weights = np.polynomial.legendre.leggauss(24)
    places = np.stack(np.meshgrid(*[(nodes + 1) / 2 * length for length in lengths]), -1)
    volume = np.ravel(np.multiply.outer(np.multiply.outer(weights, weights), weights))
    first = forward(sources, places.reshape(-1, 3), 0.3, walls, lengths)
    second = forward(places.reshape(-1, 3), sensors, 0.4, walls, lengths)

    assert second @ (volume[:, None] * first * math.prod(lengths) / 8) == pytest.approx(
        expected, rel=1e-9
    )
    assert forward(sensors, sources, 0.7, walls, lengths).T == pytest.approx(expected, rel=1e-13)


def test_the_heat_that_cold_walls_leave_is_the_series_of_the_books() -> None:
    """From an even start, sum over odd k of 8 / (k pi)**2 exp(-s (k pi)**2) of it is left."""
    nodes, weights = np.polynomial.legendre.leggauss(200)
    places = (nodes + 1) / 2
    for spread in (0.02, 0.3):
        odd = np.pi * np.arange(1, 200, 2)
        expected = float((8 / odd**2 * np.exp(-spread * odd**2)).sum())
        left = weights @ forward(places, places, spread, "cold") @ weights / 4

        assert left == pytest.approx(expected, rel=1e-9)


def test_only_what_a_promise_covers_may_be_asked_for() -> None:
    """Cold walls can be simulated, but how much a move is felt is not bounded along spreads."""
    given = {"sensors": (8,), "spread_m2": 0.05, "epsilon": (1, 1)}

    assert Query(Grid((10, 1), 0), walls="insulated", **given).walls == "insulated"
    with pytest.raises(ValueError, match="walls is 'cold' but must be 'none' or 'insulated'"):
        Query(Grid((10, 1), 0), walls="cold", **given)
