"""The cheapest plan between two maps on a grid, for the straight grounds: l2 and its square.

A plan uses few of all pairs of cells. So the pairs are generated: a network simplex finds the
cheapest plan on those that it has, and its prices tell which others would be cheaper still.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..compiled import tier
from ..kernels import pricing
from .basis import Arcs, first_basis
from .grid_levels import finer_pairs, quarter

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
Ground: TypeAlias = Literal["euclidean", "sqeuclidean"]

_COARSEST = 4
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


def grid_plan(p: Floats, q: Floats, ground: Ground, worth: bool = True) -> Plan:
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
        coarse = grid_plan(quarter(p), quarter(q), ground, worth)
        leaving, arriving, likely = finer_pairs(coarse.leaving, coarse.arriving, coarse.mass, p, q)
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
    away = _ways(p.shape, ground)
    here, there = np.flatnonzero(p), np.flatnonzero(q)
    leaves, arrives = np.zeros((2, p.size), np.int32)
    leaves[here] = np.arange(len(here))
    arrives[there] = np.arange(len(here), len(here) + len(there))
    supply = np.concatenate([p.ravel()[here], -q.ravel()[there]])

    def arcs() -> Arcs:
        costs = _costs(away, p.shape[1], leaving, arriving)
        return Arcs(leaves[leaving], arrives[arriving], costs, both=False)

    # Dearer than every pair, so no artificial arc is in use once all pairs have been priced.
    detour = int(away[-1, -1]) + 1
    basis = first_basis(arcs(), likely, 0, supply, detour, worth)
    pivots = basis.pivot(arcs())
    while True:
        more_from, more_to = _cheaper(ground, away, p.shape, here, there, basis.price, worth)
        if not len(more_from):
            break
        leaving = np.concatenate([leaving, more_from])
        arriving = np.concatenate([arriving, more_to])
        pivots += basis.pivot(arcs())

    _, arc, mass = basis.used()
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


def _ways(shape: tuple[int, ...], ground: Ground) -> Whole:
    """Return the cost of a move by so many rows and columns, as whole numbers."""
    y, x = np.arange(shape[0])[:, None], np.arange(shape[1])[None, :]
    if ground == "sqeuclidean":
        return np.asarray(y**2 + x**2, dtype=np.int64)
    return np.rint(np.hypot(y, x) * _PARTS).astype(np.int64)


def _costs(away: Whole, columns: int, leaving: Whole, arriving: Whole) -> Whole:
    rows_off = np.abs(leaving // columns - arriving // columns)
    return away[rows_off, np.abs(leaving % columns - arriving % columns)]


def _cheaper(
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
    kernel = tier(pricing, worth)
    price_here, price_there = price[: len(here)], price[len(here) :]
    if ground == "sqeuclidean":
        height = np.full(shape, pricing.INFINITE, np.int64)
        height.ravel()[there] = price_there
        best, to = (field.ravel()[here] for field in kernel.nearest(height))
        height[:] = pricing.INFINITE
        height.ravel()[here] = -price_here
        back, come = (field.ravel()[there] for field in kernel.nearest(height))
    else:
        (y_from, x_from), (y_to, x_to) = np.divmod(here, shape[1]), np.divmod(there, shape[1])
        best, which = kernel.cheapest(away, y_from, x_from, y_to, x_to, price_there)
        to = there[which]
        back, which = kernel.cheapest(away, y_to, x_to, y_from, x_from, -price_here)
        come = here[which]
    out, into = price_here > best, -price_there > back
    pairs = np.concatenate([here[out], come[into]]), np.concatenate([to[out], there[into]])
    cells = shape[0] * shape[1]
    distinct = np.unique(pairs[0] * cells + pairs[1])
    return distinct // cells, distinct % cells
