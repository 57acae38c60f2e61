"""From noisy squares to mass: the least-l1 fit of a tree, exactly, and the program it stands for.

A Release is a tree: squares of the first level are its roots, the children of the squares that
were kept its nodes. RECONSTRUCT's map x >= 0 minimises the sum over kept squares of 2**-i |z - x|
and, over all that was left out on any level i, of 2**-i x.

`reconstruct` solves it by what a square's subtree costs at least as a function of its mass. That
is convex and piecewise linear: a list of segments (slope, leaf, length) in order of slope.
Children are joined by merging their lists; a square's own |z - x| lowers the slopes left of z and
raises those right of it. Parts and slopes are whole, so that nothing is rounded. The map of least
total is taken; of equal slopes left-out squares come first, then squares in order.

`fit_least_squares` takes the squares that were left out for what they were measured as, too.

Source: paper 000, Algorithm 2, after Indyk and Price 2011.

Differs from the paper:
1. RECONSTRUCT's program has a variable for every cell. What is left out costs the same wherever
   it lies below, so that the left-out children of one square are one variable: see
   `solve_program`, the linear program that is the reference.
2. The mass of what was left out is spread evenly over it. The paper says not where it is.
"""

from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from edge.core.grid import depth
from edge.core.records import Grid, Release
from edge.mechanisms.pyramid import list_children, list_squares, params_of, pick_fullest

Floats = NDArray[np.float64]
Segment = tuple[int, int, float]

Curve = tuple[Floats, Floats]  # prices, rises of the slope
Sum = tuple[Floats, Floats, Floats]  # prices in order, the slope from each on, the mass at each

_ENDLESS = float("inf")
_KEPT = 1 << 40  # leaves of one square are numbered from here on, groups of left-out ones below


class Node(NamedTuple):
    """A square of a level: noisy parts, whether it was kept, and where its children stand."""

    level: int
    square: int
    noisy: int
    kept: bool
    children: tuple[int, ...]  # their indices in the next level


class Leaf(NamedTuple):
    """Squares of a level that share a mass, in parts."""

    level: int
    squares: tuple[int, ...]
    mass: float


class Fit(NamedTuple):
    """What was fitted: the leaves that hold mass, and what the fit costs, in parts."""

    leaves: list[Leaf]
    cost: float

    @property
    def total(self) -> float:
        """The mass of all leaves, in parts."""
        return sum(leaf.mass for leaf in self.leaves)


def read_tree(release: Release) -> list[list[Node]]:
    """Return the measured squares of a Release, coarsest level first.

    Raises:
        ValueError: it has not as many values as its Round reaches squares.
    """
    round = release.round
    p = params_of(round)
    values, found = iter(release.values), []
    squares = list_squares(round.grid, p.first)
    for level in range(p.first, p.first + len(p.weights)):
        noisy = list(islice(values, len(squares)))
        if len(noisy) != len(squares) or not all(type(z) is int for z in noisy):
            raise _make_misfit_error(release)
        deepest = level == p.first + len(p.weights) - 1
        kept = pick_fullest(squares, noisy, p.kept)
        below = [] if deepest else list_children(round.grid, level, kept)
        own: dict[int, list[int]] = {}
        for index, child in enumerate(below):
            above = ((child >> (level + 2)) << level) + ((child & ((2 << level) - 1)) >> 1)
            own.setdefault(above, []).append(index)
        chosen = set(kept)
        found.append(
            [
                Node(level, square, z, square in chosen, tuple(own.get(square, ())))
                for square, z in zip(squares, noisy, strict=True)
            ]
        )
        squares = below
    if next(values, None) is not None:
        raise _make_misfit_error(release)
    return found


def _make_misfit_error(release: Release) -> ValueError:
    return ValueError(
        f"round {release.round.number} released {len(release.values)} values but must release a "
        "whole number for every square that its params reach: other numbers cannot be told to "
        "squares. Take it as published."
    )


def reconstruct(nodes: list[list[Node]]) -> Fit:
    """Return the fit of RECONSTRUCT, exactly, in time linear in the kept squares times levels.

    Left-out children of a square at level i cost 2**-i - 2**-last a part, wherever they lie. The
    slopes here are in units of 2**-last.
    """
    last = nodes[-1][0].level
    below: list[list[Segment]] = []
    constant = 0
    for row in reversed(nodes):
        unit = 1 << (last - row[0].level)
        found: list[list[Segment]] = []
        for node in row:
            if not node.kept:
                found.append([])
                continue
            merged = [segment for child in node.children for segment in below[child]]
            if not node.children:
                merged = [(0, _KEPT + node.square, _ENDLESS)]
            elif not all(map(below.__getitem__, node.children)):
                merged.append((unit - 1, (node.level << 32) + node.square, _ENDLESS))
            merged.sort()
            found.append(_add_own_term(merged, node.noisy, unit))
            constant += unit * abs(node.noisy)
        below = found
    masses: dict[int, float] = {}
    cost = float(constant)
    for slope, leaf, length in (segment for part in below for segment in part):
        if slope < 0:
            masses[leaf] = masses.get(leaf, 0.0) + length
            cost += slope * length
    return Fit(_list_leaves(masses, nodes), cost / (1 << last))


def _add_own_term(merged: list[Segment], noisy: int, unit: int) -> list[Segment]:
    """Return the segments once a square's own |noisy - x| is added, up to the first endless one.

    >>> _add_own_term([(0, 5, 3.0), (2, 6, _ENDLESS)], 4, 8)
    [(-8, 5, 3.0), (-6, 6, 1.0), (10, 6, inf)]
    """
    found, left = [], float(noisy)
    for slope, leaf, length in merged:
        if left > 0:
            if length <= left:
                found.append((slope - unit, leaf, length))
                left -= length
                continue
            found.append((slope - unit, leaf, left))
            length -= left
            left = 0.0
        found.append((slope + unit, leaf, length))
        if length == _ENDLESS:
            break
    return found


def _list_leaves(masses: dict[int, float], nodes: list[list[Node]]) -> list[Leaf]:
    """Return the leaves of these numbers; a group is the children of a square that were left out.

    A kept square of the last level has the number of the square above _KEPT, a group that of its
    parent, with the parent's level in the upper bits.
    """
    first, last = nodes[0][0].level, nodes[-1][0].level
    found = []
    for leaf, mass in sorted(masses.items()):
        if leaf >= _KEPT:
            found.append(Leaf(last, (leaf - _KEPT,), mass))
            continue
        level, square = leaf >> 32, leaf & 0xFFFFFFFF
        node = next(node for node in nodes[level - first] if node.square == square)
        row = nodes[level - first + 1]
        left = tuple(row[child].square for child in node.children if not row[child].kept)
        found.append(Leaf(level + 1, left, mass))
    return found


def fit_least_squares(nodes: list[list[Node]], weights: tuple[int, ...], most: float) -> Fit:
    """Return the non-negative map of at most so many parts that is nearest to all squares.

    It minimises the sum of (weight (z - x))**2: each level counts by the inverse of its noise. It
    is consistent over levels by construction, and shares what a parent has more than its
    children between them, where l1 gives all to one. `most` is what all reports can hold, which
    is public; without it the noise of empty squares adds up, for none is below nought.

    How much a square takes at a price t is convex and piecewise linear in t: nothing up to a
    first price, then ever steeper. Children's curves add up; the square's own term turns (t, x)
    into (t + w (x - z), x) with w = weight**2. The whole pays nothing, unless it is too much.
    """
    curves: list[list[Curve]] = []
    sums: list[list[Sum | None]] = []
    for row, weight in zip(reversed(nodes), reversed(weights), strict=True):
        w = (weight / weights[0]) ** 2
        found: list[Curve] = []
        joined: list[Sum | None] = []
        for node in row:
            if not node.children:
                found.append((np.array([-w * node.noisy]), np.array([1 / w])))
                joined.append(None)
                continue
            curve = _add([curves[-1][child] for child in node.children])
            prices, slopes, masses = curve
            joined.append(curve)
            steeper = slopes / (1 + w * slopes)
            found.append((prices + w * (masses - node.noisy), np.diff(steeper, prepend=0.0)))
        curves.append(found)
        sums.append(joined)
    curves.reverse()
    sums.reverse()
    price = min(0.0, _find_price(_add(curves[0]), most))
    leaves, prices_now = [], [price] * len(nodes[0])
    for level, (row, own, inner) in enumerate(zip(nodes, curves, sums, strict=True)):
        below = [0.0] * len(nodes[level + 1]) if level + 1 < len(nodes) else []
        for node, (prices, rises), total, now in zip(row, own, inner, prices_now, strict=True):
            if total is None:
                if now > prices[0]:
                    mass = float(rises[0] * (now - prices[0]))
                    leaves.append(Leaf(node.level, (node.square,), mass))
                continue
            mass = float(rises @ np.maximum(now - prices, 0.0))
            inside = _find_price(total, mass)
            for child in node.children:
                below[child] = inside
        prices_now = below
    return Fit(leaves, float("nan"))


def _add(parts: list[Curve]) -> Sum:
    """Return prices in order, the slope from each on, and the mass at each, of a sum of curves."""
    prices = np.concatenate([prices for prices, _ in parts])
    order = np.argsort(prices)
    prices = prices[order]
    slopes = np.cumsum(np.concatenate([rises for _, rises in parts])[order])
    masses = np.concatenate(([0.0], np.cumsum(slopes[:-1] * np.diff(prices))))
    return prices, slopes, masses


def _find_price(curve: Sum, mass: float) -> float:
    """Return the price at which a sum of curves takes this mass."""
    prices, slopes, masses = curve
    if mass <= 0:
        return float(prices[0])
    at = int(np.searchsorted(masses, mass, side="right")) - 1
    return float(prices[at] + (mass - masses[at]) / slopes[at])


def spread_leaves(fit: Fit, grid: Grid) -> Floats:
    """Return the parts of each cell of the grid, (rows, columns): leaves are spread evenly."""
    columns, rows = grid.shape
    found = np.zeros((rows, columns))
    for leaf in fit.leaves:
        shift = depth(grid) - leaf.level
        boxes = []
        for square in leaf.squares:
            y, x = square >> leaf.level, square & ((1 << leaf.level) - 1)
            boxes.append(
                (slice(y << shift, (y + 1) << shift), slice(x << shift, (x + 1) << shift))
            )
        cells = sum(found[box].size for box in boxes)
        for box in boxes:
            found[box] += leaf.mass / cells
    return found


def solve_program(nodes: list[list[Node]]) -> float:
    """Return the cost of RECONSTRUCT by linear programming, the reference of `paper`.

    One variable for each kept square of the last level, and for each left-out one of any level:
    minimise a.x + sum over kept squares of 2**-i (e+ + e-), with A x + e+ - e- = z.
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, eye_array, hstack

    last = nodes[-1][0].level
    rows: list[int] = []  # of A: the kept squares
    columns: list[int] = []
    costs: list[float] = []
    weights: list[float] = []
    parts: list[int] = []

    def walk(depth_: int, index: int, above: tuple[int, ...]) -> None:
        node = nodes[depth_][index]
        if node.kept:
            above = (*above, len(parts))
            weights.append(2.0**-node.level)
            parts.append(node.noisy)
        if node.children:
            for child in node.children:
                walk(depth_ + 1, child, above)
            return
        rows.extend(above)
        columns.extend([len(costs)] * len(above))
        costs.append(0.0 if node.kept else 2.0 ** (1 - node.level) - 2.0**-last)

    for index in range(len(nodes[0])):
        walk(0, index, ())
    held = csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(parts), len(costs)))
    slack = eye_array(len(parts), format="csr")
    found = linprog(
        [*costs, *weights, *weights],
        A_eq=hstack([held, slack, -slack]),
        b_eq=parts,
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    return float(found.fun)
