"""One source at a time, drawn from all the cells given the others: Gibbs sampling."""

import numpy as np
from numpy.typing import NDArray

from ..compiled import tier
from ..kernels import gibbs
from .bounded import at_share, log_mass, rough_mass
from .crowd import MANY_CELLS, Crowd, pick

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]


def redraw_one(crowd: Crowd, slot: int, cool: float) -> None:
    """Draw the slot's cell, or that it is off, and its power, given all other slots.

    With what is left of the readings once the slot is off, a source of power w in cell j adds
    cool (w h_j - w**2 g_j / 2) to the log-likelihood. Where the power is not known it is
    integrated out; the cell is proposed with the rough integral and accepted with the exact
    one, as Metropolis and Hastings do, and the power then drawn exactly.

    Args:
        cool: the power to which the likelihood is raised, 0 to 1.

    Source: Geman and Geman 1984; Liu 1996, "Metropolized independent sampling".
    """
    problem = crowd.problem
    which = np.full(len(crowd.rows), slot)
    left = crowd.without(which)
    slopes = cool * (left @ problem.columns[:-1].T)
    stiff = cool * problem.squares
    even = crowd.even(3)
    kernel = tier(gibbs, worth=problem.cells > MANY_CELLS)
    if kernel is gibbs:
        chosen = _drawn(crowd, slot, slopes, stiff, even[:, 0])
    else:
        chosen = np.empty(len(even), dtype=np.int64)
        bounds = (problem.low, problem.high)
        first = np.ascontiguousarray(even[:, 0])
        kernel.draw_cells(slopes, stiff, crowd.cells, slot, crowd.counted, *bounds, first, chosen)
    if problem.low < problem.high:
        before = crowd.cells[:, slot]
        gain = _excess(crowd, slopes, stiff, chosen) - _excess(crowd, slopes, stiff, before)
        chosen = np.where(np.log(even[:, 1]) < gain, chosen, before)
    crowd.put(which, chosen, _powers(crowd, slopes, stiff, chosen, even[:, 2]), left)


def _drawn(crowd: Crowd, slot: int, slopes: Floats, stiff: Floats, even: Floats) -> Whole:
    """Return each scene's cell for the slot, as `recovery.kernels.gibbs` does."""
    problem = crowd.problem
    others = crowd.cells.copy()
    others[:, slot] = problem.cells
    number = (others < problem.cells).sum(axis=1)
    scores = np.empty((len(number), problem.cells + 1))
    widths = None
    if problem.low == problem.high:
        scores[:, :-1] = problem.high * slopes - 0.5 * problem.high**2 * stiff
    else:
        widths = np.ones_like(scores)
        scores[:, :-1], widths[:, :-1] = rough_mass(slopes, stiff, problem.low, problem.high)
        widths[:, :-1] /= problem.high - problem.low
    scores[:, :-1] += crowd.counted[number + 1][:, None]
    scores[crowd.rows[:, None], others] = -np.inf
    scores[:, -1] = crowd.counted[number]
    return pick(scores, even, widths)


def _powers(crowd: Crowd, slopes: Floats, stiff: Floats, cells: Whole, even: Floats) -> Floats:
    """Return a power for a source in each scene's cell; none where it is off."""
    problem = crowd.problem
    drawn = np.full(len(cells), problem.high)
    if problem.low < problem.high:
        inside = np.minimum(cells, problem.cells - 1)
        slope = slopes[crowd.rows, inside]
        drawn = at_share(slope, stiff[inside], problem.low, problem.high, even)
    return np.where(cells < problem.cells, drawn, 0.0)


def _excess(crowd: Crowd, slopes: Floats, stiff: Floats, cells: Whole) -> Floats:
    """Return log(exact / rough integral) at each scene's cell; 0 where the source is off."""
    problem = crowd.problem
    inside = np.minimum(cells, problem.cells - 1)
    law = (slopes[crowd.rows, inside], stiff[inside], problem.low, problem.high)
    peak, width = rough_mass(*law)
    return np.where(cells < problem.cells, log_mass(*law) - peak - np.log(width), 0.0)
