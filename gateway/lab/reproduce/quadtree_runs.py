"""Figures 7 and 8 of paper 001: how many are asked, how wide noise is aimed at, shards, drop-outs.

Nobody's raster of a city is at hand, so people are at three crowds on 256 x 256 cells; errors are
in 1e-9, over the cells, against where they all are.
"""

from fractions import Fraction
from typing import Any

import numpy as np

from edge.entropy import Tape
from edge.records import Grid, Release
from physics.points import cells_of, mnormal
from recovery.maps.heatmap import Heatmap
from recovery.quadtree import Query, plan, recover

from ...mechanisms.quadtree.crowd import release_crowd
from .figures import FIGURES, Figure, Order, Panel, Stage
from .trials import mark

SIDE = 256
USERS = (10_000, 30_000, 100_000, 300_000)
AIMS = (0.02, 0.05, 0.1, 0.2, 0.5)
SHARDS = (1000, 3000, 10_000, 30_000)
DROPS = (Fraction(0), Fraction(1, 20), Fraction(1, 10), Fraction(1, 5), Fraction(2, 5))


def _errors(order: Order, users: int, drop: Fraction = Fraction(0), **asked: Any) -> list[float]:
    """Return the mean squared error of each run, in 1e-9."""
    grid, found = Grid((SIDE, SIDE), 0), list[float]()
    present = int(users * (1 - drop))
    for run in range(order.runs):
        world = np.random.default_rng([order.seed, run])
        flat = cells_of(mnormal(users, world), grid)
        everybody, cells = (
            np.bincount(some, minlength=SIDE * SIDE).reshape(SIDE, SIDE)
            for some in (flat, flat[world.permutation(users)[:present]])
        )
        query = Query(grid, (1, 1), "zero-out", users, dropout=drop.as_integer_ratio(), **asked)
        rng, releases = Tape(b"reproduce %d %d" % (order.seed, run)), list[Release]()
        while round := plan(query, releases):
            releases.append(release_crowd(round, cells, present, rng))
        mapped = recover(query, releases)
        if isinstance(mapped, Heatmap):
            found.append(1e9 * float(np.square(mapped.mass - everybody / users).mean()))
    return found


def _scaled(order: Order, users: int) -> int:
    return max(500, int(users * order.scale))


def make_quadtree_7(order: Order, stage: Stage) -> Figure:
    """Return the error by how many are asked and by how wide noise is aimed at."""
    stage("asking crowds of several sizes")
    rules = {"last": "the last round alone", "all": "all rounds"}
    sizes = {
        said: tuple(
            mark(users, _errors(order, _scaled(order, users), estimator=name)) for users in USERS
        )
        for name, said in rules.items()
    }
    stage("aiming at several widths")
    widths = {
        said: tuple(
            mark(aim, _errors(order, _scaled(order, 100_000), aim=aim, estimator=name))
            for aim in AIMS
        )
        for name, said in rules.items()
    }
    best = min(widths["all rounds"], key=lambda one: one.mean)
    return Figure(
        "quadtree-7",
        FIGURES["quadtree-7"],
        "errors fall with every user more, and there is a best width, to be found on public data",
        (f"the best of these widths is {best.at:g}, with {best.mean:.3g}",),
        panels=(
            Panel("Users", "users", "MSE in 1e-9", sizes),
            Panel("Width, b of equation 7", "b", "MSE in 1e-9", widths),
        ),
        notes=("three crowds on 256 x 256 cells; the paper has a raster of New York",),
    )


def make_quadtree_8(order: Order, stage: Stage) -> Figure:
    """Return the error by the size of a shard, and by how many may drop out."""
    users = _scaled(order, 100_000)
    stage("summing over shards of several sizes")
    shards = tuple(mark(shard, _errors(order, users, shard=shard)) for shard in SHARDS)
    stage("leaving devices out")
    drops = tuple(mark(float(drop), _errors(order, users, drop)) for drop in DROPS)
    more = 100 * (drops[3].mean / drops[0].mean - 1)
    return Figure(
        "quadtree-8",
        FIGURES["quadtree-8"],
        "larger shards have smaller errors; a fifth that drops out costs 15 % of error",
        (f"a fifth that drops out, for which noise is made, changes the error by {more:+.0f} %",),
        panels=(
            Panel("Shards", "devices in one secure sum", "MSE in 1e-9", {"quadtree": shards}),
            Panel("Drop-out", "share that is missing", "MSE in 1e-9", {"quadtree": drops}),
        ),
        notes=(
            "who drops out brings no noise here; in the paper's code such a device still did",
            "wrapping around is not shown: sums are as many bits as they need",
        ),
    )
