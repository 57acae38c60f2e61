"""What many users would answer to a disk Round at once: the law of a device's answer, by numpy.

For experiments only, never for a release: a numpy Generator is no source of private noise. The
law is that of the device to the last whole number, because the weights are: one whole number
below their total is drawn for a user, and says where the answer lies.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from edge.core.records import Round
from edge.mechanisms.footprint import Table

from .peers import check_cells, check_histogram

# A disk Round's weights laid out as arrays: what `edge.mechanisms.disk` decodes one row at a time.
#
# An array of cells is (rows, columns). The Round lists an eighth of its footprint; the other
# seven are its mirror images, and on a line there is only the axis.

Whole = NDArray[np.int64]
Flags = NDArray[np.bool_]

# numpy's whole numbers end here; a device's do not.
_WHOLE_MAX = 2**63


class Footprint(NamedTuple):
    """The law of a report: `weights` around the true cell, `far` elsewhere on the domain.

    weights is (2 reach_y + 1, 2 reach_x + 1), 0 outside the footprint; domain is (rows + 2
    reach_y, columns + 2 reach_x), the cells that are ever answered; total is the sum of all
    weights, the same for every input.
    """

    weights: Whole
    domain: Flags
    far: int
    total: int

    @property
    def reach(self) -> tuple[int, int]:
        """Return how many rows and columns the footprint reaches from its middle."""
        return self.weights.shape[0] // 2, self.weights.shape[1] // 2


def make_footprint(round: Round) -> Footprint:
    """Return the arrays of a disk Round.

    Raises:
        ValueError: a Round of another mechanism, one that a device refuses, or one whose weights
            add up to more than 63 bits hold.
    """
    if round.mechanism != "disk":
        raise ValueError(
            f"the Round is of the mechanism {round.mechanism!r} but a crowd answers disk Rounds: "
            "other params mean something else. Give a Round planned by recovery.disk."
        )
    law = Table(round)
    if law.total >= _WHOLE_MAX:
        raise ValueError(
            f"the Round's weights add up to {law.total} but a crowd draws whole numbers below "
            "2**63, or its law would be rounded. Plan with a smaller weight for far cells."
        )
    columns, rows = round.grid.shape
    weights = np.zeros((2 * law.reach_y + 1, 2 * law.reach_x + 1), np.int64)
    for y, (end, full, at) in enumerate(zip(law.ends, law.fulls, law.at, strict=True)):
        for x in range(y, end + 1):
            weight = law.near if x - y < full else round.params[at + x - y - full]
            for right, down in {(x, y), (y, x)}:
                if right <= law.reach_x and down <= law.reach_y:
                    places = np.ix_(
                        law.reach_y + np.array([-down, down]),
                        law.reach_x + np.array([-right, right]),
                    )
                    weights[places] = weight
    domain = np.zeros((law.rows, law.columns), np.bool_)
    for y, x in np.argwhere(weights):
        domain[y : y + rows, x : x + columns] = True
    return Footprint(weights, domain, law.far, law.total)


# So many users at a time: what is drawn for them stays in the processor's cache.
_CHUNK = 1 << 16
# What one more entry of a table of binomials costs, in reports.
_ENTRY = 2
_TABLE_MAX = 1 << 22  # entries of a table at once


def report_many(round: Round, cells: ArrayLike, world: np.random.Generator) -> Whole:
    """Return what each user answers, (n,): places of the outer array, row by row.

    Args:
        round: a disk Round.
        cells: (n,) whole numbers, the flat cell y * columns + x in which each user is.
        world: the chance of a simulated world.

    Raises:
        ValueError: cells that are not whole or not of the grid; a Round that is no disk Round.
    """
    law = make_footprint(round)
    columns, rows = round.grid.shape
    at = check_cells(cells, columns * rows)
    extra, jump, home, places = _lay_out_footprint(law, columns, rows)
    rising = np.cumsum(extra)
    spare = int(rising[-1])
    answers = np.empty(len(at), np.int64)
    for begin in range(0, len(at), _CHUNK):
        part = at[begin : begin + _CHUNK]
        drawn = world.integers(law.total, size=len(part))
        close = np.flatnonzero(drawn < spare)
        wide = np.flatnonzero(drawn >= spare)
        chunk = answers[begin : begin + len(part)]
        step = np.searchsorted(rising, drawn[close], side="right")
        chunk[close] = home[part[close]] + jump[step]
        chunk[wide] = places[(drawn[wide] - spare) // law.far]
    return answers


def count_many(round: Round, histogram: ArrayLike, world: np.random.Generator) -> Whole:
    """Return how often each place of the outer array is answered, (outer rows, outer columns).

    The counts have the law of counted `report_many` answers, up to the 53 bits of a binomial's
    probability. Where there are more users than cells times footprint they are drawn as such.

    Args:
        round: a disk Round.
        histogram: (rows, columns) whole numbers, how many users are in each cell.
        world: the chance of a simulated world.

    Raises:
        ValueError: a histogram of another shape, or not of whole numbers from 0 on.
    """
    law = make_footprint(round)
    columns, rows = round.grid.shape
    users = check_histogram(histogram, (rows, columns)).ravel()
    extra, jump, home, places = _lay_out_footprint(law, columns, rows)
    if users.sum() < _ENTRY * np.count_nonzero(users) * len(extra):
        answers = report_many(round, np.repeat(np.arange(users.size), users), world)
        return np.bincount(answers, minlength=law.domain.size).reshape(law.domain.shape)
    spare = int(extra.sum())
    counts = np.zeros(law.domain.size, np.int64)
    close = world.binomial(users, spare / law.total)
    if spare:
        at_once = max(1, _TABLE_MAX // len(extra))
        for begin in range(0, users.size, at_once):
            part = slice(begin, begin + at_once)
            table = world.multinomial(close[part], extra / spare)
            np.add.at(counts, home[part, None] + jump[None, :], table)
    wide = int(users.sum() - close.sum())
    counts[places] += world.multinomial(wide, np.full(len(places), 1 / len(places)))
    return counts.reshape(law.domain.shape)


def _lay_out_footprint(
    law: Footprint, columns: int, rows: int
) -> tuple[Whole, Whole, Whole, Whole]:
    """Return what each step weighs above far, the steps, where cells stand, the domain; flat."""
    wide = law.domain.shape[1]
    reach_y, reach_x = law.reach
    dy, dx = np.nonzero(law.weights > law.far)
    if not len(dy):  # every cell weighs the same, and no step is ever taken
        dy, dx = np.array([reach_y]), np.array([reach_x])
    extra = law.weights[dy, dx] - law.far
    jump = (dy - reach_y) * wide + dx - reach_x
    home = (np.arange(rows)[:, None] + reach_y) * wide + np.arange(columns) + reach_x
    return extra, jump, home.ravel(), np.flatnonzero(law.domain)
