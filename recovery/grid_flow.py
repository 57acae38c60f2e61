"""The cheapest flow on a grid of cells, which is the earth mover's distance with the l1 ground.

Between two cells the l1 distance is the shortest way over neighbours, so it is enough to say
how much passes each of the two edges a cell shares: two numbers a cell, not one a pair.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .compiled import tier
from .kernels import network_simplex

Floats = NDArray[np.float64]
Whole = NDArray[np.int32]

# One that has nothing to start from walks this far by itself.
_COARSEST = 4
_BLOCK = 64


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


def grid_flow(surplus: Floats, worth: bool = True) -> Flow:
    """Return the flow of least cost that evens out a surplus.

        minimise sum |right| + sum |down|  over flows whose divergence is the surplus

    Grids are solved from coarse to fine: the flow over each coarse edge, spread over the fine
    ones, says which edges of the fine grid are wanted in the first basis. Every spanning tree of
    a grid carries a flow, so that any will do to begin with.

    Args:
        surplus: (rows, columns), mass to bring away, or to fetch where negative; adds to 0.
        worth: load the compiler for this; without it the walk is slow beyond 1,000 cells.

    Source: Beckmann 1952 for the flow; `recovery.kernels.network_simplex` for the method.
    """
    rows, columns = surplus.shape
    if max(rows, columns) <= _COARSEST:
        wanted = np.ones(rows * (columns - 1)), np.ones((rows - 1) * columns)
    else:
        padded = np.pad(surplus, ((0, rows % 2), (0, columns % 2)))
        quarters = padded.reshape(padded.shape[0] // 2, 2, padded.shape[1] // 2, 2)
        coarse = grid_flow(quarters.sum(axis=(1, 3)), worth)
        wanted = (
            np.abs(_finer(coarse.right, rows, columns)).ravel(),
            np.abs(_finer(coarse.down.T, columns, rows).T).ravel(),
        )
    return _walk(surplus, np.concatenate(wanted), worth)


def _finer(right: Floats, rows: int, columns: int) -> Floats:
    """Return a flow to the right on the grid twice as fine, (rows, columns - 1).

    Each edge between two blocks of 2 by 2 becomes two, with half the flow each; the edge inside
    a block has the mean of what comes in and what leaves on its row.
    """
    halves = np.repeat(right / 2, 2, axis=0)[:rows]
    fine = np.zeros((rows, 2 * halves.shape[1] + 3))
    fine[:, 2:-1:2] = halves
    fine[:, 1::2] = (fine[:, :-1:2] + fine[:, 2::2]) / 2
    return fine[:, 1:columns]


def _walk(surplus: Floats, wanted: Floats, worth: bool) -> Flow:
    """Return the flow of least cost, begun with the tree that has the most wanted edges."""
    rows, columns = surplus.shape
    cells = rows * columns
    cell = np.arange(cells, dtype=np.int32).reshape(rows, columns)
    tails = np.concatenate([cell[:, :-1].ravel(), cell[:-1].ravel()])
    heads = np.concatenate([cell[:, 1:].ravel(), cell[1:].ravel()])
    costs = np.ones(len(tails), np.int32)
    links, prices = np.empty((6, cells), np.int32), np.empty(cells, np.int32)
    upward, flow = np.empty(cells, np.bool_), np.empty(cells)
    supply = np.ascontiguousarray(surplus, dtype=np.float64).ravel()

    kernel = tier(network_simplex, worth)
    order = np.argsort(-wanted, kind="stable").astype(np.int32)
    tree = kernel.spanning_tree(order, tails, heads, cells)
    root = cells // 2 + columns // 2
    root = min(root, cells - 1)
    kernel.hang(tree, root, tails, heads, costs, True, 0, supply, links, upward, flow, prices)
    pivots = kernel.simplex(tails, heads, costs, True, _BLOCK, links, upward, flow, prices)

    edge = links[1]
    here = np.flatnonzero(edge >= 0)
    over = np.zeros(len(tails))
    over[edge[here]] = np.where((tails[edge[here]] == here) == upward[here], 1, -1) * flow[here]
    cut = rows * (columns - 1)
    cost = float(supply @ prices)
    return Flow(
        cost=cost,
        gap=abs(float(flow[here].sum()) - cost),
        right=over[:cut].reshape(rows, columns - 1),
        down=over[cut:].reshape(rows - 1, columns),
        prices=prices.reshape(rows, columns),
        pivots=int(pivots),
    )
