"""A mixture of known shapes, one for each source, fitted by expectation and maximisation.

The readings, cut off below 0, are taken for how often each sensor was hit, and the column of a
source's cell, divided by its sum, for the chances of each sensor. In turn every reading is
shared out among the sources (E), and every source is put where it makes its share likeliest (M).

Source: Dempster, Laird and Rubin 1977; for a mixture of kernels of one width, Gilbert and
McMillan 2017's model read as a density.

Limits: noise that was added is no count, and its positive half is a flat background that draws
sources to the middle; it finds a likelihood's near top, not its highest. Kept as the baseline
that people try first. Powers are taken as equal, the number, where it is not known, as the one
with the least misfit and log(sensors) for each source. Along a line and in a plane alike.

Differs from the source:
1. Shapes are the operator's columns, not whole Gaussians: heat that leaves past the last sensor
   does not push sources inwards, which for Gaussians alone costs a tenth of the line.
2. A source stands in an open cell, not between two.
"""

import numpy as np
from numpy.typing import NDArray

from .moments import power
from .record import Estimate, Seen
from .small import estimated, small

NAME = "mixture"

Floats = NDArray[np.float64]
Places = NDArray[np.intp]

_STEPS = 200


def estimate(seen: Seen) -> Estimate:
    """Return equally warm atoms.

    Raises:
        ValueError: a column of the operator has negative entries, or an open cell none at all.
    """
    cells = small(seen).cells
    columns = seen.operator[:, cells]
    sums = columns.sum(axis=0)
    if columns.min() < -1e-12 * columns.max() or sums.min() <= 0:
        raise ValueError(
            f"the operator's entries go from {columns.min():.3g} and its columns sum to "
            f"{sums.min():.3g} at least but must be 0 or more, and some of each column positive: "
            "a mixture's shapes are chances. Close cells that no sensor hears, or take 'lasso'."
        )
    hits = np.maximum(seen.readings, 0.0)
    if not hits.any():
        return estimated(seen, cells, np.zeros(len(cells)))
    # A sensor that a cell does not reach keeps a chance, for blurred readings are never nought.
    logs = np.log(np.maximum(columns / sums, 1e-12))
    best, least = np.zeros(len(cells)), np.inf
    for number in range(max(seen.prior.fewest, 1), min(seen.prior.most, len(cells)) + 1):
        heat = np.zeros(len(cells))
        np.add.at(
            heat, located(logs, hits, spread_out(seen.places[cells], number)), power(seen.prior)
        )
        misfit = columns @ heat - seen.readings
        cost = float(misfit @ misfit) / seen.sigma**2 + number * np.log(len(hits))
        if cost < least:
            best, least = heat, cost
    return estimated(seen, cells, best)


def located(logs: Floats, hits: Floats, chosen: Places) -> Places:
    """Return the columns of equal sources, (number,), that make the hits likely.

    Args:
        logs: (sensors, cells), logarithm of the chance that a source of the cell hits a sensor.
        hits: (sensors,), how often each was hit.
        chosen: (number,), the columns to start from.
    """
    for _ in range(_STEPS):
        parts = logs[:, chosen]
        shares = np.exp(parts - np.logaddexp.reduce(parts, axis=1, keepdims=True))
        moved = np.argmax(logs.T @ (hits[:, None] * shares), axis=0)
        if np.array_equal(moved, chosen):
            break
        chosen = moved
    return chosen


def spread_out(places: Floats, number: int) -> Places:
    """Return so many cells, (number,), that all cells are near to one: where sources start."""
    chosen = np.argmin(((places - places.mean(axis=0)) ** 2).sum(axis=1), keepdims=True)
    for _ in range(number - 1):  # the farthest one from all before
        chosen = np.append(chosen, np.argmax(_squares(places, places[chosen]).min(axis=1)))
    for _ in range(_STEPS):  # Lloyd's iteration
        nearest = _squares(places, places[chosen]).argmin(axis=1)
        middles = np.array([places[nearest == one].mean(axis=0) for one in range(number)])
        moved = _squares(places, middles).argmin(axis=0)
        if np.array_equal(moved, chosen):
            break
        chosen = moved
    return np.asarray(chosen, dtype=np.intp)


def _squares(places: Floats, others: Floats) -> Floats:
    return np.asarray(((places[:, None] - others) ** 2).sum(axis=2))
