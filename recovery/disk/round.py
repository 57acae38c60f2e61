"""From shares to the whole numbers of a disk Round, and from those back to arrays.

    Round.params = (reach, far, near, num, den, *octant)

The octant has, row by row, how many cells from x = y on weigh `near`, how many follow that do
not, and the weights of those. What is promised is a fact about these whole numbers: near is at
most far exp(num/den), proven by `edge.expo`, and no weight is below far or above near.

Source: the disk area mechanism's paper, Section VI, with whole numbers in the place of
probabilities.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from edge.disk import NAME, outer
from edge.expo import exp_floor
from edge.records import Guarantee, Round
from edge.wire import MAC_BYTES, ROUND_BYTES, round_body

from .footprint import shares
from .query import Query, epsilon_of_one, radius_of, scheme_of

Weights = NDArray[np.int64] | NDArray[np.object_]

FINEST, FINE = 32, 16  # powers of two that the smallest weight may be, and nothing shows
_POWERS = [1 << power for power in range(FINEST, FINE - 1, -1)]
_HEAD = 5  # params before the octant
_NUMBER = (1 << 48) - 1  # the largest that a Round may bear: it must fit into the message too


def disk_round(query: Query, number: int, promise: Guarantee) -> Round:
    """Return the Round of a query, with the finest weights that fit into a message.

    Where even those of 2**16 do not, they are in fewer steps: see `round`. Where no steps do,
    they are the finest again: such a Round can be played in memory, and `refusal` says why it
    cannot be sent.
    """
    return Round(number, NAME, query.grid, _weighed(query, promise), promise)


@lru_cache(maxsize=16)
def _weighed(query: Query, promise: Guarantee) -> tuple[int, ...]:
    one = epsilon_of_one(query)
    rows = shares(scheme_of(query), radius_of(query), float(one), query.grid.shape)

    def made(far: int) -> Round:
        return Round(1, NAME, query.grid, _params(rows, one, far), promise)

    if fits(made(1 << FINE)):  # finer weights are longer
        return next(found.params for found in map(made, _POWERS) if fits(found))
    # Loaded here alone: hardly a footprint is so large.

    finest = made(1 << FINEST)
    return (fitted(finest, made) or finest).params


def weighed_with(query: Query, promise: Guarantee, far: int = 1 << FINEST) -> Round:
    """Return the Round of a query with this smallest weight, whether it fits a message or not."""
    one = epsilon_of_one(query)
    rows = shares(scheme_of(query), radius_of(query), float(one), query.grid.shape)
    return Round(1, NAME, query.grid, _params(rows, one, far), promise)


def fits(round: Round) -> bool:
    """Return whether a device reads the message of a Round."""
    return _size(round) <= ROUND_BYTES


def refusal(round: Round) -> str:
    """Return why a Round cannot be sent to devices, "" if it can."""
    if fits(round):
        return ""
    return (
        f"the Round's weights and promise take {_size(round)} bytes but a device reads at most "
        f"{ROUND_BYTES}: its memory is short. Take a smaller radius, larger cells, or a scheme "
        "with fewer weights, such as dam-ns; in memory it can be played as it is"
    )


def _size(round: Round) -> int:
    return len(round_body(round._replace(number=_NUMBER))) + MAC_BYTES


def _params(rows: Sequence[Sequence[float]], one: Fraction, far: int) -> tuple[int, ...]:
    """Return the params of rows of shares; weights between are rounded down.

    In fewer steps they go to the nearest whole number, which is never above near either.
    """
    near = exp_floor(one.numerator, one.denominator, far)
    half, above = Fraction(far < 1 << FINE, 2), near - far
    found = [len(rows[0]) - 1, far, near, one.numerator, one.denominator]
    for row in rows:
        whole = sum(1 for _ in itertools.takewhile(lambda share: share == 1, row))
        weights = [near] * whole
        weights += [far + math.floor(Fraction(share) * above + half) for share in row[whole:]]
        full = sum(1 for _ in itertools.takewhile(lambda weight: weight == near, weights))
        found += [full, len(weights) - full, *weights[full:]]
    return tuple(found)


def octant_of(round: Round) -> Iterator[tuple[int, int, int]]:
    """Yield x, y and the weight of each cell 0 <= y <= x of the footprint.

    Raises:
        ValueError: the params are cut short or hold no whole rows.
    """
    near, rest = round.params[2], round.params[_HEAD:]
    at = y = 0
    while at < len(rest):
        full, parts = (*rest[at : at + 2], -1)[:2]
        weights = (near,) * full + tuple(rest[at + 2 : at + 2 + parts])
        if parts < 0 or full < 0 or len(weights) != full + parts:
            raise ValueError(
                f"row {y} of round {round.number}'s footprint is cut short but must say how many "
                "cells weigh most, how many less, and what those weigh: the channel cannot be "
                "known. Take the round that was planned"
            )
        for x, weight in enumerate(weights, y):
            yield x, y, weight
        at, y = at + 2 + parts, y + 1


def weights_of(round: Round) -> Weights:
    """Return the weight of each cell around the true one, (2 reach_y + 1, 2 reach_x + 1).

    Cells that do not belong to the footprint weigh nought. Whole numbers, as numpy's where all of
    them added up fit into 63 bits.
    """
    _, _, across, down = outer(round.grid, round.params[0])
    _, far, near = round.params[:3]
    size = (2 * across + 1) * (2 * down + 1)
    kind: type = np.int64 if max(near, far) * size < 1 << 62 else object
    found = np.zeros((2 * down + 1, 2 * across + 1), dtype=kind)
    for x, y, weight in octant_of(round):
        for right, low in {(x, y), (y, x)}:
            if right <= across and low <= down:
                for sign in itertools.product((1, -1), repeat=2):
                    found[down + sign[0] * low, across + sign[1] * right] = weight
    return found


def domain_of(round: Round) -> NDArray[np.bool_]:
    """Return which cells of the outer array can be answered: some footprint reaches them."""
    width, height, _, down = outer(round.grid, round.params[0])
    columns, rows = round.grid.shape
    found = np.zeros((height, width), dtype=np.bool_)
    footprint = weights_of(round) != 0
    # A footprint's rows have no gaps: what its steps across leave is one run of each row.
    for step in range(2 * down + 1):
        reached = np.flatnonzero(footprint[step])
        if len(reached):
            found[step : step + rows, reached[0] : reached[-1] + columns] = True
    return found


def total_of(round: Round) -> int:
    """Return what all weights add to, the same for every cell."""
    far = round.params[1]
    footprint = weights_of(round)
    cells = int((footprint != 0).sum())
    return far * int(domain_of(round).sum()) + int(footprint.sum()) - far * cells


# Weights that fit into a message a device can read, where a footprint has many: in fewer steps.
#
# A board reads a thousand bytes. Weights of 2**16 and more differ from the shares that they stand
# for by nothing that shows; where they are too long together, the greatest `far` below that is
# taken at which they fit, and each weight is the nearest whole number: one of near - far + 1
# steps. The promise does not hang on that: every weight is still from far to near, and near at
# most far exp(epsilon), as every device proves. What is lost is the law that was meant, by the
# total variation
#
#     apart = 1/2 sum over answers of |law of the steps - law of the shares|,
#
# the same from every cell. Beyond `WORST` of it nothing is sent. A map is drawn from the weights
# that are really used, so it is not bent: its answers only tell a little less than they could.


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
    from . import promise  # with it comes what draws maps

    there = replace(query, radius=radius)
    return fits(disk_round(there, 1, promise(there)))


def _law(round: Round) -> tuple[np.ndarray, float]:
    """Return the chance of each cell of the footprint, and of one outside it."""
    total = total_of(round)
    return np.asarray(weights_of(round) / total, dtype=np.float64), round.params[1] / total
