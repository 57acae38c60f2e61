"""Ways to solve, each against the others, and the choice of one."""

import itertools

import numpy as np
import pytest
from scipy import sparse

from physics.diffusion import solve
from physics.diffusion.march import march
from physics.diffusion.medium import Drive, Medium
from physics.diffusion.run import Run


@pytest.mark.parametrize(
    ("shape", "solvers"),
    [
        ((400,), ("band", "direct", "multigrid")),
        ((40, 60), ("direct", "multigrid")),
        ((10, 14, 12), ("direct", "multigrid")),
    ],
)
def test_every_solver_gives_the_same_temperatures(
    shape: tuple[int, ...], solvers: tuple[str, ...]
) -> None:
    """To 1e-9 after many steps, through walls a thousandth as conducting; all keep energy."""
    world = np.random.default_rng(4)
    conductivity = 12 * world.uniform(0.5, 2, shape)
    conductivity[..., shape[-1] // 2] = 0.012
    conductivity[..., shape[-1] // 3] = 0.0
    axes = len(shape)
    medium = Medium(
        (0.05, 0.1, 0.08)[:axes],
        conductivity,
        1206 * world.uniform(1, 100, shape),
        np.full(shape, 0.3),
        ((3.0, np.inf), (0.0, 0.5), (2.0, 0.0))[:axes],
    )
    start, power = world.normal(0, 2, shape), world.uniform(0, 1, shape)
    drive = Drive(power, ((-8.0, 3.0),) * axes, -2.0)
    fields = []
    for solver in solvers:
        run = Run(medium, start, solver=solver)
        for _ in march(run, lambda *_: drive, 10.0, 300.0):
            assert abs(run.balance.missing_j) < 1e-11 * max(map(abs, run.balance))
        assert run.solver.startswith(f"{solver}: asked for")
        fields.append(run.field_k)

    for one, other in itertools.pairwise(fields):
        assert np.abs(one - other).max() < 1e-9 * np.abs(one).max()


def test_multigrid_that_stops_early_makes_no_heat(monkeypatch: pytest.MonkeyPatch) -> None:
    """However loosely it solves, what is left over adds to nought: energy closes to rounding."""
    monkeypatch.setattr(solve, "_TOLERANCE", 1e-2)
    shape = (8, 9, 10)
    world = np.random.default_rng(7)
    parts = (world.uniform(0.1, 3, shape) for _ in range(3))
    medium = Medium((0.2,) * 3, *parts, ((0.0, 1.0), (np.inf, 2.0), (0.0, 0.0)))
    drive = Drive(world.uniform(0, 1, shape), ((1.0, -2.0),) * 3, 0.5)
    run, exact = Run(medium, solver="multigrid"), Run(medium, solver="direct")
    for _ in range(10):
        run.step(drive, 0.3)
        exact.step(drive, 0.3)
        assert abs(run.balance.missing_j) < 1e-12 * max(map(abs, run.balance))

    assert np.abs(run.field_k - exact.field_k).max() > 1e-6  # it did stop early


def test_multigrid_leaves_the_shared_random_state_alone() -> None:
    """And gives the same bits again: nothing in it is drawn."""
    shape = (12, 12, 12)
    medium = Medium((0.1,) * 3, *(np.ones(shape),) * 3, ((0.0, 1.0),) * 3)
    start = np.random.default_rng(2).normal(size=shape)
    drive = Drive(np.zeros(shape), ((0.0, 0.0),) * 3)
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    fields = []
    for _ in range(2):
        run = Run(medium, start, solver="multigrid")
        for _ in march(run, lambda *_: drive, 0.1, 0.5):
            pass
        fields.append(run.field_k)

    assert np.array_equal(np.random.get_state()[1], state)  # noqa: NPY002
    assert np.array_equal(*fields)


@pytest.mark.parametrize(
    ("shape", "name"),
    [
        ((5000,), "band"),
        ((1, 300), "band"),
        ((160, 240), "direct"),
        ((1200, 1200), "multigrid"),
        ((10, 20, 30), "direct"),
        ((25, 40, 60), "multigrid"),
        ((1, 160, 240), "direct"),
    ],
)
def test_the_choice_goes_by_size_and_axes_and_says_so(shape: tuple[int, ...], name: str) -> None:
    """An axis of one cell is none."""
    way = solve.choose(shape)

    assert way.name == name
    assert str(int(np.prod(shape))) in str(way)


def test_multigrid_that_does_not_arrive_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rather than give temperatures that are nearly right."""
    monkeypatch.setattr(solve, "_ITERATIONS", 2)
    matrix = sparse.diags_array([-1.0, 2.1, -1.0], offsets=[-1, 0, 1], shape=(60, 60))
    plan = sparse.csr_array(sparse.kronsum(matrix, matrix))
    short = solve.prepare(plan, solve.Way("multigrid", ""))

    with pytest.raises(ValueError, match="Ask for solver='direct'"):
        short(np.random.default_rng(0).normal(size=3600), np.zeros(3600))
