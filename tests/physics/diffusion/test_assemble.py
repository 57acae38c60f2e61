"""What stands in a row adds as resistances: layers are exact, and what is sealed is sealed."""

import numpy as np
import pytest

from physics.diffusion import assemble
from physics.diffusion.assemble import step_fault
from physics.diffusion.medium import Drive, Medium, still
from physics.diffusion.run import Run, march
from physics.places import Floats

LAYERS = np.repeat([0.04, 1.7, 0.2, 0.025], 5)  # W/(m K): wool, concrete, plaster, air
CELL_M = 0.01


def wall(film: float) -> Medium:
    """Return a square metre of layers, with a film at the near side and kept at the far."""
    capacity = np.full(20, 1e5)
    return Medium((CELL_M,), LAYERS, capacity, np.zeros(20), ((film, np.inf),))


def settled(medium: Medium) -> tuple[Floats, float]:
    """Return the temperatures and the flow to the far side after so long that nothing changes."""
    run = Run(medium, always_damped=True)
    drive = Drive(np.zeros(medium.shape), ((21.0, -7.0),))
    run.step(drive, 1e14)
    before = run.balance.stored_j
    run.step(drive, 1e14)
    assert run.balance.stored_j == pytest.approx(before, rel=1e-9)
    middle, flow = 0.5 * CELL_M / LAYERS[-1], run.field_k[-1] + 7.0
    return run.field_k, float(flow / middle)


@pytest.mark.parametrize("film", [7.7, 0.5, np.inf])
def test_a_layered_wall_settles_to_its_resistances_in_a_row(
    film: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To rounding, on any grid that ends where layers do. Control: the arithmetic mean."""
    field, flow = settled(wall(film))
    resistance = 1 / film + (CELL_M / LAYERS).sum()
    exact = 28.0 / resistance
    before = 1 / film + np.cumsum(CELL_M / LAYERS) - CELL_M / LAYERS / 2
    monkeypatch.setattr(
        assemble,
        "between",
        lambda medium: ((LAYERS[1:] + LAYERS[:-1]) / 2 * medium.volume_m3 / CELL_M**2,),
    )
    _, wrong = settled(wall(film))

    assert flow == pytest.approx(exact, rel=1e-12)
    assert field == pytest.approx(21.0 - exact * before, abs=1e-11)
    assert abs(wrong / exact - 1) > 1e-3


def test_nothing_passes_what_does_not_conduct() -> None:
    """A sealed half of a room keeps its heat, whatever happens in the other."""
    conductivity = np.ones((6, 9))
    conductivity[:, 4] = 0.0
    medium = Medium(
        (0.1, 0.1),
        conductivity,
        np.ones((6, 9)),
        np.zeros((6, 9)),
        ((0.0, np.inf), (0.0, 0.0)),
    )
    field = np.ones((6, 9))
    field[2, 1] = 5.0
    run = Run(medium, field)
    for _ in range(40):
        run.step(still(medium), 0.5)

    assert run.field_k[:, :4].sum() == pytest.approx(field[:, :4].sum(), rel=1e-12)
    assert run.field_k[:, 4] == pytest.approx(1.0, rel=1e-14)
    assert np.abs(run.field_k[:, 5:]).max() < 1e-6


@pytest.mark.parametrize("shape", [(7,), (1,), (4, 5), (1, 5), (4, 1), (3, 4, 5), (1, 1, 4)])
def test_the_system_is_symmetric_and_loses_only_by_sides_and_ventilation(
    shape: tuple[int, ...],
) -> None:
    """So heat that leaves a cell enters the next one, and places may be exchanged."""
    world = np.random.default_rng(3)
    axes = len(shape)
    size = (0.1, 0.2, 0.3)[:axes]
    parts = (world.uniform(0.1, 2, shape) for _ in range(3))
    blank = Medium(size, *parts, ((0.0, 0.0),) * axes)
    films = tuple(
        (world.uniform(0, 3, blank.side(axis)), (np.inf, 2.0, 0.0)[axis]) for axis in range(axes)
    )
    medium = Medium(size, blank.conductivity, blank.capacity, blank.loss, films)
    system = assemble.assemble(medium)
    matrix = system.conductance.toarray()
    loses = medium.loss * medium.volume_m3
    for axis, pair in enumerate(assemble.outer(medium)):
        for end, side in enumerate(pair):
            loses[assemble.edge(medium, axis, end)] += side
    off = matrix[~np.eye(len(matrix), dtype=bool)]

    assert np.array_equal(matrix, matrix.T)
    assert matrix.sum(axis=0) == pytest.approx(loses.ravel(), rel=1e-12)
    assert (off <= 0).all()
    assert np.linalg.eigvalsh(matrix).min() > 0


# When a step is too long, held against what the step then does.


SHAPE = (20, 40)
WIDE_M = 0.1


def air() -> Medium:
    """Return a plan of stirred air: a cell passes its heat on in 0.75 s."""
    capacity = np.full(SHAPE, 3618.0)
    return Medium(
        (WIDE_M, WIDE_M), np.full(SHAPE, 12.06), capacity, capacity / 7200, ((3.0, 3.0),) * 2, 2.5
    )


def walked(medium: Medium, step_s: float, always_damped: bool = False) -> Floats:
    """Return the field after a walker of 30 W went a metre in steps of that length."""

    def drives(from_s: float, to_s: float) -> Drive:
        power = np.zeros(SHAPE)
        for at_s in from_s + (to_s - from_s) * (np.arange(40) + 0.5) / 40:
            power[10, 15 + min(9, int(at_s / 240 * 10))] += 30 / 40
        return still(medium, power)

    run = Run(medium, always_damped=always_damped)
    for _ in march(run, drives, step_s, 240.0):
        pass
    return run.field_k


def test_a_step_that_is_allowed_does_not_ring_and_a_long_one_does() -> None:
    """Beside steps of half a second: within a tenth of the warmest where it says nothing.

    A step at which it speaks is off by more, and damping every step mends that one.
    """
    medium = air()
    exact = walked(medium, 0.5)
    off = {step_s: np.abs(walked(medium, step_s) - exact).max() for step_s in (5.0, 24.0)}
    damped = np.abs(walked(medium, 24.0, always_damped=True) - exact).max()

    assert step_fault(medium, 5.0) == ""
    assert off[5.0] < 0.02 * exact.max()
    assert step_fault(medium, 24.0).endswith("5 s would do")
    assert off[24.0] > 0.2 * exact.max()
    assert step_fault(medium, 24.0, always_damped=True) == ""
    assert damped < 0.1 * exact.max()


def test_a_walker_may_go_a_cell_or_its_own_width() -> None:
    """The sentence has the speed, the way, what is allowed and what would do."""
    medium = air()

    assert step_fault(medium, 1.0, speed_m_per_s=0.1) == ""
    assert step_fault(medium, 1.0, speed_m_per_s=0.5, width_m=0.5) == ""
    assert step_fault(medium, 5.0, speed_m_per_s=1.2, width_m=0.5) == (
        "a step of 5 s is too long: what moves at 1.2 m/s goes 6 m in it, and only 0.5 m of "
        "smear are allowed; 0.2 s would do"
    )
    assert "0.05 s would do" in step_fault(medium, 5.0, speed_m_per_s=1.2)


@pytest.mark.parametrize("speed", [0.0, 0.01, 0.3, 1.7])
@pytest.mark.parametrize("cell_m", [0.01, 0.13])
def test_the_step_that_would_do_does(speed: float, cell_m: float) -> None:
    """And is not much shorter than it must be."""
    medium = Medium((cell_m,), np.ones(9), np.full(9, 1e3), np.zeros(9), ((0.0, 5.0),))
    said = step_fault(medium, 1e4, speed)
    would = float(said.split(";")[1].split()[0])

    assert step_fault(medium, would, speed) == ""
    assert step_fault(medium, 2.6 * would, speed) != ""


def test_only_cells_with_a_source_count() -> None:
    """A metal strip where nobody stands needs no short steps."""
    capacity = np.full(SHAPE, 3618.0)
    conductivity = np.full(SHAPE, 12.06)
    conductivity[:, 0] = 4e3
    medium = Medium((WIDE_M, WIDE_M), conductivity, capacity, 0 * capacity, ((0.0, 0.0),) * 2)
    inside = np.ones(SHAPE, dtype=bool)
    inside[:, :2] = False

    assert step_fault(medium, 5.0) != ""
    assert step_fault(medium, 5.0, where=inside) == ""


def test_what_is_no_step_is_refused() -> None:
    """A time, a speed and a length."""
    with pytest.raises(ValueError, match="step_s is 0, speed_m_per_s 1"):
        step_fault(air(), 0.0, 1.0)
    with pytest.raises(ValueError, match="speed_m_per_s -1"):
        step_fault(air(), 1.0, -1.0)
