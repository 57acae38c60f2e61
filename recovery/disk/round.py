"""From shares to the whole numbers of a disk Round, and from those back to arrays.

    Round.params = (reach, far, near, num, den, *octant)

The octant has, row by row, how many cells from x = y on weigh `near`, how many follow that do
not, and the weights of those. What is promised is a fact about these whole numbers: near is at
most far exp(num/den), proven by `footprint.exp_floor`, and no weight is below far or above near.

Source: the disk area mechanism's paper, Section VI, with whole numbers in the place of
probabilities.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from edge.core.records import Guarantee, Round
from edge.core.wire import MAC_BYTES, ROUND_BYTES, round_body
from edge.mechanisms.disk import NAME, outer
from edge.mechanisms.footprint import Table, exp_floor

from ..noise import epsilon_of_report
from .footprint import compute_shares
from .query import Query, find_radius_cells, scheme_of

Weights = NDArray[np.int64] | NDArray[np.object_]

FINEST, FINE = 32, 16  # powers of two that the smallest weight may be, and nothing shows
_POWERS = [1 << power for power in range(FINEST, FINE - 1, -1)]
_NUMBER = (1 << 48) - 1  # the largest that a Round may bear: it must fit into the message too


def make_round(query: Query, number: int, promise: Guarantee) -> Round:
    """Return the Round of a query, with the finest weights that fit into a message.

    Where even those of 2**16 do not, they are the finest again: such a Round can be played in
    memory, and `explain_refusal` says why it cannot be sent.
    """
    return Round(number, NAME, query.grid, _weigh(query, promise), promise)


@lru_cache(maxsize=16)
def _weigh(query: Query, promise: Guarantee) -> tuple[int, ...]:
    one = epsilon_of_report(query)
    rows = compute_shares(scheme_of(query), find_radius_cells(query), float(one), query.grid.shape)

    def made(far: int) -> Round:
        return Round(1, NAME, query.grid, _make_params(rows, one, far), promise)

    if not fits_message(made(1 << FINE)):  # finer weights are longer
        return made(1 << FINEST).params
    return next(found.params for found in map(made, _POWERS) if fits_message(found))


def fits_message(round: Round) -> bool:
    """Return whether a device reads the message of a Round."""
    return _count_bytes(round) <= ROUND_BYTES


def explain_refusal(round: Round) -> str:
    """Return why a Round cannot be sent to devices, "" if it can."""
    if fits_message(round):
        return ""
    return (
        f"the Round's weights and promise take {_count_bytes(round)} bytes but a device reads "
        f"at most {ROUND_BYTES}: its memory is short. Take a smaller radius, larger cells, or a "
        "scheme with fewer weights, such as dam-ns; in memory it can be played as it is"
    )


def _count_bytes(round: Round) -> int:
    return len(round_body(round._replace(number=_NUMBER))) + MAC_BYTES


def _make_params(rows: Sequence[Sequence[float]], one: Fraction, far: int) -> tuple[int, ...]:
    """Return the params of rows of shares; weights between are rounded down."""
    near = exp_floor(one.numerator, one.denominator, far)
    above = near - far
    found = [len(rows[0]) - 1, far, near, one.numerator, one.denominator]
    for row in rows:
        whole = sum(1 for _ in itertools.takewhile(lambda share: share == 1, row))
        weights = [near] * whole
        weights += [far + math.floor(Fraction(share) * above) for share in row[whole:]]
        full = sum(1 for _ in itertools.takewhile(lambda weight: weight == near, weights))
        found += [full, len(weights) - full, *weights[full:]]
    return tuple(found)


def octant_of(round: Round) -> Iterator[tuple[int, int, int]]:
    """Yield x, y and the weight of each cell 0 <= y <= x of the footprint.

    Raises:
        ValueError: a device refuses the Round.
    """
    law = Table(round)
    for y, (end, full, at) in enumerate(zip(law.ends, law.fulls, law.at, strict=True)):
        for x in range(y, end + 1):
            yield x, y, law.near if x - y < full else round.params[at + x - y - full]


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
    return int(Table(round).total)


def explain_query_refusal(query: Query, round: Round) -> str:
    """Return why a query's Round cannot be sent, and which radius could; "" if it can."""
    if not (why := explain_refusal(round)):
        return ""
    radius = find_longest_radius(query)
    can = f"a radius of {radius} cells or less does" if radius >= 0 else "no radius does"
    return f"{why}. Of scheme {scheme_of(query)}, {can} fit this grid, epsilon and promise"


def find_longest_radius(query: Query) -> int:
    """Return the greatest whole radius, up to the query's, whose Round fits; -1 if none does."""
    low, high, end = -1, 1, math.ceil(find_radius_cells(query)) + 1
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
    return fits_message(make_round(there, 1, promise(there)))
