"""RECONSTRUCT by the tree against linear programs; least squares against a solver of scipy."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linprog, lsq_linear

from edge.core.grid import depth as depth_of
from edge.core.records import Grid, Guarantee, Release, Round
from edge.mechanisms import pyramid
from recovery.pyramid.tree import (
    Node,
    fit_least_squares,
    read_tree,
    reconstruct,
    solve_program,
    spread_leaves,
)

PROMISE = Guarantee((1, 1), None, None, "a device", "central", "one report", "presence")
Floats = NDArray[np.float64]


def released(
    shape: tuple[int, int], kept: int, first: int, sums: Floats, noise: float, seed: int
) -> Release:
    """Return a Release of these parts, with whole-number noise of this size on each square."""
    grid = Grid(shape, 0)
    depth = depth_of(grid)
    weights = tuple(4 ** (depth - level) + 1 for level in range(first, depth + 1))
    round = Round(1, "pyramid", grid, (1, 1, kept, first, 1, 1, *weights), PROMISE)
    world = np.random.default_rng(seed)
    full = np.zeros((1 << depth, 1 << depth))
    full[: shape[1], : shape[0]] = sums

    def noisy(k: int, squares: list[int]) -> list[int]:
        side = 1 << (depth - first - k)
        blocks = full.reshape(len(full) // side, side, len(full) // side, side).sum(axis=(1, 3))
        return [int(blocks.ravel()[s] + np.rint(world.laplace(0, noise))) for s in squares]

    return Release(round, pyramid.gather_values(round, noisy), 100)


def a_crowd(shape: tuple[int, int], seed: int) -> Floats:
    world = np.random.default_rng(seed)
    return world.poisson(np.outer(world.gamma(0.3, 20, shape[1]), world.gamma(0.3, 1, shape[0])))


def cost_of(mass: Floats, nodes: list[list[Node]], grid: Grid) -> float:
    """Return the objective of the paper for a map, every square of every level looked at."""
    depth = depth_of(grid)
    full = np.zeros((1 << depth, 1 << depth))
    full[: grid.shape[1], : grid.shape[0]] = mass
    cost = 0.0
    for row in nodes:
        side = 1 << (depth - row[0].level)
        blocks = full.reshape(len(full) // side, side, len(full) // side, side).sum(axis=(1, 3))
        target = np.zeros(blocks.size)
        for node in row:
            target[node.square] = node.noisy if node.kept else 0
        cost += float(np.abs(target - blocks.ravel()).sum()) / (1 << row[0].level)
    return cost


SHAPES = [((8, 8), 5, 1), ((32, 32), 20, 2), ((20, 9), 6, 1), ((64, 64), 1, 0), ((4, 1), 3, 0)]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("shape", "kept", "first"), SHAPES)
@pytest.mark.parametrize("noise", [0.4, 3.0, 40.0])
def test_the_tree_costs_what_the_program_does(
    shape: tuple[int, int], kept: int, first: int, noise: float, seed: int
) -> None:
    """The tree method is exact: HiGHS finds no cheaper map, and the map has the cost it says."""
    release = released(shape, kept, first, a_crowd(shape, seed), noise, seed)
    nodes = read_tree(release)

    fit = reconstruct(nodes)

    assert fit.cost == pytest.approx(solve_program(nodes), rel=1e-9, abs=1e-9)
    mass = spread_leaves(fit, release.round.grid)
    assert cost_of(mass, nodes, release.round.grid) == pytest.approx(fit.cost, rel=1e-12)
    assert mass.sum() == pytest.approx(fit.total)


def test_the_compact_program_is_the_papers() -> None:
    """One variable for each cell and a row for each square of the pyramid gives the same cost."""
    release = released((8, 8), 5, 1, a_crowd((8, 8), 9), 4.0, 2)
    nodes = read_tree(release)
    rows, targets, weights = [], [], []
    for row in nodes:
        level, noisy = row[0].level, {node.square: node for node in row}
        for square in range(4**level):
            y, x = divmod(square, 1 << level)
            mark = np.zeros((8, 8))
            side = 8 >> level
            mark[y * side : (y + 1) * side, x * side : (x + 1) * side] = 1
            node = noisy.get(square)
            rows.append(mark.ravel())
            targets.append(node.noisy if node and node.kept else 0)
            weights.append(0.5**level)
    unit = np.eye(len(rows))
    found = linprog(
        [*np.zeros(64), *weights, *weights],
        A_eq=np.hstack([np.array(rows), unit, -unit]),
        b_eq=targets,
    )

    assert reconstruct(nodes).cost == pytest.approx(found.fun, rel=1e-9)


@pytest.mark.parametrize("most", [1e9, 30.0])
@pytest.mark.parametrize("seed", range(3))
def test_least_squares_are_least(seed: int, most: float) -> None:
    """No map without negative mass, and of at most so much, is nearer: scipy finds the same."""
    release = released((8, 8), 3, 1, a_crowd((8, 8), seed), 6.0, seed)
    nodes, weights = read_tree(release), pyramid.params_of(release.round).weights
    leaves = [(k, node.square) for k, row in enumerate(nodes) for node in row if not node.children]

    fit = fit_least_squares(nodes, weights, most)

    matrix, targets = [], []
    for k, row in enumerate(nodes):
        for node in row:
            above = [
                j >= k
                and (s >> (j + 1)) >> (j - k) == node.square >> (k + 1)
                and (s & ((2 << j) - 1)) >> (j - k) == node.square & ((2 << k) - 1)
                for j, s in leaves
            ]
            matrix.append(weights[k] * np.array(above, dtype=float))
            targets.append(weights[k] * node.noisy)
    total = 1e4 * np.ones(len(leaves))  # a price for mass that is too much, by penalty
    found = lsq_linear(np.array(matrix), targets, (0, np.inf), method="bvls", tol=1e-14)
    if found.x.sum() > most:
        found = lsq_linear(
            np.vstack([matrix, total]), [*targets, 1e4 * most], (0, np.inf), method="bvls"
        )
    own = {(leaf.level - 1, leaf.squares[0]): leaf.mass for leaf in fit.leaves}

    mine = np.array([own.get(leaf, 0.0) for leaf in leaves])
    assert mine.sum() <= most * (1 + 1e-9)
    assert np.sum((np.array(matrix) @ mine - targets) ** 2) == pytest.approx(
        np.sum((np.array(matrix) @ found.x - targets) ** 2), rel=1e-4
    )
    np.testing.assert_allclose(mine, found.x, atol=0.02)


@pytest.mark.parametrize("values", [[1] * 4, [1] * 9, [1.0] * 8])
def test_values_of_another_round_are_refused(values: list[int]) -> None:
    """A number too few would move all that follow to other squares."""
    round = Round(1, "pyramid", Grid((4, 4), 0), (1, 1, 1, 1, 1, 1, 2, 1), PROMISE)

    with pytest.raises(ValueError, match="whole number for every square"):
        read_tree(Release(round, values, 1))


def test_shares_of_the_paper_are_exact() -> None:
    """Each level gets 2**(-1/2) of the one before, in whole numbers, and nothing is left over."""
    from recovery.pyramid.query import compute_weights

    found = compute_weights(9)

    assert [b / a for a, b in pairwise(found)] == pytest.approx([0.5**0.5] * 8, rel=1e-3)
    assert sum(Fraction(weight, sum(found)) for weight in found) == 1
