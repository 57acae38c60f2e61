"""What sensors feel of a person: who stands in a cell warms those about it too."""

import numpy as np
from scipy.special import ndtr

from .footprint import FOOTPRINT_M
from .raster import Mask, layout, shape
from .records import Floats, Room


def worn(room: Room, field: Floats) -> Floats:
    """Return the response to a person who stands in the middle of each cell, of a field.

    It is `footprint.spread` at the middles of all cells at once; in walls it has no meaning.

    Args:
        field: (sensors, rows, columns).
    """
    rows, columns = shape(room)
    plan, cell_m = layout(room), room.cell_mm / 1000
    down, across = (
        np.diff(
            ndtr((np.arange(count + 1) - np.arange(count)[:, None] - 0.5) * cell_m / FOOTPRINT_M)
        )
        for count in (rows, columns)
    )
    found = np.zeros_like(field)
    for zone in range(plan.zone.max() + 1):
        air = (plan.zone == zone) | plan.doors if zone else ~plan.walls
        here = plan.zone == zone
        if not here.any():
            continue
        y, x = (_extent(here.any(axis=axis)) for axis in (1, 0))
        total = down[y] @ air @ across[x].T
        spread = np.matmul(np.matmul(down[y], air * field), across[x].T) / np.where(
            here[y, x], total, 1
        )
        found[:, y, x][:, here[y, x]] = spread[:, here[y, x]]
    return found


def _extent(marked: Mask) -> slice:
    where = np.flatnonzero(marked)
    return slice(int(where[0]), int(where[-1]) + 1)
