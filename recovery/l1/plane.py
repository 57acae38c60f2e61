"""A separable operator in its own few directions, neither of the two formed whole.

The singular vectors of a Kronecker product are the products of those of its factors, so the
directions of a plane are pairs, one direction for each axis, and the weak pairs are left out:
A = U B with orthonormal columns in U and, for the cell (ix, iy),

    B[p, iy * nx + ix] = along[ix, first[p]] * across[iy, second[p]]

In a room the second axis stands for all axes but the first.

Where some sensors are silent the rows that are left of U are no longer orthonormal. They are
W T, with orthonormal W and a small triangular T; then T B stands for B, and W for U.

Source: Van Loan 2000, "The ubiquitous Kronecker product", Section 3, for the singular vectors.
"""

from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from physics.operators.lowrank import LowRank
from physics.operators.separable import Factor, Separable

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

# Pairs weaker than this, beside the strongest, are rounding; leaving them out moves the least
# total heat by less than 1e-12 of itself.
_RANK_TOLERANCE = 1e-13


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
    kept = max(1, np.count_nonzero(strengths > _RANK_TOLERANCE * strengths[0]))
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
    order = order[: max(1, np.count_nonzero(products > _RANK_TOLERANCE * products[order[0]]))]
    a, b = np.divmod(order.astype(np.int64), len(other))
    return a, b, products[order]
