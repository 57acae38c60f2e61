"""Every square of one level, and the mass nearest to them in earth mover's distance.

Appendix D: the map s >= 0 that minimises ||s - noisy||_EMD, where ||u||_EMD is the least cost of
a flow that explains u, at l1 distance on the unit square, plus 2 a part for what no flow
explains. On a grid the l1 distance is that of paths along its edges, so the flow is a linear
program with an arc each way between neighbours.

Source: paper 000, Appendix D and Section 2.1.

Differs from the paper:
1. The grid is that of the level ceil(log2 sqrt(epsilon n)); the printed snapping error
   sqrt(epsilon n) is sqrt(n / epsilon).
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_UNEXPLAINED = 2.0  # the diameter of the square, alpha in the paper


def nearest_mass(noisy: Floats, side: float) -> Floats:
    """Return the non-negative map that is nearest to a noisy one, (rows, columns), by HiGHS.

    Args:
        noisy: parts of each square, of any sign.
        side: of a square, in sides of the whole.

    Raises:
        ValueError: the program was not solved.
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, eye_array, hstack

    rows, columns = noisy.shape
    index = np.arange(rows * columns).reshape(rows, columns)
    source = np.concatenate([index[:, :-1].ravel(), index[:-1].ravel()])
    target = np.concatenate([index[:, 1:].ravel(), index[1:].ravel()])
    arcs = np.arange(len(source))
    ones = np.ones(len(arcs))
    flow = csr_array(
        (
            np.concatenate([ones, -ones]),
            (np.concatenate([source, target]), np.concatenate([arcs, arcs])),
        ),
        shape=(index.size, len(arcs)),
    )
    unit = eye_array(index.size, format="csr")
    # s + outflow - inflow - r+ + r- = noisy
    found = linprog(
        np.concatenate(
            [
                np.zeros(index.size),
                np.full(2 * len(arcs), side),
                np.full(2 * index.size, _UNEXPLAINED),
            ]
        ),
        A_eq=hstack([unit, flow, -flow, -unit, unit]),
        b_eq=noisy.ravel(),
        method="highs",
    )
    if found.x is None:
        raise ValueError(
            f"the flow program of {rows} x {columns} squares was not solved ({found.message}); "
            "no map is drawn from half a solution. Take a coarser level."
        )
    return np.maximum(found.x[: index.size], 0.0).reshape(rows, columns)
