"""The map that is nearest on average, along a line: the median of the cumulative share of heat.

Along a line the earth mover's distance of two maps is the area between their cumulative shares.
So the map whose expected distance is least has, cell by cell, the median of the posterior's
cumulative shares; it rises from cell to cell, since they all do.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..uncertainty import Band
from .enumerate import Exact

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Shares:
    """What share of the heat lies in a cell and those before it, as the posterior has it.

    Args:
        values: (values,), the shares there can be, rising from 0 to 1.
        chances: (values, cells), of each of them in each cell.
    """

    values: Floats
    chances: Floats


def shares(exact: Exact) -> Shares:
    """Return the posterior of the cumulative share, if there is one source or more.

    The share is c / k when c of k sources stand in the cell or before it, and c is at least r
    where the r-th source does.

    Raises:
        ValueError: it is certain that there is no source.
    """
    some = 1 - float(exact.numbers[0])
    if not some > 0:
        raise ValueError(
            "the posterior has no source but at least one is needed: nothing has no shares. "
            "Allow one source or more."
        )
    tops = [number for number, chance in enumerate(exact.numbers) if number and chance > 0]
    levels = np.unique([c / k for k in tops for c in range(k + 1)])
    chances = np.zeros((len(levels), exact.orders[0].shape[1]))
    for k in tops:
        reached = np.cumsum(exact.orders[k], axis=1)
        exactly = -np.diff(reached, axis=0, prepend=1.0, append=0.0)
        places = np.searchsorted(levels, np.arange(k + 1) / k)
        chances[places] += exact.numbers[k] / some * np.maximum(exactly, 0)
    return Shares(levels, chances / chances.sum(axis=0))


def quantile(posterior: Shares, level: float) -> Floats:
    """Return the least share that is not exceeded with at least this chance, (cells,)."""
    upto = np.cumsum(posterior.chances, axis=0)
    first = np.argmax(upto >= min(level, 1.0) - 1e-9, axis=0)
    found = posterior.values[first]
    # Rounding alone could let it fall, and all heat is in the last cell or before.
    found[-1] = 1.0
    return np.maximum.accumulate(found)


def median(posterior: Shares) -> Floats:
    """Return the cumulative share of the map that is nearest on average, (cells,).

    Source: the least expected distance of a number is at its median; Gilbert and McMillan 2017,
    Section 4.1, for the distance along a line.
    """
    return quantile(posterior, 0.5)


def band(posterior: Shares, level: float) -> Band:
    """Return between what each cumulative share lies, as much chance above as below.

    Each cell's bounds hold by themselves. The shares are few, so that they hold with at least
    this chance rather than just this.
    """
    return Band(level, quantile(posterior, (1 - level) / 2), quantile(posterior, (1 + level) / 2))


def expected_distance(posterior: Shares, cumulative: Floats, places: Floats) -> float:
    """Return the posterior's mean of the earth mover's distance from a map to the truth.

    Args:
        posterior: what the readings leave possible.
        cumulative: (cells,), the map's share in each cell and those before.
        places: (cells,), rising, in any unit.
    """
    apart = np.abs(posterior.values[:, None] - cumulative)
    return float((posterior.chances * apart).sum(axis=0)[:-1] @ np.diff(places))
