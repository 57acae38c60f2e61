"""The cheapest way to move one heap of masses onto another, as a linear program."""

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import eye_array, kron, vstack
from scipy.spatial.distance import cdist

Floats = NDArray[np.float64]
Ground: TypeAlias = Literal["cityblock", "euclidean", "sqeuclidean"]

# Above this many pairs of cells the linear program takes a minute and more.
_PAIRS_MAX = 500_000


def transport(supply: Floats, demand: Floats, places: Floats, ground: Ground) -> float:
    """Return the least total cost of moving the supply to the demand, exactly.

    Args:
        supply, demand: (cells,), not negative, of equal total.
        places: (cells, axes), where the cells are.
        ground: what moving one unit of mass costs, by the name scipy gives the distance.

    Raises:
        ValueError: there are more pairs of cells than can be computed in reasonable time.

    Source: the transportation problem of Hitchcock 1941, by the HiGHS solver.
    """
    here, there = np.flatnonzero(supply), np.flatnonzero(demand)
    if not len(here) or not len(there):
        return 0.0
    if len(here) * len(there) > _PAIRS_MAX:
        raise ValueError(
            f"the maps have {len(here)} and {len(there)} cells to move between but at most "
            f"{_PAIRS_MAX} pairs are computed exactly in a plane: more take too long. Sum the "
            "cells into larger ones first."
        )
    leaving = kron(eye_array(len(here)), np.ones((1, len(there))))
    arriving = kron(np.ones((1, len(here))), eye_array(len(there)))
    # In units of the mass that moves, because the solver's tolerances are absolute; and
    # without the last balance, which follows from the others but for rounding.
    moved = float(supply.sum())
    plan = linprog(
        cdist(places[here], places[there], ground).ravel(),
        A_eq=vstack([leaving, arriving]).tocsr()[:-1],
        b_eq=np.concatenate([supply[here], demand[there]])[:-1] / moved,
        # Presolve takes masses below those tolerances for a contradiction.
        options={
            "presolve": False,
            "primal_feasibility_tolerance": 1e-10,
            "dual_feasibility_tolerance": 1e-10,
        },
    )
    return float(plan.fun) * moved
