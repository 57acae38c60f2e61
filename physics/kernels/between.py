"""The kernel between walls of any kind, for what adds it up over time."""

from typing import TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike

from ..kernel import AnyWalls, Lengths, forward
from ..places import Floats
from .modes import Modes, modes
from .robin import forward_robin, losses

# "none", "insulated" or "cold"; or what the walls lose, in 1/m, as physics.kernels.robin has it.
Between: TypeAlias = AnyWalls | ArrayLike


def forward_between(
    sources_m: ArrayLike,
    sensors_m: ArrayLike,
    spread_m2: float,
    walls: Between = "none",
    length_m: Lengths = 1.0,
) -> Floats:
    """Return A, (sensors, sources), of `physics.kernel.forward` or of `physics.kernels.robin`.

    Args:
        walls: by name, or by what they lose over the diffusivity, in 1/m: one number, (near,
            far), or (axes, 2).

    Raises:
        ValueError: as both.

    >>> float(forward_between([0.5], [0.5], 1.0, "insulated")[0, 0])
    1.0
    >>> float(forward_between([0.5], [0.5], 1.0, (0.0, np.inf))[0, 0].round(4))
    0.0848
    """
    if isinstance(walls, str):
        return forward(sources_m, sensors_m, spread_m2, cast(AnyWalls, walls), length_m)
    return forward_robin(sources_m, sensors_m, spread_m2, walls, length_m)


def axis_modes(
    sources: Floats, sensors: Floats, spread: float, walls: Between, lengths: Floats
) -> list[Modes]:
    """Return the modes of each axis that are left at this spread, between walls of any kind.

    Args:
        sources, sensors: (places, axes).
        walls: as for `forward_between`, but "none".
    """
    lost = {"insulated": 0.0, "cold": np.inf}[walls] if isinstance(walls, str) else walls
    pairs = losses(lost, len(lengths)).tolist()
    return [
        modes(sources[:, axis], sensors[:, axis], spread, near, far, float(lengths[axis]))
        for axis, (near, far) in enumerate(pairs)
    ]
