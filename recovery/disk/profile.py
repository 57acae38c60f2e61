"""What share of all people a block of cells may hold: every share that some map has which fits.

    Q(f) = sum over answers of (c - n P f)**2 / (n g),   f^ = argmin Q over f >= 0, sum f = 1
    [low, high] = least and greatest w.f over { f >= 0, sum f = 1, Q(f) <= Q(f^) + q }

with w one in the block, g the law of the map that EM draws, and q the quantile of chi-square with
one degree of freedom. At the upper end it is that of (1 + level) / 2: what noise fills of empty
cells is taken from the full ones, and on crowds of few points all misses were above. Nothing is
held of a map beforehand, so what the answers cannot tell comes out as width: where a smooth
posterior covers one occupied cell in six, this covers nine in ten.

An end is read off the dual, for every a, so that what is stopped early is wider and never wrong:

    w.f <= a.c / n + sqrt((Q(f^) + q) / n) |a|_g + max over cells (w - P'a),  |a|_g**2 = sum g a**2

Nought is within a block's interval unless the maps with nobody there are refuted. Where the truth
is nought in many cells each catches a little noise: given how many cells of the block f^ fills, m,
what that gains is chi-square with m degrees of freedom, and it must be beyond that (Wollak 1987).
The same holds for everybody and the cells beyond the block.

Differs from what is proven: that q is chi-square's is no theorem (Batlle et al. 2023); coverage
was measured (`tests/bench/bench_places.py`).

Source: Rust and Burrus 1972, for one block at a time; Lawson and Hanson 1974, Section 23.3, for
least squares without negative shares.
"""

import math
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from ..maps.heatmap import Blocks
from .channel import Channel, answers_of

Floats = NDArray[np.float64]
Cells = NDArray[np.intp]

_WRITTEN_MAX = 1024  # cells up to which every pair of them is weighed beforehand
_ANSWERS_MAX = 2500  # places of answers on a larger map: then they are summed over squares
_TURNS_MAX = 200
_AT_ONCE = 8  # cells that are taken up in one turn
_SLACK = 0.005  # of q, by which a step may be off: half of a hundredth of an interval
_NEAR = 0.85  # of sqrt(q), or one over it: there the bound is at most a hundredth too wide


_BLOCKS_MAX = (256, 64)  # of a map whose pairs are weighed, and of a larger one


class Shares(NamedTuple):
    """A map with few cells filled, and how badly it fits."""

    cells: Cells
    values: Floats  # (cells,), positive, add to one
    loss: float  # Q

    def of(self, block: NDArray[np.bool_]) -> float:
        """Return the share of a block."""
        return float(self.values[block[self.cells]].sum())


class Profile:
    """The answers, ready to be asked for blocks: masks over the cells, flat.

    Args:
        channel: what gave the answers.
        counts: answers at each place of the outer array; there are some.
        mass: (rows, columns), the map that weighs them: EM's.
        level: the chance with which an interval holds the share.
    """

    def __init__(self, channel: Channel, counts: Floats, mass: Floats, level: float) -> None:
        self.channel, self.level, self.reports = channel, level, float(counts.sum())
        self.size = channel.rows * channel.columns
        self.q = float(scipy.special.chdtri(1, 1 - level))
        self.q_high = float(scipy.special.chdtri(1, (1 - level) / 2))
        written = self.size <= _WRITTEN_MAX
        self._answers = answers_of(channel, counts.size if written else _ANSWERS_MAX)
        self._counts = self._answers.kept(counts)
        self._law = self._answers.kept(channel.forward(mass))
        self._laws = np.zeros((len(self._counts), 0))
        self._known: dict[int, int] = {}
        self._pairs = np.zeros((0, 0))
        if written:
            self._laws = channel.matrix()[channel.support.ravel()]
            self._known = {cell: cell for cell in range(self.size)}
            self._pairs = self.reports * (self._laws / self._law[:, None]).T @ self._laws
        self._drawn = self._back(self._counts / self._law)  # b, in (Q - const) / 2 = f'Hf/2 - b'f

    def _back(self, values: Floats) -> Floats:
        """Return for every cell the mean of some values over the answers from there."""
        if self.size <= _WRITTEN_MAX:
            return np.asarray(values @ self._laws)
        return self._answers.back(values)

    def _at(self, cells: Cells) -> Cells:
        """Return where the laws of cells stand; those of a large map are made as they are met."""
        new = [cell for cell in cells.tolist() if cell not in self._known]
        if new:
            laws = np.column_stack([self._answers.law(cell) for cell in new])
            for cell in new:
                self._known[cell] = len(self._known)
            scaled = self.reports * laws / self._law[:, None]
            across = self._laws.T @ scaled
            self._pairs = np.block([[self._pairs, across], [across.T, laws.T @ scaled]])
            self._laws = np.hstack([self._laws, laws])
        return np.array([self._known[cell] for cell in cells.tolist()], dtype=np.intp)

    @cached_property
    def best(self) -> Shares:
        """f^, the map that fits best."""
        return self._least(np.zeros(self.size), np.ones(self.size, dtype=np.bool_), None)

    def gained(self, block: NDArray[np.bool_]) -> float:
        """Return by how much less badly the best map fits than the best with nobody in a block."""
        if not block[self.best.cells].any():
            return 0.0
        if block.all():
            return math.inf
        start = self.best
        left = ~block[start.cells]
        values = start.values[left]
        begun = None
        if left.any():
            begun = Shares(start.cells[left], values / values.sum(), 0.0)
        found = self._least(np.zeros(self.size), ~block, begun)
        return found.loss - start.loss

    def occupied(self, block: NDArray[np.bool_]) -> bool:
        """Say whether the answers refute that nobody is in a block."""
        filled = int(block[self.best.cells].sum())
        if not filled:
            return False
        return self.gained(block) > float(scipy.special.chdtri(filled, 1 - self.level))

    def interval(self, block: NDArray[np.bool_]) -> tuple[float, float]:
        """Return between what the share of a block lies.

        Raises:
            ValueError: the block is no mask of the cells, or has none.
        """
        if block.shape != (self.size,) or block.dtype != np.bool_ or not block.any():
            raise ValueError(
                f"the block is {block.dtype} of shape {block.shape} with {int(block.sum())} cells "
                f"but must be a mask over {self.size} with at least one: there is no share of no "
                "cell. Mark cells row by row."
            )
        if block.all():
            return 1.0, 1.0
        low = 1 - self.most(~block, self.q) if self.occupied(block) else 0.0
        # That everybody is there is not worth a look where most are elsewhere.
        some = self.best.of(block) < 0.5 or self.occupied(~block)
        high = self.most(block, self.q_high) if some else 1.0
        return min(max(low, 0.0), high), high

    def most(self, block: NDArray[np.bool_], q: float) -> float:
        """Return the greatest share of a block, of the maps that fit up to q."""
        found, least = self.best, 1.0
        weight, goal = block.astype(np.float64), math.sqrt(q)
        pull = self._first(block, q)
        for _ in range(12):
            found = self._least(pull * weight, np.ones(self.size, dtype=np.bool_), found)
            share = found.of(block)
            rise = math.sqrt(max(found.loss - self.best.loss, 0.0))
            if share > 1 - 1e-9 and rise <= goal:
                return 1.0
            least = min(least, self._bound(found, weight, pull, q))
            if _NEAR <= rise / goal <= 1 / _NEAR:
                break
            pull *= min(max(goal / max(rise, 1e-9), 0.2), 5.0)
        return min(max(least, self.best.of(block)), 1.0)

    def _first(self, block: NDArray[np.bool_], q: float) -> float:
        """Return about how strongly a block must be favoured for Q to rise by q."""
        cells = self.best.cells
        if not block[cells].any():
            # The cell of the block that is missed most.
            pull = self._drawn - self._pushed(self.best)
            cells = np.append(cells, int(np.argmax(np.where(block, pull, -np.inf))))
        at = self._at(cells)
        inside = block[cells].astype(np.float64)
        root = _root(self._pairs[np.ix_(at, at)])
        both = scipy.linalg.cho_solve(root, np.column_stack([inside, np.ones(len(at))]))
        freedom = float(inside @ both[:, 0]) - float(both[:, 0].sum()) ** 2 / float(
            both[:, 1].sum()
        )
        return math.sqrt(q / max(freedom, 1e-12))

    def _bound(self, found: Shares, weight: Floats, pull: float, q: float) -> float:
        """Return no less than the share of the block in any map that fits: the dual's value."""
        law = self._laws[:, self._at(found.cells)] @ found.values
        a = (self.reports * law - self._counts) / (pull * self._law)
        length = math.sqrt(float(self._law @ np.square(a)))
        most = math.sqrt((self.best.loss + q) / self.reports) * length
        return (
            float(a @ self._counts) / self.reports + most + float((weight - self._back(a)).max())
        )

    def _pushed(self, found: Shares) -> Floats:
        """Return H f over all cells."""
        at = self._at(found.cells)
        if self.size <= _WRITTEN_MAX:
            return np.asarray(self._pairs[:, at] @ found.values)
        return self._back(self.reports * (self._laws[:, at] @ found.values) / self._law)

    def _least(self, tilt: Floats, allowed: NDArray[np.bool_], start: Shares | None) -> Shares:
        """Return the map with the least Q / 2 - tilt.f, filling allowed cells alone."""
        wanted = self._drawn + tilt
        if start is None:
            cells = np.array([int(np.argmax(np.where(allowed, wanted, -np.inf)))], dtype=np.intp)
            values = np.ones(1)
        else:
            cells, values = start.cells, start.values
        worth, many = -math.inf, _AT_ONCE
        for _ in range(_TURNS_MAX):
            cells, values = self._face(wanted, cells, values)
            pushed = self._pushed(Shares(cells, values, 0.0))
            pull = wanted - pushed
            now = float(values @ (wanted[cells] + pull[cells])) / 2
            many = _AT_ONCE if now > worth else 1
            worth = max(now, worth)
            level = float(values @ pull[cells])
            over = np.where(allowed, pull - level, -np.inf)
            over[cells] = -np.inf
            if not over.max() > _SLACK * self.q:
                break
            new = np.argpartition(over, -min(many, len(over)))[-many:]
            new = new[over[new] > _SLACK * self.q]
            cells, values = np.append(cells, new), np.append(values, np.zeros(len(new)))
        filled = values > 0
        cells, values = cells[filled], values[filled]
        law = self._laws[:, self._at(cells)] @ values
        off = self._counts - self.reports * law
        return Shares(cells, values, float(np.sum(off * off / self._law)) / self.reports)

    def _face(self, wanted: Floats, cells: Cells, values: Floats) -> tuple[Cells, Floats]:
        """Return the best map on some of these cells, on the way that leads uphill."""
        while True:
            at = self._at(cells)
            root = _root(self._pairs[np.ix_(at, at)])
            both = scipy.linalg.cho_solve(
                root, np.column_stack([wanted[cells], np.ones(len(cells))]), check_finite=False
            )
            aim = both[:, 0] - (both[:, 0].sum() - 1) / both[:, 1].sum() * both[:, 1]
            out = aim <= 0
            if not out.any():
                return cells, aim / aim.sum()
            parts = np.full(len(cells), np.inf)
            parts[out] = values[out] / (values[out] - aim[out])
            part = parts.min()
            values = values + part * (aim - values)
            stay = parts > part
            cells, values = cells[stay], np.maximum(values[stay], 0.0)


def _root(pairs: Floats) -> tuple[Floats, bool]:
    """Return the factor of what may be nearly flat."""
    ridge = 1e-11 * float(np.trace(pairs)) / len(pairs)
    found: tuple[Floats, bool] = scipy.linalg.cho_factor(
        pairs + ridge * np.eye(len(pairs)), lower=True, check_finite=False
    )
    return found


Box = tuple[int, int, int, int]  # top, left, rows, columns


def resolved(profile: Profile, mass: Floats) -> Blocks:
    """Return the blocks of cells that the answers tell apart, each with its interval.

    From the whole map down a block is split into quarters while one of them is not empty for sure;
    the fullest first, until there are as many as can be looked at.

    Args:
        mass: (rows, columns), the map that is drawn.
    """
    rows, columns = mass.shape
    fullest = profile.best
    most = _BLOCKS_MAX[profile.size > _WRITTEN_MAX]

    def marked(box: Box) -> NDArray[np.bool_]:
        top, left, high, wide = box
        found = np.zeros((rows, columns), dtype=np.bool_)
        found[top : top + high, left : left + wide] = True
        return found.ravel()

    done: list[Box] = []
    open_ = [(0, 0, rows, columns)]
    while open_:
        open_.sort(key=lambda box: fullest.of(marked(box)))
        box = open_.pop()
        parts = _quarters(box)
        few = len(open_) + len(done) + len(parts) <= most
        if few and len(parts) > 1 and any(profile.occupied(marked(part)) for part in parts):
            open_ += parts
        else:
            done.append(box)
    done.sort()
    ends = [profile.interval(marked(box)) for box in done]
    low, high = (np.array([end[at] for end in ends]) for at in (0, 1))
    shares = np.array([float(mass.ravel()[marked(box)].sum()) for box in done])
    return Blocks(profile.level, np.array(done), np.clip(shares, low, high), low, high)


def _quarters(box: Box) -> list[Box]:
    """Return a block's parts, each side cut at the greatest power of two within it."""
    top, left, high, wide = box
    if high == wide == 1:
        return [box]
    half = 1 << ((max(high, wide) - 1).bit_length() - 1)
    return [
        (top + y, left + x, min(half, high - y), min(half, wide - x))
        for y in range(0, high, half)
        for x in range(0, wide, half)
    ]
