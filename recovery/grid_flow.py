"""The cheapest flow on a grid of cells, which is the earth mover's distance with the l1 ground.

Between two cells the l1 distance is the shortest way over neighbours, so it is enough to say
how much passes each of the two edges a cell shares: two numbers a cell, not one a pair.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .basis import Arcs, first_basis
from .grid_levels import finer_flow, quarter

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

# One that has nothing to start from walks this far by itself.
_COARSEST = 4
# Side of a tile, in cells.
_TILE = 16


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

    Raises:
        ValueError: it takes too long without a compiler.

    Source: Beckmann 1952 for the flow; `recovery.kernels.network_simplex` for the method.
    """
    rows, columns = surplus.shape
    if max(rows, columns) <= _COARSEST:
        wanted = np.ones(rows * (columns - 1)), np.ones((rows - 1) * columns)
    else:
        coarse = grid_flow(quarter(surplus), worth)
        wanted = (
            np.abs(finer_flow(coarse.right, rows, columns)).ravel(),
            np.abs(finer_flow(coarse.down.T, columns, rows).T).ravel(),
        )
    return _walk(surplus, np.concatenate(wanted), worth)


def _walk(surplus: Floats, wanted: Floats, worth: bool) -> Flow:
    """Return the flow of least cost, begun with the tree that has the most wanted edges."""
    rows, columns = surplus.shape
    cell = np.arange(surplus.size, dtype=np.int32).reshape(rows, columns)
    tails = np.concatenate([cell[:, :-1].ravel(), cell[:-1].ravel()])
    heads = np.concatenate([cell[:, 1:].ravel(), cell[1:].ravel()])
    # Priced tile by tile: what is mended in one place is mended before the next is looked at.
    turn = np.lexsort((tails, tails % columns // _TILE, tails // columns // _TILE))
    edges = Arcs(tails[turn], heads[turn], np.ones(len(tails), np.int32), both=True)
    supply = np.ascontiguousarray(surplus, dtype=np.float64).ravel()
    root = int(cell[rows // 2, columns // 2])
    basis = first_basis(edges, wanted[turn], root, supply, 0, worth)
    pivots = basis.pivot(edges)

    here, edge, mass = basis.used()
    forth = (edges.tails[edge] == here) == basis.upward[here]
    over = np.zeros(len(tails))
    over[turn[edge]] = np.where(forth, mass, -mass)
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
