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

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

_UNEXPLAINED = 2.0  # the diameter of the square, alpha in the paper


def find_nearest_mass(noisy: Floats, side: float) -> Floats:
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


# The heatmap of a map: every cell's mass spread by a Gaussian, and none of it lost.
#
#     H(a) = sum over cells a' of p(a') exp(-|a - a'|**2 / (2 sigma**2)) / Z(a')
#
# The normaliser belongs to the cell that mass comes from, and counts only where it may go: cells
# of the grid, so that a cell at the border keeps all of its mass within. Filters of image
# processing normalise where mass arrives, or mirror it at the border, and give another map.
#
# Source: paper 000, Section 2.3; Appendix B for the heatmap without a border.


_REACH = 9  # deviations beyond which a Gaussian is 0 in double precision sums


def blur_map(mass: ArrayLike, sigma_cells: float | None = None, infinite: bool = False) -> Floats:
    """Return the heatmap of a map, (rows, columns), of the same total.

    Args:
        mass: (rows, columns), of any total.
        sigma_cells: of the Gaussian, in cells; None for a 64th of the longer side.
        infinite: let mass leave the grid. The result is larger then, by as many rows and columns
            on each side as the Gaussian reaches.

    Raises:
        ValueError: the map has other axes, or sigma is not above 0.

    >>> blur_map([[0.0, 0.0, 1.0]], 1.0).round(3)
    array([[0.078, 0.348, 0.574]])
    """
    p = np.asarray(mass, dtype=np.float64)
    sigma = max(p.shape) / 64 if sigma_cells is None and p.ndim == 2 else sigma_cells
    if p.ndim != 2 or not p.size or sigma is None or not 0 < sigma < math.inf:
        raise ValueError(
            f"a map of shape {p.shape} and a sigma of {sigma_cells} cells came but a heatmap "
            "needs rows and columns, and a sigma above 0: mass is spread over cells. Correct them."
        )
    border = math.ceil(_REACH * sigma) if infinite else 0
    down, across = (_spread(cells, border, sigma) for cells in p.shape)
    return down @ p @ across.T


def _spread(cells: int, border: int, sigma: float) -> Floats:
    """Return where the mass of each cell of an axis goes, (targets, cells); columns add to one."""
    targets = np.arange(-border, cells + border)[:, None]
    weights = np.exp(-((targets - np.arange(cells)) ** 2) / (2 * sigma * sigma))
    return np.asarray(weights / weights.sum(axis=0))
