"""The active set, run as it is and compiled: exact, proved, and the same from any start."""

import math

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from physics.kernel import forward
from recovery.kernels import active_set, compile_module
from recovery.sparse import minimise_l1, prepare

SIZES = [(40, 25), (100, 50), (30, 60), (200, 20), (60, 60), (700, 40)]
SPREADS = [1e-4, 1e-3, 0.005, 0.05, 0.5, 5.0, 100.0]


@pytest.fixture(params=["plain", pytest.param("compiled", marks=pytest.mark.long)])
def tier(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Either way of running the same lines."""
    module = active_set if request.param == "plain" else compile_module(active_set)
    monkeypatch.setattr("recovery.sparse.tier", lambda *_, **__: module)
    return request.param


def operator(cells: int, sensors: int, spread: float) -> np.ndarray:
    """The paper's places: j/n, the last at the wall."""
    return forward(np.arange(1, cells + 1) / cells, np.arange(1, sensors + 1) / sensors, spread)


def draw(seed: int) -> tuple[np.ndarray, np.ndarray, float, np.ndarray]:
    """One of all sizes and spreads, noises and numbers of sources, often with furniture."""
    world = np.random.default_rng(seed)
    cells, sensors = SIZES[seed % len(SIZES)]
    matrix = operator(cells, sensors, world.choice(SPREADS))
    sources, sigma = world.choice([1, 2, 4, 10]), world.choice([0.001, 0.01, 0.1, 1.0, 4.0])
    heat = np.zeros(cells)
    heat[world.choice(cells, sources, replace=False)] = world.uniform(0.3, 1, sources)
    readings = matrix @ heat + sigma * world.normal(size=sensors)
    upper = np.ones(cells)
    if seed % 3 == 0:
        upper = world.uniform(0.4, 1.5, cells)
        upper[world.choice(cells, cells // 3, replace=False)] = 0
    return matrix, readings, sigma * math.sqrt(sensors) * world.choice([1.0, 1.2]), upper


def proved(matrix, readings, radius, upper, nu) -> float:
    """A total that no feasible heat undercuts, whatever the multipliers: weak duality."""
    excess = upper @ np.maximum(0, matrix.T @ nu - 1)
    return float(nu @ readings - radius * np.linalg.norm(nu) - excess)


@pytest.mark.long
@pytest.mark.parametrize("block", range(6))
def test_every_answer_is_proved_in_the_space_of_the_sensors(block: int, tier: str) -> None:
    """Optimal by its multipliers and the dense operator alone, or infeasible by the same."""
    seen = set()
    for seed in range(60 * block, 60 * block + (60 if tier == "compiled" else 10)):
        matrix, readings, radius, upper = draw(seed)
        found = minimise_l1(matrix, readings, radius, upper, method="fast")
        nu, far = found.multipliers, float(np.linalg.norm(matrix @ found.heat - readings))
        seen.add(found.status)

        assert (found.heat >= 0).all()
        assert (found.heat <= upper).all()
        assert found.residual == pytest.approx(far, rel=1e-9, abs=1e-9 * radius)
        if found.status == "infeasible":
            least = float(nu @ readings - upper @ np.maximum(0, matrix.T @ nu))
            assert np.linalg.norm(nu) == pytest.approx(1, rel=1e-9)
            assert least > radius
            assert far <= least * (1 + 1e-6)
        elif found.status == "zero":
            assert np.linalg.norm(readings) <= radius
        else:
            least = proved(matrix, readings, radius, upper, nu)
            assert found.status == "optimal"
            assert far <= radius * (1 + 1e-9)
            assert found.objective <= least * (1 + 1e-7)
            assert found.gap == pytest.approx(found.objective - least, abs=1e-7 * least)
    assert seen == {"optimal", "infeasible", "zero"} or tier == "plain"


def test_the_nearest_heat_is_the_bounded_least_squares(tier: str) -> None:
    """Where nothing reaches the readings, scipy's active set agrees on how near one comes."""
    for seed in range(6):
        world = np.random.default_rng(seed)
        matrix = operator(40, 25, 10 ** world.uniform(-3, -0.5))
        readings = 5 * world.normal(size=25)
        found = minimise_l1(matrix, readings, 1e-3)
        nearest = lsq_linear(matrix, readings, (0, 1), method="bvls", tol=1e-13)

        assert found.status == "infeasible"
        assert math.isnan(found.gap)
        assert found.residual == pytest.approx(math.sqrt(2 * nearest.cost), rel=1e-8)


def test_a_long_line_is_not_looked_at_whole_and_is_exact_all_the_same(tier: str) -> None:
    """Ten sources on three thousand cells, against the printed program of the active cells."""
    places, sensors = np.arange(1, 3001) / 3000, np.arange(1, 201) / 200
    matrix = forward(places, sensors, 0.01)
    world = np.random.default_rng(6)
    heat = np.zeros(3000)
    heat[world.choice(3000, 10, replace=False)] = world.uniform(0.3, 1, 10)
    readings = matrix @ heat + 0.1 * world.normal(size=200)
    ready = prepare(matrix)
    found = minimise_l1(ready, readings, 0.1 * math.sqrt(230))
    bound = proved(matrix, readings, 0.1 * math.sqrt(230), np.ones(3000), found.multipliers)

    assert ready.step > 1
    assert found.status == "optimal"
    assert found.objective <= bound * (1 + 1e-8)


def test_a_start_from_a_moment_ago_ends_at_the_same_heat(tier: str) -> None:
    """From the last frame, from nonsense, and from the answer itself, which takes a step."""
    matrix = operator(100, 50, 0.05)
    world = np.random.default_rng(4)
    heat = np.zeros(100)
    heat[[20, 50, 81]] = 1.0
    first = matrix @ heat + 0.1 * world.normal(size=50)
    radius = 0.1 * math.sqrt(65)
    then = minimise_l1(matrix, first, radius)
    now = matrix @ np.roll(heat, 1) + 0.1 * world.normal(size=50)
    cold = minimise_l1(matrix, now, radius)
    nonsense = minimise_l1(matrix, matrix @ np.ones(100), 0.1)

    for start in (then, nonsense):
        warm = minimise_l1(matrix, now, radius, start=start)
        assert warm.status == "optimal"
        assert warm.objective == pytest.approx(cold.objective, rel=1e-10)
    assert minimise_l1(matrix, now, radius, start=cold).iterations <= 2
    assert minimise_l1(matrix, now, radius, start=then).iterations < cold.iterations
