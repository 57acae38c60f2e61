"""The forward operator where heat has hardly spread: only pairs of places that are near.

Beyond a reach of 13.6 sqrt(spread) a kernel is less than e**-46, 1e-20 of its peak. Of a million
places that leaves a few neighbours each, and the operator is a sparse matrix.
"""

import itertools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.spatial import cKDTree

from ..kernel import AnyWalls, heat_kernel
from ..kernels.modes import NEGLIGIBLE
from ..places import Floats
from .layout import chosen_sources, room_lengths, vectors

# More pairs than this take more than half a gigabyte.
MOST_PAIRS = 30_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Near:
    """The forward operator A, nearly, as a sparse matrix.

    Args:
        matrix: (sensors, sources), compressed rows.
        cut: no entry lacks more than this, relative to the peak of the kernel without walls.
    """

    matrix: sparse.csr_array
    cut: float

    @property
    def shape(self) -> tuple[int, int]:
        """(sensors, sources), as of the dense operator."""
        return int(self.matrix.shape[0]), int(self.matrix.shape[1])

    def matvec(self, heat: ArrayLike) -> Floats:
        """Return the readings, (sensors,) or (sensors, k), of heat, (sources,) or (sources, k)."""
        return np.asarray(self.matrix @ vectors("heat", heat, self.shape[1]))

    def rmatvec(self, readings: ArrayLike) -> Floats:
        """Return the transposed operator's answer, (sources,) or (sources, k)."""
        return np.asarray(self.matrix.T @ vectors("readings", readings, self.shape[0]))

    def columns(self, sources: ArrayLike) -> Floats:
        """Return what a unit of heat in each of these sources, (k,), leaves: (sensors, k)."""
        return np.asarray(self.matrix[:, chosen_sources(sources, self.shape[1])].toarray())

    def dense(self) -> Floats:
        """Return the operator formed whole, (sensors, sources); for checks on small ones."""
        return np.asarray(self.matrix.toarray())


def reach_m(spread_m2: float) -> float:
    """Return the distance beyond which a kernel is less than e**-46 of its peak, in metres."""
    return math.sqrt(4 * NEGLIGIBLE * spread_m2)


def forward_near(
    sources_m: Floats,
    sensors_m: Floats,
    spread_m2: float,
    walls: AnyWalls = "none",
    lengths_m: tuple[float, ...] = (1.0,),
) -> Near:
    """Return the operator of `physics.kernel.forward`, pairs beyond the reach left out.

    Between walls the mirror images count as sources; of those that are left out an entry lacks
    at most 6 to the number of axes times 1e-20, as two stand in each length of an axis and the
    second row is three times as far.

    Args:
        sources_m, sensors_m: (k, axes) each, in any order, inside the walls.
        spread_m2: diffusivity times elapsed time, in square metres; positive.
        walls: "none", "insulated" or "cold" at 0 and the length of every axis.
        lengths_m: between the walls, one for each axis or one for all.

    Raises:
        ValueError: the walls are nearer to each other than heat reaches, there are more near
            pairs than fit, or as `physics.kernel.forward`.

    >>> forward_near(np.array([[0.0], [1.0]]), np.array([[0.1]]), 1e-4).matrix.nnz
    1
    """
    lengths_m = room_lengths(sources_m, sensors_m, spread_m2, walls, lengths_m)
    reach, axes = reach_m(spread_m2), sources_m.shape[1]
    places, owners, signs = sources_m, np.arange(len(sources_m)), np.ones(len(sources_m))
    if walls != "none":
        if reach > min(lengths_m):
            raise ValueError(
                f"heat reaches {reach:g} m but the walls are {min(lengths_m):g} m apart, so "
                "nothing is far enough to be left out. Use the transforms or thin factors."
            )
        places, owners, signs = _mirrored(sources_m, reach, lengths_m, walls)
    tree, here = cKDTree(places), cKDTree(sensors_m)
    pairs = int(here.count_neighbors(tree, reach))
    if pairs > MOST_PAIRS:
        raise ValueError(
            f"{pairs} pairs are nearer than the {reach:g} m that heat reaches but at most "
            f"{MOST_PAIRS} fit, for each is kept. Use the transforms or thin factors, or fewer "
            "places."
        )
    found = here.sparse_distance_matrix(tree, reach, output_type="ndarray")
    peak = float(heat_kernel(0.0, spread_m2)) ** (axes - 1)
    values = heat_kernel(found["v"], spread_m2) * peak * signs[found["j"]]
    shape = len(sensors_m), len(sources_m)
    matrix = sparse.coo_array((values, (found["i"], owners[found["j"]])), shape=shape).tocsr()
    images = 1.0 if walls == "none" else 6.0**axes
    return Near(matrix, images * math.exp(-NEGLIGIBLE))


def _mirrored(
    sources: Floats, reach: float, lengths: tuple[float, ...], walls: str
) -> tuple[Floats, np.ndarray, Floats]:
    """Return sources and those images that can be felt, whose they are, and their signs."""
    parts = []
    for sides in itertools.product((-1, 0, 1), repeat=len(lengths)):
        image, near = sources.copy(), np.ones(len(sources), dtype=bool)
        for axis, (side, length) in enumerate(zip(sides, lengths, strict=True)):
            if side:
                image[:, axis] = (1 + side) * length - image[:, axis]
                beyond = image[:, axis] - length if side > 0 else -image[:, axis]
                near &= beyond <= reach
        flips = sum(map(abs, sides)) if walls == "cold" else 0
        owners = np.flatnonzero(near)
        parts.append((image[near], owners, np.full(len(owners), (-1.0) ** flips)))
    images, owners, signs = zip(*parts, strict=True)
    return np.concatenate(images), np.concatenate(owners), np.concatenate(signs)
