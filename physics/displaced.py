"""How far warmth that was given off elsewhere changes what sensors feel, whatever the path.

Take one source of at most P watts and two paths of it that are at every moment at most D apart
by a way through air. Its warmth reaches the sensors by r_l(x), the response at the moment of
reading to a watt that a body at x gave off during the lag l before it, so the two readings
differ by

    sum over l of p_l (r_l(here_l) - r_l(there_l)),    0 <= p_l <= P.

On a lattice cell r_l is bilinear between its corners, so at any place of it a step changes r_l by
no more than at a corner, by at most the spectral norm of

    J = [ (r_right - r_left) / width, (r_far - r_near) / depth ],    (sensors, 2)

and a way of length D, along which these steps add up, by at most D times the greatest of all
corners, slope_l. That holds for every place that is air, in no cell's middle and at no node
alone. By the triangle inequality all lags together change by at most D P sum over l of slope_l;
`certificate` finds what they can change together, for not all change the same sensors. Who moves
within a lag has been in several places: a mean of such differences, and no mean is longer than
the longest.

Through walls a straight way leaves the air for the last time but one at p and comes back at q:

    slope_l (D - |pq|) + |r_l(p) - r_l(q)|

bounds it, with p and q on edges of lattice cells at a wall, where r_l is linear.

Source: the triangle inequality, over time; the mean value inequality, along a way.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np
import scipy  # its parts are loaded when they are used
from numpy.typing import NDArray

from .places import Floats

Indices = NDArray[np.intp]

# Lags that are told by two others add at most this share to what those change.
_LOOSE = 1e-2
_MANY = 64  # of them at once
_BLOCK_M = 0.5  # the steepest places are looked for in squares of this side, one in each
_SLACK = 1e-9  # of what sums lose in rounding, many times over


class Displaced(NamedTuple):
    """What a source of one watt changes, in kelvin, at the most."""

    joint: Floats  # (distances,), l2 norm over all sensors of displaced paths
    each: Floats  # (distances, sensors), on one sensor
    presence: float  # l2 norm of what a source gives that comes, wherever it goes
    presence_each: Floats  # (sensors,)


def add_changes(one: Displaced, other: Displaced) -> Displaced:
    """Return what changes in two times together."""
    (a, b, c, d), (e, f, g, h) = one, other
    return Displaced(a + e, b + f, c + g, d + h)


def scale_change(one: Displaced, factor: float) -> Displaced:
    """Return what so many times as much heat changes."""
    joint, each, presence, presence_each = one
    return Displaced(factor * joint, factor * each, factor * presence, factor * presence_each)


class Across(NamedTuple):
    """Pairs of nodes at walls between which a straight way may lead through what is no air."""

    one: Indices
    other: Indices
    gap_m: Floats  # how near the places that these two nodes stand for are at least
    far_m: float  # pairs up to this displacement are told


class Floor(NamedTuple):
    """Where a source can be while the doors stand as they do, and what it warms."""

    corners: Indices  # (lattice cells, 4): near-left, near-right, far-left, far-right
    pitch_m: Floats  # (lattice cells, 2), width and depth
    table: "scipy.sparse.csr_array"  # (nodes, heat cells), the share of a body's heat in each
    block: Indices  # (lattice cells,), numbers of squares that the steepest are looked for in
    across: Across | None = None  # without, no path is displaced through walls


def build_floor(
    nodes_m: Floats,
    corners: Indices,
    pitch_m: Floats,
    table: "scipy.sparse.csr_array",
    through_m: float | None = None,
    size_m: tuple[float, float] = (np.inf, np.inf),
) -> Floor:
    """Return the floor of a lattice, whose cells of air are told by their corners.

    Args:
        nodes_m: (nodes, 2).
        through_m: paths are displaced by so much through walls too; without, through air alone.
        size_m: of the room, whose own sides no way leads through.
    """
    squares = np.floor(nodes_m[corners[:, 0]] / _BLOCK_M + 1e-9).astype(np.intp)
    block = np.unique(squares, axis=0, return_inverse=True)[1].ravel()
    order = np.argsort(block, kind="stable")  # so that each square's cells stand together
    walls = None if through_m is None else _find_wall_pairs(nodes_m, corners, through_m, size_m)
    return Floor(corners[order], pitch_m[order], table, block[order], walls)


class Knot(NamedTuple):
    """A lag that is looked at, and what others are told by."""

    nth: int  # counted back from the reading
    floor: Floor
    felt: Floats  # (heat cells, sensors), kelvin of a watt in each
    most: Displaced


class Past(NamedTuple):
    """All lags before a reading: some of them, each so many times, and what is left of the rest.

    Every lag is so much of two knots, and a rest: so what a path changes in it is no more than so
    much of what it could change in these, and twice the rest.
    """

    knots: tuple[Knot, ...]
    weights: Floats  # (knots,)
    rest: Displaced
    far_m: tuple[float, ...]

    @property
    def most(self) -> Displaced:
        """What all lags change at the most if each is at its worst, and all alike."""
        total = self.rest
        for knot, weight in zip(self.knots, self.weights.tolist(), strict=True):
            total = add_changes(total, scale_change(knot.most, weight))
        return scale_change(total, 1 + _SLACK)


def build_lags(
    stretches: Iterable[tuple[Floor, Iterable[Floats]]], far_m: Sequence[float]
) -> Past:
    """Return the lags of these stretches, of which each begins with its own knot.

    Args:
        stretches: while no door moves, from the reading back: the floor, and of each lag the
            field, (heat cells, sensors): kelvin at each sensor of a watt that was in each cell.
        far_m: displacements, growing.

    Raises:
        ValueError: a field is not finite or of another shape, or there is none.
    """
    knots: list[Knot] = []
    weights: dict[int, float] = {}
    rest: list[Displaced] = []

    def kept(nth: int, here: Floor, felt: Floats) -> Knot:
        knot = Knot(nth, here, felt, _bound_lag_change(here, felt, far_m))
        knots.append(knot)
        weights[nth] = 1.0
        return knot

    def tell(first: Knot, fields: list[Floats], last: Knot) -> None:
        """Tell the lags between two knots by these, or by more where they are far from that."""
        if not fields:
            return
        ends = np.stack([first.felt.ravel(), last.felt.ravel()], axis=1)
        wanted = np.stack([it.ravel() @ ends for it in fields], axis=1)
        shares = np.linalg.lstsq(ends.T @ ends, wanted, 1e-12)[0]
        shares = np.maximum(shares, 0.0)  # large ones may cancel
        off = [
            it - a * first.felt - b * last.felt
            for it, a, b in zip(fields, *shares.tolist(), strict=True)
        ]
        longest = sum(float(_compute_norms(it).max()) for it in off)
        line = (len(fields) + 1) * (first.most.joint[0] + last.most.joint[0]) / 2
        if 2 * longest > _LOOSE * line:
            half = len(fields) // 2
            middle = kept(first.nth + half + 1, first.floor, fields[half])
            tell(first, fields[:half], middle)
            tell(middle, fields[half + 1 :], last)
            return
        for knot, sizes in zip((first, last), shares.sum(axis=1).tolist(), strict=True):
            weights[knot.nth] += sizes
        each = sum(np.abs(it).max(axis=0) for it in off)
        count = len(far_m)
        rest.append(
            Displaced(np.full(count, 2 * longest), np.tile(2 * each, (count, 1)), longest, each)
        )

    nth = 0
    for here, fields in stretches:
        several = _check(fields, here)
        for first in islice(several, 1):
            last, many = kept(nth, here, first), 1
            while after := list(islice(several, many)):
                end = kept(last.nth + len(after), here, after[-1])
                before = len(knots)
                tell(last, after[:-1], end)
                many = min(2 * many, _MANY) if len(knots) == before else max(1, many // 2)
                last = end
            nth = last.nth + 1
    if not knots:
        raise ValueError(
            "there is no lag but at least one is needed, for noise is scaled to what a source "
            "changes in it. Give the moment of a reading after the start of the day."
        )
    knots.sort(key=lambda knot: knot.nth)
    nought = scale_change(knots[0].most, 0.0)
    left = nought
    for one in rest:
        left = add_changes(left, one)
    return Past(tuple(knots), np.array([weights[it.nth] for it in knots]), left, tuple(far_m))


def _check(fields: Iterable[Floats], here: Floor) -> Iterator[Floats]:
    for felt in fields:
        if felt.ndim != 2 or len(felt) != here.table.shape[1] or not np.isfinite(felt).all():
            raise ValueError(
                f"a field has shape {felt.shape} or holds a value that is not finite, but "
                f"({here.table.shape[1]}, sensors) of finite numbers is needed, or the noise "
                "that rests on it would protect nobody. Take them from the room's model."
            )
        yield felt


def _bound_lag_change(here: Floor, felt: Floats, far_m: Sequence[float]) -> Displaced:
    """Return what a lag changes: by displacements, nowhere more than anywhere in the room."""
    nodes = here.table @ felt
    edges = compute_edge_slopes(here, nodes)
    slope = float(np.sqrt(bound_steepest(here, edges)[0].max()))
    # On one sensor J is one row, and the two columns choose their edges by themselves.
    wide, deep = (np.square(pair).max(axis=0) for pair in edges)
    rows = np.sqrt((wide + deep).max(axis=0))
    far = np.array(far_m)
    joint, each = far * slope, far[:, None] * rows
    if here.across is not None:
        gaps, change = here.across.gap_m, nodes[here.across.one] - nodes[here.across.other]
        length, sizes = _compute_norms(change), np.abs(change)
        for distance, by in enumerate(far_m):
            through = gaps <= by + 1e-9
            if by > here.across.far_m * (1 + _SLACK):
                joint[distance], each[distance] = np.inf, np.inf
            elif through.any():
                left = np.maximum(by - gaps[through], 0)
                joint[distance] = max(joint[distance], (slope * left + length[through]).max())
                more = (left[:, None] * rows + sizes[through]).max(axis=0)
                each[distance] = np.maximum(each[distance], more)
    middle = (nodes.max(axis=0) + nodes.min(axis=0)) / 2
    whole = 2 * float(_compute_norms(nodes - middle).max())
    return Displaced(
        np.minimum(joint, whole),
        np.minimum(each, np.ptp(nodes, axis=0)),
        float(_compute_norms(nodes).max()),
        np.abs(nodes).max(axis=0),
    )


def bound_steepest(here: Floor, edges: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    """Return |J|^2 of the steepest corner in each square, (squares,), and how r changes there.

    The latter is J e, (squares, sensors), along the direction e in which it changes most.

        |J|^2 = (A + B) / 2 + sqrt(((A - B) / 2)^2 + C^2)

    with A and B the squares of its columns and C their product.

    Args:
        edges: of `compute_edge_slopes`.
    """
    wide, deep = edges
    across, down = (np.einsum("eij,eij->ei", pair, pair) for pair in (wide, deep))
    begins = np.flatnonzero(np.diff(here.block, prepend=-1))
    # No corner is steeper than its columns together, nor the steepest less than any column.
    least = np.maximum.reduceat(np.maximum(across.max(axis=0), down.max(axis=0)), begins)
    likely = np.flatnonzero(across.max(axis=0) + down.max(axis=0) >= least[here.block])
    square = np.full((4, len(here.block)), -1.0)
    for corner in range(4):
        top, left = divmod(corner, 2)
        a, b = across[top][likely], down[left][likely]
        c = np.einsum("ij,ij->i", wide[top][likely], deep[left][likely])
        square[corner, likely] = (a + b) / 2 + np.hypot((a - b) / 2, c)
    cells = square.max(axis=0)
    order = np.lexsort((-cells, here.block))[begins]
    corner = square[:, order].argmax(axis=0)
    jacobian = np.stack(
        [
            np.where((corner < 2)[:, None], wide[0][order], wide[1][order]),
            np.where((corner % 2 == 0)[:, None], deep[0][order], deep[1][order]),
        ],
        axis=2,
    )
    along = np.linalg.eigh(np.swapaxes(jacobian, 1, 2) @ jacobian)[1][:, :, -1]
    return cells[order], np.einsum("nik,nk->ni", jacobian, along)


def compute_edge_slopes(here: Floor, nodes: Floats) -> tuple[Floats, Floats]:
    """Return the slopes along the near and far edge, and the left and right, of each cell.

    Each is (2, lattice cells, sensors).

    Args:
        nodes: (nodes, sensors), r.
    """
    near_left, near_right, far_left, far_right = (nodes[it] for it in here.corners.T)
    wide = np.stack([near_right - near_left, far_right - far_left])
    deep = np.stack([far_left - near_left, far_right - near_right])
    wide /= here.pitch_m[:, :1]
    deep /= here.pitch_m[:, 1:]
    return wide, deep


def _compute_norms(felt: Floats) -> Floats:
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", felt, felt)))


def _find_wall_pairs(
    nodes_m: Floats, corners: Indices, through_m: float, size_m: tuple[float, float]
) -> Across:
    """Return the pairs of nodes at walls that a straight way of such a length may join.

    It leaves the air on an edge of one cell alone, outwards, and comes back by another such edge.
    """
    ends, outwards = [], []
    for one, other, axis, sign in ((0, 1, 1, -1), (2, 3, 1, 1), (0, 2, 0, -1), (1, 3, 0, 1)):
        ends.append(np.sort(corners[:, [one, other]], axis=1))
        normal = np.zeros((len(corners), 2))
        normal[:, axis] = sign
        outwards.append(normal)
    edges, first, count = np.unique(
        np.concatenate(ends), axis=0, return_index=True, return_counts=True
    )
    normal = np.concatenate(outwards)[first]
    low, high = (pick(nodes_m[edges], axis=1) for pick in (np.min, np.max))
    # The room's own sides are no walls: no straight way between two places leads beyond them.
    outer = np.where(normal > 0, high >= np.array(size_m) - 1e-9, low <= 1e-9) & (normal != 0)
    alone = (count == 1) & ~outer.any(axis=1)
    edges, normal, low, high = edges[alone], normal[alone], low[alone], high[alone]
    found, gaps = [np.zeros((0, 2), dtype=np.intp)], [np.zeros(0)]
    for nth, (start, end, out) in enumerate(zip(low, high, normal, strict=True)):
        apart = np.maximum(np.maximum(low - end, start - high), 0)
        gap = np.hypot(*apart.T)
        # It goes out into the wall here, and there comes out of it.
        leaves = np.where(out > 0, high - start > 1e-9, low - end < -1e-9)[:, out != 0].all(axis=1)
        back = np.where(normal > 0, end - low > 1e-9, start - high < -1e-9)
        comes = np.where(normal != 0, back, True).all(axis=1)
        others = np.flatnonzero((gap <= through_m + 1e-9) & leaves & comes)
        others = others[others > nth]
        for one in edges[nth]:
            for place in (0, 1):
                to = edges[others, place]
                found.append(np.sort(np.stack([np.full(len(to), one), to], axis=1), axis=1))
                gaps.append(gap[others])
    pairs, which = np.unique(np.concatenate(found), axis=0, return_inverse=True)
    least = np.full(len(pairs), np.inf)
    np.minimum.at(least, which.ravel(), np.concatenate(gaps))
    return Across(pairs[:, 0], pairs[:, 1], least, through_m)
