"""The cheapest way to move one heap of masses onto another, wherever they lie."""

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

Floats = NDArray[np.float64]
Ground: TypeAlias = Literal["cityblock", "euclidean", "sqeuclidean"]

# Beyond these it takes more than a few seconds.
PAIRS_MAX = 4_000_000
HEAPS_MAX = 20_000


def transport(supply: Floats, demand: Floats, places: Floats, ground: Ground) -> float:
    """Return the least total cost of moving the supply to the demand, exactly.

    Args:
        supply, demand: (cells,), not negative, of equal total.
        places: (cells, axes), where the cells are.
        ground: what moving one unit of mass costs, by the name scipy gives the distance.

    Raises:
        ValueError: there are more pairs of cells than can be computed in reasonable time.

    Source: the transportation problem of Hitchcock 1941, by the network simplex of POT
        (Bonneel, van de Panne, Paris and Heidrich 2011).
    """
    here, there = np.flatnonzero(supply), np.flatnonzero(demand)
    if not len(here) or not len(there):
        return 0.0
    if len(here) * len(there) > PAIRS_MAX or len(here) + len(there) > HEAPS_MAX:
        raise ValueError(
            f"the maps have {len(here)} and {len(there)} cells to move between but at most "
            f"{PAIRS_MAX} pairs of {HEAPS_MAX} cells are computed exactly: more take too long. "
            "Sum the cells into larger ones first."
        )
    import ot  # loads slowly, and most maps are lines

    # In units of the mass that moves, because some of the solver's tolerances are absolute.
    moved = float(supply.sum())
    cost, log = ot.emd2(
        supply[here] / moved,
        demand[there] / float(demand.sum()),
        cdist(places[here], places[there], ground),
        numItermax=10**9,
        log=True,
    )
    if log["warning"] is not None:
        raise ArithmeticError(
            f"the network simplex gave up ({log['warning']}) but must end: a plan that is not "
            "the best is no distance. Sum the cells into larger ones first."
        )
    return max(0.0, float(cost)) * moved
