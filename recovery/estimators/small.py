"""The readings as estimators use them: open cells alone, in the few directions that are heard."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..l1.cone import reduce
from .record import Estimate, Seen

Floats = NDArray[np.float64]

# An objective that is proved to be within this of the least, relative, is optimal.
GAP_MAX = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Small:
    """The same readings over the open cells: ||A f - y||**2 = ||B f - c||**2 + beyond**2.

    Args:
        operator: B, (r, open cells).
        readings: c, (r,).
        beyond: what no heat anywhere can explain.
        cells: (open cells,), which ones they are.
    """

    operator: Floats
    readings: Floats
    beyond: float
    cells: NDArray[np.intp]


def small(seen: Seen) -> Small:
    """Return the readings in the directions of the operator, and the cells that are open."""
    made = reduce(np.ascontiguousarray(seen.operator, dtype=np.float64), seen.readings)
    cells = np.arange(seen.operator.shape[1]) if seen.open is None else np.flatnonzero(seen.open)
    return Small(made.operator[:, cells], made.readings, made.beyond, cells)


def estimated(
    seen: Seen,
    cells: NDArray[np.intp],
    heat: Floats,
    status: str = "optimal",
    gap: float = float("nan"),
) -> Estimate:
    """Return the Estimate with that heat in the open cells and none elsewhere.

    Args:
        cells, heat: (open cells,), where, and how much.
        status: what is to be said, if there is any heat.
    """
    everywhere = np.zeros(seen.operator.shape[1])
    everywhere[cells] = heat
    residual = float(np.linalg.norm(seen.operator @ everywhere - seen.readings))
    if not everywhere.any() and status == "optimal":
        status = "no estimate: no heat at all explains the readings best"
    return Estimate(everywhere, status, residual, gap=gap)
