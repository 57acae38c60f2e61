"""The map of a few crowded cells on a ground: what no smooth map draws, and how probable it is.

    f = w_0 ground + sum over j of w_j (all of it in cell j)

Cells are added one by one where a step of expectation maximisation would multiply most, moved to a
neighbour where that is likelier, and dropped where they get no weight. How many there are is for
the evidence to say: every set of k cells of N is as probable as any other, every k is half as
probable as the one before, weights are even on their simplex, and their integral is Laplace's. So
an even map has the evidence of its likelihood, and a lone cell costs little more than which it is.
A ground that gets no weight is left out of the integral, too: what it costs that it might have had
some, ln (answers / cells) nats at the most, is not counted.

Source: Lindsay 1983, for the gradient that says where mass is missing; Kass and Raftery 1995,
Section 4.1, for the evidence.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .channel import Channel
from .em_cells import Search
from .em_weights import NO_WEIGHT, fitted

Floats = NDArray[np.float64]

CELLS_MAX = 24
_PATIENCE = 3  # cells more that are tried while they do not pay


@dataclass(frozen=True, slots=True, eq=False)
class Crowded:
    """A ground and its crowded cells."""

    ground: Floats  # (rows, columns), adds to one
    cells: tuple[int, ...]  # row by row
    weights: Floats  # (1 + cells,), the ground's first; nought where there is none of it
    covariance: Floats  # (1 + cells, 1 + cells), of the weights
    places: Floats  # (cells, rows * columns): the chance that this one is there
    evidence: float  # in nats, comparable with `em_posterior`'s

    @property
    def mass(self) -> Floats:
        """The map to expect, (rows, columns)."""
        return np.asarray((self.weights @ self._parts).reshape(self.ground.shape))

    @property
    def variances(self) -> Floats:
        """The mean square by which each share may be off, (rows, columns): of weight and place."""
        parts, squares = self._parts, np.square(self.weights) + np.diag(self.covariance)
        of_weight = np.einsum("ip,ij,jp->p", parts, self.covariance, parts)
        of_place = squares[1:] @ (self.places * (1 - self.places))
        return np.asarray(np.maximum(of_weight + of_place, 0.0).reshape(self.ground.shape))

    @property
    def _parts(self) -> Floats:
        return np.vstack([self.ground.reshape(1, -1), self.places])


def crowded(channel: Channel, counts: Floats, ground: Floats, hoped: float = -np.inf) -> Crowded:
    """Return the crowded cells on a ground that have the most evidence; there are answers.

    Args:
        counts: answers at each place of the outer array.
        ground: (rows, columns), adds to one.
        hoped: evidence of another map: where cells gain too slowly to reach it, no more are tried.
    """
    search = Search(channel, counts, ground)
    size = channel.rows * channel.columns
    cells: list[int] = []
    weights = np.ones(1)
    best = (search.evidence(cells, weights), cells, weights)
    last, tries = best[0], 0
    while len(cells) < min(CELLS_MAX, size) and tries < _PATIENCE:
        cells = [*cells, search.missing(cells, weights)]
        weights = fitted(search.laws(cells), search.seen, np.append(0.98 * weights, 0.02))
        cells, weights = search.moved(cells, weights)
        kept = [at for at in range(len(cells)) if weights[at + 1] > NO_WEIGHT]
        cells, weights = [cells[at] for at in kept], weights[[0, *(at + 1 for at in kept)]]
        found = search.evidence(cells, weights)
        gained, last = found - last, found
        tries = 0 if found > best[0] else tries + 1
        best = max(best, (found, cells, weights), key=lambda one: one[0])
        if gained > 0 and found + gained * (CELLS_MAX - len(cells)) < hoped:
            break
    evidence, cells, weights = best
    places, more = search.places(cells, weights)
    covariance = search.covariance(cells, weights)
    return Crowded(ground, tuple(cells), weights, covariance, places, evidence + more)
