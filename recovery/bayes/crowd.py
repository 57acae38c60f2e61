"""Many scenes side by side, each a few sources in cells: what a sampler of the posterior moves.

Scenes live in slots. A slot that is off stands in a cell beyond the last, whose column is
nothing, with no power. All arithmetic is over the whole crowd at once, in numpy.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from typing import Any

import numpy as np
import scipy  # its parts are loaded when they are used
from numpy.typing import NDArray
from scipy.special import gammaln

from ..estimators.record import Seen
from ..l1 import prepare
from ..sequence import uniforms

# What readings and prior ask of a sampler, in the few directions that carry anything.

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

# A direction in which all sources together move the readings by less than this many
# deviations of the noise says nothing.
_FAINT = 1e-4
# Readings whose squares, in deviations of the noise, come to less leave the weights of proposals
# their digits in single precision, which takes half the time. Where powers are known what is
# proposed is taken, so there these weights are the law, and double.
_SINGLE = 1e5
# In exp() this is a weight that is added to others without a trace.
_NOTHING = -80.0
# Pairs of sources move among about so many cells around each.
_AROUND = 11


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """Readings in the directions that carry anything, in deviations of the noise."""

    columns: Floats  # (cells + 1, r), what one unit of heat in the cell does; the last is 0
    readings: Floats  # (r,)
    silent: float  # half the square of what no scene explains, the same for all
    squares: Floats  # (cells,), squared lengths of the columns
    sets: Floats  # (most + 1,), log of one over how many sets there are of so many sources
    low: float  # least power of a source
    high: float
    near: Whole  # (cells + 1, within), cells around each, filled up with the cell beyond
    room: Floats  # (cells + 1,), log of how many those are
    grid: Whole  # (cells + 1, 2), row and column of each
    at: Whole  # (rows, columns), the cell that is there; the one beyond where it is closed
    digits: type[np.floating[Any]]  # of what is proposed

    @property
    def cells(self) -> int:
        """How many cells a source can be in."""
        return len(self.squares)

    @property
    def most(self) -> int:
        """The most sources."""
        return len(self.sets) - 1


def make_problem(seen: Seen, coolest: float) -> Problem:
    """Return the problem that readings and prior pose, for powers from the coolest up."""
    prior, sigma = seen.prior, seen.sigma
    found = list_open_cells(seen)
    cells = len(found)
    ready = prepare(seen.operator[:, found])
    inside, beyond = ready.compress(seen.readings)
    reach = np.sqrt(np.square(ready.small).sum(axis=1) * prior.most) * prior.warmest
    told = reach > _FAINT * sigma
    columns = np.zeros((cells + 1, int(told.sum())))
    columns[:cells] = ready.small[told].T / sigma
    numbers = np.arange(min(prior.most, cells) + 1)
    sets = gammaln(numbers + 1) + gammaln(cells - numbers + 1) - gammaln(cells + 1)
    sets = np.where(numbers < prior.fewest, -np.inf, sets)
    # Only sources that can share their heat split and merge.
    near = _find_near_cells(seen.places[found] if coolest < prior.warmest else seen.places[:0])
    at = np.full(seen.shape, cells)
    at.flat[found] = np.arange(cells)
    grid = np.zeros((cells + 1, 2), dtype=np.int64)
    grid[:-1] = np.argwhere(at < cells)
    loudest = float(np.square(inside[told] / sigma).sum())
    return Problem(
        columns,
        inside[told] / sigma,
        0.5 * float(np.square(np.append(inside[~told], beyond) / sigma).sum()),
        np.square(columns[:cells]).sum(axis=1),
        sets,
        coolest,
        prior.warmest,
        near,
        np.log(np.maximum((near < cells).sum(axis=1), 1)),
        grid,
        at,
        np.float32 if loudest < _SINGLE and coolest < prior.warmest else np.float64,
    )


def list_open_cells(seen: Seen) -> Whole:
    """Return the cells in which a source can be."""
    return np.arange(math.prod(seen.shape)) if seen.open is None else np.flatnonzero(seen.open)


def _find_near_cells(places: Floats) -> Whole:
    """Return the cells within one distance of each, about so many of them.

    One distance for all, so that whoever is near to another has it near.
    """
    cells = len(places)
    if not cells:
        return np.zeros((1, 0), dtype=np.int64)
    if places.shape[1] == 1:
        # The nearest are next to each other, in one of so many stretches that hold the cell.
        line, many = places[:, 0], min(_AROUND, cells)
        first = np.clip(np.arange(cells)[:, None] + np.arange(1 - many, 1), 0, cells - many)
        far = np.maximum(line[:, None] - line[first], line[first + many - 1] - line[:, None])
        radius = float(np.median(far.min(axis=1))) * (1 + 1e-9)
        begin, end = np.searchsorted(line, line - radius), np.searchsorted(line, line + radius)
        around = begin[:, None] + np.arange((end - begin).max())
        around = np.where(around < end[:, None], around, cells)
        return np.pad(around, ((0, 1), (0, 0)), constant_values=cells)
    # Loaded here, for along a line nothing needs it, and it takes a tenth of a second.
    from scipy.spatial import KDTree

    tree = KDTree(places)
    far = tree.query(places, k=[min(_AROUND, cells)])[0]
    found = tree.query_ball_point(places, float(np.median(far)) * (1 + 1e-9))
    near = np.full((cells + 1, max(map(len, found))), cells)
    for row, inside in zip(near, found, strict=False):
        row[: len(inside)] = inside
    return near


@lru_cache(maxsize=4)
def _draw_scenes_of_prior(
    cells: int, sets: bytes, low: float, high: float, scenes: int, stream: int
) -> tuple[Whole, Floats, Any]:
    """Return cells and powers of scenes of the prior, (scenes, most), and all heat, sparse."""
    known = np.frombuffer(sets)
    most, allowed = len(known) - 1, np.flatnonzero(np.isfinite(known))
    even = uniforms(scenes * (2 * most + 1), stream).reshape(2 * most + 1, scenes)
    numbers = allowed[(even[-1] * len(allowed)).astype(np.int64)]
    where = np.full((scenes, most), cells)
    for slot in range(most):
        # Every set of so many cells is as likely: who meets another takes the last there is.
        last = cells - numbers + slot
        drawn = (even[slot] * (last + 1)).astype(np.int64)
        met = (where[:, :slot] == drawn[:, None]).any(axis=1)
        where[:, slot] = np.where(slot < numbers, np.where(met, last, drawn), cells)
    there = where < cells
    powers = np.where(there, low + (high - low) * even[most:-1].T, 0.0)
    upto = np.append(0, np.cumsum(numbers))
    heat = scipy.sparse.csr_array((powers[there], where[there], upto), shape=(scenes, cells))
    where.flags.writeable = powers.flags.writeable = False  # kept, and handed out again
    return where, powers, heat


class Crowd:
    """Scenes that are moved together, and the walk along the fixed sequence that moves them."""

    def __init__(self, problem: Problem, scenes: int, stream: int) -> None:
        self.problem = problem
        self._streams = count((stream << 20) + 1)
        self.rows = np.arange(scenes)
        prior = problem.cells, problem.sets.tobytes(), problem.low, problem.high
        self.cells, self.powers, heats = _draw_scenes_of_prior(*prior, scenes, stream << 20)
        self.residual: Floats = problem.readings - heats @ problem.columns[:-1]

    def draw_uniforms(self, *shape: int) -> Floats:
        """Return the next numbers of the sequence, (scenes, *shape)."""
        size = (len(self.rows), *shape)
        return uniforms(math.prod(size), next(self._streams)).reshape(size)

    @property
    def numbers(self) -> Whole:
        """Sources in each scene, (scenes,)."""
        return np.asarray((self.cells < self.problem.cells).sum(axis=1))

    def shuffle_slots(self) -> None:
        """Go on with one slot more than any scene needs, each scene in slots of any order.

        Which slots are on must not depend on their names, or births would outrun deaths. One
        arrangement of k sources in K slots is one of K! / (K - k)! of the same set.
        """
        slots = min(int(self.numbers.max()) + 1, self.problem.most)
        if slots > self.cells.shape[1]:
            missing = ((0, 0), (0, slots - self.cells.shape[1]))
            self.cells = np.pad(self.cells, missing, constant_values=self.problem.cells)
            self.powers = np.pad(self.powers, missing)
        first = np.argsort(self.cells == self.problem.cells, axis=1, kind="stable")[:, :slots]
        order = np.argsort(self.draw_uniforms(slots), axis=1)
        order = first[self.rows[:, None], order]
        self.cells = self.cells[self.rows[:, None], order]
        self.powers = self.powers[self.rows[:, None], order]
        numbers = np.arange(slots + 1)
        self.counted = self.problem.sets[: slots + 1] + gammaln(slots - numbers + 1)
        self.residual = self.compute_residual(self.cells, self.powers)

    def compute_log_likelihood(self) -> Floats:
        """Return what the readings say of each scene, (scenes,), up to a constant."""
        return np.asarray(-0.5 * np.square(self.residual).sum(axis=1))

    def compute_residual_without(self, slot: Whole) -> Floats:
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

    def compute_residual(self, cells: Whole, powers: Floats) -> Floats:
        """Return the readings that such scenes do not explain, (scenes, r)."""
        explained = powers[:, None] @ self.problem.columns.take(cells, axis=0)
        return np.asarray(self.problem.readings - explained[:, 0])


def draw_columns(scores: Floats, even: Floats, widths: Floats | None = None) -> Whole:
    """Return one column a row, with the chance widths exp(scores), (rows,)."""
    weights = scores - scores.max(axis=1, keepdims=True)
    # Lower weights count for nothing, and have few digits, with which a processor is slow.
    np.exp(np.maximum(weights, _NOTHING, out=weights), out=weights)
    if widths is not None:
        weights *= widths
    # Whole numbers are summed several times as fast: a sum of others waits for each digit.
    whole, parts = (np.int32, 2.0**30) if weights.dtype == np.float32 else (np.int64, 2.0**52)
    weights /= weights.sum(axis=1, keepdims=True)
    weights *= parts
    sums = weights.astype(whole)
    np.cumsum(sums, axis=1, out=sums)
    wanted = np.minimum(even * sums[:, -1], sums[:, -1] - 1).astype(whole)
    return np.asarray((sums > wanted[:, None]).argmax(axis=1))
