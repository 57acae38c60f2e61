"""Plans on a grid for the straight grounds, against another library and their own prices."""

import numpy as np
import ot
import pytest
from scipy.spatial.distance import cdist

from recovery.kernels import compiled, network_simplex
from recovery.score.grid import Ground, grid_plan
from tests.recovery.score.test_grid_flow import smooth

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
def test_it_is_the_plan_of_another_library(
    kind: str, ground: Ground, shape: tuple[int, int]
) -> None:
    """Over all pairs of cells; and its own bound is as dear, so that no plan is cheaper."""
    p, q = maps(kind, shape)
    places = np.indices(shape).reshape(2, -1).T.astype(float)
    peer = ot.emd2(p.ravel(), q.ravel(), cdist(places, places, ground), numItermax=10**7)
    plan = grid_plan(p, q, ground)

    assert plan.cost == pytest.approx(peer, rel=1e-9, abs=1e-12)
    assert plan.cost - plan.bound == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("ground", GROUNDS)
def test_it_moves_all_mass_and_no_more(ground: Ground) -> None:
    """The plan is a plan: what leaves each cell is one map, what arrives the other."""
    p, q = maps("smooth", (40, 31), seed=1)
    plan = grid_plan(p, q, ground)

    assert (plan.mass >= 0).all()
    assert np.allclose(np.bincount(plan.leaving, plan.mass, p.size), p.ravel(), atol=1e-15)
    assert np.allclose(np.bincount(plan.arriving, plan.mass, q.size), q.ravel(), atol=1e-15)


@pytest.mark.long
def test_a_large_plane_is_planned_to_the_end() -> None:
    """The gap closes on 64 by 64 cells, where all pairs would be 16 million."""
    p, q = maps("smooth", (64, 64), seed=2)
    for ground in GROUNDS:
        plan = grid_plan(p, q, ground)

        assert plan.cost - plan.bound == pytest.approx(0, abs=1e-9)
        assert len(plan.mass) < 2 * p.size


@pytest.mark.long
def test_few_sources_against_a_full_map_of_256_are_planned_to_the_end() -> None:
    """What a recovery is measured by: some points of heat against heat everywhere."""
    world = np.random.default_rng(6)
    q = smooth(world, (256, 256))
    p = np.zeros(q.shape)
    p.flat[world.choice(p.size, 20, replace=False)] = 1 / 20
    for ground in GROUNDS:
        plan = grid_plan(p, q, ground)

        assert plan.cost - plan.bound == pytest.approx(0, abs=1e-8)


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
        for kernel in (network_simplex, compiled(network_simplex)):
            best, where = (field.ravel() for field in kernel.nearest(height))
            every, which = kernel.cheapest(away, y, x, y, x, height.ravel())

            assert np.array_equal(best, least)
            assert np.array_equal(every, least)
            for cells in (where, which):
                here = np.arange(len(cells))
                assert np.array_equal(squares[here, cells] + height.ravel()[cells], least)


@pytest.mark.parametrize("ground", GROUNDS)
def test_plain_and_compiled_make_the_same_plan(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One source for both."""
    p, q = maps("noise", (11, 12))
    fast = grid_plan(p, q, ground)
    monkeypatch.setattr("recovery.score.grid.tier", lambda module, worth: network_simplex)
    monkeypatch.setattr("recovery.score.grid.tier", lambda module, worth: module)
    plain = grid_plan(p, q, ground)

    assert plain.pivots == fast.pivots > 0
    assert np.array_equal(plain.mass, fast.mass)
    assert plain.cost == fast.cost
