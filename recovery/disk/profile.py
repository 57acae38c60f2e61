"""What share of all people a block of cells may hold: every share that some map has which fits.

    Q(f) = sum over answers of (c - n P f)**2 / (n g),   f^ = argmin Q over f >= 0, sum f = 1
    [low, high] = least and greatest w.f over { f >= 0, sum f = 1, Q(f) <= Q(f^) + q }

with w one in the block, g the law of the map that is drawn, and q the quantile of chi-square with
one degree of freedom; at the upper end that of (1 + level) / 2, for what noise fills of empty
cells is taken from the full ones. Nothing is held of a map beforehand, so what the answers cannot
tell comes out as width.

The maps with the least Q / 2 - pull w.f, for every pull, are a broken line from f^ on: between two
corners the same cells are filled, and all changes in proportion. Each end is the place on it where
Q has risen by q; it is found exactly, corner by corner (Best 1996, Section 2).

Nought is within a block's interval unless the maps with nobody there are refuted. Where the truth
is nought in many cells each catches a little noise: given how many cells of the block f^ fills, m,
what that gains is chi-square with m degrees of freedom, and it must be beyond that (Wollak 1987).
The same holds for everybody and the cells beyond the block.

A large map is looked at in squares of cells, each filled as the map that is drawn fills it.

Whoever looks at a map picks the block to look at by what is drawn: so the intervals of all blocks
of a map hold at once, each at 1 - (1 - level) / blocks (Bonferroni). In 27 of 32 settings of
`tests/bench/bench_places.py` at 15 x 15, one run each, a block was named, and held the truth.

Differs from what is proven: that q is chi-square's is no theorem (Batlle et al. 2023); coverage
was measured (`tests/bench/bench_places.py`).

Source: Rust and Burrus 1972, for one block at a time.
"""

import math
from itertools import product

import numpy as np
import scipy
from numpy.typing import NDArray

from ..maps.heatmap import Blocks, find_significant
from .channel import Channel, choose_square_sides, compute_square_laws, sum_answers
from .em import measure_excess

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

_SQUARES_MAX = 1024
_CORNERS_MAX = 2000
_TURNS_MAX = 1000
_NOUGHT = 1e-9  # of all people


class Profile:
    """The answers, ready to be asked what squares of cells may hold.

    Args:
        channel: what gave the answers.
        counts: answers at each place of the outer array; there are some.
        mass: (rows, columns), the map that weighs them: the one that is drawn.
        level: the chance with which an interval holds the share.
    """

    def __init__(self, channel: Channel, counts: Floats, mass: Floats, level: float = 0.9) -> None:
        self.level = level
        self.step, block = choose_square_sides(channel, _SQUARES_MAX)
        self.shape = math.ceil(channel.rows / self.step), math.ceil(channel.columns / self.step)
        size, laws = math.prod(self.shape), compute_square_laws(channel, self.step, block, mass)
        seen = sum_answers(channel, counts, block)
        law = sum_answers(channel, channel.forward(mass), block)
        reports = float(seen.sum())
        pairs = reports * (laws / law[:, None]).T @ laws
        # Laws that are nearly alike leave a direction free.
        pairs.flat[:: size + 1] += 1e-11 * float(np.trace(pairs)) / size
        wanted = (seen / law) @ laws
        self.filled, self.best = _fit(pairs, wanted)
        self.loss = float(np.sum(np.square(seen - reports * laws @ self.best) / law)) / reports
        self.off = measure_excess(self.loss, reports * law, int(self.filled.sum()) - 1)
        self._table = _pivot(pairs, self.filled)
        # What is not negative: the share of a filled cell, and how badly an empty one is wanted.
        pushed = pairs @ self.best - wanted
        self._slack = np.where(self.filled, self.best, np.maximum(pushed + self.best @ -pushed, 0))

    def interval(self, block: Bools, of: int = 1) -> tuple[float, float]:
        """Return between what the share of a block of squares lies.

        Args:
            block: (squares,), which of them, row by row.
            of: how many blocks' intervals are to hold at once.

        Raises:
            ValueError: the block is no mask of the squares, or has none.
        """
        if block.shape != self.best.shape or block.dtype != np.bool_ or not block.any():
            raise ValueError(
                f"the block is {block.dtype} of shape {block.shape} with {int(block.sum())} "
                f"squares but must be a mask over {self.best.size} with at least one: there is no "
                "share of nothing. Mark squares row by row."
            )
        if block.all():
            return 1.0, 1.0
        level = 1 - (1 - self.level) / of
        low = (
            1 - self.most(~block, _compute_quantile(1, level)) if self.occupied(block, of) else 0.0
        )
        # That everybody is there is not worth a look where most are elsewhere.
        elsewhere = self.best[block].sum() < 0.5 or self.occupied(~block, of)
        return low, self.most(block, _compute_quantile(1, (1 + level) / 2)) if elsewhere else 1.0

    def occupied(self, block: Bools, of: int = 1) -> bool:
        """Say whether the answers refute that nobody is in a block, one of so many."""
        filled = int((block & self.filled).sum())
        if not filled or block.all():
            return bool(filled)
        return self.most(~block, _compute_quantile(filled, 1 - (1 - self.level) / of)) < 1

    def most(self, block: Bools, q: float) -> float:
        """Return the greatest share of a block, of the maps that fit up to q."""
        table, slack = self._table, self._slack.copy()
        filled = self.filled.copy()
        # How all changes with the pull while no cell is filled or emptied.
        straight = table[:, np.flatnonzero(block & filled)].sum(axis=1)
        straight[:-1] -= block & ~filled
        turned = np.zeros(0, dtype=np.intp)  # those that were filled or emptied since
        pull = risen = 0.0
        share, last = float(self.best[block].sum()), -1
        for _ in range(_CORNERS_MAX):
            way = straight
            if len(turned):
                found = np.linalg.solve(table[np.ix_(turned, turned)], -straight[turned])
                way = straight + table[:, turned] @ found
                way[turned] = found
            way = way[:-1]  # the last is what keeps the sum
            gain = float(way[block & filled].sum())
            with np.errstate(divide="ignore", invalid="ignore"):
                until = np.where(way < 0, slack / -way, np.inf)
            if last >= 0 and way[last] > -1e-9 * np.abs(way).max():
                until[last] = np.inf
            corner = int(until.argmin())
            length = float(until[corner])
            stop = math.sqrt(pull**2 + (q - risen) / gain) - pull if gain > 0 else math.inf
            if stop <= length or not math.isfinite(length):
                return _round_to_whole(share + (stop * gain if math.isfinite(stop) else 0.0))
            risen += gain * ((pull + length) ** 2 - pull**2)
            pull, share = pull + length, share + length * gain
            if _round_to_whole(share) == 1:
                break
            slack = np.maximum(slack + length * way, 0)
            slack[corner], filled[corner], last = 0.0, not filled[corner], corner
            again = turned == corner
            turned = turned[~again] if again.any() else np.append(turned, corner)
        return 1.0


def _round_to_whole(share: float) -> float:
    """Return a share, or one where only roundings are elsewhere."""
    return share if share < 1 - _NOUGHT else 1.0


def _compute_quantile(freedom: int, level: float) -> float:
    return float(scipy.special.chdtri(freedom, 1 - level))


def _fit(pairs: Floats, wanted: Floats) -> tuple[Bools, Floats]:
    """Return which cells f^ fills, and f^: the least f'Hf / 2 - b'f of those that add to one."""
    root = scipy.linalg.cholesky(pairs)
    begun = scipy.optimize.nnls(root, scipy.linalg.solve_triangular(root.T, wanted, lower=True))[0]
    filled, f = begun > 0, begun / begun.sum()
    for _ in range(_TURNS_MAX):
        some = np.flatnonzero(filled)
        factor = scipy.linalg.cho_factor(pairs[np.ix_(some, some)])
        free, even = scipy.linalg.cho_solve(
            factor, np.column_stack([wanted[some], np.ones(len(some))])
        ).T
        aim = free - (free.sum() - 1) / even.sum() * even
        out = aim < 0
        if out.any():  # as far as the first of them is empty
            parts = np.where(out, f[some] / (f[some] - np.where(out, aim, -1)), np.inf)
            f[some] += parts.min() * (aim - f[some])
            filled[some[parts.argmin()]] = False
            f[~filled] = 0
            continue
        f[some] = aim
        pull = wanted - pairs @ f
        pull -= pull[some] @ aim
        pull[filled] = 0
        if pull.max() <= 1e-9 * float(np.abs(wanted).max()):
            break
        filled[pull.argmax()] = True
    return filled, f


def _pivot(pairs: Floats, filled: Bools) -> Floats:
    """Return what shares of filled cells and wants of empty ones are, of wants and shares.

    The principal pivot of the least squares' conditions on the filled cells and on the sum, which
    comes last (Cottle, Pang and Stone 1992, Section 2.3).
    """
    size = len(pairs) + 1
    whole = np.ones((size, size))
    whole[:-1, :-1], whole[-1, -1] = pairs, 0
    some, rest = np.append(np.flatnonzero(filled), size - 1), np.flatnonzero(~filled)
    inverse = np.linalg.inv(whole[np.ix_(some, some)])
    across = whole[np.ix_(rest, some)] @ inverse
    table = np.empty_like(whole, order="F")
    table[np.ix_(some, some)] = inverse
    table[np.ix_(rest, some)] = across
    table[np.ix_(some, rest)] = -across.T
    table[np.ix_(rest, rest)] = whole[np.ix_(rest, rest)] - across @ whole[np.ix_(some, rest)]
    return table


Box = tuple[int, int, int, int]  # top, left, rows, columns


def find_blocks(profile: Profile, mass: Floats) -> Blocks:
    """Return the blocks of cells that the answers tell apart, each with its interval.

    From the whole map down a block is split into quarters while one of them is not empty for sure,
    and drawn whole again where it can be named and nothing within it can.

    Args:
        mass: (rows, columns), the map that is drawn.
    """

    def marked(box: Box) -> Bools:
        found = np.zeros(profile.shape, dtype=np.bool_)
        top, left, high, wide = box
        found[top : top + high, left : left + wide] = True
        return found.ravel()

    def split(box: Box) -> list[Box]:
        """Return a block, and before it all that it is split into."""
        parts = _quarter_block(box)
        if len(parts) > 1 and any(profile.occupied(marked(part)) for part in parts):
            return [*(one for part in parts for one in split(part)), box]
        return [box]

    tree = split((0, 0, *profile.shape))
    low, high = np.array([profile.interval(marked(box), len(tree)) for box in tree]).T
    boxes = np.array(tree) * profile.step
    boxes[:, 2:] = np.minimum(boxes[:, 2:], np.array(mass.shape) - boxes[:, :2])
    sums = [float(mass[y : y + rows, x : x + columns].sum()) for y, x, rows, columns in boxes]
    shares = np.clip(sums, low, high)
    named = find_significant(shares, low, high, boxes[:, 2] * boxes[:, 3] / mass.size)
    places = {box: at for at, box in enumerate(tree)}

    def merge(box: Box) -> list[int]:
        """Return the blocks to draw of this one: itself, where only as a whole it can be named."""
        at, parts = places[box], _quarter_block(box)
        if parts == [box] or parts[0] not in places:
            return [at]
        found = [one for part in parts for one in merge(part)]
        return [at] if named[at] and not named[found].any() else found

    found = sorted(merge(tree[-1]), key=lambda at: tree[at])
    return Blocks(profile.level, boxes[found], shares[found], low[found], high[found])


def _quarter_block(box: Box) -> list[Box]:
    """Return a block's parts, each side cut at the greatest power of two within it."""
    top, left, high, wide = box
    if high == wide == 1:
        return [box]
    half = 1 << ((max(high, wide) - 1).bit_length() - 1)
    return [
        (top + y, left + x, min(half, high - y), min(half, wide - x))
        for y, x in product(range(0, high, half), range(0, wide, half))
    ]
