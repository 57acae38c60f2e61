"""Weights that fit into a message a device can read, where a footprint has many: in fewer steps.

A board reads a thousand bytes. Weights of 2**16 and more differ from the shares that they stand
for by nothing that shows; where they are too long together, the greatest `far` below that is taken
at which they fit, and each weight is the nearest whole number: one of near - far + 1 steps. The
promise does not hang on that: every weight is still from far to near, and near at most
far exp(epsilon), as every device proves. What is lost is the law that was meant, by the total
variation

    apart = 1/2 sum over answers of |law of the steps - law of the shares|,

the same from every cell. Beyond `WORST` of it nothing is sent. A map is drawn from the weights
that are really used, so it is not bent: its answers only tell a little less than they could.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from edge.records import Round
from edge.wire import ROUND_BYTES

from .disk_query import Query, radius_of, scheme_of
from .disk_round import (
    FINE,
    disk_round,
    domain_of,
    fits,
    refusal,
    total_of,
    weighed_with,
    weights_of,
)

WORST = 0.01  # of apart: at one report in a hundred the radius was chosen for nothing
_TRIED = 8  # of the greatest `far` that fit: whether exp(epsilon) far is nearly whole decides


class Steps(NamedTuple):
    """What sending a footprint in few steps costs.

    steps: between far and near. apart: from the law that was meant. epsilon: that a report really
    has; what is promised is at least that.
    """

    steps: int
    apart: float
    epsilon: float


def fitted(finest: Round, made: Callable[[int], Round]) -> Round | None:
    """Return the Round with the best weights that fit, or None where none do well enough.

    Args:
        finest: the one that was meant.
        made: returns the Round whose smallest weight is this.
    """
    low, high = 1, 1 << FINE
    # A number takes a byte at least, and few of a good footprint become one run of the greatest.
    if len(finest.params) > 2 * ROUND_BYTES or not fits(made(low)):
        return None
    while high - low > 1:  # the greatest that fits is low, or near it: lengths go up in steps
        middle = (low + high) // 2
        low, high = (middle, high) if fits(made(middle)) else (low, middle)
    tried = [made(far) for far in range(max(1, low - _TRIED + 1), low + 1)]
    best = min((one for one in tried if fits(one)), key=lambda one: apart(one, finest))
    return best if apart(best, finest) <= WORST else None


def apart(one: Round, other: Round) -> float:
    """Return the total variation between what two Rounds of one footprint answer from a cell."""
    (law, even), (law2, even2) = _law(one), _law(other)
    outside = int(domain_of(one).sum()) - np.count_nonzero(law)
    return float(np.abs(law - law2).sum() + outside * abs(even - even2)) / 2


def steps_of(round: Round, query: Query) -> Steps | None:
    """Return what the few steps of a query's Round cost, None where nothing shows."""
    far, near = round.params[1:3]
    if far >= 1 << FINE:
        return None
    return Steps(
        near - far, apart(round, weighed_with(query, round.guarantee)), math.log(near / far)
    )


def refused(query: Query, round: Round) -> str:
    """Return why a query's Round cannot be sent, and which radius could; "" if it can."""
    if not (why := refusal(round)):
        return ""
    radius = longest(query)
    can = f"a radius of {radius} cells or less does" if radius >= 0 else "no radius does"
    return f"{why}. Of scheme {scheme_of(query)}, {can} fit this grid, epsilon and promise"


def longest(query: Query) -> int:
    """Return the greatest whole radius, up to the query's, whose Round fits; -1 if none does."""
    low, high, end = -1, 1, math.ceil(radius_of(query)) + 1
    while high < end and _fits_at(query, high):
        low, high = high, 2 * high  # up from below: a footprint that is far too large takes long
    high = min(high, end)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _fits_at(query, middle) else (low, middle)
    return low


def _fits_at(query: Query, radius: int) -> bool:
    from .disk import promise  # with it comes what draws maps

    there = replace(query, radius=radius)
    return fits(disk_round(there, 1, promise(there)))


def _law(round: Round) -> tuple[np.ndarray, float]:
    """Return the chance of each cell of the footprint, and of one outside it."""
    total = total_of(round)
    return np.asarray(weights_of(round) / total, dtype=np.float64), round.params[1] / total
