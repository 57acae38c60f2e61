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

import itertools
import math
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from .channel import Channel

# The likeliest weights of a few laws.
#
#     -sum counts ln(laws w) + n sum w   is least over w >= 0 where the likelihood is over maps,
#
# and its quadratic model at w, with b = laws' (counts / g) and H = laws' diag(counts / g**2) laws,
# is v' H v / 2 - (2 b - n)' v: a least-squares problem without negative weights. A few such steps
# end where expectation maximisation needs thousands, for laws that are nearly alike.
#
# Source: Kim, Carbonetto, Stephens and Anitescu 2020, Section 3, equations 6 to 9.


Floats = NDArray[np.float64]

NO_WEIGHT = 1e-9
_STEPS_MAX = 30
_ENOUGH = 1e-4  # nats


def fit(laws: Floats, counts: Floats, weights: Floats) -> Floats:
    """Return the weights, not negative and adding to one, that are likeliest.

    Args:
        laws: (answers, weights), the chance of each answer under each law; positive.
        counts: (answers,), how often each was given; positive.
        weights: (weights,), to begin with; not all nought.
    """
    reports = float(counts.sum())

    def lost(weights: Floats) -> float:
        return reports * float(weights.sum()) - float(counts @ np.log(laws @ weights))

    height = lost(weights)
    for _ in range(_STEPS_MAX):
        once = laws / (laws @ weights)[:, None]
        bent = (once * counts[:, None]).T @ once
        # Two laws that are the same leave a direction free.
        bent += 1e-10 * np.trace(bent) / len(bent) * np.eye(len(bent))
        root = scipy.linalg.cholesky(bent)
        wanted = scipy.linalg.solve_triangular(root.T, 2 * (counts @ once) - reports, lower=True)
        aim = scipy.optimize.nnls(root, wanted)[0]
        share, gained = 2.0, -1.0
        while not gained >= 0 and share > 1e-6:
            share /= 2
            tried = weights + share * (aim - weights)
            gained = height - lost(tried) if tried.any() else -1.0
        if gained < 0:
            break
        weights, height = tried, height - gained
        if gained < _ENOUGH:
            break
    return np.asarray(weights / weights.sum())


# One set of crowded cells on a ground: its laws, where mass is missing, and what speaks for it.
#
# Source: Lindsay 1983, Section 4, for the gradient; Kass and Raftery 1995, Section 4.1, for the
# integral over the weights, which is Laplace's.


_MOVES_MAX = 30
_CELLS_ENOUGH = 1e-3  # nats: less changes no choice
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
            if gained <= _CELLS_ENOUGH:
                break
            cells = [*cells[:at], near, *cells[at + 1 :]]
            weights = fit(self.laws(cells), self.seen, np.maximum(weights, 1e-3))
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
        return used, tangent, _bound_below(bent)


def _bound_below(bent: Floats) -> Floats:
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
    evidence: float  # in nats, comparable with `smooth_map`'s

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


def find_crowded(
    channel: Channel, counts: Floats, ground: Floats, hoped: float = -np.inf
) -> Crowded:
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
        weights = fit(search.laws(cells), search.seen, np.append(0.98 * weights, 0.02))
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


# Sums over squares of cells, and the chance of each square of answers from each square of cells.
#
# A large map's channel is a matrix too large to write, and a coarse one is written from sums of
# its kernel: a table of these, read at the squares' edges, does what a transform a square would.
#
# Source: Crow 1984, for the table ("summed-area").


def block_chances(
    channel: Channel, tops: NDArray[np.int_], lefts: NDArray[np.int_], step: int, block: int
) -> Floats:
    """Return the chance of every block of answers from every square of cells, (blocks, squares).

    Args:
        tops, lefts: the first rows and columns of the squares of `step` cells, the last smaller.
        block: cells along a side of what answers are summed over; those never answered are left
            out.
    """
    high, wide = channel.support.shape
    support = in_blocks(channel.support.astype(np.float64), block)
    kept = support.ravel() > 0
    edges = [np.append(np.arange(0, size, block), size) for size in (high, wide)]
    tables: dict[tuple[int, int], Floats] = {}
    found = np.empty((int(kept.sum()), len(tops) * len(lefts)))
    for place in range(found.shape[1]):
        corner = tops[place // len(lefts)], lefts[place % len(lefts)]
        size = min(step, channel.rows - corner[0]), min(step, channel.columns - corner[1])
        if size not in tables:
            tables[size] = _sums(channel.kernel, size)
        table = tables[size]
        y, x = (np.clip(edges[at] - corner[at], 0, table.shape[at] - 1) for at in (0, 1))
        sums = np.diff(np.diff(table[np.ix_(y, x)], axis=0), axis=1)
        found[:, place] = (sums + channel.base * support).ravel()[kept]
    return found


def _sums(kernel: Floats, size: tuple[int, int]) -> Floats:
    """Return the sums above and left of every place of a kernel that is spread over a square."""
    spread = kernel / (size[0] * size[1])
    for axis, length in enumerate(size):
        around = [(0, 0), (0, 0)]
        around[axis] = (length, length - 1)
        sums = np.cumsum(np.pad(spread, around), axis=axis)
        spread = _apart(sums, length, axis)
    return np.pad(np.cumsum(np.cumsum(spread, axis=0), axis=1), ((1, 0), (1, 0)))


def _apart(sums: Floats, length: int, axis: int) -> Floats:
    """Return by how much sums grow over a length."""
    whole = sums.shape[axis]
    return np.asarray(
        np.take(sums, range(length, whole), axis) - np.take(sums, range(whole - length), axis)
    )


def in_blocks(values: Floats, step: int) -> Floats:
    """Return the sums over squares of so many cells a side, the last ones smaller."""
    rows = np.add.reduceat(values, np.arange(0, values.shape[0], step), axis=0)
    return np.add.reduceat(rows, np.arange(0, values.shape[1], step), axis=1)
