"""What many users would answer to a disk Round at once: the law of `edge.disk.report`, by numpy.

For experiments only, never for a release: a numpy Generator is no source of private noise. The
law is that of the device to the last whole number, because the weights are: one whole number
below their total is drawn for a user, and says where the answer lies.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from edge.records import Round

from .footprint import Footprint, footprint

Whole = NDArray[np.int64]

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
    law = footprint(round)
    columns, rows = round.grid.shape
    at = checked_cells(cells, columns * rows)
    extra, jump, home, places = _laid_out(law, columns, rows)
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
    law = footprint(round)
    columns, rows = round.grid.shape
    users = checked_histogram(histogram, (rows, columns)).ravel()
    extra, jump, home, places = _laid_out(law, columns, rows)
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


def _laid_out(law: Footprint, columns: int, rows: int) -> tuple[Whole, Whole, Whole, Whole]:
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


def checked_cells(cells: ArrayLike, count: int) -> Whole:
    """Return flat cells as whole numbers, (n,).

    Raises:
        ValueError: cells that are not whole or not of the grid.
    """
    at = np.asarray(cells)
    whole = np.issubdtype(at.dtype, np.integer) or not at.size
    if not whole or at.ndim != 1 or (at.size and not 0 <= at.min() <= at.max() < count):
        raise ValueError(
            f"cells are {at.dtype} of shape {at.shape} but must be whole numbers (n,) from 0 to "
            f"{count - 1}: each names a cell of the grid, row by row. physics.points.cells_of "
            "makes them from points."
        )
    return at.astype(np.int64, copy=False)


def checked_histogram(histogram: ArrayLike, shape: tuple[int, ...]) -> Whole:
    """Return the histogram as whole numbers.

    Raises:
        ValueError: another shape, or not whole numbers from 0 on.
    """
    users = np.asarray(histogram)
    if users.shape != shape or not np.issubdtype(users.dtype, np.integer) or (users < 0).any():
        raise ValueError(
            f"the histogram is {users.dtype} of shape {users.shape} but must be whole numbers "
            f"from 0 on, {shape}: so many users stand in each cell. Take "
            "physics.points.histogram on the Round's grid."
        )
    return users.astype(np.int64, copy=False)
