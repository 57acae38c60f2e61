"""Thin factors of scattered places in a plane or a room, from those of each axis.

The kernel is a product of one for each axis, so row i of the left factor is the Kronecker product
of the axes' rows i. Pairs of directions that together count for nothing are left out.
"""

import numpy as np

from ..kernel import AnyWalls
from ..places import Floats
from .lowrank import LowRank, forward_lowrank
from .vectors import room_lengths

# What is left out, relative to the largest direction, before the sum of all is trusted to 1e-13.
_CUT = 1e-17


def forward_thin(
    sources_m: Floats,
    sensors_m: Floats,
    spread_m2: float,
    walls: AnyWalls = "none",
    lengths_m: tuple[float, ...] = (1.0,),
) -> LowRank:
    """Return the operator of `physics.kernel.forward` in thin factors.

    Args:
        sources_m, sensors_m: (k, axes) each, in any order.
        spread_m2, walls: as for `physics.kernel.forward`.
        lengths_m: between the walls, one for each axis or one for all.

    Raises:
        ValueError: as `physics.kernel.forward` and `physics.operators.lowrank.forward_lowrank`.
    """
    lengths_m = room_lengths(sources_m, sensors_m, spread_m2, walls, lengths_m)
    left, right, error = np.ones((len(sensors_m), 1)), np.ones((len(sources_m), 1)), 0.0
    for axis, length in enumerate(lengths_m):
        line = forward_lowrank(sources_m[:, axis], sensors_m[:, axis], spread_m2, walls, length)
        size = np.outer(_sizes(left) * _sizes(right), _sizes(line.left) * _sizes(line.right))
        one, other = np.nonzero(size > _CUT * size.max())
        left = left[:, one] * line.left[:, other]
        right = right[:, one] * line.right[:, other]
        error += line.error
    return LowRank(left, right, error)


def _sizes(half: Floats) -> Floats:
    """Return the largest entry of each direction."""
    return np.asarray(np.abs(half).max(axis=0))
