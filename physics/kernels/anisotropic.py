"""Heat that spreads faster one way than another, without walls.

Air above a radiator spreads up before it spreads sideways, and along a corridor before it spreads
across. Then the diffusivity is a matrix, and what one unit of heat leaves is a normal density.
"""

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import solve_triangular

from ..kernel import checked_spread, room, widened
from ..places import Floats


def forward_anisotropic(
    sources_m: ArrayLike, sensors_m: ArrayLike, spread_m2: ArrayLike, source_sd_m: float = 0.0
) -> Floats:
    """Return A, (sensors, sources), with readings = A @ heat, for a spread that is a matrix.

        A_ij = exp(-d' S**-1 d / 2) / sqrt(det(2 pi S)),  S = 2 D t + sd**2,  d from j to i

    Args:
        sources_m: where heat may be, (sources, 2) in a plane or (sources, 3) in a room; along a
            line the matrix is 1 by 1.
        sensors_m: where it is read, of as many axes.
        spread_m2: D t, (axes, axes), the diffusivity's matrix times elapsed time, in square
            metres: symmetric, and positive in every direction.
        source_sd_m: the standard deviation of every source along each axis, 0 for points.

    Raises:
        ValueError: a matrix of the wrong shape, that is not symmetric, or that is not positive;
            places as for `physics.kernel.forward`.

    Source: Carslaw and Jaeger 1959, Section 1.20; Crank 1975, Section 1.4.

    >>> sources, sensors = [[0.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]
    >>> forward_anisotropic(sources, sensors, [[0.5, 0.0], [0.0, 0.1]])[:, 0].round(4).tolist()
    [0.2159, 0.0292]
    """
    sources, sensors, lengths = room(sources_m, sensors_m, 1.0)
    factor = np.linalg.cholesky(2 * _tensor(spread_m2, source_sd_m, len(lengths)))
    # In these coordinates heat spreads alike in every direction.
    here, there = (solve_triangular(factor, places.T, lower=True) for places in (sensors, sources))
    squares = np.zeros((len(sensors), len(sources)))
    # Far away the square overflows to infinity and the exponential is rightly nought.
    with np.errstate(over="ignore"):
        for one, other in zip(here, there, strict=True):
            squares += np.square(one[:, None] - other)
    volume = (2 * math.pi) ** (len(lengths) / 2) * float(np.prod(np.diag(factor)))
    with np.errstate(under="ignore"):
        return np.asarray(np.exp(-squares / 2) / volume)


def _tensor(spread_m2: ArrayLike, source_sd_m: float, axes: int) -> Floats:
    tensor = np.asarray(spread_m2, dtype=float)
    if tensor.shape != (axes, axes) or not np.isfinite(tensor).all():
        raise ValueError(
            f"spread_m2 has shape {tensor.shape} but must be ({axes}, {axes}) finite numbers, for "
            "it says how fast heat spreads from every axis to every other. Give the diffusivity's "
            "matrix times the elapsed time, or take physics.kernel.forward for one number."
        )
    if np.abs(tensor - tensor.T).max() > 1e-12 * np.abs(tensor).max():
        raise ValueError(
            f"spread_m2 is {tensor.tolist()} but must be symmetric, for heat spreads from x to y "
            "as from y to x (Onsager). Give the same number on both sides of the diagonal."
        )
    least = float(np.linalg.eigvalsh(tensor)[0])
    if not least > 1e-14 * np.abs(tensor).max():
        raise ValueError(
            f"spread_m2 is {tensor.tolist()}, with {least:g} m2 in its slowest direction, but "
            "must be positive in all: heat that does not spread has no kernel, and none runs "
            "together. Give less off the diagonal."
        )
    return tensor + np.eye(axes) * (widened(checked_spread(least), source_sd_m) - least)
