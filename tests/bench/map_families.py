"""Crowds for the bench of maps: those that the estimators were chosen with, and held-out ones.

A crowd is a function of (users, side, world) that returns how many people each cell has, (side,
side). `DEVELOPMENT` may be looked at as often as one likes. `HELD_OUT` was written down before
`auto` learnt of crowded cells, and is to be looked at seldom: whoever tunes on it must write
another one. A lone cell and an edge are in both, for both were known to be hard.
"""

import gzip
import itertools
import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from point_sets import SETS

from edge.records import Grid
from physics.points import histogram

Counts = np.ndarray
Crowd = Callable[[int, int, np.random.Generator], Counts]

SIDES = (5, 10, 15, 20, 32, 64)
EPSILONS = ((7, 10), (7, 5), (21, 10), (7, 2), (5, 1))
USERS = (1_000, 10_000, 300_000)
_SHARES = (12, 12, 12, 8, 4, 2)  # of 50 settings each side has: large ones take a minute


class Setting(NamedTuple):
    """One line of a table: who is where, on which grid, answering how."""

    kind: str
    side: int
    epsilon: tuple[int, int]
    users: int
    scheme: str


def drawn(density: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Crowd:
    """Return the crowd of a density over (y, x) in the unit square, five points a cell's side."""

    def crowd(users: int, side: int, world: np.random.Generator) -> Counts:
        y, x = (np.mgrid[0 : 5 * side, 0 : 5 * side] + 0.5) / (5 * side)
        fine = density(y, x) + 0 * y
        cells = fine.reshape(side, 5, side, 5).sum(axis=(1, 3)).ravel()
        return world.multinomial(users, cells / cells.sum()).reshape(side, side)

    return crowd


def celled(weights: Callable[[int, np.random.Generator], Counts]) -> Crowd:
    """Return the crowd of weights of cells, (side, side), that the world may have chosen."""

    def crowd(users: int, side: int, world: np.random.Generator) -> Counts:
        share = weights(side, world).ravel()
        return world.multinomial(users, share / share.sum()).reshape(side, side)

    return crowd


def among(crowd: Crowd, percent: int) -> Crowd:
    """Return the crowd with so many percent of it anywhere."""

    def mixed(users: int, side: int, world: np.random.Generator) -> Counts:
        rest = users * percent // 100
        even = world.multinomial(rest, np.full(side * side, side**-2.0)).reshape(side, side)
        return crowd(users - rest, side, world) + even

    return mixed


def of_points(name: str) -> Crowd:
    points, _ = SETS[name]
    return lambda users, side, world: histogram(points(users, world), Grid((side, side), 0))


def some_cells(count: int, fall: float) -> Crowd:
    """Return so many cells anywhere, each with rank**-fall of the people."""

    def weights(side: int, world: np.random.Generator) -> Counts:
        cells = np.zeros(side * side)
        chosen = world.permutation(side * side)[:count]
        cells[chosen] = np.arange(1.0, len(chosen) + 1) ** -fall
        return cells.reshape(side, side)

    return celled(weights)


def _line(side: int, world: np.random.Generator) -> Counts:
    cells = np.zeros((side, side))
    cells[int(world.integers(side)), side // 8 : side - side // 8] = 1
    return cells if world.random() < 0.5 else cells.T


def _board(side: int, world: np.random.Generator) -> Counts:
    y, x = np.indices((side, side)) // max(1, side // 5)
    return (x + y) % 2 + 0.0


def _blob(left: float, top: float, wide: float) -> Crowd:
    return drawn(lambda y, x: np.exp(-((x - left) ** 2 + (y - top) ** 2) / 2 / wide**2))


DEVELOPMENT: dict[str, Crowd] = {
    **{name: of_points(name) for name in SETS},
    "lone": some_cells(1, 0),
    "three": some_cells(3, 1),
    "crowded": some_cells(20, 0),
    "many": some_cells(150, 0.5),
    "some": among(some_cells(5, 1), 20),
    "half": drawn(lambda y, x: y < 0.5),
    "square": drawn(lambda y, x: (abs(x - 0.4) < 0.2) & (abs(y - 0.6) < 0.2)),
}

HELD_OUT: dict[str, Crowd] = {
    "one": some_cells(1, 0),
    "two": some_cells(2, 0),
    "line": celled(_line),
    "ring": drawn(lambda y, x: abs(np.hypot(x - 0.45, y - 0.55) - 0.3) < 0.04),
    "board": celled(_board),
    "uniform": celled(lambda side, world: np.ones((side, side))),
    "corner": _blob(0.02, 0.95, 0.08),
    "steep": drawn(lambda y, x: 1 / (1 + np.exp((x + 0.4 * y - 0.6) / 0.02))),
    "zipf": some_cells(10**9, 1.2),
    "one+1%": among(some_cells(1, 0), 1),
    "two+30%": among(some_cells(2, 0), 30),
    "corner+10%": among(_blob(0.05, 0.1, 0.1), 10),
    "ring+20%": among(drawn(lambda y, x: abs(np.hypot(x - 0.5, y - 0.5) - 0.35) < 0.05), 20),
}


def recorded() -> dict[str, Crowd]:
    """Return held-out crowds of recorded people, if HEATVEIL_DATA names a folder that has them."""
    folder = Path(os.environ.get("HEATVEIL_DATA", "")) / "grid"
    found: dict[str, Crowd] = {}
    if (folder / "gowalla_nyc.csv.gz").exists():
        with gzip.open(folder / "gowalla_nyc.csv.gz", "rt") as rows:
            lat, lon = np.loadtxt(rows, delimiter=",", skiprows=1, usecols=(2, 3)).T
        x, y = (lon + 74.05) / 0.3, (lat - 40.6) / 0.3
        inside = (x >= 0) & (x < 1) & (y >= 0) & (y < 1)
        places = np.column_stack((x, y))[inside]
        found["check-ins"] = lambda users, side, world: histogram(
            places[world.integers(len(places), size=users)], Grid((side, side), 0)
        )
    if (folder / "dpbench_2d_256.npz").exists():
        with np.load(folder / "dpbench_2d_256.npz") as kept:
            for name in ("sf_cabs_start", "beijing_taxi_end", "twitter_west_us"):
                found[name[:9]] = _of_raster(np.asarray(kept[name], dtype=np.float64))
    return found


def _of_raster(raster: Counts) -> Crowd:
    def crowd(users: int, side: int, world: np.random.Generator) -> Counts:
        at = np.arange(len(raster)) * side // len(raster)
        cells = np.zeros((side, side))
        np.add.at(cells, (at[:, None], at[None, :]), raster)
        return world.multinomial(users, cells.ravel() / cells.sum()).reshape(side, side)

    return crowd


def settings(kinds: dict[str, Crowd], a_kind: int, seed: int) -> list[Setting]:
    """Return so many settings of each crowd: a sample of all sides, epsilons and users."""
    world = np.random.default_rng(seed)
    sides = [side for side, share in zip(SIDES, _SHARES, strict=True) for _ in range(share)]
    pairs = list(itertools.product(EPSILONS, USERS))
    found = []
    for kind in kinds:
        # Every pair of epsilon and users comes as often as every other one, but for the rest.
        turns = [pairs[at] for _ in range(a_kind // 15 + 1) for at in world.permutation(15)]
        for turn in range(a_kind):
            side = sides[int(world.integers(len(sides)))]
            epsilon, users = turns[turn]
            scheme = ("auto", "dam")[turn % 2]
            found.append(Setting(kind, side, epsilon, users, scheme))
    return found
