"""The cheapest flow and the cheapest plan between two maps on a grid, by a network simplex."""

import math
from dataclasses import dataclass
from itertools import pairwise
from types import ModuleType
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..kernels import compile_if_worth, network_simplex

# A basis of the network simplex: a spanning tree, the one flow on it, and its prices.

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
Nodes = NDArray[np.int32]

_BLOCK_LEAST = 64
# How many arcs and nodes a walk may look at where it is not compiled: half a minute.
_PATIENCE = 2 * 10**7


@dataclass(frozen=True, slots=True)
class Arcs:
    """Where masses may move, and what a unit of mass costs there."""

    tails: Nodes  # (arcs,)
    heads: Nodes  # (arcs,)
    costs: Whole  # (arcs,), of the same kind of integer as the prices
    both: bool  # whether every arc may be gone in both directions


@dataclass(frozen=True, slots=True)
class Basis:
    """What `network_simplex` works on; the arrays change as it goes."""

    links: Nodes  # (6, nodes), see there
    upward: NDArray[np.bool_]  # (nodes,)
    flow: Floats  # (nodes,), on the arc to the parent
    price: Whole  # (nodes,)
    kernel: ModuleType

    def pivot(self, arcs: Arcs) -> int:
        """Make the basis the best one, and return in how many pivots.

        Raises:
            ValueError: it takes too long without a compiler.
        """
        patience = _PATIENCE if self.kernel is network_simplex else 2**60
        done = self.kernel.pivot_to_optimum(
            arcs.tails,
            arcs.heads,
            arcs.costs,
            arcs.both,
            # Measured: more where arcs are many for their nodes, as pairs of cells are.
            _BLOCK_LEAST if arcs.both else max(_BLOCK_LEAST, math.isqrt(len(arcs.tails)) // 4),
            patience,
            self.links,
            self.upward,
            self.flow,
            self.price,
        )
        if done < 0:
            raise ValueError(
                f"the maps have {len(self.flow)} cells to move between but this many take "
                "minutes where nothing is compiled. Install numba: pip install -e '.[fast]' in "
                "heatveil's checkout, or sum the cells into larger ones."
            )
        return int(done)

    def list_tree_flows(self) -> tuple[Nodes, Nodes, Floats]:
        """Return the nodes but for the root, their arcs, and what flows from tail to head.

        Nothing does on an artificial arc, which is there for the tree alone.
        """
        nodes = np.flatnonzero(self.links[1] != -1).astype(np.int32)
        arcs = self.links[1][nodes]
        mass = np.where(arcs < 0, 0.0, self.flow[nodes])
        return nodes, np.where(arcs < 0, -2 - arcs, arcs), mass


def make_first_basis(
    arcs: Arcs, wanted: Floats, root: int, supply: Floats, detour: int, worth: bool
) -> Basis:
    """Return the basis of the spanning tree with the most wanted arcs.

    Args:
        arcs: must connect all nodes.
        wanted: (arcs,), the greater the more.
        root: the node that the tree hangs from.
        supply: (nodes,), what comes in, or goes out where negative; adds to 0.
        detour: what an arc costs that stands in for one gone the wrong way; not needed where
            arcs go both ways.
        worth: load the compiler for this.
    """
    nodes = len(supply)
    kernel = compile_if_worth(network_simplex, worth)
    # Where arcs go both ways any tree will do; elsewhere dear arcs make a bad beginning.
    order = np.argsort(-wanted, kind="stable") if arcs.both else np.lexsort((arcs.costs, -wanted))
    tree = kernel.find_spanning_tree(order.astype(np.int32), arcs.tails, arcs.heads, nodes)
    basis = Basis(
        links=np.empty((6, nodes), np.int32),
        upward=np.empty(nodes, np.bool_),
        flow=np.empty(nodes),
        price=np.empty(nodes, arcs.costs.dtype),
        kernel=kernel,
    )
    kernel.hang_tree(
        tree,
        root,
        arcs.tails,
        arcs.heads,
        arcs.costs,
        arcs.both,
        detour,
        supply,
        basis.links,
        basis.upward,
        basis.flow,
        basis.price,
    )
    return basis


# A grid and the one half as fine: maps to the coarse one, flows and plans back.

Places = NDArray[np.int64]


def coarsen_map(mass: Floats) -> Floats:
    """Return the map on cells of 2 by 2, the last row or column alone where it is odd.

    >>> coarsen_map(np.ones((2, 3)))
    array([[4., 2.]])
    """
    rows, columns = mass.shape
    padded = np.pad(mass, ((0, rows % 2), (0, columns % 2)))
    halves = padded.reshape(padded.shape[0] // 2, 2, padded.shape[1] // 2, 2)
    return halves.sum(axis=(1, 3))


def refine_flow(right: Floats, rows: int, columns: int) -> Floats:
    """Return a flow to the right on the grid twice as fine, (rows, columns - 1).

    Each edge between two blocks of 2 by 2 becomes two, with half the flow each; the edge inside
    a block has the mean of what comes in and what leaves on its row.

    Args:
        right: (coarse rows, coarse columns - 1), what passes to the right.
        rows, columns: of the fine grid.
    """
    halves = np.repeat(right / 2, 2, axis=0)[:rows]
    fine = np.zeros((rows, 2 * halves.shape[1] + 3))
    fine[:, 2:-1:2] = halves
    fine[:, 1::2] = (fine[:, :-1:2] + fine[:, 2::2]) / 2
    return fine[:, 1:columns]


def refine_pairs(
    leaving: Places, arriving: Places, moved: Floats, p: Floats, q: Floats
) -> tuple[Places, Places, Floats]:
    """Return all pairs of cells within pairs of blocks, and how much each would move.

    What a block moves is thought of as shared out in proportion to the masses of its cells.

    Args:
        leaving, arriving: (pairs,), blocks of 2 by 2 cells, counted row by row.
        moved: (pairs,), how much goes from block to block.
        p, q: (rows, columns), the masses of the cells; only cells with mass are paired.
    """
    here, mass_here = _split_blocks(leaving, p)
    there, mass_there = _split_blocks(arriving, q)
    share_here = moved[:, None] * mass_here / mass_here.sum(axis=1, keepdims=True)
    share_there = mass_there / mass_there.sum(axis=1, keepdims=True)
    both = (mass_here > 0)[:, :, None] & (mass_there > 0)[:, None, :]
    pair, i, j = np.nonzero(both)
    return here[pair, i], there[pair, j], share_here[pair, i] * share_there[pair, j]


def _split_blocks(blocks: Places, mass: Floats) -> tuple[Places, Floats]:
    """Return the four cells of each block, (blocks, 4), and their masses, 0 outside the map."""
    rows, columns = mass.shape
    y, x = np.divmod(blocks, (columns + 1) // 2)
    y = 2 * y[:, None] + np.array([0, 0, 1, 1])
    x = 2 * x[:, None] + np.array([0, 1, 0, 1])
    inside = (y < rows) & (x < columns)
    cells = np.where(inside, y * columns + x, 0)
    return cells, np.where(inside, mass.ravel()[cells], 0.0)


# The cheapest flow on a grid of cells, which is the earth mover's distance with the l1 ground.
#
# Between two cells the l1 distance is the shortest way over neighbours, so it is enough to say
# how much passes each of the two edges a cell shares: two numbers a cell, not one a pair.

# One that has nothing to start from walks this far by itself.
_COARSEST = 4
# Side of the smallest tiles, in cells.
_TILE = 24
# A grid up to this side is a tile by itself.
_UNTILED = 64
# A map is rough if blocks of cells have less than this share of what its cells move; of noise
# they have half.
_ROUGH = 0.8


@dataclass(frozen=True, slots=True)
class Flow:
    """What passes each edge of a grid, and the prices that prove that no flow is cheaper.

    Neighbours' prices differ by at most 1, so `cost`, the masses priced, is at most the cost of
    any flow; `gap` is how much this flow costs more, nothing but rounding.
    """

    cost: float  # mass times cells
    gap: float
    right: Floats  # (rows, columns - 1), from a cell to its right neighbour
    down: Floats  # (rows - 1, columns)
    prices: Whole  # (rows, columns)
    pivots: int


def solve_grid_flow(surplus: Floats, worth: bool = True) -> Flow:
    """Return the flow of least cost that evens out a surplus.

        minimise sum |right| + sum |down|  over flows whose divergence is the surplus

    Grids are solved from coarse to fine: the flow over each coarse edge, spread over the fine
    ones, says which edges of the fine grid are wanted in the first basis. Every spanning tree of
    a grid carries a flow, so that any will do to begin with.

    Where the map is rough the first flow is mended on tiles of the grid, small ones first.

    Args:
        surplus: (rows, columns), mass to bring away, or to fetch where negative; adds to 0.
        worth: load the compiler for this; without it the walk is slow beyond 1,000 cells.

    Raises:
        ValueError: it takes too long without a compiler.

    Source: Beckmann 1952 for the flow; `recovery.kernels.network_simplex` for the method.
    """
    rows, columns = surplus.shape
    if max(rows, columns) <= _COARSEST:
        return _walk(surplus, np.zeros((rows, columns - 1)), np.zeros((rows - 1, columns)), worth)
    blocks = coarsen_map(surplus)
    coarse = solve_grid_flow(blocks, worth)
    right = refine_flow(coarse.right, rows, columns)
    down = refine_flow(coarse.down.T, columns, rows).T
    rough = np.abs(blocks).sum() < _ROUGH * np.abs(surplus).sum()
    if rough and max(rows, columns) > _UNTILED:
        side = _TILE
        while side < max(rows, columns):
            for shift in (0,) if side == _TILE else (0, side // 2):
                right, down = _mend(surplus, right, down, side, shift, worth)
            side *= 2
    return _walk(surplus, right, down, worth)


def _mend(
    surplus: Floats, right: Floats, down: Floats, side: int, shift: int, worth: bool
) -> tuple[Floats, Floats]:
    """Return a cheaper flow, the cheapest there is without a change between tiles.

    A pivot on the whole grid changes the prices of thousands of cells; most pivots of a rough
    map mend what is near, and on a tile they are cheap.
    """
    fixed = right.copy(), down.copy()
    cuts = [
        [0, *range(shift or side, length - side // 4, side), length] for length in surplus.shape
    ]
    borders = [np.array(cut[1:-1], dtype=np.intp) - 1 for cut in cuts]
    needed = surplus.copy()
    over = fixed[0][:, borders[1]]
    needed[:, borders[1]] -= over
    needed[:, borders[1] + 1] += over
    over = fixed[1][borders[0]]
    needed[borders[0]] -= over
    needed[borders[0] + 1] += over
    for top, bottom in pairwise(cuts[0]):
        for left, end in pairwise(cuts[1]):
            within = slice(top, bottom), slice(left, end - 1)
            below = slice(top, bottom - 1), slice(left, end)
            tile = needed[top:bottom, left:end]
            flow = _walk(tile, right[within], down[below], worth)
            fixed[0][within], fixed[1][below] = flow.right, flow.down
    return fixed


def _walk(surplus: Floats, right: Floats, down: Floats, worth: bool) -> Flow:
    """Return the flow of least cost, begun with the tree that carries most of a given flow."""
    rows, columns = surplus.shape
    cell = np.arange(surplus.size, dtype=np.int32).reshape(rows, columns)
    tails = np.concatenate([cell[:, :-1].ravel(), cell[:-1].ravel()])
    heads = np.concatenate([cell[:, 1:].ravel(), cell[1:].ravel()])
    edges = Arcs(tails, heads, np.ones(len(tails), np.int32), both=True)
    wanted = np.abs(np.concatenate([right.ravel(), down.ravel()]))
    supply = np.ascontiguousarray(surplus, dtype=np.float64).ravel()
    root = int(cell[rows // 2, columns // 2])
    basis = make_first_basis(edges, wanted, root, supply, 0, worth)
    pivots = basis.pivot(edges)

    here, edge, mass = basis.list_tree_flows()
    forth = (tails[edge] == here) == basis.upward[here]
    over = np.zeros(len(tails))
    over[edge] = np.where(forth, mass, -mass)
    cut = rows * (columns - 1)
    cost = float(supply @ basis.price)
    return Flow(
        cost=cost,
        gap=abs(float(mass.sum()) - cost),
        right=over[:cut].reshape(rows, columns - 1),
        down=over[cut:].reshape(rows - 1, columns),
        prices=basis.price.reshape(rows, columns),
        pivots=pivots,
    )


# The cheapest plan between two maps on a grid, for the straight grounds: l2 and its square.
#
# A plan uses few of all pairs of cells. So the pairs are generated: a network simplex finds the
# cheapest plan on those that it has, and its prices tell which others would be cheaper still.

Ground: TypeAlias = Literal["euclidean", "sqeuclidean"]

# Prices are whole numbers; a Euclidean distance is rounded to this part of a cell.
_PARTS = 2.0**32


@dataclass(frozen=True, slots=True)
class Plan:
    """How much goes from which cell to which, and the prices that prove it the cheapest.

    No two cells' prices differ by more than the cost between them, so `bound`, the masses
    priced, is at most the cost of any plan; `cost` is above it by no more than rounding: of
    the Euclidean distance, 1e-10 of a cell.
    """

    cost: float  # mass times cells, or cells squared
    bound: float
    leaving: Whole  # (pairs,), cells counted row by row
    arriving: Whole  # (pairs,)
    mass: Floats  # (pairs,), 0 where the pair is in the basis and not in use
    pivots: int


def solve_grid_plan(p: Floats, q: Floats, ground: Ground, worth: bool = True) -> Plan:
    """Return the plan of least cost that turns one map into the other.

    Grids are solved from coarse to fine: the pairs of blocks that the coarse plan uses, cell by
    cell, are the first pairs of the fine one.

    Args:
        p, q: (rows, columns), masses, not negative, of equal total above 0.
        ground: what a unit of mass costs, by the distance in cells.
        worth: load the compiler for this.

    Raises:
        ValueError: it takes too long without a compiler.

    Source: Schmitzer 2016, "A sparse multiscale algorithm for dense optimal transport".

    Differs from the source:
        1. All pairs are priced, by lower envelopes where the ground is squared, so that no
           neighbourhood need be proved large enough.
    """
    if max(p.shape) <= _COARSEST:
        here, there = np.flatnonzero(p), np.flatnonzero(q)
        leaving, arriving = np.repeat(here, len(there)), np.tile(there, len(here))
        likely = np.zeros(len(leaving))
    else:
        coarse = solve_grid_plan(coarsen_map(p), coarsen_map(q), ground, worth)
        leaving, arriving, likely = refine_pairs(
            coarse.leaving, coarse.arriving, coarse.mass, p, q
        )
    return _generate(p, q, ground, leaving, arriving, likely, worth)


def _generate(
    p: Floats,
    q: Floats,
    ground: Ground,
    leaving: Whole,
    arriving: Whole,
    likely: Floats,
    worth: bool,
) -> Plan:
    """Return the cheapest plan, begun with the pairs given, the likelier ones first."""
    away = _tabulate_costs(p.shape, ground)
    here, there = np.flatnonzero(p), np.flatnonzero(q)
    leaves, arrives = np.zeros((2, p.size), np.int32)
    leaves[here] = np.arange(len(here))
    arrives[there] = np.arange(len(here), len(here) + len(there))
    supply = np.concatenate([p.ravel()[here], -q.ravel()[there]])

    def arcs() -> Arcs:
        costs = _look_up_costs(away, p.shape[1], leaving, arriving)
        return Arcs(leaves[leaving], arrives[arriving], costs, both=False)

    # Dearer than every pair, so no artificial arc is in use once all pairs have been priced.
    detour = int(away[-1, -1]) + 1
    basis = make_first_basis(arcs(), likely, 0, supply, detour, worth)
    pivots = basis.pivot(arcs())
    while True:
        more_from, more_to = _find_cheaper_pairs(
            ground, away, p.shape, here, there, basis.price, worth
        )
        if not len(more_from):
            break
        leaving = np.concatenate([leaving, more_from])
        arriving = np.concatenate([arriving, more_to])
        pivots += basis.pivot(arcs())

    _, arc, mass = basis.list_tree_flows()
    leaving, arriving = leaving[arc], arriving[arc]
    rows_off, columns_off = np.divmod(leaving, p.shape[1]) - np.array(
        np.divmod(arriving, p.shape[1])
    )
    squares = (rows_off**2 + columns_off**2).astype(np.float64)
    squared = ground == "sqeuclidean"
    bound = float(supply @ (basis.price - basis.price[0]))
    return Plan(
        cost=float(mass @ (squares if squared else np.sqrt(squares))),
        bound=bound if squared else bound / _PARTS,
        leaving=leaving,
        arriving=arriving,
        mass=mass,
        pivots=pivots,
    )


def _tabulate_costs(shape: tuple[int, ...], ground: Ground) -> Whole:
    """Return the cost of a move by so many rows and columns, as whole numbers."""
    y, x = np.arange(shape[0])[:, None], np.arange(shape[1])[None, :]
    if ground == "sqeuclidean":
        return np.asarray(y**2 + x**2, dtype=np.int64)
    return np.rint(np.hypot(y, x) * _PARTS).astype(np.int64)


def _look_up_costs(away: Whole, columns: int, leaving: Whole, arriving: Whole) -> Whole:
    rows_off = np.abs(leaving // columns - arriving // columns)
    return away[rows_off, np.abs(leaving % columns - arriving % columns)]


def _find_cheaper_pairs(
    ground: Ground,
    away: Whole,
    shape: tuple[int, ...],
    here: Whole,
    there: Whole,
    price: Whole,
    worth: bool,
) -> tuple[Whole, Whole]:
    """Return the pairs that would be cheaper than their prices say: the best of each cell.

    A pair is cheaper while price(from) - price(to) exceeds its cost.
    """
    kernel = compile_if_worth(network_simplex, worth)
    price_here, price_there = price[: len(here)], price[len(here) :]
    if ground == "sqeuclidean":
        height = np.full(shape, network_simplex.INFINITE, np.int64)
        height.ravel()[there] = price_there
        best, to = (field.ravel()[here] for field in kernel.find_nearest(height))
        height[:] = network_simplex.INFINITE
        height.ravel()[here] = -price_here
        back, come = (field.ravel()[there] for field in kernel.find_nearest(height))
    else:
        (y_from, x_from), (y_to, x_to) = np.divmod(here, shape[1]), np.divmod(there, shape[1])
        best, which = kernel.find_cheapest(away, y_from, x_from, y_to, x_to, price_there)
        to = there[which]
        back, which = kernel.find_cheapest(away, y_to, x_to, y_from, x_from, -price_here)
        come = here[which]
    out, into = price_here > best, -price_there > back
    pairs = np.concatenate([here[out], come[into]]), np.concatenate([to[out], there[into]])
    cells = shape[0] * shape[1]
    distinct = np.unique(pairs[0] * cells + pairs[1])
    return distinct // cells, distinct % cells
