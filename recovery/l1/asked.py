"""What a search for the least heat is given, checked before any solver sees it."""

import math
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .directions import Prepared
from .solution import Solution

Floats = NDArray[np.float64]
_NOBODY = np.empty(0, np.int64)


def checked_readings(readings: ArrayLike, shape: tuple[int, int], axes: int) -> Floats:
    """Return y, (sensors,), or (batch, sensors) where two axes are asked for.

    Whether they are finite is found on the way to the answer. ValueError: another shape.
    """
    target = np.ascontiguousarray(readings, dtype=np.float64)
    if target.ndim != axes or target.shape[-1] != shape[0]:
        wanted = f"({'batch, ' * (axes - 1)}sensors{',' * (2 - axes)})"
        raise ValueError(
            f"the operator has shape {shape} and the readings {target.shape} but (sensors, "
            f"cells) and {wanted} are needed: each sensor has one row and one reading. Leave "
            "silent sensors out of both."
        )
    # What may not be written to is another type to a compiler.
    return target if target.flags.writeable else target.copy()


def spoilt() -> ValueError:
    """Return what to raise when a reading is not finite."""
    return ValueError(
        "a reading is NaN or infinite but all must be finite: one bad number would spoil the "
        "whole map. Leave that sensor out, of the operator too."
    )


def checked_radius(radius: float) -> float:
    """Return the radius, at least 0 and finite; ValueError if it is not."""
    if not 0 <= radius < math.inf:
        raise ValueError(
            f"radius is {radius:g} but must be >= 0 and finite, or the program has no meaning. "
            "Check where it was computed."
        )
    return float(radius)


def checked_ceiling(upper: ArrayLike, cells: int) -> Floats:
    """Return the most heat each cell can hold, (cells,), none negative.

    Raises:
        ValueError: a bound that is negative, NaN or infinite; no cell that may hold any heat;
            another number of cells.
    """
    if isinstance(upper, float):
        return _alike(upper, cells)
    given = np.array(upper, dtype=np.float64)
    if not given.ndim:
        return _alike(float(given), cells)
    if given.shape != (cells,):
        raise ValueError(
            f"upper has shape {given.shape} but must be one number or ({cells},), one for each "
            "cell, or no bound belongs to its place. Count the cells as the operator does."
        )
    wrong = np.flatnonzero(~((given >= 0) & (given < math.inf)))
    if len(wrong) or not given.any():
        which = f"upper[{wrong[0]}] is {given[wrong[0]]:g}" if len(wrong) else "upper is 0 in all"
        raise ValueError(
            f"{which} but every bound must be >= 0 and finite, and one positive, or there is no "
            "room for heat. Give 0 only where no source can be."
        )
    return given


@lru_cache(maxsize=8)
def _alike(upper: float, cells: int) -> Floats:
    if not 0 < upper < math.inf:
        raise ValueError(
            f"upper is {upper:g} but must be positive and finite, or the program has no meaning. "
            "Check where it was computed."
        )
    return np.full(cells, upper)


def checked_start(
    start: Solution | None, ceiling: Floats, cells: int
) -> tuple[Floats, NDArray[np.int64]]:
    """Return heat to begin with, (cells,), and which cells hold any.

    Raises:
        ValueError: the start is of other cells.
    """
    if start is None:
        return np.zeros(cells), _NOBODY
    if start.heat.shape != (cells,):
        raise ValueError(
            f"start has {len(start.heat)} cells but the operator {cells}, so it is the solution "
            "of another room. Leave it out, or solve with the operator it was found with."
        )
    heat = np.minimum(start.heat, ceiling)
    return heat, np.flatnonzero(heat > 0)


def undetermined(ready: Prepared, ceiling: Floats, radius: float) -> str:
    """Return in words what readings of this operator cannot tell, nothing where they can."""
    if ready.rank == 1:
        return (
            "every cell looks alike but for its strength: the readings tell one weighted sum of "
            "the heat, and nothing of its place"
        )
    if ready.apart * ceiling[0] <= radius and ready.apart * ceiling.max() <= radius:
        return (
            "a cell full of heat looks the same within the radius wherever it is: the readings "
            "tell how much heat there is, and not where"
        )
    return ""
