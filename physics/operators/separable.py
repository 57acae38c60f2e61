"""The forward operator of a plane or a room, one small factor for each axis, never formed whole.

Heat spreads along each axis by itself, so the operator is a Kronecker product: 256 by 256 cells
seen by 32 by 24 sensors are two factors of 60 KB where the matrix would take 400 MB.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..kernel import AnyWalls, forward
from ..places import Floats
from .layout import axis_lengths, chosen_sources, vectors
from .lowrank import LowRank, forward_lowrank

# The product of a Kronecker product of matrices with vectors, the large matrix never formed.


def kronecker(chains: Sequence[Sequence[Floats]], given: Floats) -> Floats:
    """Return (last axis x ... x first axis) times each row of `given`, (k, out) or (out,).

    Args:
        chains: for each axis, first the one whose index runs fastest, the matrices that are
            applied along it, in order.
        given: (k, in) or (in,), its last index counting the places of all axes.

    Axes are made shorter before any is made longer, so the most numbers that there ever are
    is that of the input or of the output.

    >>> from numpy import array, kron, ones
    >>> wide, high = array([[1.0, 2.0]]), array([[1.0, 1.0], [0.0, 3.0]])
    >>> kronecker([[wide], [high]], ones(4)), kron(high, wide) @ ones(4)
    (array([6., 9.]), array([6., 9.]))
    """
    counts = [chain[0].shape[1] for chain in chains]
    turns = []
    for axis, chain in enumerate(chains):
        for turn, matrix in enumerate(chain):
            ratio = matrix.shape[0] / matrix.shape[1]
            # Along one axis the order is given: of two thin halves the second makes it long.
            later = turn > 0 or (len(chain) == 1 and ratio > 1)
            turns.append((later, turn, ratio, axis))
    tensor = given.reshape(-1, *reversed(counts))
    for _, turn, _, axis in sorted(turns):
        tensor = _along(chains[axis][turn], tensor, len(counts) - axis)
    return tensor.reshape(*given.shape[:-1], -1)


def _along(matrix: Floats, tensor: Floats, axis: int) -> Floats:
    before, after = tensor.shape[:axis], tensor.shape[axis + 1 :]
    if after:
        found = matrix @ tensor.reshape(math.prod(before), matrix.shape[1], math.prod(after))
    else:
        found = tensor.reshape(math.prod(before), matrix.shape[1]) @ matrix.T
    return found.reshape(*before, len(matrix), *after)


Factor: TypeAlias = Floats | LowRank

# Fewer entries than this are made in a few milliseconds: thin factors would not pay.
_SMALL = 1 << 18


@dataclass(frozen=True, slots=True, eq=False)
class Separable:
    """The forward operator A = last axis x ... x first axis, rows of silent sensors left out.

    Args:
        factors: (sensors, cells) of each axis, x first. Cells and sensors are counted with x
            fastest, as in `physics.places`.
        heard: (all sensors,) True where there is a reading; None where all have one.

    Raises:
        ValueError: a factor is empty, not a matrix or not finite, or `heard` does not fit.
    """

    factors: tuple[Factor, ...]
    heard: NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        parts = [half for factor in self.factors for half in _halves(factor)]
        good = [half.ndim == 2 and half.size and np.isfinite(half).all() for half in parts]
        if not good or not all(good):
            raise ValueError(
                f"the factors' parts have shapes {[half.shape for half in parts]} but each axis "
                "needs a matrix (sensors, cells) of finite numbers, or all the readings would be "
                "spoilt. Look for a missing place."
            )
        heard, every = self.heard, math.prod(self.sensors)
        if heard is not None and (heard.dtype != bool or heard.shape != (every,)):
            raise ValueError(
                f"heard is {heard.dtype} of shape {heard.shape} but must be bool, ({every},), "
                "for it says which sensors have a reading. Count them with x fastest."
            )

    @property
    def cells(self) -> tuple[int, ...]:
        """How many cells along each axis, x first."""
        return tuple(factor.shape[1] for factor in self.factors)

    @property
    def sensors(self) -> tuple[int, ...]:
        """How many sensors along each axis, x first, the silent ones too."""
        return tuple(factor.shape[0] for factor in self.factors)

    @property
    def shape(self) -> tuple[int, int]:
        """(sensors that are heard, cells), as of the dense operator."""
        every = math.prod(self.sensors) if self.heard is None else int(self.heard.sum())
        return every, math.prod(self.cells)

    def hearing(self, heard: ArrayLike) -> "Separable":
        """Return the operator to the sensors where `heard`, (all sensors,), is true."""
        return replace(self, heard=np.asarray(heard))

    def matvec(self, heat: ArrayLike) -> Floats:
        """Return the readings, (sensors,) or (sensors, k), of heat, (cells,) or (cells, k)."""
        given = vectors("heat", heat, self.shape[1])
        readings = kronecker([_halves(factor) for factor in self.factors], given.T).T
        return readings if self.heard is None else readings[self.heard]

    def rmatvec(self, readings: ArrayLike) -> Floats:
        """Return the transposed operator's answer, (cells,) or (cells, k)."""
        given = vectors("readings", readings, self.shape[0])
        if self.heard is not None:  # a silent sensor says nothing of any cell
            heard, given = given, np.zeros((len(self.heard), *given.shape[1:]))
            given[self.heard] = heard
        back = [[half.T for half in reversed(_halves(factor))] for factor in self.factors]
        return kronecker(back, given.T).T

    def column(self, cell: int) -> Floats:
        """Return the readings, (sensors,), of one unit of heat in one cell."""
        if not 0 <= cell < self.shape[1]:
            raise IndexError(
                f"cell is {cell} but must be 0 to {self.shape[1] - 1}: there are no others. "
                "Count the cells with x fastest."
            )
        readings: Floats = np.ones(1)
        for factor in self.factors:
            cell, along = divmod(cell, factor.shape[1])
            first, *second = _halves(factor)
            part = second[0] @ first[:, along] if second else first[:, along]
            readings = np.asarray(np.kron(part, readings))
        return readings if self.heard is None else readings[self.heard]

    def columns(self, sources: ArrayLike) -> Floats:
        """Return what a unit of heat in each of these cells, (k,), leaves: (sensors, k)."""
        cells = chosen_sources(sources, self.shape[1])
        return np.stack([self.column(int(cell)) for cell in cells], axis=1)

    def dense(self) -> Floats:
        """Return the operator formed whole, (sensors, cells); for checks on small ones."""
        whole: Floats = np.ones((1, 1))
        for factor in self.factors:
            one = factor.dense() if isinstance(factor, LowRank) else factor
            whole = np.asarray(np.kron(one, whole))
        return whole if self.heard is None else whole[self.heard]


def forward_separable(
    sources_m: Sequence[ArrayLike],
    sensors_m: Sequence[ArrayLike],
    spread_m2: float,
    walls: AnyWalls = "none",
    length_m: float | Sequence[float] = 1.0,
) -> Separable:
    """Return the operator of `physics.kernel.forward`, one factor for each axis.

    Args:
        sources_m, sensors_m: for each axis, x first, where along it heat may be, and is read.
        spread_m2: diffusivity times elapsed time, in square metres; positive.
        walls: "none", or "insulated" or "cold" for walls at 0 and `length_m` on every axis.
        length_m: between the walls; one for each axis of a room that is no cube.

    Raises:
        ValueError: as `physics.kernel.forward`, or the axes do not agree.

    Source: the kernel of a plane or a box is the product of one kernel for each axis.

    >>> operator = forward_separable([[0.0, 1.0], [0.5]], [[0.0], [0.5]], spread_m2=0.25)
    >>> operator.matvec([1.0, 0.0]).round(4), forward([[0.0, 0.5]], [[0.0, 0.5]], 0.25).round(4)
    (array([0.3183]), array([[0.3183]]))
    """
    lengths = axis_lengths(sources_m, sensors_m, length_m)
    return Separable(
        tuple(
            _factor(np.asarray(there, float), np.asarray(here, float), spread_m2, walls, length)
            for there, here, length in zip(sources_m, sensors_m, lengths, strict=True)
        )
    )


def _factor(
    sources: Floats, sensors: Floats, spread: float, walls: AnyWalls, length: float
) -> Factor:
    if sources.ndim == sensors.ndim == 1 and sources.size * sensors.size > _SMALL and spread > 0:
        reach = max(float(np.ptp(sources)), float(np.ptp(sensors))) / math.sqrt(spread)
        # Thin factors pay where their rank, about 3 reach at most, is well below the sizes.
        if 24 + 3 * reach < min(1000, sources.size / 2, sensors.size / 2):
            return forward_lowrank(sources, sensors, spread, walls, length)
    return forward(sources, sensors, spread, walls, length)


def _halves(factor: Factor) -> list[Floats]:
    return [factor.right.T, factor.left] if isinstance(factor, LowRank) else [factor]
