"""One set of crowded cells on a ground: its laws, where mass is missing, and what speaks for it.

Source: Lindsay 1983, Section 4, for the gradient; Kass and Raftery 1995, Section 4.1, for the
integral over the weights, which is Laplace's.
"""

import itertools
import math

import numpy as np
import scipy  # its parts are loaded when they are used
from numpy.typing import NDArray

from .channel import Channel
from .em_weights import NO_WEIGHT, fitted

Floats = NDArray[np.float64]

_MOVES_MAX = 30
_ENOUGH = 1e-3  # nats: less changes no choice
_SURE = 12.0  # nats by which every neighbour is less likely, for a cell to be beyond doubt
_ELSEWHERE_MAX = 2_000_000  # chances that are looked at to say where else one cell may be


class Search:
    """The answers, and the laws of the ground and of every cell that was thought of."""

    def __init__(self, channel: Channel, counts: Floats, ground: Floats) -> None:
        self.channel, self.counts, self.some = channel, counts, counts.ravel() > 0
        self.seen = counts.ravel()[self.some]
        self._known = {-1: channel.forward(ground).ravel()[self.some]}

    def law(self, cell: int) -> Floats:
        """Return the chance of each answer that was given, from a cell; -1 is the ground."""
        if cell not in self._known:
            y, x = divmod(cell, self.channel.columns)
            law: Floats = self.channel.base * self.channel.support.astype(np.float64)
            high, wide = self.channel.kernel.shape
            law[y : y + high, x : x + wide] += self.channel.kernel
            self._known[cell] = law.ravel()[self.some]
        return self._known[cell]

    def laws(self, cells: list[int]) -> Floats:
        """Return those of the ground and of some cells, (answers, 1 + cells)."""
        return np.column_stack([self.law(cell) for cell in (-1, *cells)])

    def missing(self, cells: list[int], weights: Floats) -> int:
        """Return the cell that a step of expectation maximisation would multiply most."""
        gains = self.channel.adjoint(self.counts * self._over(cells, weights)).ravel()
        gains[cells] = 0
        return int(gains.argmax())

    def moved(self, cells: list[int], weights: Floats) -> tuple[list[int], Floats]:
        """Return cells and weights after every move to a neighbour that gains."""
        for _ in range(_MOVES_MAX):
            over = self._over(cells, weights)
            moves = [
                (gained, at, near)
                for at, cell in enumerate(cells)
                if weights[at + 1] > NO_WEIGHT
                for gained, near in self._elsewhere(over, cell, weights[at + 1], 1)
                if near not in cells
            ]
            gained, at, near = max(moves, default=(0.0, 0, 0))
            if gained <= _ENOUGH:
                break
            cells = [*cells[:at], near, *cells[at + 1 :]]
            weights = fitted(self.laws(cells), self.seen, np.maximum(weights, 1e-3))
        return cells, weights

    def _over(self, cells: list[int], weights: Floats) -> Floats:
        """Return one over the chance of each answer that was given, nought for the others."""
        found = np.zeros(self.counts.shape)
        found.ravel()[self.some] = 1 / (self.laws(cells) @ weights)
        return found

    def _elsewhere(
        self, over: Floats, cell: int, weight: float, far: int
    ) -> list[tuple[float, int]]:
        """Return by how many nats it is likelier that one stands elsewhere, up to so far off."""
        y, x = divmod(cell, self.channel.columns)
        rows = range(max(0, y - far), min(self.channel.rows, y + far + 1))
        columns = range(max(0, x - far), min(self.channel.columns, x + far + 1))
        kernel, top, left = self.channel.kernel, rows[0], columns[0]
        high, wide = kernel.shape
        # Beyond this window none of these cells has another law than any other of them.
        window = np.s_[top : rows[-1] + high, left : columns[-1] + wide]
        here = np.zeros(self.counts[window].shape)
        some = np.flatnonzero(self.counts[window])
        counts, over = self.counts[window].ravel()[some], weight * over[window].ravel()[some]
        found = []
        here[y - top : y - top + high, x - left : x - left + wide] = kernel
        for v, u in itertools.product(rows, columns):
            change = -here
            change[v - top : v - top + high, u - left : u - left + wide] += kernel
            more = change.ravel()[some] * over
            gained = float(counts @ np.log1p(np.maximum(more, -1 + 1e-12)))
            found.append((gained, v * self.channel.columns + u))
        return found

    def places(self, cells: list[int], weights: Floats) -> tuple[Floats, float]:
        """Return where each one may be, and by how many nats that is more than where it is."""
        found = np.zeros((len(cells), self.channel.rows * self.channel.columns))
        over, more = self._over(cells, weights), 0.0
        far = max(1, int(math.sqrt(_ELSEWHERE_MAX / len(self.seen)) / 2))
        for at, cell in enumerate(cells):
            near = self._elsewhere(over, cell, weights[at + 1], 1)
            if max((gain for gain, other in near if other != cell), default=-_SURE) > -_SURE:
                near = self._elsewhere(over, cell, weights[at + 1], far)
            gains = np.array([gain for gain, _ in near])
            chances = np.exp(gains - gains.max())
            more += float(gains.max() + np.log(chances.sum()))
            found[at, [other for _, other in near]] = chances / chances.sum()
        return found, more

    def covariance(self, cells: list[int], weights: Floats) -> Floats:
        """Return that of the weights, which add to one, (1 + cells, 1 + cells)."""
        used, tangent, bent = self._bent(cells, weights)
        found = np.zeros((len(weights), len(weights)))
        found[np.ix_(used, used)] = tangent @ np.linalg.inv(bent) @ tangent.T
        return found

    def evidence(self, cells: list[int], weights: Floats) -> float:
        """Return the logarithm of the answers' chance under these cells, and of theirs."""
        worth = float(self.seen @ np.log(self.laws(cells) @ weights))
        bent = self._bent(cells, weights)[2]
        integral = math.lgamma(len(bent) + 1) + len(bent) / 2 * math.log(2 * math.pi)
        integral -= float(np.linalg.slogdet(bent)[1]) / 2
        count, size = len(cells), self.channel.rows * self.channel.columns
        sets = math.lgamma(size + 1) - math.lgamma(count + 1) - math.lgamma(size - count + 1)
        return worth + integral - sets - (count + 1) * math.log(2)

    def _bent(self, cells: list[int], weights: Floats) -> tuple[NDArray[np.intp], Floats, Floats]:
        """Return which weights are some, the directions that keep their sum, and how bent."""
        used = np.flatnonzero(weights > NO_WEIGHT)
        laws = self.laws(cells)
        once = laws[:, used] / (laws @ weights)[:, None] * np.sqrt(self.seen)[:, None]
        tangent = np.vstack([-np.ones((1, len(used) - 1)), np.eye(len(used) - 1)])
        bent = tangent.T @ (once.T @ once) @ tangent
        return used, tangent, _known(bent)


def _known(bent: Floats) -> Floats:
    """Return how bent it is, no direction less than before any answer.

    Weights that are even on the simplex of k + 1 have the density k!, and the normal density of
    that height whose axes are the simplex's has the precision

        2 pi (k!**2 / (k + 1))**(1 / k) tangent' tangent

    Few answers tell less of some directions, and an integral wider than the simplex would count
    weights that cannot be: an average is never more than the most that it is of.
    """
    size = len(bent)
    if not size:
        return bent
    before = np.eye(size) + 1
    before *= 2 * math.pi * math.exp((2 * math.lgamma(size + 1) - math.log(size + 1)) / size)
    values, ways = scipy.linalg.eigh(bent, before)
    back = before @ ways
    return np.asarray((back * np.maximum(values, 1)) @ back.T)
