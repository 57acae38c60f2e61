"""Peers of the central mechanisms: exact without noise, and blurred by what they say."""

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from edge.core.entropy import Tape
from edge.core.noise import dlaplace
from recovery.peers import grids, hierarchies
from recovery.peers.equi_width import find_leaves, map_by_equi_width
from recovery.peers.grids import Crowd
from recovery.peers.sketched_trees import map_by_count_min, map_by_privtree
from recovery.peers.smooth_median import (
    compute_heavy_quantiles,
    find_noise_scale,
    smooth_sensitivity,
)

PEERS: dict[str, Callable[..., NDArray[np.float64]]] = {
    "laplace": grids.map_by_laplace,
    "laplace, top": partial(grids.map_by_laplace, top_percent=60.0),
    "laplace, total": partial(grids.map_by_laplace, total=True),
    "uniform grid": grids.map_by_uniform_grid,
    "adaptive grid": grids.map_by_adaptive_grid,
    "quadtree": hierarchies.map_by_quadtree,
    "hierarchy": hierarchies.map_by_hierarchy,
    "hierarchy of two": partial(hierarchies.map_by_hierarchy, branches=2),
    "wavelet": hierarchies.map_by_wavelet,
}


def a_crowd(shape: tuple[int, int], users: int, units: int = 1, seed: int = 1) -> Crowd:
    world = np.random.default_rng(seed)
    rows, columns = shape
    middle = (world.normal(0.4, 0.05, (users, 2)).clip(0, 0.99) * shape).astype(int)
    sums = np.zeros((rows, columns), dtype=np.int64)
    np.add.at(sums, (middle[:, 0], middle[:, 1]), units)
    return Crowd(sums, users, units)


class Scales:
    """A source of noise that draws none, and keeps for what scales it was asked."""

    def __init__(self) -> None:
        self.seen: list[Fraction] = []

    def __call__(self, num: int, den: int) -> int:
        self.seen.append(Fraction(num, den))
        return 0


@pytest.mark.parametrize("name", PEERS)
@pytest.mark.parametrize("shape", [(16, 16), (12, 5)])
def test_without_noise_many_users_give_the_truth(name: str, shape: tuple[int, int]) -> None:
    """What is spread, merged, averaged or transformed must come back as it was."""
    crowd = a_crowd(shape, 2_000_000, units=3)

    found = PEERS[name](crowd, Fraction(1), Scales())

    np.testing.assert_allclose(found, crowd.sums / crowd.sums.sum(), atol=1e-9)


def touched(crowd: Crowd, peer: Callable[..., Any], cell: tuple[int, int]) -> Fraction:
    """Return the epsilon that one user in a cell really costs: what she changes, over its scale.

    The numbers that are blurred are taken where the noise is added, with her and without.
    """
    seen: list[tuple[NDArray[np.int64], Fraction]] = []
    own = grids.add_noise

    def watch(sums: NDArray[np.int64], epsilon: Fraction, units: int, draw: Any) -> Any:
        seen.append((sums.astype(np.int64), Fraction(units) / epsilon))
        return own(sums, epsilon, units, draw)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grids, "add_noise", watch)
        patch.setattr(hierarchies, "add_noise", watch)
        peer(crowd, Fraction(3, 2), Scales())
        before = list(seen)
        seen.clear()
        more = crowd.sums.copy()
        more[cell] += crowd.units
        peer(crowd._replace(sums=more), Fraction(3, 2), Scales())
    return sum(
        (
            int(np.abs(b - a).sum()) / scale
            for (a, scale), (b, other) in zip(before, seen, strict=True)
            if a.shape == b.shape and scale == other
        ),
        Fraction(0),
    )


@pytest.mark.parametrize("name", PEERS)
@pytest.mark.parametrize("cell", [(0, 0), (7, 3), (11, 9)])
def test_one_user_costs_the_epsilon_that_is_promised(name: str, cell: tuple[int, int]) -> None:
    """All that she changes, each over the scale of its noise: never more, nor much less."""
    cost = touched(a_crowd((12, 10), 200, units=4), PEERS[name], cell)

    assert Fraction(149, 100) <= cost <= Fraction(3, 2)


def test_consistency_is_least_squares() -> None:
    """The finest squares are those of the normal equations, level by level weighed."""
    world = np.random.default_rng(4)
    noisy = [world.normal(size=(3**level, 3**level)) for level in range(3)]
    variances = [2.0, 0.5, 3.0]
    rows, targets = [], []
    for level, variance in enumerate(variances):
        side = 9 // 3**level
        for (i, j), value in np.ndenumerate(noisy[level]):
            mark = np.zeros((9, 9))
            mark[i * side : (i + 1) * side, j * side : (j + 1) * side] = 1
            rows.append(mark.ravel() / math.sqrt(variance))
            targets.append(value / math.sqrt(variance))

    expected = np.linalg.lstsq(np.array(rows), np.array(targets))[0].reshape(9, 9)

    np.testing.assert_allclose(
        hierarchies.make_consistent(noisy, variances, 3), expected, atol=1e-9
    )


# Fixed squares, and squares of sizes that sorted places choose.


def drawing(seed: int):  # type: ignore[no-untyped-def]
    return partial(_drawn, Tape(bytes([seed])))


def _drawn(tape: object, num: int, den: int) -> int:
    return dlaplace(num, den, tape)


def test_counts_are_blurred_for_a_user_who_is_elsewhere() -> None:
    """Two counts change by one: the mean of |noise| is about 2/epsilon, half of it too little."""
    counts = np.full(3000, 10**6)
    shares = map_by_equi_width(counts, Fraction(1, 2), drawing(1))
    found = np.abs(shares * counts.sum() - 10**6).mean()

    assert found == pytest.approx(4, rel=0.1)
    assert shares.sum() == pytest.approx(1)
    assert map_by_equi_width([0, 0], Fraction(1), lambda num, den: -1).tolist() == [0.5, 0.5]


def test_squares_are_divided_where_many_are() -> None:
    """All of them at the first levels, after that the one that holds more than the least."""
    mass = np.zeros((32, 32))
    mass[3, 5] = 1
    squares = find_leaves(mass, 0.5)
    sizes = np.bincount(squares.ravel())

    assert len(sizes) == 16 * 16 + 3
    assert sizes[squares[3, 5]] == 1
    assert sizes[squares[31, 31]] == 4


# The median's smooth sensitivity, against its definition tried over neighbours.


def local(values: tuple[float, ...], grid: tuple[float, ...]) -> float:
    """Return by how much the median moves at the most where one value is another."""
    middle = (len(values) - 1) // 2
    here = sorted(values)[middle]
    return max(
        abs(sorted((*values[:i], other, *values[i + 1 :]))[middle] - here)
        for i in range(len(values))
        for other in grid
    )


@pytest.mark.parametrize("beta", [0.1, 0.5, 2.0])
def test_it_bounds_every_move_and_changes_little_itself(beta: float) -> None:
    """The two properties that the privacy of its noise rests on, over all triples of a grid."""
    grid = (0.0, 0.2, 0.7, 1.0)
    found = {
        values: smooth_sensitivity(values, beta)
        for values in itertools.combinations_with_replacement(grid, 5)
    }

    for values, bound in found.items():
        assert bound >= local(values, grid) - 1e-12
        for i, other in itertools.product(range(5), grid):
            near = tuple(sorted((*values[:i], other, *values[i + 1 :])))
            assert bound <= math.exp(beta) * found[near] + 1e-12


def test_noise_is_less_where_a_delta_is_allowed() -> None:
    """129 values as in the paper; the pure form's factor is ten over epsilon."""
    values = np.linspace(0, 1, 129)

    assert find_noise_scale(values, 1.0, 1e-6) < 0.6 * find_noise_scale(values, 1.0)
    assert find_noise_scale(values, 1.0) > 10 * smooth_sensitivity(values, 0.1) * 0.99


def test_the_heavy_noise_has_its_density() -> None:
    """Quartiles by an integral: P(|z| < 1) is (sqrt(2)/pi) times 2 * 0.8670."""
    even = (np.arange(100_000) + 0.5) / 100_000
    z = compute_heavy_quantiles(even)
    places = np.linspace(0, 1, 10_001)
    inside = 2 * math.sqrt(2) / math.pi * np.trapezoid(1 / (1 + places**4), places)

    assert (np.abs(z) < 1).mean() == pytest.approx(inside, abs=1e-3)
    assert np.mean(z) == pytest.approx(0, abs=1e-6)


# Trees that peers grow: exact where noise is near nothing, even where it is everything.

CELLS = np.zeros((13, 16), dtype=np.int64)
CELLS[3, 4], CELLS[12, 15], CELLS[0, 0] = 700, 200, 100
PART = CELLS / CELLS.sum()


@pytest.mark.parametrize("way", [map_by_privtree, partial(map_by_count_min, rows=5, width=200)])
def test_with_much_epsilon_a_tree_is_the_truth_and_with_little_it_says_nothing(
    way: Callable[..., np.ndarray],
) -> None:
    """Squares are split down to the crowded cells; noise that drowns them leaves no map."""
    draw = partial(dlaplace, rng=Tape(b"tree"))
    near = way(Crowd(CELLS, 1000), Fraction(2000), draw)
    far = way(Crowd(CELLS, 1000), Fraction(1, 2000), draw)

    assert near.sum() == pytest.approx(1)
    assert np.abs(near - PART).sum() < 0.1
    assert np.abs(far - PART).sum() > 1


def test_half_of_epsilon_is_for_the_squares_and_half_for_their_counts() -> None:
    """What is drawn, and how wide: 7/3 for a path of any length, 1 for a count."""
    asked: set[Fraction] = set()

    def draw(num: int, den: int) -> int:
        asked.add(Fraction(num, den))
        return 0

    map_by_privtree(Crowd(CELLS, 1000), Fraction(3), draw)
    assert asked == {Fraction(14, 9), Fraction(2, 3)}


def test_a_sketch_has_noise_for_every_row_and_level() -> None:
    """One user is in rows times levels sums."""
    asked: list[Fraction] = []

    def draw(num: int, den: int) -> int:
        asked.append(Fraction(num, den))
        return 0

    map_by_count_min(Crowd(CELLS, 1000), Fraction(3), draw, rows=5, width=20)
    assert asked == [Fraction(5 * 4, 3)] * 100
