"""One source at a time, drawn from all the cells given the others: Gibbs sampling."""

import numpy as np

from .bounded import at_share, log_mass, rough_mass
from .crowd import Crowd, Floats, Whole, pick


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
    others = crowd.cells.copy()
    others[:, slot] = problem.cells
    number = (others < problem.cells).sum(axis=1)
    slopes = cool * (left @ problem.columns[:-1].T)
    stiff = cool * problem.squares
    scores = np.empty((len(number), problem.cells + 1))
    widths: Floats | float = 1.0
    equal = problem.low == problem.high
    if equal:
        heat = problem.high
        scores[:, :-1] = heat * slopes - 0.5 * heat**2 * stiff
    else:
        width = np.ones_like(scores)
        scores[:, :-1], width[:, :-1] = rough_mass(slopes, stiff, problem.low, problem.high)
        width[:, :-1] /= problem.high - problem.low
        widths = width
    scores[:, :-1] += problem.counted[number + 1][:, None]
    scores[crowd.rows[:, None], others] = -np.inf
    scores[:, -1] = problem.counted[number]
    chosen = pick(scores, crowd.even(), widths)
    if equal:
        heats = np.where(chosen < problem.cells, problem.high, 0.0)
    else:
        before = crowd.cells[:, slot]
        gain = [_excess(crowd, slopes, stiff, scores, widths, at) for at in (chosen, before)]
        chosen = np.where(np.log(crowd.even()) < gain[0] - gain[1], chosen, before)
        heats = draw_power(crowd, slopes, stiff, chosen)
    crowd.put(which, chosen, heats, left)


def draw_power(crowd: Crowd, slopes: Floats, stiff: Floats, cells: Whole) -> Floats:
    """Return a power for a source in each scene's cell; none where it is off."""
    problem = crowd.problem
    inside = np.minimum(cells, problem.cells - 1)
    drawn = at_share(
        slopes[crowd.rows, inside],
        stiff[inside],
        problem.low,
        problem.high,
        crowd.even(),
    )
    return np.where(cells < problem.cells, drawn, 0.0)


def _excess(
    crowd: Crowd,
    slopes: Floats,
    stiff: Floats,
    scores: Floats,
    widths: Floats | float,
    cells: Whole,
) -> Floats:
    """Return log(exact / rough integral) at each scene's cell; 0 where the source is off."""
    problem = crowd.problem
    inside = np.minimum(cells, problem.cells - 1)
    slope, stiffness = slopes[crowd.rows, inside], stiff[inside]
    low, high = problem.low, problem.high
    exact = log_mass(slope, stiffness, low, high)
    peak, width = rough_mass(slope, stiffness, low, high)
    return np.where(cells < problem.cells, exact - peak - np.log(width), 0.0)
