"""Every possible set of a few equally warm sources, with its chance, written out.

What has no order along a line, as a plane, needs the sets themselves and not only their sums.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .enumerate import Scores, sets_of

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

LISTED_MAX = 300_000


@dataclass(frozen=True, slots=True, eq=False)
class Listed:
    """The posterior, set by set.

    Args:
        sets: (sets, most), the cells of each set in order; -1 where it has fewer sources.
        chances: (sets,), adding to one.
        log_evidence: logarithm of the readings' density over that without any source.
    """

    sets: Whole
    chances: Floats
    log_evidence: float

    @property
    def numbers(self) -> Floats:
        """The chance of each number of sources, from none upwards, (most + 1,)."""
        sizes = (self.sets >= 0).sum(axis=1)
        return np.asarray(np.bincount(sizes, self.chances, self.sets.shape[1] + 1), np.float64)

    def present(self, cells: int) -> Floats:
        """Return the chance that a source stands in the cell, (cells,)."""
        row, place = np.nonzero(self.sets >= 0)
        return np.asarray(np.bincount(self.sets[row, place], self.chances[row], cells), np.float64)


def listed(found: Scores, fewest: int, most: int, open: NDArray[np.bool_] | None = None) -> Listed:
    """Return every set of fewest to most open cells with its chance.

    Every number is as likely as any other, and every set of that many open cells.

    Args:
        found: what decides between sets.
        fewest, most: sources.
        open: (cells,), where a source can be; None for everywhere.

    Raises:
        ValueError: there are too many sets to be written out, or fewer open cells than sources.
    """
    kept = np.arange(len(found.gain)) if open is None else np.flatnonzero(open)
    most = min(most, len(kept))
    if not 0 <= fewest <= most or sets_of(len(kept), fewest, most) > LISTED_MAX:
        raise ValueError(
            f"{fewest} to {most} sources in {len(kept)} open cells were to be listed but at most "
            f"{LISTED_MAX} sets are, and no more sources than cells: more take too long and too "
            "much memory. Sample the posterior, or join cells."
        )
    gain, cross = found.gain[kept], found.cross[np.ix_(kept, kept)]
    # The -1 that stands for no source picks the last of these, whatever it is, and is put back.
    names = np.append(kept, -1)
    sets, logs = [], []
    grown, likelihood = np.zeros((1, 0), np.int64), np.zeros(1)
    for number in range(most + 1):
        if number:
            grown, likelihood = _grown(grown, likelihood, gain, cross)
        if number >= fewest:
            empty = np.full((len(grown), most - number), -1)
            sets.append(names[np.hstack([grown, empty])])
            logs.append(likelihood - math.log(len(grown)))
    weights = np.concatenate(logs) - math.log(most + 1 - fewest)
    highest = float(weights.max())
    chances = np.exp(weights - highest)
    total = float(chances.sum())
    return Listed(np.vstack(sets), chances / total, highest + math.log(total))


def _grown(sets: Whole, logs: Floats, gain: Floats, cross: Floats) -> tuple[Whole, Floats]:
    """Return every set with one more cell, behind its last one, and its likelihood."""
    last = sets[:, -1] if sets.shape[1] else np.full(len(sets), -1)
    times = len(gain) - 1 - last
    row = np.repeat(np.arange(len(sets)), times)
    cell = np.arange(len(row)) - np.repeat(np.cumsum(times) - times, times) + last[row] + 1
    grown = logs[row] + gain[cell]
    for place in range(sets.shape[1]):
        grown -= cross[sets[row, place], cell]
    return np.column_stack([sets[row], cell]), grown
