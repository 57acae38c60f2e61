"""Distances between maps, against two other libraries and against laws."""

import math

import numpy as np
import ot
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from scipy.stats import entropy, wasserstein_distance

from edge.core.records import Grid
from recovery import kernels
from recovery.distance import (
    earth_movers,
    kl,
    mse,
    pearson,
    similarity,
    sliced_distance,
    wasserstein2,
)
from recovery.kernels import make_compiled_twin, network_simplex
from recovery.score.grid import Flow, Ground, solve_grid_flow, solve_grid_plan
from recovery.score.ranges import draw_rectangles, sum_rectangles

seeds = st.integers(0, 2**32 - 1)


def two_maps(seed: int, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Two sparse random maps of total one."""
    world = np.random.default_rng(seed)
    p, q = (world.gamma(0.3, size=shape) * (world.random(shape) < 0.7) for _ in range(2))
    p.flat[0] += 0.1
    q.flat[-1] += 0.1
    return p / p.sum(), q / q.sum()


@settings(max_examples=80, deadline=None, derandomize=True)
@given(seeds, st.integers(1, 60))
def test_along_a_line_it_is_scipys_distance_wherever_the_cells_are(seed: int, cells: int) -> None:
    """Positions may come in any order and at any spacing."""
    p, q = two_maps(seed, (cells,))
    places = np.random.default_rng(seed).normal(size=cells)

    assert earth_movers(p, q, positions=places) == pytest.approx(
        wasserstein_distance(places, places, p, q), abs=1e-12
    )
    assert wasserstein2(p, q, positions=places) ** 2 == pytest.approx(
        ot.emd2_1d(places, places, p, q, metric="sqeuclidean"), abs=1e-12
    )


@settings(max_examples=25, deadline=None, derandomize=True)
@given(seeds, st.tuples(st.integers(2, 6), st.integers(2, 6)))
def test_in_a_plane_it_is_the_network_simplex_of_another_library(
    seed: int, shape: tuple[int, int]
) -> None:
    """Both ground distances and the squared one."""
    p, q = two_maps(seed, shape)
    y, x = np.divmod(np.arange(p.size), shape[1])
    places = np.stack([x, y], axis=1) / max(shape)

    for metric, name in (("l1", "cityblock"), ("l2", "euclidean")):
        assert earth_movers(p, q, metric) == pytest.approx(
            ot.emd2(p.ravel(), q.ravel(), cdist(places, places, name)), abs=1e-9
        )
    assert wasserstein2(p, q) ** 2 == pytest.approx(
        ot.emd2(p.ravel(), q.ravel(), cdist(places, places, "sqeuclidean")), abs=1e-9
    )


@pytest.mark.parametrize("distance", [earth_movers, wasserstein2])
def test_unequal_masses_are_refused_unless_shapes_are_to_be_compared(distance) -> None:
    """A map of half the heat is not nearer or farther: it is another question."""
    with pytest.raises(ValueError, match="must weigh the same"):
        distance([1.0, 0.0], [0.0, 0.5])

    assert distance([1.0, 0.0], [0.0, 0.5], normalise=True) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("p", "q", "why"),
    [
        ([1.0], [0.5, 0.5], "must share one"),
        ([], [], "must share one"),
        ([[[1.0]]], [[[1.0]]], "must share one"),
        ([1.0, math.nan], [0.5, 0.5], "masses must be at least 0"),
        ([1.5, -0.5], [0.5, 0.5], "masses must be at least 0"),
        ([math.inf, 0.0], [0.5, 0.5], "masses must be at least 0"),
        ([0.0, 0.0], [0.0, 0.0], "more than 0"),
    ],
)
def test_maps_that_make_no_sense_are_refused(p: list, q: list, why: str) -> None:
    """Each would otherwise give a number, and nobody would know that it means nothing."""
    for score in (earth_movers, wasserstein2, similarity, pearson, kl, mse):
        with pytest.raises(ValueError, match=why):
            score(p, q)


@pytest.mark.long
def test_without_a_compiler_the_answers_are_the_same_and_the_hopeless_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The accelerator is no condition; a plain walk over noise would take minutes."""
    world = np.random.default_rng(4)
    rough, rough_too = world.random((2, 96, 96))
    rough_too *= rough.sum() / rough_too.sum()
    y, x = np.indices((40, 40)) / 40
    p, q = np.exp(-9 * (x - 0.3) ** 2 - 5 * (y - 0.5) ** 2), np.exp(-7 * (x - 0.6) ** 2 - y)
    q *= p.sum() / q.sum()
    fast = earth_movers(p, q), earth_movers(p, q, "l2"), wasserstein2(p, q)
    monkeypatch.setenv("HEATVEIL_COMPILED", "0")
    monkeypatch.setattr("recovery.kernels._loaded", set())
    kernels.make_compiled_twin.cache_clear()
    monkeypatch.setattr("recovery.score.grid._PATIENCE", 10**5)

    plain = earth_movers(p, q), earth_movers(p, q, "l2"), wasserstein2(p, q)
    with pytest.raises(ValueError, match=r"Install numba: pip install"):
        earth_movers(rough, rough_too)
    kernels.make_compiled_twin.cache_clear()

    assert plain == pytest.approx(fast, rel=1e-9)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(seeds)
def test_the_other_scores_are_the_usual_ones(seed: int) -> None:
    """Overlap is one less total variation, correlation is numpy's, entropy scipy's."""
    p, q = two_maps(seed, (5, 7))
    full = (q + 0.1) / (q + 0.1).sum()

    assert similarity(3 * p, q) == pytest.approx(1 - np.abs(p - q).sum() / 2)
    assert pearson(p, q) == pytest.approx(np.corrcoef(p.ravel(), q.ravel())[0, 1])
    assert kl(p, full) == pytest.approx(entropy(p.ravel(), full.ravel()), abs=1e-12)
    assert mse(p, 2 * q) == pytest.approx(((p - q) ** 2).mean())


# The sliced distance, against laws and a library.


def smooth(world: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """A map of five round heaps, of total one."""
    y, x = np.indices(shape) / max(shape)
    heaps = [
        world.random()
        * np.exp(-((x - a) ** 2 + (y - b) ** 2) / 2 / world.uniform(0.03, 0.15) ** 2)
        for a, b in world.random((5, 2))
    ]
    return sum(heaps) / np.sum(heaps)


WORLD = np.random.default_rng(8)
P, Q = smooth(WORLD, (16, 20)), smooth(WORLD, (16, 20))
PLACES = np.indices((16, 20)).reshape(2, -1).T[:, ::-1] / 20


def test_sliced_is_the_mean_over_lines_of_another_library() -> None:
    """With the same angles."""
    turns = np.pi * (np.arange(64) + 0.5) / 64
    peer = ot.sliced_wasserstein_distance(
        PLACES,
        PLACES,
        P.ravel(),
        Q.ravel(),
        projections=np.stack([np.cos(turns), np.sin(turns)]),
        p=2,
    )

    assert sliced_distance(P, Q) == pytest.approx(peer, rel=1e-9)


# Rectangles of a map: against sums by hand, and against scatter that is really there.

GRID = Grid((7, 5), 250)
MASS = np.random.default_rng(5).random((5, 7))


def test_a_share_is_the_sum_of_its_cells() -> None:
    """Every rectangle of whole cells, against slices: rows and columns in their order."""
    total = MASS.sum()
    boxes = [
        (x0, y0, x1, y1)
        for x0 in range(7)
        for x1 in range(x0 + 1, 8)
        for y0 in range(5)
        for y1 in range(y0 + 1, 6)
    ]
    by_hand = [MASS[y0:y1, x0:x1].sum() / total for x0, y0, x1, y1 in boxes]

    assert sum_rectangles(MASS, boxes) == pytest.approx(by_hand, abs=1e-12)


def test_a_cell_that_is_cut_counts_by_its_area() -> None:
    """Against the same map with every cell cut into 4 x 4."""
    fine = np.kron(MASS, np.ones((4, 4)))
    boxes = np.array([[0.25, 0.5, 3.75, 4.25], [1.5, 1.5, 1.75, 1.75], [-3, -2, 2.5, 99]])

    assert sum_rectangles(MASS, boxes) == pytest.approx(sum_rectangles(fine, boxes * 4), abs=1e-12)


def test_a_workload_asks_everything_equally() -> None:
    """Every pair of lines as often as any other, by chi-square, and always the same ones."""
    boxes = draw_rectangles(GRID, 40_000)
    pairs = np.unique(boxes[:, [0, 2]], axis=0, return_counts=True)[1]
    expected = 40_000 / 28  # 8 lines, 8 * 7 / 2 pairs

    assert len(pairs) == 28
    assert ((pairs - expected) ** 2 / expected).sum() < 60  # 27 degrees: 1 in 3000
    assert np.array_equal(boxes, draw_rectangles(GRID, 40_000))
    assert not np.array_equal(boxes, draw_rectangles(GRID, 40_000, stream=1))


# The flow on a grid, against another library's plan, a linear program and its own prices.


def surplus(kind: str, shape: tuple[int, int], seed: int = 0) -> np.ndarray:
    """The difference of two maps of total one."""
    world = np.random.default_rng(seed)
    if kind == "smooth":
        return smooth(world, shape) - smooth(world, shape)
    p, q = world.random((2, *shape))
    if kind == "sparse":
        p, q = p * (p > 0.95), q * (q > 0.95)
        p.flat[0] = q.flat[-1] = 1
    return p / p.sum() - q / q.sum()


def is_a_flow_of(flow: Flow, needed: np.ndarray) -> bool:
    """Whether it brings away from every cell what the cell has too much."""
    away = np.zeros(needed.shape)
    away[:, :-1] += flow.right
    away[:, 1:] -= flow.right
    away[:-1] += flow.down
    away[1:] -= flow.down
    return bool(np.abs(away - needed).max() < 1e-13)


def is_proved_by_its_prices(flow: Flow, needed: np.ndarray) -> bool:
    """Weak duality: prices whose neighbours differ by at most 1 bound every flow from below."""
    steps = [np.diff(flow.prices, axis=axis) for axis in (0, 1)]
    feasible = all(not step.size or np.abs(step).max() <= 1 for step in steps)
    spent = np.abs(flow.right).sum() + np.abs(flow.down).sum()
    return bool(feasible and abs(spent - np.sum(needed * flow.prices)) < 1e-11 * (1 + spent))


@pytest.mark.long
@pytest.mark.parametrize("kind", ["smooth", "noise", "sparse"])
@pytest.mark.parametrize(
    "shape", [(1, 1), (1, 9), (9, 1), (2, 2), (5, 3), (7, 30), (33, 32), (64, 64), (100, 37)]
)
def test_it_is_a_flow_and_no_flow_is_cheaper(kind: str, shape: tuple[int, int]) -> None:
    """Feasible, and as dear as its lower bound: with both there is nothing left to doubt."""
    needed = surplus(kind, shape)
    flow = solve_grid_flow(needed)

    assert is_a_flow_of(flow, needed)
    assert is_proved_by_its_prices(flow, needed)
    assert flow.gap < 1e-11 * (1 + flow.cost)


@pytest.mark.parametrize("kind", ["smooth", "noise", "sparse"])
@pytest.mark.parametrize("shape", [(6, 6), (17, 12), (24, 25)])
def test_it_is_the_plan_of_another_library(kind: str, shape: tuple[int, int]) -> None:
    """Over all pairs of cells, to 1e-12 of the cost."""
    needed = surplus(kind, shape, seed=5)
    places = np.indices(shape).reshape(2, -1).T.astype(float)
    p, q = np.maximum(needed, 0).ravel(), np.maximum(-needed, 0).ravel()
    peer = ot.emd2(p / p.sum(), q / q.sum(), cdist(places, places, "cityblock"), numItermax=10**7)

    assert solve_grid_flow(needed).cost == pytest.approx(peer * p.sum(), rel=1e-11)


@pytest.mark.parametrize("kind", ["smooth", "noise", "sparse"])
def test_plain_and_compiled_make_the_same_pivots(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One source for both: the same tree, not only the same cost."""
    needed = surplus(kind, (21, 18))
    fast = solve_grid_flow(needed)
    monkeypatch.setattr(
        "recovery.score.grid.compile_if_worth", lambda module, worth: network_simplex
    )
    plain = solve_grid_flow(needed)

    assert kernels.can_compile()
    assert plain.pivots == fast.pivots > 0
    assert np.array_equal(plain.prices, fast.prices)
    assert np.array_equal(plain.right, fast.right)


# Plans on a grid for the straight grounds, against another library and their own prices.


GROUNDS = ["euclidean", "sqeuclidean"]


def maps(kind: str, shape: tuple[int, int], seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Two maps of total one."""
    world = np.random.default_rng(seed)
    if kind == "smooth":
        return smooth(world, shape), smooth(world, shape)
    p, q = world.random((2, *shape))
    if kind != "noise":
        p *= p > 0.95
        p.flat[0] = 1
    if kind == "sparse":
        q *= q > 0.95
        q.flat[-1] = 1
    return p / p.sum(), q / q.sum()


@pytest.mark.long
@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("kind", ["smooth", "noise", "sparse", "half"])
@pytest.mark.parametrize("shape", [(3, 3), (5, 8), (17, 9), (24, 24)])
def test_the_whole_plan_is_that_of_another_library(
    kind: str, ground: Ground, shape: tuple[int, int]
) -> None:
    """Over all pairs of cells; and its own bound is as dear, so that no plan is cheaper."""
    p, q = maps(kind, shape)
    places = np.indices(shape).reshape(2, -1).T.astype(float)
    peer = ot.emd2(p.ravel(), q.ravel(), cdist(places, places, ground), numItermax=10**7)
    plan = solve_grid_plan(p, q, ground)

    assert plan.cost == pytest.approx(peer, rel=1e-9, abs=1e-12)
    assert plan.cost - plan.bound == pytest.approx(0, abs=1e-9)


def test_the_lower_envelope_is_the_least_over_all_cells() -> None:
    """Plain and compiled, with cells that cannot be gone to and with ties."""
    world = np.random.default_rng(0)
    y, x = np.indices((9, 13)).reshape(2, -1)
    squares = (y[:, None] - y) ** 2 + (x[:, None] - x) ** 2
    for most in (1, 40, 10**6):
        height = world.integers(-most, most, size=(9, 13))
        height[world.random((9, 13)) < 0.4] = network_simplex.INFINITE
        least = (squares + height.ravel()).min(axis=1)
        away = (np.arange(9)[:, None] ** 2 + np.arange(13) ** 2).astype(np.int64)
        for kernel in (network_simplex, make_compiled_twin(network_simplex)):
            best, where = (field.ravel() for field in kernel.find_nearest(height))
            every, which = kernel.find_cheapest(away, y, x, y, x, height.ravel())

            assert np.array_equal(best, least)
            assert np.array_equal(every, least)
            for cells in (where, which):
                here = np.arange(len(cells))
                assert np.array_equal(squares[here, cells] + height.ravel()[cells], least)
