"""The one door to distances: its choice, its units, its bounds, and the bias it states."""

import math

import numpy as np
import ot
import pytest
from scipy.ndimage import gaussian_filter
from scipy.spatial.distance import cdist

from edge.records import Grid
from recovery import distance as door
from recovery.distance import far_off


def maps(side: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Return a smooth map of three hills, and what a blurred recovery might make of it."""
    world = np.random.default_rng(seed)
    truth = np.zeros((side, side))
    for x, y in world.random((3, 2)):
        truth[int(y * side), int(x * side)] += 1
    truth = gaussian_filter(truth, side / 10)
    found = truth + 0.2 * truth.max() * gaussian_filter(
        world.standard_normal(truth.shape), side / 30
    ) * (side / 30)
    found = np.maximum(found, 0)
    return truth / truth.sum(), found / found.sum()


def by_pot(p: np.ndarray, q: np.ndarray) -> float:
    """Return W2 in cells by another program, over all pairs of cells."""
    rows, columns = p.shape
    places = np.stack(np.divmod(np.arange(rows * columns), columns), axis=1).astype(float)
    masses = p.ravel() / p.sum(), q.ravel() / q.sum()
    return math.sqrt(ot.emd2(*masses, cdist(places, places, "sqeuclidean"), numItermax=10**7))


@pytest.mark.parametrize("shape", [(9, 9), (5, 11), (11, 5)])
def test_small_maps_are_measured_exactly_and_in_cells(shape: tuple[int, int]) -> None:
    """In cells whatever the shape, where `recovery.distance` has the longer side for its unit."""
    p, q = np.random.default_rng(2).random((2, *shape))
    found = far_off(p, q, Grid(shape[::-1], 250))

    assert found.way == "exact"
    assert found.cells == pytest.approx(by_pot(p, q), rel=1e-9)
    assert found.metres == pytest.approx(found.cells / 4)
    assert far_off(p, q, Grid(shape[::-1], 0)).metres is None


@pytest.mark.long
@pytest.mark.parametrize(("side", "within"), [(16, 0.12), (32, 0.03)])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_bias_of_sinkhorn_is_what_is_said(side: int, within: float, seed: int) -> None:
    """Freed of its bias it is near; as it comes it is not, which is the negative control."""
    p, q = maps(side, seed)
    grid = Grid((side, side), 0)
    exact, blurred = far_off(p, q, grid), far_off(p, q, grid, "sinkhorn")

    assert exact.way == "exact"
    assert blurred.cells == pytest.approx(exact.cells, rel=within)
    assert blurred.high_cells > 1.05 * exact.cells
    assert blurred.low_cells <= exact.cells <= blurred.high_cells


def test_a_shift_is_seen_by_slices_as_it_is() -> None:
    """sqrt(2) times the sliced distance is the way itself where all mass goes the same way."""
    p = np.zeros((20, 20))
    p[3:6, 4:9] = np.random.default_rng(1).random((3, 5))
    found = far_off(p, np.roll(p, (3, 4), (0, 1)), Grid((20, 20), 100), "sliced", angles=7)

    assert found.cells == pytest.approx(5)
    assert found.metres == pytest.approx(0.5)
    assert found.high_cells == math.inf
    assert found.projections == 7


@pytest.mark.parametrize("angles", [2, 3, 64])
def test_slices_are_a_lower_bound_for_any_number_of_directions(angles: int) -> None:
    """A bound that holds only in the limit is none."""
    for seed in range(5):
        p, q = np.random.default_rng(seed).random((2, 8, 8)) ** 8

        assert far_off(p, q, Grid((8, 8), 0), "sliced", angles).cells <= by_pot(p, q) + 1e-9


def test_the_standard_error_covers_the_mean_over_all_directions() -> None:
    """Even directions are nearer than drawn ones, so three errors are never exceeded."""
    for seed in range(8):
        p, q = np.random.default_rng(seed).random((2, 12, 12)) ** 6
        few, many = (far_off(p, q, Grid((12, 12), 0), "sliced", n) for n in (8, 720))

        assert few.standard_error_cells is not None
        assert abs(few.cells - many.cells) <= 3 * few.standard_error_cells


def test_what_is_too_large_for_exact_goes_by_sinkhorn(monkeypatch: pytest.MonkeyPatch) -> None:
    """The choice follows the pairs of cells, which is what the time follows."""
    monkeypatch.setattr(door, "_PAIRS_COMPILED", 1000)
    monkeypatch.setattr(door, "_PAIRS_PLAIN", 1000)
    p, q = maps(16)

    assert far_off(p, q, Grid((16, 16), 0)).way == "sinkhorn"
    assert far_off([[0.5, 0.5]], [[1, 0]], Grid((2, 1), 0)).way == "exact"


@pytest.mark.long
def test_large_maps_have_a_distance_too() -> None:
    """256 x 256 cells, of which no exact plan ends."""
    p, _ = maps(256)
    found = far_off(p, np.roll(p, 24, axis=1), Grid((256, 256), 50))

    assert found.way == "sinkhorn"
    assert found.metres is not None
    assert found.low_cells <= found.cells <= found.high_cells


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: far_off(np.ones((2, 3)), np.ones((2, 3)), Grid((2, 3), 0)), "own grid"),
        (lambda: far_off(np.ones((2, 2)), np.ones((2, 2)), Grid((2, 2), 0), "sure"), "'sure'"),  # type: ignore[arg-type]
        (lambda: far_off([[1, 1]], [[1, 1]], Grid((2, 1), 0), angles=1), "2 or more"),
        (lambda: far_off([[0, 0]], [[1, 1]], Grid((2, 1), 0)), "more than 0"),
    ],
)
def test_what_has_no_distance_is_refused(call: object, said: str) -> None:
    """By what was given and what to do."""
    with pytest.raises(ValueError, match=said):
        call()  # type: ignore[operator]
