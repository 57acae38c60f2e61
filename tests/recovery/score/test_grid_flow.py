"""The flow on a grid, against another library's plan, a linear program and its own prices."""

import numpy as np
import ot
import pytest
from scipy.spatial.distance import cdist

from recovery import kernels
from recovery.kernels import compile_module, network_simplex
from recovery.score.grid import Flow, Ground, grid_flow, grid_plan


def smooth(world: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """A map of five round heaps, of total one."""
    y, x = np.indices(shape) / max(shape)
    heaps = [
        world.random()
        * np.exp(-((x - a) ** 2 + (y - b) ** 2) / 2 / world.uniform(0.03, 0.15) ** 2)
        for a, b in world.random((5, 2))
    ]
    return sum(heaps) / np.sum(heaps)


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
    flow = grid_flow(needed)

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

    assert grid_flow(needed).cost == pytest.approx(peer * p.sum(), rel=1e-11)


@pytest.mark.parametrize("kind", ["smooth", "noise", "sparse"])
def test_plain_and_compiled_make_the_same_pivots(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One source for both: the same tree, not only the same cost."""
    needed = surplus(kind, (21, 18))
    fast = grid_flow(needed)
    monkeypatch.setattr("recovery.score.grid.tier", lambda module, worth: network_simplex)
    plain = grid_flow(needed)

    assert kernels.available()
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
    plan = grid_plan(p, q, ground)

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
        for kernel in (network_simplex, compile_module(network_simplex)):
            best, where = (field.ravel() for field in kernel.nearest(height))
            every, which = kernel.cheapest(away, y, x, y, x, height.ravel())

            assert np.array_equal(best, least)
            assert np.array_equal(every, least)
            for cells in (where, which):
                here = np.arange(len(cells))
                assert np.array_equal(squares[here, cells] + height.ravel()[cells], least)
