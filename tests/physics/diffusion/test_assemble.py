"""What stands in a row adds as resistances: layers are exact, and what is sealed is sealed."""

import numpy as np
import pytest

from physics.diffusion import assemble
from physics.diffusion.medium import Drive, Medium, still
from physics.diffusion.run import Run
from physics.places import Floats

LAYERS = np.repeat([0.04, 1.7, 0.2, 0.025], 5)  # W/(m K): wool, concrete, plaster, air
CELL_M = 0.01


def wall(film: float) -> Medium:
    """Return a square metre of layers, with a film at the near side and kept at the far."""
    capacity = np.full(20, 1e5)
    return Medium((CELL_M,), LAYERS, capacity, np.zeros(20), ((film, np.inf),))


def settled(medium: Medium) -> tuple[Floats, float]:
    """Return the temperatures and the flow to the far side after so long that nothing changes."""
    run = Run(medium)
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
