"""A room as another program solves it: FiPy 4, by its own finite volumes, faces and terms.

Guyer, Wheeler and Warren 2009, Computing in Science and Engineering 11(3), 6-15.
"""

import os
import warnings
from itertools import pairwise
from types import ModuleType

import numpy as np
import pytest

from physics.diffusion.medium import Drive, Medium
from physics.diffusion.run import Run, march
from physics.places import Floats

STEP_S, UNTIL_S = 15.0, 1800.0
SUPPLY_K = -5.0
WINDOW_K, BESIDE_K = -15.0, 2.0


def room(finer: int) -> Medium:
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


def drive(finer: int, from_s: float, to_s: float) -> Drive:
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
    run = Run(room(finer))
    for _ in march(run, lambda a, b: drive(finer, a, b), STEP_S, UNTIL_S):
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
    medium = room(1)
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
        power = drive(1, count * STEP_S, (count + 1) * STEP_S).power_w.ravel()
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
