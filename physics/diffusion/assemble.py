"""The heat balance of all cells as one linear system, symmetric and sparse."""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from ..places import Floats
from .faces import between, edge, outer
from .medium import Drive, Medium


class System(NamedTuple):
    """capacity du/dt = inflow(drive) - conductance u, in watts, for cells in a flat row."""

    medium: Medium
    conductance: sparse.csr_array  # (cells, cells), W/K: faces, sides and ventilation
    capacity: Floats  # (cells,), J/K
    ventilation: Floats  # (cells,), W/K
    sides: tuple[tuple[Floats, Floats], ...]  # W/K, as `faces.outer` gives them


def assemble(medium: Medium) -> System:
    """Return the system of a medium.

    The conductance's columns add to what a cell loses by sides and ventilation: what leaves a
    cell through a face enters the next, so heat is kept to rounding.
    """
    shape, count = medium.shape, medium.capacity.size
    sides = outer(medium)
    ventilation = medium.loss * medium.volume_m3
    diagonal = ventilation.copy()
    bands: dict[int, Floats] = {}
    for axis, faces in enumerate(between(medium)):
        across = len(shape) - 1 - axis
        # A face stands at its nearer cell; the last cell of a row has none.
        whole = np.zeros(shape)
        np.moveaxis(whole, across, 0)[:-1] = np.moveaxis(faces, across, 0)
        diagonal += whole + np.roll(whole, 1, axis=across)
        stride = int(np.prod(shape[across + 1 :]))
        if shape[across] > 1:
            bands[stride] = -whole.ravel()[:-stride]
        for end in (0, 1):
            diagonal[edge(medium, axis, end)] += sides[axis][end]
    offsets = [0, *bands, *(-stride for stride in bands)]
    values = [diagonal.ravel(), *bands.values(), *bands.values()]
    matrix = sparse.diags_array(values, offsets=offsets, shape=(count, count), format="csr")
    matrix.eliminate_zeros()  # where nothing conducts, and from the end of a row to the next
    return System(
        medium, matrix, (medium.capacity * medium.volume_m3).ravel(), ventilation.ravel(), sides
    )


def inflow(system: System, drive: Drive) -> Floats:
    """Return what comes into each cell from outside the system, in W, (..., cells).

    Its power, and what the outside and the supply would send into a cell at the baseline.
    """
    medium = system.medium
    power = np.array(drive.power_w, dtype=float)
    for axis, pair in enumerate(system.sides):
        for end in (0, 1):
            power[edge(medium, axis, end)] += pair[end] * drive.outside_k[axis][end]
    flat = power.reshape(*power.shape[: power.ndim - len(medium.shape)], -1)
    if drive.supply_k:
        flat += system.ventilation * drive.supply_k
    return flat


def outflow(system: System, field: Floats, drive: Drive) -> tuple[Floats, Floats]:
    """Return what goes out by the sides and by ventilation, in W, of each field (..., cells)."""
    medium = system.medium
    shaped = field.reshape(*field.shape[:-1], *medium.shape)
    out = np.zeros(field.shape[:-1])
    for axis, pair in enumerate(system.sides):
        for end in (0, 1):
            if pair[end].any():
                warmer = shaped[edge(medium, axis, end)] - drive.outside_k[axis][end]
                over = tuple(range(out.ndim, warmer.ndim))
                out = out + (pair[end] * warmer).sum(axis=over)
    return out, (field - drive.supply_k) @ system.ventilation
