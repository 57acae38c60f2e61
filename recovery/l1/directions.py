"""An operator in its own few directions, made ready once and used for many readings.

A blurring operator has few directions that carry anything: A = U B with r orthonormal columns
in U and B of shape (r, cells), r about a dozen. Since

    ||A f - y||**2 = ||B f - U'y||**2 + ||y - U U'y||**2

nothing is lost when r numbers stand for the readings of all sensors.
"""

import math
from dataclasses import dataclass
from functools import lru_cache, reduce
from typing import TypeAlias

import numpy as np
import scipy  # its parts are loaded when they are used
from numpy.typing import ArrayLike, NDArray

from physics.operators.lowrank import LowRank
from physics.operators.separable import Factor, Separable

from ..sequence import uniforms

# A matrix A = U B in its own few directions, U with orthonormal columns.
#
# A blurring operator has so few of them that a handful of its products with a fixed sequence of
# numbers finds them all; what these leave behind is measured on two products more.
#
# Source: Halko, Martinsson and Tropp 2011, algorithm 4.1 and equation (4.3).

Floats = NDArray[np.float64]

# Directions, or pairs of them, weaker than this beside the strongest are rounding; leaving them
# out moves the least total heat by less than 1e-12 of itself.
RANK_TOLERANCE = 1e-13
# A sketch begins with so many directions and must leave so few of the operator's behind.
_SKETCH = 24
_LEFT_MAX = 1e-12


def decomposed(matrix: Floats) -> tuple[Floats, Floats, float]:
    """Return U', B and what is lost, by a singular value decomposition."""
    if not np.isfinite(matrix).all():
        raise ValueError(
            "the operator has a NaN or an infinite entry but all must be finite: one bad number "
            "would spoil the whole map. Leave that sensor out, of the readings too."
        )
    directions, strengths, cells = np.linalg.svd(matrix, full_matrices=False)
    kept = strengths > RANK_TOLERANCE * strengths[0]
    return directions[:, kept].T, strengths[kept, None] * cells[kept], RANK_TOLERANCE


def sketched(matrix: Floats) -> tuple[Floats, Floats, float] | None:
    """Return U', B and what is lost, None where the rank is not low."""
    sensors, cells = matrix.shape
    looks = _SKETCH
    while 2 * looks <= min(sensors, cells):
        probes = _probes(cells, looks + 2)
        seen = matrix @ probes
        size = float(np.abs(seen).max())
        if not (math.isfinite(size) and size > 0):
            return None
        basis, factor, _ = scipy.linalg.qr(
            seen[:, :looks], mode="economic", pivoting=True, check_finite=False
        )
        depth = np.abs(np.diagonal(factor))
        rank = max(1, int((depth > RANK_TOLERANCE * depth[0]).sum()))
        if rank < looks - 4:
            basis = np.ascontiguousarray(basis[:, :rank].T)
            small = basis @ matrix
            left = np.abs(seen[:, looks:] - basis.T @ (small @ probes[:, looks:])).max() / size
            if left < _LEFT_MAX:
                return basis, small, float(left)
        looks *= 2
    return None


@lru_cache(maxsize=4)
def _probes(cells: int, looks: int) -> Floats:
    return uniforms(cells * looks, stream=7).reshape(cells, looks) - 0.5


def of_factors(left: Floats, right: Floats) -> tuple[Floats, Floats]:
    """Return U' and B of left right'."""
    basis, inner = np.linalg.qr(left)
    across, outer = np.linalg.qr(right)
    turned, strengths, back = np.linalg.svd(inner @ outer.T, full_matrices=False)
    kept = strengths > RANK_TOLERANCE * strengths[0]
    return turned[:, kept].T @ basis.T, (strengths[kept, None] * back[kept]) @ across.T


# A separable operator in its own few directions, neither of the two formed whole.
#
# The singular vectors of a Kronecker product are the products of those of its factors, so the
# directions of a plane are pairs, one direction for each axis, and the weak pairs are left out:
# A = U B with orthonormal columns in U and, for the cell (ix, iy),
#
#     B[p, iy * nx + ix] = along[ix, first[p]] * across[iy, second[p]]
#
# In a room the second axis stands for all axes but the first.
#
# Where some sensors are silent the rows that are left of U are no longer orthonormal. They are
# W T, with orthonormal W and a small triangular T; then T B stands for B, and W for U.
#
# Source: Van Loan 2000, "The ubiquitous Kronecker product", Section 3, for the singular vectors.

Indices = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """B, (r, cells), as pairs of directions, and the way from readings to its rows.

    Args:
        along: (nx, rx), what each cell of the first axis gives in each direction.
        across: (ny, ry), the same of all other axes.
        first, second: (pairs,), which directions each pair joins; the strongest pair first.
        left: (mx, rx) and (my, ry), orthonormal: what each sensor has of each direction.
        mix: T, (r, pairs), where sensors are silent, else (0, 0); then r is the pairs.
        basis: W, (heard sensors, r), where sensors are silent, else (0, 0).
    """

    along: Floats
    across: Floats
    first: Indices
    second: Indices
    left: tuple[Floats, Floats]
    mix: Floats
    basis: Floats

    @property
    def shape(self) -> tuple[int, int]:
        """(r, cells), as of B."""
        rows = len(self.mix) if self.mix.size else len(self.first)
        return rows, len(self.along) * len(self.across)


@dataclass(frozen=True, slots=True, eq=False)
class _Axis:
    """One axis, or several as one: factor = left * right', the columns of left orthonormal."""

    left: Floats  # (sensors, rank)
    right: Floats  # (cells, rank), scaled by the strengths
    strengths: Floats  # (rank,)


def reduce_plane(operator: Separable) -> Pairs:
    """Return the separable operator in its own few directions, to be used for many readings.

    The work is that of one singular value decomposition for each axis; where sensors are
    silent, unless whole rows and columns of them are, there is one of (heard sensors, r) more.

    Raises:
        ValueError: no sensor is heard, or the operator is nought everywhere.
    """
    if not operator.shape[0]:
        raise ValueError(
            "no sensor is heard but at least one must be, for there is nothing to see otherwise. "
            "Wait for readings."
        )
    factors, heard = _without_silent_lines(operator)
    first, *others = [_axis(factor) for factor in factors]
    second = reduce(_joined, others, _Axis(np.ones((1, 1)), np.ones((1, 1)), np.ones(1)))
    a, b, strengths = _strong(first.strengths, second.strengths)
    if not strengths[0] > 0:
        raise ValueError(
            "the operator is nought everywhere but some sensor must see some cell, for readings "
            "that no heat changes say nothing of it. Is the spread in the unit of the places?"
        )
    mix = basis = np.zeros((0, 0))
    if heard is not None:
        y, x = np.divmod(np.flatnonzero(heard), len(first.left))
        basis, mix = np.linalg.qr(first.left[x][:, a] * second.left[y][:, b])
    return Pairs(first.right, second.right, a, b, (first.left, second.left), mix, basis)


def _without_silent_lines(
    operator: Separable,
) -> tuple[list[Factor], NDArray[np.bool_] | None]:
    """Return the factors without the lines of sensors that are all silent, and who else is."""
    if operator.heard is None:
        return list(operator.factors), None
    table = operator.heard.reshape(operator.sensors[::-1])
    axes = range(table.ndim)
    lines = [table.any(axis=tuple(axis for axis in axes if axis != one)) for one in axes]
    rest = table[np.ix_(*lines)]
    factors = [
        LowRank(factor.left[line], factor.right, factor.error)
        if isinstance(factor, LowRank)
        else factor[line]
        for factor, line in zip(operator.factors, reversed(lines), strict=True)
    ]
    return factors, None if rest.all() else rest.ravel()


def _axis(factor: Factor) -> _Axis:
    if isinstance(factor, LowRank):
        left, inner = np.linalg.qr(factor.left)
        right, outer = np.linalg.qr(factor.right)
        turned, strengths, back = np.linalg.svd(inner @ outer.T)
        left, right = left @ turned, right @ back.T
    else:
        left, strengths, back = np.linalg.svd(factor, full_matrices=False)
        right = back.T
    kept = max(1, np.count_nonzero(strengths > RANK_TOLERANCE * strengths[0]))
    strengths = strengths[:kept]
    return _Axis(
        np.ascontiguousarray(left[:, :kept]),
        np.ascontiguousarray(right[:, :kept] * strengths),
        strengths,
    )


def _joined(inner: _Axis, outer: _Axis) -> _Axis:
    """Return two axes as one, whose places count with the inner axis fastest."""
    a, b, strengths = _strong(inner.strengths, outer.strengths)

    def pairs(inside: Floats, outside: Floats) -> Floats:
        products = outside[:, None, b] * inside[None, :, a]
        return np.ascontiguousarray(products.reshape(-1, len(a)))

    return _Axis(pairs(inner.left, outer.left), pairs(inner.right, outer.right), strengths)


def _strong(one: Floats, other: Floats) -> tuple[Indices, Indices, Floats]:
    """Return which pairs are more than rounding, and how strong, the strongest first."""
    products = np.outer(one, other).ravel()
    order = np.argsort(-products, kind="stable")
    order = order[: max(1, np.count_nonzero(products > RANK_TOLERANCE * products[order[0]]))]
    a, b = np.divmod(order.astype(np.int64), len(other))
    return a, b, products[order]


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
