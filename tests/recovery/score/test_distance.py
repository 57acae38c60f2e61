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
from recovery.score.ranges import compare_shares, draw_rectangles, shares
from tests.recovery.score.test_grid_flow import smooth

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
    kernels.compile_module.cache_clear()
    monkeypatch.setattr("recovery.score.grid._PATIENCE", 10**5)

    plain = earth_movers(p, q), earth_movers(p, q, "l2"), wasserstein2(p, q)
    with pytest.raises(ValueError, match=r"Install heatveil\[fast\]"):
        earth_movers(rough, rough_too)
    kernels.compile_module.cache_clear()

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

    assert shares(MASS, boxes) == pytest.approx(by_hand, abs=1e-12)


def test_a_cell_that_is_cut_counts_by_its_area() -> None:
    """Against the same map with every cell cut into 4 x 4."""
    fine = np.kron(MASS, np.ones((4, 4)))
    boxes = np.array([[0.25, 0.5, 3.75, 4.25], [1.5, 1.5, 1.75, 1.75], [-3, -2, 2.5, 99]])

    assert shares(MASS, boxes) == pytest.approx(shares(fine, boxes * 4), abs=1e-12)


def test_a_workload_asks_everything_equally() -> None:
    """Every pair of lines as often as any other, by chi-square, and always the same ones."""
    boxes = draw_rectangles(GRID, 40_000)
    pairs = np.unique(boxes[:, [0, 2]], axis=0, return_counts=True)[1]
    expected = 40_000 / 28  # 8 lines, 8 * 7 / 2 pairs

    assert len(pairs) == 28
    assert ((pairs - expected) ** 2 / expected).sum() < 60  # 27 degrees: 1 in 3000
    assert np.array_equal(boxes, draw_rectangles(GRID, 40_000))
    assert not np.array_equal(boxes, draw_rectangles(GRID, 40_000, stream=1))


def test_errors_are_means_with_a_floor() -> None:
    """An empty rectangle would divide by nought."""
    found = compare_shares([0.5, 0.0], [0.4, 0.02], floor=0.01)

    assert found.absolute == pytest.approx(0.06)
    assert found.relative == pytest.approx((0.2 + 2.0) / 2)
    assert found.absolute_se == pytest.approx(0.04)
