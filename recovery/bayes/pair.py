"""Two sources at a time: they slide along each other, split and merge.

Two sources can move apart, or heat go from one to the other, and the readings hardly change,
where moving either by itself is forbidden. So both are drawn at once, from a few cells around
a centre near each, with the heat of both together as it was and its share integrated out.
"""

import numpy as np
from numpy.typing import NDArray

from ..compiled import tier
from ..kernels import gibbs
from .crowd import MANY_CELLS, Crowd, pick
from .share import Share

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]


def redraw_two(crowd: Crowd, cool: float, merge: bool) -> None:
    """Draw two sources' cells and powers given all others and the sum of the two powers.

    The centres are drawn evenly from the cells near each source, so a pair is weighed with
    the chance that it had of these centres. Merging takes one centre for both, and lets the
    second source be off; else each has its own, and the number of sources stays. Where powers
    are not known a rough integral proposes and the exact one accepts.

    Args:
        cool: the power to which the likelihood is raised, 0 to 1.
        merge: whether two may become one, and one two; only where powers are not known.

    Source: Green 1995, reversible jumps; the sum of powers is what a split conserves.
    """
    problem, rows, beyond = crowd.problem, crowd.rows, crowd.problem.cells
    first, second, fits = _slots(crowd, merge)
    one, two = crowd.cells[rows, first], crowd.cells[rows, second]
    heat = crowd.powers[rows, first] + crowd.powers[rows, second]
    around_one = _centred(crowd, one)
    around_two = around_one if merge else _centred(crowd, two)
    if merge:
        # What a move leads to must lead back: a second source far off has no way to be off.
        fits &= (two == beyond) | (around_one == two[:, None]).any(axis=1)
    left = crowd.residual + crowd.powers[rows, first][:, None] * problem.columns[one]
    left = left + crowd.powers[rows, second][:, None] * problem.columns[two]
    others = crowd.cells.copy()
    others[rows, first] = others[rows, second] = beyond
    law = Share(crowd, left, heat, cool)
    even = crowd.even(3)
    within = around_one.shape[1]
    size = within + 1 if merge else within
    kernel = tier(gibbs, worth=problem.cells > MANY_CELLS)
    if kernel is gibbs:
        picked = _picked(crowd, law, others, around_one, around_two, merge, fits, even[:, 0])
    else:
        picked = np.zeros(len(rows), dtype=np.int64)
        kernel.draw_pairs(
            *(left, heat, problem.columns, crowd.counted, problem.room, others),
            *(around_one, around_two, fits, merge, problem.low, problem.high, cool),
            *(even[:, 0].copy(), picked),
        )
    new_one = around_one[rows, picked // size]
    padded = np.concatenate([around_two, np.full((len(rows), 1), beyond)], axis=1)
    new_two = padded[rows, np.where(picked % size == within, -1, picked % size)]
    gain = law.excess(new_one, new_two) - law.excess(one, two)
    moved = fits & (np.log(even[:, 1]) < gain)
    new_one, new_two = np.where(moved, new_one, one), np.where(moved, new_two, two)
    part = law.draw(new_one, new_two, even[:, 2])
    heat_one = np.where(fits, part, crowd.powers[rows, first])
    heat_two = np.where(fits, heat - part, crowd.powers[rows, second])
    crowd.put(first, new_one, heat_one, left - heat_two[:, None] * problem.columns[new_two])
    crowd.put(
        second, new_two, heat_two, crowd.residual + heat_two[:, None] * problem.columns[new_two]
    )


def _picked(
    crowd: Crowd,
    law: Share,
    others: Whole,
    around_one: Whole,
    around_two: Whole,
    merge: bool,
    fits: NDArray[np.bool_],
    even: Floats,
) -> Whole:
    """Return which pair of cells each scene's sources go to, as `recovery.kernels.gibbs` does."""
    beyond, room = crowd.problem.cells, crowd.problem.room
    number = (others < beyond).sum(axis=1)
    taken_one = _taken(around_one, others, beyond)
    taken_two = taken_one if merge else _taken(around_two, others, beyond)

    scores, widths = law.rough(around_one, around_two)
    scores -= room[around_one][:, :, None]
    if merge:
        scores += (crowd.counted[number + 2] - np.log(number + 2))[:, None, None]
    else:
        scores -= room[around_two][:, None, :]
    same = around_one[:, :, None] == around_two[:, None, :]
    scores[taken_one[:, :, None] | taken_two[:, None, :] | same] = -np.inf
    if merge:
        alone = law.alone(around_one) - room[around_one]
        alone += (crowd.counted[number + 1] - np.log(number + 1))[:, None]
        alone[taken_one] = -np.inf
        scores = np.concatenate([scores, alone[:, :, None]], axis=2)
        widths = np.concatenate([widths, np.ones_like(alone)[:, :, None]], axis=2)
    # A scene that is left alone may have no pair at all to choose from.
    scores[~fits] = 0.0
    return pick(scores.reshape(len(fits), -1), even, widths.reshape(len(fits), -1))


def _slots(crowd: Crowd, merge: bool) -> tuple[Whole, Whole, NDArray[np.bool_]]:
    """Return two slots of each scene, and in which scenes there are any.

    The first is on, evenly chosen; the second too, or where sources merge any other slot.
    """
    number = crowd.numbers
    order = np.argsort(crowd.cells == crowd.problem.cells, axis=1, kind="stable")
    rank = (crowd.even() * number).astype(np.int64)
    others = np.maximum((crowd.cells.shape[1] if merge else number) - 1, 0)
    after = (crowd.even() * others).astype(np.int64)
    after = np.minimum(after + (after >= rank), crowd.cells.shape[1] - 1)
    first, second = order[crowd.rows, rank], order[crowd.rows, after]
    return first, second, (number >= (1 if merge else 2)) & (first != second)


def _centred(crowd: Crowd, cells: Whole) -> Whole:
    """Return the cells around a centre that is evenly drawn from those near each cell."""
    near = crowd.problem.near
    sizes = (near[cells] < crowd.problem.cells).sum(axis=1)
    centre = near[cells, (crowd.even() * sizes).astype(np.int64)]
    return near[centre]


def _taken(around: Whole, others: Whole, beyond: int) -> NDArray[np.bool_]:
    """Return where another source stands already, or there is no cell."""
    return np.asarray((around == beyond) | (around[:, :, None] == others[:, None, :]).any(axis=2))
