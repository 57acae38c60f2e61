"""An operator in its own few directions, made ready once and used for many readings.

A blurring operator has few directions that carry anything: A = U B with r orthonormal columns
in U and B of shape (r, cells), r about a dozen. Since

    ||A f - y||**2 = ||B f - U'y||**2 + ||y - U U'y||**2

nothing is lost when r numbers stand for the readings of all sensors.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from physics.operators.lowrank import LowRank
from physics.operators.separable import Separable

from .factors import RANK_TOLERANCE, decomposed, of_factors, sketched
from .plane import Pairs, reduce_plane

Floats = NDArray[np.float64]
# (axis_x, axis_y, keep_x, keep_y, mix) of `kernels.active_set`.
Axes: TypeAlias = tuple[Floats, Floats, NDArray[np.int64], NDArray[np.int64], Floats]

# Of a smooth price so many cells are looked at for each direction along an axis.
_LOOKS = 8
# Dense operators of so many entries are kept, should the same be asked for again.
_KEPT = 1 << 15
# Fewer cells than this along a line are all looked at.
_FEW = 256
# In a plane fewer looks do: each peak is sought among all cells around it anyway.
_PLANE_LOOKS = 1.25


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """An operator A = U B, factorised once."""

    shape: tuple[int, int]  # (sensors, cells)
    rank: int
    bases: tuple[Floats, Floats]  # U' of either axis, or whole and an empty one
    axes: Axes  # B, as `kernels.active_set` takes it
    coarse: tuple[Floats, Floats]  # axis_x and axis_y on every step-th cell
    steps: tuple[int, int]
    grain: float  # the norm of the largest column
    apart: float  # no two columns are further apart
    error: float  # what of A is lost, measured, relative to its largest singular value or so

    def compress(self, readings: Floats) -> tuple[Floats, Floats]:
        """Return U'y, (..., r), and y - U U'y, (..., sensors), of y, (..., sensors)."""
        basis_x, basis_y = self.bases
        if basis_y.size:
            table = readings.reshape(-1, basis_y.shape[1], basis_x.shape[1])
            pairs = (basis_y @ table @ basis_x.T)[:, self.axes[3], self.axes[2]]
            inside = np.ascontiguousarray(pairs).reshape(*readings.shape[:-1], self.rank)
        else:
            inside = np.dot(readings, basis_x.T)
        return inside, readings - self.expand(inside)

    def expand(self, inside: Floats) -> Floats:
        """Return U times r numbers, (..., sensors), of (..., r)."""
        basis_x, basis_y = self.bases
        if not basis_y.size:
            return np.dot(inside, basis_x)
        table = np.zeros((inside.size // self.rank, len(basis_y), len(basis_x)))
        table[:, self.axes[3], self.axes[2]] = inside.reshape(-1, self.rank)
        return (basis_y.T @ table @ basis_x).reshape(*inside.shape[:-1], self.shape[0])

    def small(self) -> Floats:
        """Return B formed whole, (r, cells)."""
        axis_x, axis_y, keep_x, keep_y, mix = self.axes
        if not axis_y.size:
            return axis_x
        pairs = (axis_y.T[keep_y, :, None] * axis_x[keep_x, None, :]).reshape(len(keep_x), -1)
        return mix @ pairs if mix.size else pairs

    def whole(self) -> Floats:
        """Return A formed whole, (sensors, cells); for checks on small ones."""
        return np.column_stack([self.expand(column) for column in self.small().T])


def prepare(operator: ArrayLike | LowRank | Separable | Prepared) -> Prepared:
    """Return the operator in its own few directions.

    Args:
        operator: A, (sensors, cells), dense, in thin factors, or separable.

    Raises:
        ValueError: not a matrix, an entry that is not finite, or nothing but noughts.
    """
    if isinstance(operator, Prepared):
        return operator
    if isinstance(operator, Separable):
        return _of_plane(reduce_plane(operator), operator.shape)
    if isinstance(operator, LowRank):
        return _ready(*of_factors(operator.left, operator.right), operator.error)
    matrix = np.ascontiguousarray(operator, dtype=np.float64)
    if matrix.ndim != 2 or not matrix.size:
        raise ValueError(
            f"the operator has shape {matrix.shape} but (sensors, cells) is needed, for each "
            "sensor has one row. Leave silent sensors out."
        )
    if matrix.size <= _KEPT:
        # A room is read many times, and to compare is quicker than to factorise.
        return _remembered(matrix.shape, matrix.tobytes())
    return _ready(*(sketched(matrix) or decomposed(matrix)))


def matrix_of(operator: ArrayLike | LowRank | Separable | Prepared, ready: Prepared) -> Floats:
    """Return the operator formed whole; `ready` is what `prepare` made of it."""
    if isinstance(operator, Prepared):
        return ready.whole()
    if isinstance(operator, (LowRank, Separable)):
        return operator.dense()
    return np.asarray(operator, dtype=np.float64)


@lru_cache(maxsize=4)
def _remembered(shape: tuple[int, int], entries: bytes) -> Prepared:
    matrix = np.frombuffer(entries).reshape(shape)
    return _ready(*(sketched(matrix) or decomposed(matrix)))


def _ready(basis: Floats, small: Floats, error: float) -> Prepared:
    """Return the record of U', (r, sensors), and B, (r, cells)."""
    if not small.any():
        raise ValueError(
            "the operator is nought everywhere but some sensor must see some cell, for readings "
            "that no heat changes say nothing of it. Is the spread in the unit of the places?"
        )
    rank, cells = small.shape
    keep, none = np.arange(rank), np.zeros(rank, np.int64)
    rest = (np.empty((1, 0)), keep, none, np.empty((0, 0)))
    step = max(1, cells // (_LOOKS * rank)) if cells >= _FEW else 1
    whole = np.ascontiguousarray(small)
    coarse = np.ascontiguousarray(small[:, step // 2 :: step]) if step > 1 else whole
    away = whole - whole.mean(axis=1, keepdims=True)
    return Prepared(
        (basis.shape[1], cells),
        rank,
        (np.ascontiguousarray(basis), np.empty((0, 0))),
        (whole, *rest),
        (coarse, rest[0]),
        (step, 1),
        math.sqrt(float(np.einsum("ij,ij->j", whole, whole).max())),
        2 * math.sqrt(float(np.einsum("ij,ij->j", away, away).max())),
        error,
    )


def _of_plane(pairs: Pairs, shape: tuple[int, int]) -> Prepared:
    x, y = np.ascontiguousarray(pairs.along.T), np.ascontiguousarray(pairs.across)
    keep = (np.ascontiguousarray(pairs.first), np.ascontiguousarray(pairs.second))
    mix = np.ascontiguousarray(pairs.mix)
    step_x, step_y = (
        max(1, round(side.shape[1] / (_PLANE_LOOKS * len(side)))) for side in (x, y.T)
    )
    coarse_x = np.ascontiguousarray(x[:, step_x // 2 :: step_x])
    coarse_y = np.ascontiguousarray(y[step_y // 2 :: step_y])
    basis_x, basis_y = (pairs.basis, np.empty((0, 0))) if mix.size else pairs.left
    longest = math.sqrt(float((x**2).sum(axis=0).max() * (y**2).sum(axis=1).max()))
    return Prepared(
        shape,
        pairs.shape[0],
        (np.ascontiguousarray(basis_x.T), np.ascontiguousarray(basis_y.T)),
        (x, y, *keep, mix),
        (coarse_x, coarse_y),
        (step_x, step_y),
        longest,
        2 * longest,
        RANK_TOLERANCE,
    )
