"""LDPTrace: how long, where from, which step after which, where to; then walks made from that.

Each user tells, by optimised unary encoding,

    the length, in cells, with epsilon / 10;
    the first cell, the last one, and up to L - 1 steps to a neighbour, with the rest of epsilon
    shared evenly by these L + 1, L the nine-in-ten quantile of the told lengths.

The analyst draws as many walks: a length, a first cell, and step after step by the told steps out
of a cell against the told ends there, the chance to end being damped while a walk is short.

Unit of privacy: one whole trajectory, at epsilon; but how many steps a user tells is seen, and it
is the length up to L. The published program sends no fillers for short ones, so neither does this.

Source: Du, Hu, Zhang, Fang, Chen, Zheng and Gao 2023, "LDPTrace: Locally Differentially Private
Trajectory Synthesis"; the split and the damping are those of the authors' program.

Differs from the source:
1. Only what its map of points needs is made: cells of synthetic walks, counted.
"""

import numpy as np
from numpy.typing import NDArray

from edge.records import Grid
from physics.crowds.oue import count_many
from physics.points import cells_of
from recovery.peers.frequency_oracles import oue_chances, unbiased

from .walks import Walks

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

UNIT = "a whole trajectory; how many cells it has is seen, up to the cut"
_QUANTILE = 0.9
_LENGTH_SHARE = 0.1
_MOVES = tuple((dx, dy) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if dx or dy)


def estimate(walks: Walks, side: int, epsilon: float, world: np.random.Generator) -> Floats:
    """Return the share of synthetic points in each cell, (side, side)."""
    if side == 1:
        return np.ones((1, 1))
    told = _cell_walks(walks, side)
    cells = side * side
    lengths = np.minimum([len(one) for one in told], cells)
    heard = _heard(np.bincount(lengths - 1, minlength=cells), _LENGTH_SHARE * epsilon, world)
    cut = _quantile(heard)
    each = (1 - _LENGTH_SHARE) * epsilon / (cut + 1)
    short = [one[: max(1, cut)] for one in told]
    first = _heard(_count([one[0] for one in short], cells), each, world)
    last = _heard(_count([one[-1] for one in short], cells), each, world)
    steps = [_directions(one, side) for one in short if len(one) > 1]
    flat = np.concatenate(steps) if steps else np.empty(0, np.int64)
    # Eight slots a cell, those that lead out of the grid too, as the program has them.
    moved = _heard(_count(flat, 8 * cells), each, world).reshape(cells, 8)
    return _made(np.maximum(heard, 0), first, last, moved, side, len(told), world)


def _cell_walks(walks: Walks, side: int) -> list[Whole]:
    """Return the cells of each walk, every cell once for each time it is entered."""
    cells = cells_of(walks.places, Grid((side, side), 0))
    parts = np.split(cells, walks.starts[1:])
    return [part[np.concatenate([[True], part[1:] != part[:-1]])] for part in parts]


def _count(values: object, size: int) -> Whole:
    return np.bincount(np.asarray(values, np.int64), minlength=size)


def _heard(counts: Whole, epsilon: float, world: np.random.Generator) -> Floats:
    """Return unbiased counts of what is told by unary encoding; some are negative."""
    reports = int(counts.sum())
    if not reports:
        return np.zeros(len(counts))
    ones = count_many(counts, epsilon, world).astype(float)
    return reports * unbiased(ones, float(reports), *oue_chances(epsilon))


def _quantile(heard: Floats) -> int:
    """Return the least length that nine in ten of the told ones do not exceed."""
    reached = np.flatnonzero(np.cumsum(heard) >= _QUANTILE * heard.sum())
    return int(reached[0]) + 1 if len(reached) and heard.sum() > 0 else len(heard)


def _directions(cells: Whole, side: int) -> Whole:
    """Return each step's slot, eight a cell; steps to no neighbour are left out."""
    y, x = np.divmod(cells, side)
    dx, dy = np.diff(x), np.diff(y)
    near = (np.abs(dx) <= 1) & (np.abs(dy) <= 1)
    slot = (dy + 1) * 3 + dx + 1
    slot -= slot > 4  # the cell itself is no neighbour
    return np.asarray((8 * cells[:-1] + slot)[near])


def _made(
    lengths: Floats,
    first: Floats,
    last: Floats,
    moved: Floats,
    side: int,
    walks: int,
    world: np.random.Generator,
) -> Floats:
    """Return the share of points in each cell of walks drawn from what was told."""
    cells = side * side
    y, x = np.divmod(np.arange(cells), side)
    over = np.stack([x + dx for dx, _ in _MOVES], axis=1)
    down = np.stack([y + dy for _, dy in _MOVES], axis=1)
    inside = (over >= 0) & (over < side) & (down >= 0) & (down < side)
    around = np.where(inside, down * side + over, 0)
    going = np.where(inside, np.maximum(moved, 0), 0.0)
    ending = np.maximum(last, 0)
    long = world.choice(cells, size=walks, p=_chances(lengths)) + 1
    at = world.choice(cells, size=walks, p=_chances(first))
    counts = np.bincount(at, minlength=cells).astype(float)
    made = 1
    while len(at) and made < long.max():
        here = long > made
        at, long = at[here], long[here]
        # The program's damping: an early end is rarer than its share says.
        stop = ending[at] * min(1.0, 0.3 + 0.2 * (made - 1))
        weights = np.concatenate([going[at], stop[:, None]], axis=1)
        total = weights.sum(axis=1)
        rising = np.cumsum(weights, axis=1)
        slot = (rising <= (world.random(len(at)) * total)[:, None]).sum(axis=1)
        on = (slot < 8) & (total > 0)
        at, long, slot = at[on], long[on], slot[on]
        at = around[at, slot]
        counts += np.bincount(at, minlength=cells)
        made += 1
    return (counts / counts.sum()).reshape(side, side)


def _chances(weights: Floats) -> Floats:
    kept = np.maximum(weights, 0)
    return kept / kept.sum() if kept.sum() > 0 else np.full(len(kept), 1 / len(kept))
