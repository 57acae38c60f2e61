"""The least heat of a plane against the printed program on the matrix formed whole."""

import math

import cvxpy
import numpy as np
import pytest

from physics.operators.separable import Separable, forward_separable
from recovery.sparse import minimise_l1, minimise_l1_many, prepare

NOISE = 0.05


def ends(count: int) -> np.ndarray:
    """The paper's places: j/n, the last at the wall."""
    return np.arange(1, count + 1) / count


def plane(cells, sensors, spread, walls="none") -> Separable:
    """The operator between even grids on a unit square or cube."""
    return forward_separable(
        [ends(count) for count in cells], [ends(count) for count in sensors], spread, walls
    )


def scene(operator: Separable, sources: int, seed: int, closed=()) -> tuple[np.ndarray, float]:
    """Blurred readings of so many warm cells, none of them closed, and a radius."""
    world = np.random.default_rng(seed)
    open_cells = np.setdiff1d(np.arange(operator.shape[1]), closed)
    heat = np.zeros(operator.shape[1])
    heat[world.choice(open_cells, sources, replace=False)] = world.uniform(0.3, 1, sources)
    readings = operator.matvec(heat) + NOISE * world.normal(size=operator.shape[0])
    return readings, NOISE * math.sqrt(1.2 * len(readings))


def printed(matrix, readings, radius, upper=1.0) -> float:
    """The least total by another program, in the paper's own words."""
    heat = cvxpy.Variable(matrix.shape[1])
    near = cvxpy.norm(matrix @ heat - readings) <= radius
    problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum(heat)), [near, heat >= 0, heat <= upper])
    return float(problem.solve(solver=cvxpy.CLARABEL))


def proved(operator: Separable, readings, radius, upper, heat) -> float:
    """Return a total that no feasible heat can undercut, from the heat's own residual alone.

    For every t >= 0, with r = y - A f: t r'y - radius t ||r|| - sum of upper max(0, t A'r - 1);
    concave in t, and steepest down to level where t passes one of the 1 / (A'r).
    """
    rest = readings - operator.matvec(heat)
    earned = operator.rmatvec(rest)
    upper = np.broadcast_to(upper, earned.shape)
    base = slope = float(rest @ readings - radius * np.linalg.norm(rest))
    best = 0.0
    for cell in np.argsort(-earned):
        if slope <= 0 or earned[cell] <= 0:
            break
        t = 1 / earned[cell]
        best = max(best, t * base - float((upper * np.maximum(0, t * earned - 1)).sum()))
        slope -= upper[cell] * earned[cell]
    return best


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("spread", [0.3, 0.03, 0.002])
@pytest.mark.parametrize("walls", ["none", "insulated"])
def test_the_least_heat_of_a_plane_is_the_printed_programs(seed, spread, walls) -> None:
    """To a millionth, with free air and with walls, one warm cell to seven."""
    operator = plane((12, 9), (7, 6), spread, walls)
    readings, radius = scene(operator, 1 + 2 * seed, seed)
    found = minimise_l1(operator, readings, radius)

    assert found.status == "optimal"
    assert found.objective == pytest.approx(
        printed(operator.dense(), readings, radius), rel=1e-6, abs=1e-6
    )


@pytest.mark.parametrize("sources", [1, 4, 10])
@pytest.mark.parametrize("spread", [0.5, 0.05, 0.005, 0.0005])
def test_a_large_plane_is_solved_and_proved_in_the_space_of_its_sensors(sources, spread) -> None:
    """64 by 64 cells and 32 by 24 sensors: no heat is less, by the readings' own certificate."""
    operator = plane((64, 64), (32, 24), spread)
    readings, radius = scene(operator, sources, 3)
    found = minimise_l1(operator, readings, radius)
    far = np.linalg.norm(operator.matvec(found.heat) - readings)
    least = proved(operator, readings, radius, 1.0, found.heat)

    assert found.status == "optimal"
    assert found.heat.min() >= 0
    assert found.heat.max() <= 1
    assert far <= radius * (1 + 1e-9)
    assert found.residual == pytest.approx(far, rel=1e-9)
    assert found.objective - least <= 1e-8 * found.objective


def test_heat_that_is_not_the_least_is_not_proved() -> None:
    """The negative control of the certificate: a little more heat, and it says so."""
    operator = plane((12, 9), (7, 6), 0.03)
    readings, radius = scene(operator, 3, 1)
    heat = minimise_l1(operator, readings, radius).heat
    more = heat + 0.001

    assert more.sum() - proved(operator, readings, radius, 1.0, more) > 0.01 * heat.sum()


@pytest.mark.parametrize("seed", range(3))
def test_furniture_holds_no_heat(seed) -> None:
    """Cells where no source can be, as a table over a third of the room, and all at once."""
    operator = plane((12, 9), (7, 6), 0.02)
    x, y = np.meshgrid(np.arange(12), np.arange(9))
    closed = np.flatnonzero(((x > 3) & (x < 8) & (y > 2) & (y < 8)).ravel())
    upper = np.ones(108)
    upper[closed] = 0
    readings, radius = scene(operator, 3, seed, closed)
    found = minimise_l1(operator, readings, radius, upper=upper)

    assert found.status == "optimal"
    assert not found.heat[closed].any()
    assert found.objective == pytest.approx(
        printed(operator.dense(), readings, radius, upper), rel=1e-6
    )


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("spread", [0.2, 0.02])
def test_silent_sensors_are_left_out(seed, spread) -> None:
    """Some pixels are dead, or a whole row and one pixel more."""
    heard = np.random.default_rng(seed).random(42) < (0.9 if seed else 0.4)
    heard[14:21] &= seed < 2
    operator = plane((12, 9), (7, 6), spread).hearing(heard)
    readings, radius = scene(operator, 3, seed)
    found = minimise_l1(operator, readings, radius)

    assert found.status == "optimal"
    assert found.objective == pytest.approx(
        printed(operator.dense(), readings, radius), rel=1e-6, abs=1e-6
    )


def test_a_large_plane_with_dead_pixels_is_proved_too() -> None:
    """One pixel in twenty of an array, and nothing is formed whole for it."""
    heard = np.random.default_rng(4).random(768) < 0.95
    operator = plane((64, 64), (32, 24), 0.01).hearing(heard)
    readings, radius = scene(operator, 4, 5)
    found = minimise_l1(operator, readings, radius)

    assert found.status == "optimal"
    assert found.residual <= radius * (1 + 1e-9)
    assert found.objective - proved(operator, readings, radius, 1.0, found.heat) < 1e-7


@pytest.mark.parametrize("seed", range(3))
def test_a_room_has_its_least_heat_too(seed) -> None:
    """Three axes, counted with x fastest."""
    operator = plane((5, 4, 6), (4, 3, 4), 0.03, "insulated")
    readings, radius = scene(operator, 1 + seed, seed)
    found = minimise_l1(operator, readings, radius)

    assert found.status == "optimal"
    assert found.objective == pytest.approx(
        printed(operator.dense(), readings, radius), rel=1e-6, abs=1e-6
    )


def test_a_radius_that_nothing_reaches_has_the_nearest_heat() -> None:
    """Never an exception of a solver: the least residual, and it is said so."""
    operator = plane((12, 9), (7, 6), 0.03)
    readings, _ = scene(operator, 3, 1)
    found = minimise_l1(operator, readings, 1e-3)
    heat = cvxpy.Variable(108)
    far = cvxpy.Problem(
        cvxpy.Minimize(cvxpy.norm(operator.dense() @ heat - readings)), [heat >= 0, heat <= 1]
    ).solve(solver=cvxpy.CLARABEL)

    assert found.status == "infeasible"
    assert found.residual == pytest.approx(far, rel=1e-6)


def test_readings_within_the_radius_need_no_heat() -> None:
    """Zero is then the least, of a plane as of a line."""
    operator = plane((12, 9), (7, 6), 0.03)
    readings, _ = scene(operator, 3, 1)
    found = minimise_l1(operator, readings, 2 * float(np.linalg.norm(readings)))

    assert found.status == "zero"
    assert not found.heat.any()


@pytest.mark.parametrize("silent", [False, True])
def test_many_readings_at_once_are_each_solved_as_alone(silent) -> None:
    """One factorisation, dead pixels or none; zero and infeasible ones between the others."""
    operator = plane((12, 9), (7, 6), 0.03)
    if silent:
        operator = operator.hearing(np.arange(42) % 9 > 0)
    ready = prepare(operator)
    scenes = [scene(operator, 1 + seed, seed) for seed in range(4)]
    readings = np.stack([one for one, _ in scenes])
    radii = np.array([radius for _, radius in scenes])
    radii[1], radii[2] = 1e-3, 100.0
    many = minimise_l1_many(ready, readings, radii)

    for one in range(4):
        alone = minimise_l1(operator, readings[one], radii[one])
        assert many.status[one] == alone.status
        assert many.objective[one] == pytest.approx(alone.objective, rel=1e-9, abs=1e-12)
        assert many.heat[one] == pytest.approx(alone.heat, abs=1e-6)


def test_the_heat_of_a_moment_ago_is_a_start_and_no_more() -> None:
    """A warm start finds the same least heat, also where the heat has moved away."""
    operator = plane((64, 64), (32, 24), 0.02)
    before, radius = scene(operator, 4, 1)
    for seed in (1, 2):
        readings = scene(operator, 4, seed)[0] + 0.01 * np.sin(np.arange(768))
        start = minimise_l1(operator, before, radius)
        warm = minimise_l1(operator, readings, radius, start=start)
        cold = minimise_l1(operator, readings, radius)

        assert warm.status == cold.status == "optimal"
        assert warm.objective == pytest.approx(cold.objective, rel=1e-9)
