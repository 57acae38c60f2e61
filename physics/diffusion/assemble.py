"""The heat balance of all cells as one linear system, symmetric and sparse."""

import math
from types import EllipsisType
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy import sparse

from ..places import Floats
from .medium import Drive, Medium

# How much heat passes between two cells, and between a cell and what is beyond a side.
#
# Half of a cell, what is between, half of its neighbour, then a film: what stands in a row adds
# as resistances.
# So the mean of two conductivities is the harmonic one, which makes layers exact: the arithmetic
# one would let heat through a wall because the air beside it conducts.
#
# Source: Patankar 1980, Numerical Heat Transfer and Fluid Flow, Section 4.2-3.

Places: TypeAlias = tuple[EllipsisType | slice | int, ...]


def compute_inner_conductance(medium: Medium) -> tuple[Floats, ...]:
    """Return the conductance of each inner face in W/K, an array an axis, x first.

    Each array is the medium's shape with one fewer along its own axis.
    """
    faces = []
    for axis in range(len(medium.shape)):
        half = _compute_half_resistance(medium, axis)
        across = len(medium.shape) - 1 - axis
        near = np.delete(half, -1, axis=across)
        far = np.delete(half, 0, axis=across)
        more = medium.resistance[axis] if medium.resistance else 0.0
        faces.append(_compute_face_area_m2(medium, axis) / (near + far + more))
    return tuple(faces)


def compute_outer_conductance(medium: Medium) -> tuple[tuple[Floats, Floats], ...]:
    """Return the conductance from the cells of each outer side to beyond it, in W/K.

    A pair (near, far) an axis, x first; each of the shape that `Medium.side` gives. A film of
    infinity leaves half a cell between its middle and the outside temperature.
    """
    pairs = []
    for axis, films in enumerate(medium.films):
        half, area = _compute_half_resistance(medium, axis), _compute_face_area_m2(medium, axis)
        across = len(medium.shape) - 1 - axis
        area = area if np.ndim(area) == 0 else np.take(area, 0, axis=across)
        with np.errstate(divide="ignore"):
            near, far = (
                area / (1 / np.asarray(film, dtype=float) + np.take(half, end, axis=across))
                for film, end in zip(films, (0, -1), strict=True)
            )
        pairs.append((near, far))
    return tuple(pairs)


def index_side(medium: Medium, axis: int, end: int) -> Places:
    """Return the index of the cells at a side: end 0 is the near one, 1 the far one.

    It begins with an ellipsis, so that it serves for many fields at once.
    """
    places: list[slice | int] = [slice(None)] * len(medium.shape)
    places[len(medium.shape) - 1 - axis] = -end
    return (..., *places)


def _compute_half_resistance(medium: Medium, axis: int) -> Floats:
    """Return the resistance of half a cell, m2 K/W; infinite where nothing conducts."""
    with np.errstate(divide="ignore", over="ignore"):
        return np.asarray(medium.find_width(axis) / 2 / medium.conductivity)


def _compute_face_area_m2(medium: Medium, axis: int) -> Any:
    # Of a face across the axis: one number, or of a shape with one along it.
    others = [medium.find_width(it) for it in range(len(medium.cell_m)) if it != axis]
    area = math.prod(others) * medium.beyond
    across = len(medium.shape) - 1 - axis
    whole = [1 if at == across else count for at, count in enumerate(medium.shape)]
    return area if np.ndim(area) == 0 else np.broadcast_to(area, whole)


class System(NamedTuple):
    """capacity du/dt = inflow(drive) - conductance u, in watts, for cells in a flat row."""

    medium: Medium
    conductance: sparse.csr_array  # (cells, cells), W/K: faces, sides and ventilation
    capacity: Floats  # (cells,), J/K
    ventilation: Floats  # (cells,), W/K
    sides: tuple[tuple[Floats, Floats], ...]  # W/K, as `compute_outer_conductance` gives them


def assemble(medium: Medium) -> System:
    """Return the system of a medium.

    The conductance's columns add to what a cell loses by sides and ventilation: what leaves a
    cell through a face enters the next, so heat is kept to rounding.
    """
    shape, count = medium.shape, medium.capacity.size
    sides = compute_outer_conductance(medium)
    ventilation = medium.loss * medium.volume_m3
    diagonal = ventilation.copy()
    bands: dict[int, Floats] = {}
    for axis, faces in enumerate(compute_inner_conductance(medium)):
        across = len(shape) - 1 - axis
        # A face stands at its nearer cell; the last cell of a row has none.
        whole = np.zeros(shape)
        np.moveaxis(whole, across, 0)[:-1] = np.moveaxis(faces, across, 0)
        diagonal += whole + np.roll(whole, 1, axis=across)
        stride = int(np.prod(shape[across + 1 :]))
        if shape[across] > 1:
            bands[stride] = -whole.ravel()[:-stride]
        for end in (0, 1):
            diagonal[index_side(medium, axis, end)] += sides[axis][end]
    offsets = [0, *bands, *(-stride for stride in bands)]
    values = [diagonal.ravel(), *bands.values(), *bands.values()]
    matrix = sparse.diags_array(values, offsets=offsets, shape=(count, count), format="csr")
    matrix.eliminate_zeros()  # where nothing conducts, and from the end of a row to the next
    return System(
        medium, matrix, (medium.capacity * medium.volume_m3).ravel(), ventilation.ravel(), sides
    )


def compute_inflow(system: System, drive: Drive) -> Floats:
    """Return what comes into each cell from outside the system, in W, (..., cells).

    Its power, and what the outside and the supply would send into a cell at the baseline.
    """
    medium = system.medium
    power = np.array(drive.power_w, dtype=float)
    for axis, pair in enumerate(system.sides):
        for end in (0, 1):
            power[index_side(medium, axis, end)] += pair[end] * drive.outside_k[axis][end]
    flat = power.reshape(*power.shape[: power.ndim - len(medium.shape)], -1)
    if drive.supply_k:
        flat += system.ventilation * drive.supply_k
    return flat


def compute_outflow(system: System, field: Floats, drive: Drive) -> tuple[Floats, Floats]:
    """Return what goes out by the sides and by ventilation, in W, of each field (..., cells)."""
    medium = system.medium
    shaped = field.reshape(*field.shape[:-1], *medium.shape)
    out = np.zeros(field.shape[:-1])
    for axis, pair in enumerate(system.sides):
        for end in (0, 1):
            if pair[end].any():
                warmer = shaped[index_side(medium, axis, end)] - drive.outside_k[axis][end]
                over = tuple(range(out.ndim, warmer.ndim))
                out = out + (pair[end] * warmer).sum(axis=over)
    return out, (field - drive.supply_k) @ system.ventilation
