"""The forward operator of evenly spread sources and sensors, on a line, in a plane, in a room.

The kernel is a product of one for each axis, so the axes are transformed one after the other,
and the noughts that keep a transform from wrapping round are paid on one axis at a time: a
million cells in a plane cost twice a million numbers, not four times.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ..kernel import AnyWalls, forward
from ..places import Floats
from .even import Even, even_axis
from .even_steps import even_steps, off_allowed
from .modes import Modes, folded_modes
from .vectors import axis_lengths, chosen_sources, unit_columns, vectors

Line: TypeAlias = Even | Modes


@dataclass(frozen=True, slots=True, eq=False)
class Uniform:
    """The forward operator A = last axis x ... x first axis, each axis by its transform.

    Args:
        axes: x first. Cells and sensors are counted with x fastest, as in `physics.places`.
    """

    axes: tuple[Line, ...]

    @property
    def cells(self) -> tuple[int, ...]:
        """How many cells along each axis, x first."""
        return tuple(axis.shape[1] for axis in self.axes)

    @property
    def sensors(self) -> tuple[int, ...]:
        """How many sensors along each axis, x first."""
        return tuple(axis.shape[0] for axis in self.axes)

    @property
    def shape(self) -> tuple[int, int]:
        """(sensors, cells), as of the dense operator."""
        return math.prod(self.sensors), math.prod(self.cells)

    @property
    def method(self) -> Literal["fft", "dct", "dst"]:
        """Which transform the axes take; "fft" where any of them has to."""
        if all(isinstance(axis, Modes) for axis in self.axes):
            return "dst" if self.axes[0].cold else "dct"  # type: ignore[union-attr]
        return "fft"

    def matvec(self, heat: ArrayLike) -> Floats:
        """Return the readings, (sensors,) or (sensors, k), of heat, (cells,) or (cells, k)."""
        tensor = vectors("heat", heat, self.shape[1]).T
        shape = tensor.shape[:-1]
        tensor = tensor.reshape(*shape, *reversed(self.cells))
        for nth in self._shortest_first(turned=False):
            tensor = self.axes[nth].along(tensor, tensor.ndim - 1 - nth)
        return np.asarray(tensor.reshape(*shape, -1).T)

    def rmatvec(self, readings: ArrayLike) -> Floats:
        """Return the transposed operator's answer, (cells,) or (cells, k)."""
        tensor = vectors("readings", readings, self.shape[0]).T
        shape = tensor.shape[:-1]
        tensor = tensor.reshape(*shape, *reversed(self.sensors))
        for nth in self._shortest_first(turned=True):
            tensor = self.axes[nth].back(tensor, tensor.ndim - 1 - nth)
        return np.asarray(tensor.reshape(*shape, -1).T)

    def columns(self, sources: ArrayLike) -> Floats:
        """Return what a unit of heat in each of these cells, (k,), leaves: (sensors, k)."""
        cells = chosen_sources(sources, self.shape[1])
        return self.matvec(unit_columns(cells, self.shape[1]))

    def dense(self) -> Floats:
        """Return the operator formed whole, (sensors, cells); for checks on small ones."""
        return self.matvec(np.eye(self.shape[1]))

    def _shortest_first(self, turned: bool) -> list[int]:
        """Return the axes, those that lose the most places first: the others have less to do."""
        ratios = [axis.shape[0] / axis.shape[1] for axis in self.axes]
        return sorted(range(len(ratios)), key=lambda nth: ratios[nth], reverse=turned)


def forward_uniform(
    sources_m: Sequence[ArrayLike],
    sensors_m: Sequence[ArrayLike],
    spread_m2: float,
    walls: AnyWalls = "none",
    length_m: float | Sequence[float] = 1.0,
) -> Uniform | None:
    """Return the operator of `physics.kernel.forward` by transforms; None where it has none.

    It is exact at any spread, up to rounding: 1e-15 of the largest reading or so.

    Args:
        sources_m, sensors_m: for each axis, x first, places along it, growing and even. The
            sensors' step may be any small fraction of the sources', or multiple of it, and both
            may start anywhere.
        spread_m2: diffusivity times elapsed time, in square metres; positive.
        walls: "none", "insulated" or "cold" at 0 and `length_m` of every axis.
        length_m: between the walls; one for each axis of a room that is no cube.

    Raises:
        ValueError: as `physics.kernel.forward`, or the axes do not agree.

    >>> operator = forward_uniform([np.arange(8) / 8], [np.arange(1, 8, 2) / 8], 0.01)
    >>> operator.shape, operator.method
    ((4, 8), 'fft')
    """
    lengths = axis_lengths(sources_m, sensors_m, length_m)
    axes = []
    for there, here, length in zip(sources_m, sensors_m, lengths, strict=True):
        axis = _axis(np.asarray(there, float), np.asarray(here, float), spread_m2, walls, length)
        if axis is None:
            return None
        axes.append(axis)
    return Uniform(tuple(axes))


def _axis(
    sources: Floats, sensors: Floats, spread: float, walls: AnyWalls, length: float
) -> Line | None:
    # The ends stand for all: forward refuses here what it would refuse anyway.
    forward(sources[[0, -1]], sensors[[0, -1]], spread, walls, length)
    steps = even_steps(sources, sensors, spread)
    if steps is None:
        return None
    if walls != "none":
        cell = length / len(sources)
        first = round(steps.sensors_m / cell - 0.5)
        middles = np.array([0.5, len(sources) - 0.5, first + 0.5]) * cell
        off = np.abs(middles - [sources[0], sources[-1], sensors[0]]).max()
        if off <= off_allowed(length, spread) and steps.source_every == 1:
            cold = walls == "cold"
            values = folded_modes(len(sources), spread, length, cold)
            return Modes(values, cold, first, steps.sensor_every, len(sensors))
    return even_axis(steps, spread, walls, length)
