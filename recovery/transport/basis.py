"""A basis of the network simplex: a spanning tree, the one flow on it, and its prices."""

import math
from dataclasses import dataclass
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from ..compiled import tier
from ..kernels import network_simplex

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
        done = self.kernel.simplex(
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
                "minutes where nothing is compiled. Install heatveil[fast], or sum the cells "
                "into larger ones."
            )
        return int(done)

    def used(self) -> tuple[Nodes, Nodes, Floats]:
        """Return the nodes but for the root, their arcs, and what flows from tail to head.

        Nothing does on an artificial arc, which is there for the tree alone.
        """
        nodes = np.flatnonzero(self.links[1] != -1).astype(np.int32)
        arcs = self.links[1][nodes]
        mass = np.where(arcs < 0, 0.0, self.flow[nodes])
        return nodes, np.where(arcs < 0, -2 - arcs, arcs), mass


def first_basis(
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
    kernel = tier(network_simplex, worth)
    # Where arcs go both ways any tree will do; elsewhere dear arcs make a bad beginning.
    order = np.argsort(-wanted, kind="stable") if arcs.both else np.lexsort((arcs.costs, -wanted))
    tree = kernel.spanning_tree(order.astype(np.int32), arcs.tails, arcs.heads, nodes)
    basis = Basis(
        links=np.empty((6, nodes), np.int32),
        upward=np.empty(nodes, np.bool_),
        flow=np.empty(nodes),
        price=np.empty(nodes, arcs.costs.dtype),
        kernel=kernel,
    )
    kernel.hang(
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
