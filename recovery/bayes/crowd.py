"""Many scenes side by side, each a few sources in cells: what a sampler of the posterior moves.

Scenes live in slots. A slot that is off stands in a cell beyond the last, whose column is
nothing, with no power. All arithmetic is over the whole crowd at once, in numpy.
"""

from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree
from scipy.special import gammaln

from ..cone import reduce
from ..estimators.record import Prior
from ..sequence import uniforms

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

# A direction in which all sources together move the readings by less than this many
# deviations of the noise says nothing.
_FAINT = 1e-4


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """Readings in the directions that carry anything, in deviations of the noise."""

    columns: Floats  # (cells + 1, r), what one unit of heat in the cell does; the last is 0
    readings: Floats  # (r,)
    silent: float  # half the square of what no scene explains, the same for all
    squares: Floats  # (cells,), squared lengths of the columns
    counted: Floats  # (slots + 1,), log prior of one arrangement of so many sources in slots
    low: float  # least power of a source
    high: float
    near: Whole  # (cells + 1, within), cells around each, filled up with the cell beyond
    room: Floats  # (cells + 1,), log of how many those are

    @property
    def cells(self) -> int:
        """How many cells a source can be in."""
        return len(self.squares)

    @property
    def slots(self) -> int:
        """The most sources."""
        return len(self.counted) - 1


def compress(
    operator: Floats,
    readings: Floats,
    sigma: float,
    places: Floats,
    prior: Prior,
    coolest: float,
) -> Problem:
    """Return the problem that readings and prior pose.

    Every set of cells of one size is as likely as every other, so one arrangement of k sources
    in K slots has the log prior  log (K - k)! + log k! + log (n - k)!, up to a constant.
    """
    cells = operator.shape[1]
    small = reduce(operator, readings)
    reach = np.sqrt(np.square(small.operator).sum(axis=1) * prior.most) * prior.warmest
    told = reach > _FAINT * sigma
    columns = np.zeros((cells + 1, int(told.sum())))
    columns[:cells] = small.operator[told].T / sigma
    numbers = np.arange(min(prior.most, cells) + 1)
    counted = gammaln(len(numbers) - numbers) + gammaln(numbers + 1) + gammaln(cells - numbers + 1)
    counted = np.where(numbers < prior.fewest, -np.inf, counted - counted.max())
    near = _around(places)
    return Problem(
        columns,
        small.readings[told] / sigma,
        0.5 * float(np.square(np.append(small.readings[~told], small.beyond)).sum()) / sigma**2,
        np.square(columns[:cells]).sum(axis=1),
        counted,
        coolest,
        prior.warmest,
        near,
        np.log(np.maximum((near < cells).sum(axis=1), 1)),
    )


def _around(places: Floats, most: int = 11) -> Whole:
    """Return the cells within one distance of each, about so many of them.

    One distance for all, so that whoever is near to another has it near.
    """
    cells = len(places)
    tree = KDTree(places)
    far = tree.query(places, k=[min(most, cells)])[0]
    found = tree.query_ball_point(places, float(np.median(far)) * (1 + 1e-9))
    near = np.full((cells + 1, max(map(len, found))), cells)
    for row, inside in zip(near, found, strict=False):
        row[: len(inside)] = inside
    return near


class Crowd:
    """Scenes that are moved together, and the walk along the fixed sequence that moves them."""

    def __init__(self, problem: Problem, scenes: int, stream: int) -> None:
        self.problem = problem
        self._streams = count(stream << 20)
        self.rows = np.arange(scenes)
        cells, slots = problem.cells, problem.slots
        allowed = np.flatnonzero(np.isfinite(problem.counted))
        numbers = allowed[(self.even() * len(allowed)).astype(int)]
        order = np.argsort(self.even(cells), axis=1)[:, :slots]
        # Which slots are on must not depend on their names, or births would outrun deaths.
        taken = np.argsort(np.argsort(self.even(slots), axis=1), axis=1) < numbers[:, None]
        self.cells: Whole = np.where(taken, order, cells)
        spread = problem.low + (problem.high - problem.low) * self.even(slots)
        self.powers: Floats = np.where(taken, spread, 0.0)
        self.residual = self._left()

    def even(self, *shape: int) -> Floats:
        """Return the next numbers of the sequence, (scenes, *shape)."""
        size = (len(self.rows), *shape)
        return uniforms(int(np.prod(size)), next(self._streams)).reshape(size)

    @property
    def numbers(self) -> Whole:
        """Sources in each scene, (scenes,)."""
        return np.asarray((self.cells < self.problem.cells).sum(axis=1))

    def log_likelihood(self) -> Floats:
        """Return what the readings say of each scene, (scenes,), up to a constant."""
        self.residual = self._left()
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

    def _left(self) -> Floats:
        explained = np.einsum("sk,skr->sr", self.powers, self.problem.columns[self.cells])
        return np.asarray(self.problem.readings - explained)


def pick(scores: Floats, even: Floats, widths: Any = 1.0) -> Whole:
    """Return one column a row, with the chance widths exp(scores), (rows,)."""
    weights = np.exp(scores - scores.max(axis=1, keepdims=True)) * widths
    sums = np.cumsum(weights, axis=1)
    found = (sums <= (even * sums[:, -1])[:, None]).sum(axis=1)
    return np.asarray(np.minimum(found, scores.shape[1] - 1))
