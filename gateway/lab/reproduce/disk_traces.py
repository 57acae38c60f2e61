"""Walks over points, and the two mechanisms that synthesise walks: LDPTrace and PivotTrace."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from edge.core.records import Grid
from physics.crowds.peers import count_oue
from physics.points import find_cells
from recovery.peers.frequency_oracles import oue_chances, unbias

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

SIDE = 300
SHORTEST, LONGEST = 2, 200
TRAJECTORIES = 1_000


class Walks(NamedTuple):
    """Walks one after the other; the points of each in their order."""

    places: Floats  # (points, 2) in [0, 1)
    lengths: Whole  # (walks,), how many points each has

    @property
    def starts(self) -> Whole:
        """Where each walk's first point stands, (walks,)."""
        return np.concatenate([[0], np.cumsum(self.lengths)[:-1]])


def draw_walks(
    points: Floats,
    world: np.random.Generator,
    walks: int = TRAJECTORIES,
    side: int = SIDE,
    longest: int = LONGEST,
) -> Walks:
    """Return so many walks over these points.

    The unit square is divided into 300 x 300 cells. A walk begins in a cell that has points, goes
    on to one of the eight neighbours with a chance in proportion to the neighbour's points, and
    leaves at every step one of the points of its cell; it has from 2 to 200 points.

    Differs from the paper: 1. It does not say what a walk does that has no points around it; here
    it stays where it is. 2. A start is any cell with points, each alike; the paper's "random
    cells" may be empty.

    Args:
        points: (n, 2) in [0, 1), at least one.
        side: cells along each axis that walks go by.
        longest: points of a walk at most; lengths are even from 2 to here.
    """
    cells = find_cells(points, Grid((side, side), 0))
    order = np.argsort(cells, kind="stable")
    counts = np.bincount(cells, minlength=side * side)
    first = np.cumsum(counts) - counts
    lengths = world.integers(SHORTEST, longest + 1, size=walks)
    at = world.choice(np.flatnonzero(counts), size=walks)
    steps = np.empty((longest, walks), np.int64)
    for step in range(longest):
        if step:
            at = _draw_next_cells(at, counts, side, world)
        drawn = (world.random(walks) * counts[at]).astype(np.int64)
        steps[step] = order[first[at] + drawn]
    kept = np.arange(longest)[:, None] < lengths
    return Walks(points[steps.T[kept.T]], lengths)


def _draw_next_cells(at: Whole, counts: Whole, side: int, world: np.random.Generator) -> Whole:
    """Return the neighbour each walk goes to, by how many points it has; itself if none has."""
    around, inside = _find_neighbours(at, side)
    rising = np.cumsum(np.where(inside, counts[around], 0), axis=1)
    drawn = (world.random(len(at)) * rising[:, -1]).astype(np.int64)
    chosen = np.minimum((rising <= drawn[:, None]).sum(axis=1), len(_MOVES) - 1)
    return np.where(rising[:, -1] > 0, around[np.arange(len(at)), chosen], at)


_MOVES = tuple((dx, dy) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if dx or dy)


def _find_neighbours(at: Whole, side: int) -> tuple[Whole, NDArray[np.bool_]]:
    """Return the eight cells around each, (cells, 8), 0 where there is none, and where one is."""
    y, x = np.divmod(at, side)
    over = np.stack([x + dx for dx, _ in _MOVES], axis=1)
    down = np.stack([y + dy for _, dy in _MOVES], axis=1)
    inside = (over >= 0) & (over < side) & (down >= 0) & (down < side)
    return np.where(inside, down * side + over, 0), inside


_QUANTILE = 0.9
_LENGTH_SHARE = 0.1


def estimate_ldptrace(
    walks: Walks, side: int, epsilon: float, world: np.random.Generator
) -> Floats:
    """Return the share of synthetic points in each cell, (side, side).

    LDPTrace: how long, where from, which step after which, where to; then walks made from that.
    Each user tells, by optimised unary encoding,

        the length, in cells, with epsilon / 10;
        the first cell, the last one, and up to L - 1 steps to a neighbour, with the rest of
        epsilon shared evenly by these L + 1, L the nine-in-ten quantile of the told lengths.

    The analyst draws as many walks: a length, a first cell, and step after step by the told steps
    out of a cell against the told ends there, the chance to end being damped while a walk is
    short.

    Unit of privacy: one whole trajectory, at epsilon; but how many steps a user tells is seen, and
    it is the length up to L. The published program sends no fillers for short ones, so neither
    does this.

    Source: Du, Hu, Zhang, Fang, Chen, Zheng and Gao 2023, "LDPTrace: Locally Differentially
    Private Trajectory Synthesis"; the split and the damping are those of the authors' program.

    Differs from the source: 1. Only what its map of points needs is made: cells of synthetic
    walks, counted.
    """
    if side == 1:
        return np.ones((1, 1))
    told = _list_walk_cells(walks, side)
    cells = side * side
    lengths = np.minimum([len(one) for one in told], cells)
    heard = _estimate_counts(
        np.bincount(lengths - 1, minlength=cells), _LENGTH_SHARE * epsilon, world
    )
    cut = _find_length_quantile(heard)
    each = (1 - _LENGTH_SHARE) * epsilon / (cut + 1)
    short = [one[: max(1, cut)] for one in told]
    first = _estimate_counts(_count([one[0] for one in short], cells), each, world)
    last = _estimate_counts(_count([one[-1] for one in short], cells), each, world)
    steps = [_find_step_slots(one, side) for one in short if len(one) > 1]
    flat = np.concatenate(steps) if steps else np.empty(0, np.int64)
    # Eight slots a cell, those that lead out of the grid too, as the program has them.
    moved = _estimate_counts(_count(flat, 8 * cells), each, world).reshape(cells, 8)
    return _estimate(np.maximum(heard, 0), first, last, moved, side, len(told), world)


def _list_walk_cells(walks: Walks, side: int) -> list[Whole]:
    """Return the cells of each walk, every cell once for each time it is entered."""
    cells = find_cells(walks.places, Grid((side, side), 0))
    parts = np.split(cells, walks.starts[1:])
    return [part[np.concatenate([[True], part[1:] != part[:-1]])] for part in parts]


def _count(values: object, size: int) -> Whole:
    return np.bincount(np.asarray(values, np.int64), minlength=size)


def _estimate_counts(counts: Whole, epsilon: float, world: np.random.Generator) -> Floats:
    """Return unbiased counts of what is told by unary encoding; some are negative."""
    reports = int(counts.sum())
    if not reports:
        return np.zeros(len(counts))
    ones = count_oue(counts, epsilon, world).astype(float)
    return reports * unbias(ones, float(reports), *oue_chances(epsilon))


def _find_length_quantile(heard: Floats) -> int:
    """Return the least length that nine in ten of the told ones do not exceed."""
    reached = np.flatnonzero(np.cumsum(heard) >= _QUANTILE * heard.sum())
    return int(reached[0]) + 1 if len(reached) and heard.sum() > 0 else len(heard)


def _find_step_slots(cells: Whole, side: int) -> Whole:
    """Return each step's slot, eight a cell; steps to no neighbour are left out."""
    y, x = np.divmod(cells, side)
    dx, dy = np.diff(x), np.diff(y)
    near = (np.abs(dx) <= 1) & (np.abs(dy) <= 1)
    slot = (dy + 1) * 3 + dx + 1
    slot -= slot > 4  # the cell itself is no neighbour
    return np.asarray((8 * cells[:-1] + slot)[near])


def _estimate(
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
    around, inside = _find_neighbours(np.arange(cells), side)
    going = np.where(inside, np.maximum(moved, 0), 0.0)
    ending = np.maximum(last, 0)
    long = world.choice(cells, size=walks, p=_compute_probabilities(lengths)) + 1
    at = world.choice(cells, size=walks, p=_compute_probabilities(first))
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


def _compute_probabilities(weights: Floats) -> Floats:
    kept = np.maximum(weights, 0)
    return kept / kept.sum() if kept.sum() > 0 else np.full(len(kept), 1 / len(kept))


SECTORS = 6
_CHUNK = 8_192  # points at a time: a row of all cells for each


def estimate_pivottrace(
    walks: Walks, side: int, epsilon: float, world: np.random.Generator
) -> Floats:
    """Return the share of blurred points in each cell, (side, side).

    PivotTrace: every second point is blurred by itself, the ones between by their directions, too.
    Twice, once with the odd points as pivots and once with the even ones, and half of epsilon
    each:

        a pivot is blurred over all cells, the nearer the likelier (exponential mechanism);
        of each point between, the direction from either blurred neighbour is told by k-ary
        randomised response over equal sectors, and the point is blurred over the cells that lie in
        both sectors, all of them where there are none.

    The two blurred copies are joined point by point: the cell nearest to the middle of both.

    Unit of privacy: one whole trajectory, at epsilon, shared evenly by everything that is drawn;
    the number of points is told as it is.

    Source: Zhang, Ye, Chen, Hu and Han 2023, "Trajectory Data Collection with Local Differential
    Privacy": the pivot sampling alone, which is what paper 003 names.

    Differs from the source: 1. Places are the cells of the map, so nothing finer is known; points
    stay as many as there are. 2. Epsilon is shared evenly between draws, and sectors are six; the
    source tunes both.

    Where epsilon is shared by hundreds of draws nothing of the truth is left, and the middle of
    two even draws lies near the centre of the map: `map_without_data` is the map that it gives of
    nobody.
    """
    cells = side * side
    if side == 1:
        return np.ones((1, 1))
    at = find_cells(walks.places, Grid((side, side), 0))
    place = np.arange(len(at)) - np.repeat(walks.starts, walks.lengths)
    copies = [_copy(at, place, parity, walks.lengths, side, epsilon, world) for parity in (0, 1)]
    y, x = np.divmod(np.stack(copies), side)
    # Two middles of cells: halves are rounded by a coin, so that no side is favoured.
    across = np.floor(x.mean(axis=0) + world.random(len(at)) * 0.5 + 0.25).astype(np.int64)
    down = np.floor(y.mean(axis=0) + world.random(len(at)) * 0.5 + 0.25).astype(np.int64)
    joined = np.minimum(down, side - 1) * side + np.minimum(across, side - 1)
    return (np.bincount(joined, minlength=cells) / len(joined)).reshape(side, side)


def map_without_data(walks: Walks, side: int, world: np.random.Generator) -> Floats:
    """Return the map of points that tell nothing: the same steps with no epsilon at all."""
    return estimate_pivottrace(walks, side, 0.0, world)


def count_draws(length: int, parity: int) -> int:
    """Return how much one copy draws: once a pivot, two or three times a point between."""
    pivots = sum(place % 2 == parity for place in range(length))
    ends = sum(
        (place > 0) + (place + 1 < length) for place in range(length) if place % 2 != parity
    )
    return pivots + (length - pivots) + ends


def _copy(
    at: Whole,
    place: Whole,
    parity: int,
    lengths: Whole,
    side: int,
    epsilon: float,
    world: np.random.Generator,
) -> Whole:
    """Return one blurred copy of all points."""
    known = {int(length): count_draws(int(length), parity) for length in np.unique(lengths)}
    each = np.repeat([epsilon / 2 / known[int(length)] for length in lengths], lengths)
    pivot = place % 2 == parity
    found = np.empty_like(at)
    found[pivot] = _blur(at[pivot], each[pivot], None, side, world)
    allowed = np.ones((len(at), side * side), bool)
    last = place + 1 == np.repeat(lengths, lengths)
    cells = np.arange(side * side)
    every = _find_sector(cells[:, None], cells[None, :], side)  # of every cell around every cell
    for step, neighbour in ((-1, place > 0), (1, ~last)):
        told = np.flatnonzero(~pivot & neighbour)
        origin = found[told + step]
        sector = _turn(_find_sector(origin, at[told], side), each[told], world)
        allowed[told] &= every[origin] == sector[:, None]
    between = np.flatnonzero(~pivot)
    mask = allowed[between]
    mask[~mask.any(axis=1)] = True
    found[between] = _blur(at[between], each[between], mask, side, world)
    return found


def _blur(
    at: Whole,
    epsilons: Floats,
    mask: NDArray[np.bool_] | None,
    side: int,
    world: np.random.Generator,
) -> Whole:
    """Return a cell for each, likelier the nearer: exp(-epsilon distance / (2 diagonal))."""
    y, x = np.divmod(np.arange(side * side), side)
    widest = math.hypot(side - 1, side - 1)
    found = np.empty_like(at)
    for begin in range(0, len(at), _CHUNK):
        part = slice(begin, begin + _CHUNK)
        here = at[part]
        away = np.hypot(x[here][:, None] - x, y[here][:, None] - y)
        weights = np.exp(-epsilons[part][:, None] * away / (2 * widest))
        if mask is not None:
            weights *= mask[part]
        rising = np.cumsum(weights, axis=1)
        drawn = world.random(len(here)) * rising[:, -1]
        found[part] = np.minimum((rising <= drawn[:, None]).sum(axis=1), side * side - 1)
    return found


def _find_sector(origin: Whole, at: Whole, side: int) -> Whole:
    """Return in which of the equal sectors around an origin a cell lies; its own cell in 0."""
    (y0, x0), (y1, x1) = np.divmod(origin, side), np.divmod(at, side)
    turn = np.arctan2(y1 - y0, x1 - x0) % (2 * math.pi)
    return np.minimum((turn / (2 * math.pi) * SECTORS).astype(np.int64), SECTORS - 1)


def _turn(sector: Whole, epsilons: Floats, world: np.random.Generator) -> Whole:
    """Return the sectors told: the true one, or any other alike."""
    stays = 1 / (1 + (SECTORS - 1) * np.exp(-epsilons))
    other = (sector + world.integers(1, SECTORS, size=len(sector))) % SECTORS
    return np.where(world.random(len(sector)) < stays, sector, other)
