"""Heat by finite volumes: conductances by hand, laws of every run, and an independent solver."""

import math
import os
import warnings
from dataclasses import replace
from itertools import pairwise
from types import ModuleType

import numpy as np
import pytest

from physics.diffusion import assemble
from physics.diffusion import run as run_
from physics.diffusion.medium import Drive, Medium, Sides, fingerprint, make_still_drive
from physics.diffusion.run import Run, march
from physics.places import Floats

# What stands in a row adds as resistances: layers are exact, and what is sealed is sealed.

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
        "compute_inner_conductance",
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
        (0.1, 0.1), conductivity, np.ones((6, 9)), np.zeros((6, 9)), ((0.0, np.inf), (0.0, 0.0))
    )
    field = np.ones((6, 9))
    field[2, 1] = 5.0
    run = Run(medium, field)
    for _ in range(40):
        run.step(make_still_drive(medium), 0.5)

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
        (world.uniform(0, 3, blank.find_side_shape(axis)), (np.inf, 2.0, 0.0)[axis])
        for axis in range(axes)
    )
    medium = Medium(size, blank.conductivity, blank.capacity, blank.loss, films)
    system = assemble.assemble(medium)
    matrix = system.conductance.toarray()
    loses = medium.loss * medium.volume_m3
    for axis, pair in enumerate(assemble.compute_outer_conductance(medium)):
        for end, side in enumerate(pair):
            loses[assemble.index_side(medium, axis, end)] += side
    off = matrix[~np.eye(len(matrix), dtype=bool)]

    assert np.array_equal(matrix, matrix.T)
    assert matrix.sum(axis=0) == pytest.approx(loses.ravel(), rel=1e-12)
    assert (off <= 0).all()
    assert np.linalg.eigvalsh(matrix).min() > 0


# Many steps: where they end, what they are told, and whom they tell.

MEDIUM = Medium((0.5,), np.ones(4), np.ones(4), np.zeros(4), ((0.0, 1.0),))


@pytest.mark.parametrize(("until_s", "last_s"), [(10.0, 0.7), (9.9, 0.6), (9.4, 0.1)])
def test_steps_meet_end_to_end_and_the_last_ends_on_time(until_s: float, last_s: float) -> None:
    """The drive of every moment is asked for once."""
    asked: list[tuple[float, float]] = []

    def drives(from_s: float, to_s: float) -> Drive:
        asked.append((from_s, to_s))
        return make_still_drive(MEDIUM)

    run = Run(MEDIUM, np.ones(4), at_s=3.0)
    times = [now.at_s for now in march(run, drives, 0.7, until_s)]

    assert times[-1] == pytest.approx(until_s, abs=1e-12)
    assert asked[-1][1] - asked[-1][0] == pytest.approx(last_s, abs=1e-12)
    assert len(times) == len(asked) == 10
    assert asked[0][0] == 3.0
    assert all(end == start for (_, end), (start, _) in pairwise(asked))


def test_a_medium_that_changes_is_taken_step_by_step() -> None:
    """A wall that is taken away lets heat through from that step on."""
    wall = Medium((0.5,), np.array([1.0, 0.0, 1.0, 1.0]), np.ones(4), np.zeros(4), ((0.0, 0.0),))
    run = Run(wall, np.array([1.0, 0.0, 0.0, 0.0]))
    drive = make_still_drive(wall)
    first = [
        now.field_k[0]
        for now in march(
            run, lambda *_: drive, 1.0, 6.0, lambda from_s, to_s: wall if to_s <= 3 else MEDIUM
        )
    ]

    assert first[:3] == pytest.approx([1.0, 1.0, 1.0], rel=1e-15)
    assert first[3] < 0.9
    assert run.medium is MEDIUM


SHAPE = (12, 18)


def room(door: float = 12.0) -> Medium:
    """Return a room with a partition and a door in it, losing heat in every way there is."""
    conductivity, capacity = np.full(SHAPE, 12.0), np.full(SHAPE, 3600.0)
    conductivity[:, 9], capacity[:, 9] = 0.2, 9e4
    conductivity[5:7, 9] = door
    if door > 1:
        capacity[5:7, 9] = 3600.0
    window = np.where(np.arange(12) < 5, 2.8, 0.3)
    films: Sides = ((window, 0.3), (np.inf, 0.0))
    return Medium((0.3, 0.25), conductivity, capacity, np.full(SHAPE, 0.4), films, beyond=2.5)


def driven(world: np.random.Generator, *batch: int) -> Drive:
    """Return everything on at once."""
    power = world.uniform(-20, 75, (*batch, *SHAPE))
    outside: Sides = ((world.uniform(-9, 0, 12), 1.0), (float(world.uniform(2, 3)), 4.0))
    return Drive(power, outside, -3.0)


def test_no_heat_is_made_or_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stored = powered - out - ventilated at every step, doors or not, to 1e-12 of what flowed.

    Control: flows that are reckoned from the end of each step, not as the step used them.
    """
    world = np.random.default_rng(1)
    closed, opened = room(0.2), room()

    def worst() -> float:
        run = Run(closed, world.normal(0, 2, SHAPE))
        gaps, turned = [], 0.0
        for count in range(60):
            medium = opened if count // 7 % 2 else closed
            last = run.balance
            run.step(driven(world), 30.0 if count < 40 else 45.0, medium)
            turned += sum(abs(now - then) for now, then in zip(run.balance, last, strict=True))
            stored, powered, out, ventilated = run.balance
            gaps.append(abs(powered - out - ventilated - stored) / turned)
        return float(max(gaps))

    right = worst()
    honest = run_.compute_outflow
    monkeypatch.setattr(
        run_, "compute_outflow", lambda system, field, drive: honest(system, 1.001 * field, drive)
    )

    assert right < 1e-12
    assert worst() > 1e-6


def test_a_source_is_answered_alike_whenever_it_starts_and_only_fades_after() -> None:
    """So one run with a pulse has the response of every other run, bit for bit.

    No cell warms above the warmest or cools below nought without heat or loss.
    """
    medium, pulse = room(), np.zeros(SHAPE)
    pulse[3, 4] = 75.0
    early, late = Run(medium), Run(medium)
    for _ in range(5):
        late.step(make_still_drive(medium), 60.0)
    warmest = []
    for count in range(8):
        for run in (early, late):
            run.step(make_still_drive(medium, pulse if count == 0 else None), 60.0)
        warmest.append(early.field_k.max())

    assert np.array_equal(early.field_k, late.field_k)
    assert warmest == sorted(warmest, reverse=True)
    assert early.field_k.min() >= 0


def test_it_is_of_second_order_in_space() -> None:
    """A wave between two kept and two sealed sides, settled under the power that holds it."""
    errors = []
    for cells in (10, 20, 40):
        places = (np.arange(cells) + 0.5) / cells
        wave = np.cos(np.pi * places)[:, None] * np.sin(np.pi * places)
        even, films = np.ones((cells, cells)), ((np.inf, np.inf), (0.0, 0.0))
        medium = Medium((1 / cells, 1 / cells), even, even, 0 * even, films)
        run = Run(medium)
        run.step(make_still_drive(medium, 2 * np.pi**2 * wave / cells**2), 1e12)
        errors.append(float(np.abs(run.field_k - wave).max()))

    assert [math.log2(one / other) for one, other in pairwise(errors)] == pytest.approx(
        [2.0, 2.0], abs=0.1
    )


def test_many_fields_go_as_each_would_alone() -> None:
    """Fields, powers and balances; one power serves all fields where it is given once."""
    world = np.random.default_rng(8)
    medium, fields = room(), world.normal(0, 2, (3, *SHAPE))
    drives = [driven(world, 3) for _ in range(4)] + [driven(world)]
    many = Run(medium, fields)
    for drive in drives:
        many.step(drive, 20.0)
    for at in range(3):
        one = Run(medium, fields[at])
        for drive in drives:
            power = drive.power_w if drive.power_w.ndim == 2 else drive.power_w[at]
            one.step(drive._replace(power_w=power), 20.0)
        assert one.field_k == pytest.approx(many.field_k[at], rel=1e-10, abs=1e-10)
        for part, parts in zip(one.balance, many.balance, strict=True):
            assert part == pytest.approx(np.asarray(parts)[at], rel=1e-9)


def test_few_media_are_kept_prepared_and_a_kept_field_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A door that moves to and fro costs two factors; each step makes an array of its own."""
    made: list[float] = []

    def counted(medium: Medium, step_s: float) -> object:
        made.append(step_s)
        return prepared(medium, step_s)

    prepared = run_.prepare_steps
    monkeypatch.setattr(run_, "prepare_steps", counted)
    media = [room(), room(0.2)]
    run = Run(media[0])
    first = run.field_k
    for count in range(12):
        run.step(driven(np.random.default_rng(count)), 30.0, media[count // 3 % 2])
    assert made == [30.0, 30.0]
    for count in range(20):
        run.step(make_still_drive(media[1]), 1.0 + count)

    assert len(made) == 22
    assert len(run._prepared) <= 8
    assert not first.any()
    with pytest.raises(ValueError, match="read-only"):
        run.field_k[0, 0] = 1.0


def test_media_are_told_apart_by_every_part_of_them() -> None:
    """And are the same where a film is written once or for every cell."""
    conductivity = np.full((8, 11), 12.0)
    conductivity[:, 5] = 0.2
    even = np.ones((8, 11))
    films: Sides = ((np.linspace(0, 3, 8), 0.3), (np.inf, 0.0))
    one = Medium((0.3, 0.25), conductivity, 3e3 * even, 0.4 * even, films, 2.5)
    others = [
        replace(one, cell_m=(0.3, 0.26)),
        replace(one, conductivity=np.nextafter(one.conductivity, 99)),
        replace(one, capacity=2 * one.capacity),
        replace(one, loss=0 * one.loss),
        replace(one, films=(one.films[0], (0.0, np.inf))),
        replace(one, films=((one.films[0][0], 0.31), one.films[1])),
        replace(one, beyond=2.6),
    ]
    same = replace(one, films=(one.films[0], (np.full(11, np.inf), np.zeros(11))))

    assert len({fingerprint(medium) for medium in (one, *others)}) == 8
    assert fingerprint(same) == fingerprint(one)


# A room as another program solves it: FiPy 4, by its own finite volumes, faces and terms.

STEP_S, UNTIL_S = 15.0, 1800.0
SUPPLY_K = -5.0
WINDOW_K, BESIDE_K = -15.0, 2.0


def office(finer: int) -> Medium:
    """Return 6 x 4 m of stirred air in cells of 10 cm, or finer.

    A partition that lets nothing through, but for a door gap of a metre; a window from 1 to 3 m
    in the west side; one air change an hour.
    """
    cell_m = 0.1 / finer
    rows, columns = 40 * finer, 60 * finer
    y, x = ((np.arange(count) + 0.5) * cell_m for count in (rows, columns))
    gap = (y > 2.4) & (y < 3.4)
    partition = (np.abs(x - 3.5) < 0.1) & ~gap[:, None]
    air = np.where(partition, 0.0, 1206.0)
    film = np.where((y > 1) & (y < 3), 2.8, 0.3)
    capacity = np.where(partition, 9e5, 3618.0)
    films = ((film, 0.3), (0.0, 0.5))
    return Medium((cell_m, cell_m), 0.01 * air, capacity, air / 3600, films, beyond=2.5)


def two_people(finer: int, from_s: float, to_s: float) -> Drive:
    """Return two people of 75 W, half of it to the air: one at a desk, one who walks in y."""
    power = np.zeros((40 * finer, 60 * finer))
    wide, share = 3 * finer, 37.5 / (3 * finer) ** 2
    power[15 * finer :, 45 * finer :][:wide, :wide] += share
    for at_s in from_s + (to_s - from_s) * (np.arange(20) + 0.5) / 20:
        turn = 0.2 * at_s % 4
        row = int((1 + min(turn, 4 - turn)) / 0.1) * finer
        power[row : row + wide, 10 * finer : 10 * finer + wide] += share / 20
    return Drive(power, ((WINDOW_K, BESIDE_K), (0.0, 0.0)), SUPPLY_K)


def ours(finer: int) -> Floats:
    run = Run(office(finer))
    for _ in march(run, lambda a, b: two_people(finer, a, b), STEP_S, UNTIL_S):
        pass
    return run.field_k


@pytest.fixture(scope="module")
def fipy() -> ModuleType:
    os.environ.setdefault("FIPY_SOLVERS", "scipy")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what it imports
        import fipy
    return fipy


def theirs(fipy: ModuleType) -> Floats:
    """Return the field at the end by FiPy, with the films as its manual has Robin conditions.

    Its implicit terms are backward Euler, two halves a step.
    """
    medium = office(1)
    rows, columns = medium.shape
    mesh = fipy.Grid2D(nx=columns, ny=rows, dx=medium.cell_m[0], dy=medium.cell_m[1])

    def cells(values: Floats) -> object:
        return fipy.CellVariable(mesh=mesh, value=values.ravel())

    conductivity = cells(medium.conductivity).harmonicFaceValue
    at_y = mesh.faceCenters.value[1]
    film, outside = np.zeros(mesh.numberOfFaces), np.zeros(mesh.numberOfFaces)
    west, east = mesh.facesLeft.value, mesh.facesRight.value
    film[west] = np.where((at_y[west] > 1) & (at_y[west] < 3), 2.8, 0.3)
    film[east], outside[west], outside[east] = 0.3, WINDOW_K, BESIDE_K
    film[mesh.facesTop.value] = 0.5  # its y goes up; the row at 4 m is its top
    # n . (film u + k grad u) = film outside: Robin with a = film n and b = k.
    depth, passes = mesh._faceToCellDistances[0], conductivity.value
    whole = np.divide(film * passes, film * depth + passes, out=0 * film, where=film > 0)
    normal = fipy.FaceVariable(mesh=mesh, rank=1, value=mesh.faceNormals)
    exchange = (fipy.FaceVariable(mesh=mesh, value=whole) * normal).divergence.value
    comes = (fipy.FaceVariable(mesh=mesh, value=whole * outside) * normal).divergence.value
    inner = fipy.FaceVariable(mesh=mesh, value=conductivity.value)
    inner.setValue(0.0, where=mesh.exteriorFaces)

    loss = medium.loss.ravel() + exchange
    field = fipy.CellVariable(mesh=mesh, value=0.0, hasOld=True)
    given = fipy.CellVariable(mesh=mesh, value=0.0)
    equation = (
        fipy.TransientTerm(coeff=cells(medium.capacity))
        == fipy.DiffusionTerm(coeff=inner) - fipy.ImplicitSourceTerm(coeff=cells(loss)) + given
    )
    solver = fipy.LinearLUSolver()
    for count in range(round(UNTIL_S / STEP_S)):
        power = two_people(1, count * STEP_S, (count + 1) * STEP_S).power_w.ravel()
        given.setValue(power / medium.volume_m3 + medium.loss.ravel() * SUPPLY_K + comes)
        for _ in range(2):
            field.updateOld()
            equation.solve(field, dt=STEP_S / 2, solver=solver)
    return np.array(field.value).reshape(rows, columns)


# The harmonic mean of two cells that conduct nothing is 0/0 to FiPy, which then puts nought.
@pytest.mark.long
@pytest.mark.filterwarnings("ignore:divide by zero encountered in divide:RuntimeWarning")
def test_a_room_is_as_fipy_has_it(fipy: ModuleType) -> None:
    """Partition, door gap, cold window, ventilation, one who sits and one who walks: 1e-3 K.

    The same grid and means; faces, films, sources, time and solver are FiPy's own. Finer cells
    change little too: each refinement less than half of the one before, to 2 cK at the worst.
    """
    field = ours(1)
    means = [ours(finer).reshape(40, finer, 60, finer).mean(axis=(1, 3)) for finer in (1, 2, 4)]
    first, second = (np.abs(fine - coarse).max() for coarse, fine in pairwise(means))

    assert np.ptp(field) > 4
    assert np.abs(theirs(fipy) - field).max() < 1e-3
    assert first < 0.02
    assert second < first / 2
