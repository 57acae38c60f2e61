"""How far one map is from another when plans are blurred on purpose: the entropic distance."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist

from .maps import Pair, pair

Floats = NDArray[np.float64]

# A kernel below this is rounded to nothing, and with it every plan that needs it.
_LEAST = 1e-300
_CHECK_EVERY = 10
_PAIRS_MAX = 4_000_000


@dataclass(frozen=True, slots=True)
class Entropic:
    """What blurred plans cost; never the earth mover's distance, but for a bias."""

    cost: float  # of the blurred plan, mass times squared distance: too high by its blur
    distance: float  # its root, beside `wasserstein2`
    regularisation: float
    error: float  # how far the plan's masses are from the map's, summed over cells
    iterations: int


def sinkhorn(
    p: ArrayLike,
    q: ArrayLike,
    regularisation: float,
    positions: ArrayLike | None = None,
    normalise: bool = False,
    tolerance: float = 1e-9,
    iterations: int = 20_000,
) -> Entropic:
    """Return the cost of the plan that is cheapest when spread-out plans are favoured.

        P = argmin sum P c + regularisation * sum P ln P,   cost = sum P c,  c = distance**2

    The bias: the plan is blurred by about the root of the regularisation, so `cost` is above
    the least one, `wasserstein2` squared, and from a map to itself it is not 0. Measured for
    smooth maps of 16 x 16 to 128 x 128 cells: by 5 to 17 % at 1/100 and 2 to 6 % at 3/1000; more
    where maps are near each other or of few cells. It is for what must be smooth or fast;
    `wasserstein2` is exact.

    Args:
        p, q: masses of the cells; of one shape, not negative, of equal total; some may be 0.
        regularisation: in units of squared distance; of a grid the longer side is 1.
        positions, normalise: as for `wasserstein2`.
        tolerance: the error to reach, relative to the total mass.
        iterations: how many at most.

    Raises:
        ValueError: the maps do not fit each other; the regularisation is so small that the
            kernel is rounded to 0 between cells far apart; the error was not reached.

    Source: Cuturi 2013; on a grid the kernel is a product over axes (Solomon et al. 2015).
    """
    maps = pair(p, q, positions, normalise)
    if not (0 < regularisation < np.inf and tolerance > 0 and iterations > 0):
        raise ValueError(
            f"regularisation is {regularisation:g}, tolerance {tolerance:g} and iterations "
            f"{iterations} but all must be above 0: nothing else ends. Begin with 0.01."
        )
    kernels, shape = _kernels(maps, regularisation)
    least = math.prod(float(kernel.min()) for kernel, _ in kernels)
    if least < _LEAST:
        raise ValueError(
            f"regularisation is {regularisation:g} but here must be such that the kernel of the "
            f"farthest cells, now {least:g}, is above {_LEAST:g}: smaller numbers are rounded to "
            "0 and the answer to nonsense. Take a larger one, or wasserstein2, which is exact."
        )
    total = maps.total
    mass_p, mass_q = (maps.p / total).reshape(shape), (maps.q / total).reshape(shape)
    smooth = [kernel for kernel, _ in kernels]
    here, there, error = np.ones(shape), np.ones(shape), np.inf
    made = 0
    while made < iterations and error > tolerance:
        for _ in range(_CHECK_EVERY):
            here = mass_p / _apply(smooth, there)
            there = mass_q / _apply(smooth, here)
        made += _CHECK_EVERY
        error = float(np.abs(here * _apply(smooth, there) - mass_p).sum())
    if not error <= tolerance:
        raise ValueError(
            f"after {made} iterations the plan's masses are off by {error:.2g} of the total but "
            f"must be by at most {tolerance:g}: until then the cost may be too low or too high. "
            "Take a larger regularisation, or allow more iterations."
        )
    # The cost is a sum over axes: in each term one kernel is weighed by its squared distance.
    cost = 0.0
    for axis, (kernel, squares) in enumerate(kernels):
        weighed = [*smooth[:axis], kernel * squares, *smooth[axis + 1 :]]
        cost += float(np.sum(here * _apply(weighed, there)))
    return Entropic(cost * total, (cost * total) ** 0.5, regularisation, error, made)


def _kernels(
    maps: Pair, regularisation: float
) -> tuple[list[tuple[Floats, Floats]], tuple[int, ...]]:
    """Return kernel and squared distances of each axis, and the shape that masses have."""
    if maps.grid is not None:
        shape: tuple[int, ...] = maps.grid
        axes = [np.arange(length)[:, None] * maps.unit for length in shape]
    else:
        shape = (len(maps.places),)
        axes = [maps.places]
        if len(maps.places) ** 2 > _PAIRS_MAX:
            raise ValueError(
                f"there are {len(maps.places)} freely placed cells but at most "
                f"{int(_PAIRS_MAX**0.5)} are compared: each iteration looks at all pairs. Put "
                "the cells on a grid, or sum them into larger ones."
            )
    squares = [cdist(axis, axis, "sqeuclidean") for axis in axes]
    return [(np.exp(-square / regularisation), square) for square in squares], shape


def _apply(kernels: list[Floats], field: Floats) -> Floats:
    """Return the field with the kernel of each axis applied along it."""
    if len(kernels) == 1:
        return kernels[0] @ field
    return kernels[0] @ field @ kernels[1]
