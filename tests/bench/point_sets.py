"""Sets of points for the benches: those that choices were made with, and four that none was.

A footprint or a reach is to be judged by the latter, `UNSEEN`.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from physics.points import mnormal, normal, read_points, szipf

Floats = NDArray[np.float64]
POINTS = 150_000
_FINE = 512  # cells a side that points are drawn from


def _density(name: str) -> Floats:
    """Return a density over fine cells, (rows, columns)."""
    rows, columns = np.mgrid[0:_FINE, 0:_FINE]
    y, x = (rows + 0.5) / _FINE, (columns + 0.5) / _FINE
    if name == "ring":
        return np.exp(-(((np.hypot(x - 0.55, y - 0.45) - 0.3) / 0.05) ** 2)) + 0.02
    if name == "corner":
        town = np.exp(-((x - 0.9) ** 2 + (y - 0.85) ** 2) / 0.01)
        return np.exp(-4 * (x + y)) + 0.3 * town
    if name == "stripes":
        return (np.sin(9 * x + 4 * y) > 0.3) + 0.05
    world = np.random.default_rng(991)
    places, sizes = world.random((12, 2)), world.exponential(size=12)
    far = [(x - place[0]) ** 2 + (y - place[1]) ** 2 for place in places]
    return sum(size * np.exp(-one / 0.002) for size, one in zip(sizes, far, strict=True)) + 0.01


def _drawn(name: str) -> Callable[[int, np.random.Generator], Floats]:
    density = _density(name).ravel()
    density /= density.sum()

    def points(n: int, world: np.random.Generator) -> Floats:
        cells = np.repeat(np.arange(density.size), world.multinomial(n, density))
        rows, columns = np.divmod(cells, _FINE)
        return (np.column_stack((columns, rows)) + world.random((n, 2))) / _FINE

    return points


UNSEEN = {name: (_drawn(name), POINTS) for name in ("ring", "corner", "stripes", "sites")}


def blobs(n: int, world: np.random.Generator) -> Floats:
    """Two towns of unequal width."""
    first = world.random(n) < 0.6
    wide = np.where(first, 0.05, 0.1)[:, None]
    at = np.where(first[:, None], (0.25, 0.3), (0.7, 0.75))
    return np.clip(at + wide * world.standard_normal((n, 2)), 0, 1 - 1e-9)


def roads(n: int, world: np.random.Generator) -> Floats:
    """Four straight roads, a hundredth wide."""
    ends = np.array([[(0, 0.2), (1, 0.35)], [(0.3, 0), (0.45, 1)], [(0, 0.9), (1, 0.1)]])
    road, far = world.integers(len(ends), size=n), world.random((n, 1))
    middle = ends[road, 0] + far * (ends[road, 1] - ends[road, 0])
    return np.clip(middle + 0.01 * world.standard_normal((n, 2)), 0, 1 - 1e-9)


SETS = {
    "normal": (normal, 300_000),
    "szipf": (szipf, 100_000),
    "mnormal": (mnormal, 300_000),
    "even": (lambda n, world: world.random((n, 2)), 100_000),
    "blobs": (blobs, 100_000),
    "roads": (roads, 100_000),
}


def sets(files: list[str]) -> dict[str, tuple]:
    """Return the sets by name: how n points are drawn, and n. Files are drawn with return."""
    found = dict(SETS)
    for name in files:
        all_points = read_points(name).places
        found[name.rsplit("/", 1)[-1][:9]] = (
            lambda n, world, kept=all_points: kept[world.integers(len(kept), size=n)],
            100_000,
        )
    return found
