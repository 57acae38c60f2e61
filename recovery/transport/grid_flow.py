"""The cheapest flow on a grid of cells, which is the earth mover's distance with the l1 ground.

Between two cells the l1 distance is the shortest way over neighbours, so it is enough to say
how much passes each of the two edges a cell shares: two numbers a cell, not one a pair.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from .basis import Arcs, first_basis
from .grid_levels import finer_flow, quarter

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

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


def grid_flow(surplus: Floats, worth: bool = True) -> Flow:
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
    blocks = quarter(surplus)
    coarse = grid_flow(blocks, worth)
    right = finer_flow(coarse.right, rows, columns)
    down = finer_flow(coarse.down.T, columns, rows).T
    rough = np.abs(blocks).sum() < _ROUGH * np.abs(surplus).sum()
    if rough and max(rows, columns) > _UNTILED:
        side = _TILE
        while side < max(rows, columns):
            for shift in (0,) if side == _TILE else (0, side // 2):
                right, down = _mended(surplus, right, down, side, shift, worth)
            side *= 2
    return _walk(surplus, right, down, worth)


def _mended(
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
    basis = first_basis(edges, wanted, root, supply, 0, worth)
    pivots = basis.pivot(edges)

    here, edge, mass = basis.used()
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
