"""The least heat: the fast program against the printed one, other solvers and its own proof."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import lsq_linear, minimize

from physics.kernel import forward
from recovery import l1
from recovery.kernels import active_set, make_compiled_twin
from recovery.l1 import least_l1
from recovery.sparse import find_misfit, minimise_l1, prepare

seeds = st.integers(0, 2**32 - 1)


def instance(
    seed: int, cells: int = 40, sensors: int = 25, noise: float = 0.1
) -> tuple[np.ndarray, np.ndarray, float]:
    """An operator, blurred readings of one to four sources, and the paper's radius."""
    world = np.random.default_rng(seed)
    spread = 10 ** world.uniform(-2.5, -0.3)
    operator = forward(
        np.arange(1, cells + 1) / cells, np.arange(1, sensors + 1) / sensors, spread
    )
    heat = np.zeros(cells)
    heat[world.choice(cells, world.integers(1, 5), replace=False)] = world.uniform(0.3, 1)
    readings = operator @ heat + noise * world.normal(size=sensors)
    return operator, readings, noise * math.sqrt(sensors)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(seeds, st.sampled_from([0.02, 0.1, 0.7]))
def test_the_small_program_is_the_printed_one(seed: int, noise: float) -> None:
    """Same status and, to one part in a million, the same least heat.

    Where none is within the radius it is not the heat that is least but the distance to the
    readings, and there ours may not be the further one.
    """
    operator, readings, radius = instance(seed, noise=noise)
    small = minimise_l1(operator, readings, radius)
    printed = minimise_l1(operator, readings, radius, method="cvxpy")

    assert small.status == printed.status
    if small.status == "infeasible":
        assert small.residual <= printed.residual + 1e-9
    else:
        assert small.objective == pytest.approx(printed.objective, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(
    ("inner", "less", "times", "status"),
    [
        (1.0, 1.0, 1.0, "optimal"),
        (0.999, 1.0, 1.0, "inaccurate"),  # more heat than is needed, by less than a hundredth
        (1.0, 0.9, 1.0, "inaccurate"),  # less heat than explains the readings
        (1.0, 1.0, 1.5, "inaccurate"),  # multipliers that prove nothing
    ],
)
def test_what_a_solver_says_is_not_believed_but_proved(
    monkeypatch: pytest.MonkeyPatch, inner: float, less: float, times: float, status: str
) -> None:
    """Optimal is a word about the heat, whoever found it."""
    operator, readings, radius = instance(9)
    radius *= 1.3

    def solver(operator, readings, radius, upper):
        found = least_l1(operator, readings, inner * radius, upper)
        return replace(found, heat=less * found.heat, multipliers=times * found.multipliers)

    monkeypatch.setattr(l1, "least_l1", solver)
    found = l1.by_clarabel(prepare(operator), readings, radius, np.ones(1))

    assert found.status == status


@pytest.mark.parametrize("method", ["auto", "cvxpy"])
def test_the_answer_is_another_solvers_on_small_programs(method) -> None:
    """Sequential quadratic programming knows nothing of cones."""
    for seed in range(12):
        world = np.random.default_rng(seed)
        operator = world.normal(size=(6, 5))
        readings = operator @ world.uniform(0, 1.2, size=5) + 0.05 * world.normal(size=6)
        radius = 0.5
        nearest = lsq_linear(operator, readings, (0, 1)).x
        other = minimize(
            np.sum,
            nearest,
            jac=np.ones_like,
            bounds=[(0, 1)] * 5,
            constraints={
                "type": "ineq",
                "fun": lambda f, a=operator, y=readings, r=radius: r**2 - np.sum((a @ f - y) ** 2),
            },
            method="SLSQP",
            options={"ftol": 1e-10, "maxiter": 500},
        )

        assert other.success
        assert minimise_l1(operator, readings, radius, method=method).objective == pytest.approx(
            other.fun, abs=1e-6
        )


@pytest.mark.parametrize("solve", [minimise_l1, l1.by_clarabel])
@pytest.mark.parametrize("heat", [1e-6, 1e6])
@pytest.mark.parametrize("kelvin", [1e-9, 1e6])
@pytest.mark.parametrize("times", [1.3, 0.01])
def test_units_do_not_matter(solve: Any, heat: float, kelvin: float, times: float) -> None:
    """Heat of a millionth and readings in 1e-9 units are solved, or refused, as any others."""
    operator, readings, radius = instance(9)
    radius *= times
    usual = solve(prepare(operator), readings, radius, np.ones(40))
    ready = prepare(operator * (kelvin / heat))
    there = solve(ready, readings * kelvin, radius * kelvin, np.full(40, heat))

    assert there.status == usual.status == ("optimal" if times > 1 else "infeasible")
    assert there.objective / heat == pytest.approx(usual.objective, rel=1e-5)
    assert there.residual / kelvin == pytest.approx(usual.residual, rel=1e-5)


@pytest.mark.parametrize("method", ["auto", "cvxpy"])
def test_readings_that_nothing_explains_are_a_result(method) -> None:
    """The nearest heat comes back, as near as a bounded least-squares solver comes."""
    operator, _, _ = instance(5)
    readings = 5 * np.sin(np.arange(25))
    found = minimise_l1(operator, readings, 1.0, method=method)
    nearest = lsq_linear(operator, readings, (0, 1), tol=1e-12)

    assert found.status == "infeasible"
    assert math.isnan(found.gap)
    assert found.residual == pytest.approx(math.sqrt(2 * nearest.cost), rel=1e-6)


def test_what_no_reading_can_tell_is_said() -> None:
    """A spread so large that all cells look alike, exactly or within the radius."""
    cells, sensors = np.arange(1, 41) / 40, np.arange(1, 26) / 25
    alike, nearly = forward(cells, sensors, 1e14), forward(cells, sensors, 50.0)
    readings = 3 * alike[:, 7]

    assert np.linalg.matrix_rank(alike) == 1
    assert "weighted sum" in minimise_l1(alike, readings, 1e-9).undetermined
    assert minimise_l1(alike, readings, 1e-9).objective == pytest.approx(3, rel=0.05)
    assert "not where" in minimise_l1(nearly, nearly[:, 7], 0.1).undetermined
    assert np.linalg.norm(nearly - nearly.mean(axis=1, keepdims=True), axis=0).max() < 0.1
    assert minimise_l1(*instance(1)).undetermined == ""


def test_an_operator_of_full_rank_is_not_sketched_away() -> None:
    """Noise has no few directions, and what lies beside a sketch would be lost."""
    matrix = np.random.default_rng(3).normal(size=(150, 400))
    few = matrix[:, :5] @ matrix[:5] + 1e-6 * matrix  # low rank, but for a millionth

    for operator in (matrix, few):
        ready = prepare(operator)
        assert ready.rank == 150
        assert (
            np.abs(ready.basis.T @ ready.small - operator).max() < 1e-11 * np.abs(operator).max()
        )


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"readings": np.ones(24)}, "each sensor has one row"),
        ({"readings": np.ones((25, 1))}, "each sensor has one row"),
        ({"operator": np.ones(25)}, "each sensor has one row"),
        ({"operator": np.ones((25, 0))}, "each sensor has one row"),
        ({"readings": np.full(25, np.nan)}, "all must be finite"),
        ({"operator": np.full((25, 40), np.inf)}, "all must be finite"),
        ({"radius": -1.0}, "radius is -1"),
        ({"radius": math.nan}, "radius is nan"),
        ({"radius": math.inf}, "radius is inf"),
        ({"upper": 0.0}, "upper is 0"),
        ({"upper": math.nan}, "upper is nan"),
        ({"method": "guess"}, "method is 'guess'"),
        ({"operator": np.zeros((25, 40))}, "nought everywhere"),
        ({"readings": np.full(25, np.inf), "method": "cvxpy"}, "all must be finite"),
        ({"upper": np.ones(39)}, "upper has shape"),
        ({"upper": np.full(40, np.nan)}, "upper\\[0\\] is nan"),
        ({"upper": np.zeros(40)}, "upper is 0 in all"),
        ({"operator": scipy.sparse.csr_array(np.eye(25, 40))}, "the operator is a csr_array"),
        ({"operator": np.eye(25, 40) * 1j}, "of complex128 but must hold real numbers"),
        ({"readings": ["warm"] * 25}, "the list of readings is a list of"),
        ({"readings": np.ones(25, dtype=object)}, "a ndarray of object but must hold"),
        ({"start": minimise_l1([[1.0, 0.0]], [1.0], 0.5)}, "start has 2 cells"),
    ],
)
def test_bad_input_is_refused_before_any_solver_sees_it(change: dict, why: str) -> None:
    """A solver's own words would help nobody."""
    operator, readings, radius = instance(8)
    given = {"operator": operator, "readings": readings, "radius": radius} | change

    with pytest.raises(ValueError, match=why):
        minimise_l1(**given)


# The active set, run as it is and compiled: exact, proved, and the same from any start.

SIZES = [(40, 25), (100, 50), (30, 60), (200, 20), (60, 60), (700, 40)]
SPREADS = [1e-4, 1e-3, 0.005, 0.05, 0.5, 5.0, 100.0]


@pytest.fixture(params=["plain", pytest.param("compiled", marks=pytest.mark.long)])
def tier(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Either way of running the same lines."""
    module = active_set if request.param == "plain" else make_compiled_twin(active_set)
    monkeypatch.setattr("recovery.sparse.compile_if_worth", lambda *_, **__: module)
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


def test_any_heat_is_found_where_the_least_is(tier: str) -> None:
    """The same verdict in fewer steps, and where there is none the same distance."""
    told = set()
    for seed in range(0, 36, 2):
        asked = draw(seed)
        misfit, least = find_misfit(*asked), minimise_l1(*asked, method="fast")
        told.add(misfit is None)

        assert (misfit is None) == (least.status != "infeasible")
        assert misfit is None or misfit == least.residual
    assert told == {True, False}


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
