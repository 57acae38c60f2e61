"""An operator in its own few directions, made ready once and used for many readings.

A blurring operator has few directions that carry anything: A = U B with r orthonormal columns
in U and B of shape (r, cells), r about a dozen. Since

    ||A f - y||**2 = ||B f - U'y||**2 + ||y - U U'y||**2

nothing is lost when r numbers stand for the readings of all sensors.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy  # its parts are loaded when they are used
from numpy.typing import ArrayLike, NDArray

from ..sequence import uniforms

# A matrix A = U B in its own few directions, U with orthonormal columns.
#
# A blurring operator has so few of them that a handful of its products with a fixed sequence of
# numbers finds them all; what these leave behind is measured on two products more.
#
# Source: Halko, Martinsson and Tropp 2011, algorithm 4.1 and equation (4.3).

Floats = NDArray[np.float64]

# Directions weaker than this beside the strongest are rounding; leaving them
# out moves the least total heat by less than 1e-12 of itself.
RANK_TOLERANCE = 1e-13
# A sketch begins with so many directions and must leave so few of the operator's behind.
_SKETCH = 24
_LEFT_MAX = 1e-12


def decomposed(matrix: Floats) -> tuple[Floats, Floats]:
    """Return U' and B, by a singular value decomposition."""
    if not np.isfinite(matrix).all():
        raise ValueError(
            "the operator has a NaN or an infinite entry but all must be finite: one bad number "
            "would spoil the whole map. Leave that sensor out, of the readings too."
        )
    directions, strengths, cells = np.linalg.svd(matrix, full_matrices=False)
    kept = strengths > RANK_TOLERANCE * strengths[0]
    return directions[:, kept].T, strengths[kept, None] * cells[kept]


def sketched(matrix: Floats) -> tuple[Floats, Floats] | None:
    """Return U' and B, None where the rank is not low."""
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
                return basis, small
        looks *= 2
    return None


@lru_cache(maxsize=4)
def _probes(cells: int, looks: int) -> Floats:
    return uniforms(cells * looks, stream=7).reshape(cells, looks) - 0.5


# Of a smooth price so many cells are looked at for each direction along an axis.
_LOOKS = 8
# Dense operators of so many entries are kept, should the same be asked for again.
_KEPT = 1 << 15
# Fewer cells than this along a line are all looked at.
_FEW = 256


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """An operator A = U B, factorised once."""

    basis: Floats  # U', (r, sensors)
    small: Floats  # B, (r, cells)
    coarse: Floats  # B of every step-th cell
    step: int
    grain: float  # the norm of the largest column
    apart: float  # no two columns are further apart

    @property
    def shape(self) -> tuple[int, int]:
        """(sensors, cells), as of A."""
        return self.basis.shape[1], self.small.shape[1]

    @property
    def rank(self) -> int:
        """How many directions carry anything."""
        return len(self.small)

    def compress(self, readings: Floats) -> tuple[Floats, Floats]:
        """Return U'y, (r,), and y - U U'y, (sensors,), of y, (sensors,)."""
        inside = np.dot(readings, self.basis.T)
        return inside, readings - self.expand(inside)

    def expand(self, inside: Floats) -> Floats:
        """Return U times r numbers, (sensors,)."""
        return np.dot(inside, self.basis)


def prepare(operator: ArrayLike | Prepared) -> Prepared:
    """Return the operator, A, (sensors, cells), in its own few directions.

    Raises:
        ValueError: not a matrix, an entry that is not finite, or nothing but noughts.
    """
    if isinstance(operator, Prepared):
        return operator
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


@lru_cache(maxsize=4)
def _remembered(shape: tuple[int, int], entries: bytes) -> Prepared:
    matrix = np.frombuffer(entries).reshape(shape)
    return _ready(*(sketched(matrix) or decomposed(matrix)))


def _ready(basis: Floats, small: Floats) -> Prepared:
    """Return the record of U', (r, sensors), and B, (r, cells)."""
    if not small.any():
        raise ValueError(
            "the operator is nought everywhere but some sensor must see some cell, for readings "
            "that no heat changes say nothing of it. Is the spread in the unit of the places?"
        )
    rank, cells = small.shape
    step = max(1, cells // (_LOOKS * rank)) if cells >= _FEW else 1
    whole = np.ascontiguousarray(small)
    away = whole - whole.mean(axis=1, keepdims=True)
    return Prepared(
        np.ascontiguousarray(basis),
        whole,
        np.ascontiguousarray(whole[:, step // 2 :: step]) if step > 1 else whole,
        step,
        math.sqrt(float(np.einsum("ij,ij->j", whole, whole).max())),
        2 * math.sqrt(float(np.einsum("ij,ij->j", away, away).max())),
    )
