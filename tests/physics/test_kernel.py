"""The forward operator against laws of heat and against other people's code."""

import math
import warnings

import numpy as np
import pytest
from scipy.fft import dct, idct
from scipy.integrate import quad
from scipy.linalg import expm
from scipy.stats import norm

from physics import kernel, line
from physics.kernel import forward, heat_kernel


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


@pytest.mark.parametrize("walls", ["insulated", "cold"])
def test_images_and_waves_agree_where_one_hands_over_to_the_other(walls: str) -> None:
    """They share no formula, so agreement to rounding checks both."""
    places = np.linspace(0, 1, 41)
    given = places, places, line.SWITCH, walls, 1.0

    assert np.abs(line.images(*given) - line.waves(*given)).max() < 1e-12


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
