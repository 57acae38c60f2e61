"""Many scenes side by side, each a few sources in cells: what a sampler of the posterior moves.

Scenes live in slots. A slot that is off stands in a cell beyond the last, whose column is
nothing, with no power. All arithmetic is over the whole crowd at once, in numpy.
"""

import math
from itertools import count

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from ..sequence import uniforms
from .problem import Problem

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

# From so many cells on the sampling takes longer than loading a compiler.
MANY_CELLS = 1000


class Crowd:
    """Scenes that are moved together, and the walk along the fixed sequence that moves them."""

    def __init__(self, problem: Problem, scenes: int, stream: int) -> None:
        self.problem = problem
        self._streams = count(stream << 20)
        self.rows = np.arange(scenes)
        allowed = np.flatnonzero(np.isfinite(problem.sets))
        numbers = allowed[(self.even() * len(allowed)).astype(np.int64)]
        order = np.argsort(self.even(problem.cells), axis=1)[:, : problem.most]
        taken = np.arange(problem.most) < numbers[:, None]
        self.cells: Whole = np.where(taken, order, problem.cells)
        spread = problem.low + (problem.high - problem.low) * self.even(problem.most)
        self.powers: Floats = np.where(taken, spread, 0.0)
        self.reseat()

    def even(self, *shape: int) -> Floats:
        """Return the next numbers of the sequence, (scenes, *shape)."""
        size = (len(self.rows), *shape)
        return uniforms(math.prod(size), next(self._streams)).reshape(size)

    @property
    def numbers(self) -> Whole:
        """Sources in each scene, (scenes,)."""
        return np.asarray((self.cells < self.problem.cells).sum(axis=1))

    def reseat(self) -> None:
        """Go on with one slot more than any scene needs, each scene in slots of any order.

        Which slots are on must not depend on their names, or births would outrun deaths. One
        arrangement of k sources in K slots is one of K! / (K - k)! of the same set.
        """
        slots = min(int(self.numbers.max()) + 1, self.problem.most)
        missing = ((0, 0), (0, max(slots - self.cells.shape[1], 0)))
        self.cells = np.pad(self.cells, missing, constant_values=self.problem.cells)
        self.powers = np.pad(self.powers, missing)
        first = np.argsort(self.cells == self.problem.cells, axis=1, kind="stable")[:, :slots]
        order = np.argsort(self.even(slots), axis=1)
        order = first[self.rows[:, None], order]
        self.cells = self.cells[self.rows[:, None], order]
        self.powers = self.powers[self.rows[:, None], order]
        numbers = np.arange(slots + 1)
        self.counted = self.problem.sets[: slots + 1] + gammaln(slots - numbers + 1)
        self.residual = self.left(self.cells, self.powers)

    def log_likelihood(self) -> Floats:
        """Return what the readings say of each scene, (scenes,), up to a constant."""
        return np.asarray(-0.5 * np.square(self.residual).sum(axis=1))

    def without(self, slot: Whole) -> Floats:
        """Return what is left of the readings once the slot is off, (scenes, r)."""
        heat = self.powers[self.rows, slot][:, None]
        return np.asarray(self.residual + heat * self.problem.columns[self.cells[self.rows, slot]])

    def put(self, slot: Whole, cells: Whole, powers: Floats, left: Floats) -> None:
        """Put a source into the slot, which was off when so much was left."""
        self.cells[self.rows, slot] = cells
        self.powers[self.rows, slot] = powers
        self.residual = left - powers[:, None] * self.problem.columns[cells]

    def keep(self, chosen: Whole) -> None:
        """Go on with these scenes alone."""
        self.cells, self.powers = self.cells[chosen], self.powers[chosen]
        self.residual = self.residual[chosen]
        self.rows = np.arange(len(chosen))

    def left(self, cells: Whole, powers: Floats) -> Floats:
        """Return the readings that such scenes do not explain, (scenes, r)."""
        explained = np.einsum("sk,skr->sr", powers, self.problem.columns[cells])
        return np.asarray(self.problem.readings - explained)


def pick(scores: Floats, even: Floats, widths: Floats | None = None) -> Whole:
    """Return one column a row, with the chance widths exp(scores), (rows,)."""
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    if widths is not None:
        weights *= widths
    sums = np.cumsum(weights, axis=1)
    found = (sums <= (even * sums[:, -1])[:, None]).sum(axis=1)
    return np.asarray(np.minimum(found, scores.shape[1] - 1))
