"""A matrix A = U B in its own few directions, U with orthonormal columns.

A blurring operator has so few of them that a handful of its products with a fixed sequence of
numbers finds them all; what these leave behind is measured on two products more.

Source: Halko, Martinsson and Tropp 2011, algorithm 4.1 and equation (4.3).
"""

import math
from functools import lru_cache

import numpy as np
import scipy  # its parts are loaded when they are used
from numpy.typing import NDArray

from ..sequence import uniforms

Floats = NDArray[np.float64]

# Directions weaker than this, beside the strongest, are rounding; leaving them out moves the
# least total heat by less than 1e-12 of itself.
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
