"""Table 1 and Figures 1 to 3 and 6 to 9 of paper 001: maps, what they cost, and what changes them.

Nobody's raster of a city is at hand, so people are at three crowds (7 and 8) or in a made city, on
256 x 256 cells; errors are in 1e-9, over the cells, against where they all are. Secure sums are
simulated: this process sees all cells, and draws the noise of all devices at once.
"""

import math
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edge.core.entropy import Tape
from edge.core.noise import dlaplace
from edge.core.records import Grid, Release
from edge.core.shares import shares
from physics.crowds.shares import sums
from physics.points import cells_of, histogram, mnormal
from recovery.maps.heatmap import Heatmap
from recovery.peers import grids, hierarchies
from recovery.peers.grids import Crowd, Draw, normalise
from recovery.peers.sketched_trees import count_min, privtree
from recovery.quadtree import Query, plan, recover
from recovery.quadtree.estimate import count_squares, density, proportions

from ...mechanisms.quadtree.crowd import release_crowd
from .figures import FIGURES, UNIFORM, Figure, Grid2, Mark, Order, Panel, Stage, Table
from .people import places_of_order
from .trials import mark

Whole = NDArray[np.int64]

SIDE = 256
USERS = (10_000, 30_000, 100_000, 300_000)
AIMS = (0.02, 0.05, 0.1, 0.2, 0.5)
SHARDS = (1000, 3000, 10_000, 30_000)
DROPS = (Fraction(0), Fraction(1, 20), Fraction(1, 10), Fraction(1, 5), Fraction(2, 5))
_VALUES = range(-8, 9)  # of noise, as they are drawn
MADE = (
    "a made city; the paper has rasters of New York, Mayotte and Lagos",
    "secure sums are simulated in this process",
)
_MAPPED = (*MADE, "each map has colours of its own")

ask = partial(Query, aim=0.1)  # as the paper aims; a finer one is nearer on most maps


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
        query = ask(grid, (1, 1), "zero-out", users, dropout=drop.as_integer_ratio(), **asked)
        rng = Tape(b"reproduce %d %d" % (order.seed, run))
        mapped = recover(query, play(query, cells, present, rng))
        if isinstance(mapped, Heatmap):
            found.append(1e9 * float(np.square(mapped.mass - everybody / users).mean()))
    return found


def scale_users(order: Order, users: int) -> int:
    return max(500, int(users * order.scale))


def make_quadtree_7(order: Order, stage: Stage) -> Figure:
    """Return the error by how many are asked and by how wide noise is aimed at."""
    stage("asking crowds of several sizes")
    rules = {"last": "the last round alone", "all": "all rounds"}
    sizes = {
        said: tuple(
            mark(users, _errors(order, scale_users(order, users), estimator=name))
            for users in USERS
        )
        for name, said in rules.items()
    }
    stage("aiming at several widths")
    widths = {
        said: tuple(
            mark(aim, _errors(order, scale_users(order, 100_000), aim=aim, estimator=name))
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
    users = scale_users(order, 100_000)
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


def play(query: Query, cells: Any, present: int, rng: Any) -> list[Release]:
    """Return the releases of one whole run."""
    releases = list[Release]()
    while round := plan(query, releases):
        releases.append(release_crowd(round, cells, present, rng))
    return releases


def everybody(order: Order, users: int, run: int = 0) -> Whole:
    """Return how many people of the made city are in each cell, (rows, columns)."""
    points = places_of_order(order)(users, np.random.default_rng([order.seed, run]))
    return histogram(points, Grid((SIDE, SIDE), 0))


def _draws(shards: int, rng: Any) -> Draw:
    """Return what draws the noise of so many shards, a discrete Laplace each, by the thousand."""
    ready: dict[tuple[int, int], list[int]] = {}

    def draw(num: int, den: int) -> int:
        left = ready.setdefault((num, den), [])
        if not left:
            left.extend(sums(1 << 12, shards, 1, den, num, rng).tolist())
        return left.pop()

    return draw


def _narrower(draw: Draw, times: Fraction, num: int, den: int) -> int:
    return draw(*(Fraction(num, den) / times).as_integer_ratio())


def show(mass: Any, truth: Any) -> list[list[float]]:
    """Return a map as it is drawn: what is above nearly all of the truth is in one colour."""
    found: list[list[float]] = np.clip(mass, 0, np.quantile(truth, 0.995)).tolist()
    return found


def off(mass: Any, truth: Any) -> float:
    return 1e9 * float(np.square(mass - truth).mean())


def make_quadtree_table1(order: Order, stage: Stage) -> Figure:
    """Return the error and the numbers that a device sends, beside every peer."""
    users, one = scale_users(order, 100_000), Fraction(1)
    shards, deep = -(-users // 10_000), (3, 4, 5, 6)
    found: dict[str, list[tuple[float, int]]] = {}
    for run in range(order.runs):
        cells = everybody(order, users, run)
        truth, crowd = cells / users, Crowd(cells, users)
        rng = Tape(b"table %d %d" % (order.seed, run))
        draw = _draws(shards, rng)
        asked = ask(Grid((SIDE, SIDE), 0), (1, 1), "zero-out", users)
        stage(f"run {run + 1} of {order.runs}: the tree")
        releases = play(asked, cells, users, rng)
        length = sum(len(one.values) for one in releases)
        for name, query in (
            ("all rounds", asked),
            ("last round", replace(asked, estimator="last")),
        ):
            mapped = recover(query, releases)
            if isinstance(mapped, Heatmap):
                found.setdefault(f"quadtree, {name}", []).append((off(mapped.mass, truth), length))
        stage(f"run {run + 1} of {order.runs}: peers")
        levels = [
            (
                off(hierarchies.hierarchy(crowd, one, draw, 2, depth), truth),
                (4 ** (depth + 1) - 4) // 3,
            )
            for depth in deep
        ]
        # Its rule for how fine a grid is knows epsilon alone, and not of the noise of many shards.
        root = Fraction(math.sqrt(shards)).limit_denominator(1000)
        fine = grids.adaptive_grid(crowd, one / root, partial(_narrower, draw, root))
        spatial = hierarchies.quadtree(crowd, one, draw, 6)
        trusted = privtree(crowd, one, partial(dlaplace, rng=rng))
        for name, error, sent in (
            ("flat", off(grids.laplace(crowd, one, draw), truth), truth.size),
            ("hierarchy, the level chosen by the truth", *min(levels)),
            ("spatial decomposition, 6 levels", off(spatial, truth), (4**7 - 1) // 3),
            ("count-min sketch", off(count_min(crowd, one, draw), truth), 40_000),
            ("adaptive grid", off(fine, truth), 0),
            ("PrivTree, which trusts a gateway", off(trusted, truth), 0),
            (UNIFORM, off(1 / truth.size, truth), 0),
        ):
            found.setdefault(name, []).append((error, sent))
    rows = tuple(
        (
            name,
            statistics.fmean(e for e, _ in seen),
            round(statistics.fmean(s for _, s in seen)) or "-",
        )
        for name, seen in found.items()
    )
    private = [row for row in rows if "trusts" not in row[0]]
    best = min(private, key=lambda row: row[1])
    return Figure(
        "quadtree-table1",
        FIGURES["quadtree-table1"],
        "the tree is nearest, and sends orders of magnitude fewer numbers than its private peers",
        (f"nearest without a trusted gateway is {best[0]}, {best[1]:.3g}",),
        tables=(
            Table(
                f"{users} people, epsilon 1",
                ("", "MSE in 1e-9", "numbers a device sends"),
                rows,
            ),
        ),
        panels=(_beside(rows),),
        notes=(
            *MADE,
            "errors are against where these people are",
            "a dash, or a line from end to end: how many numbers are sent was not counted",
        ),
    )


def _beside(rows: Sequence[tuple[str, float, int | str]]) -> Panel:
    """Return the error of each over what it sends; who was not counted is a line through all."""
    sent = [count for _, _, count in rows if isinstance(count, int)]
    ends = (min(sent), max(sent))
    lines = {
        name: tuple(
            Mark(at, error, float("nan"), 1) for at in ((count,) if count in sent else ends)
        )
        for name, error, count in rows
        if name != UNIFORM
    }
    return Panel("", "numbers a device sends", "MSE in 1e-9", lines)


def make_quadtree_1(order: Order, stage: Stage) -> Figure:
    """Return one crowd under noise of each device's own, and under noise that they share."""
    users, rng = scale_users(order, 100_000), Tape(b"one %d" % order.seed)
    stage("two kinds of noise")
    cells = everybody(order, users)
    flat = cells.reshape(64, SIDE // 64, 64, SIDE // 64).sum(axis=(1, 3))
    shape = flat.shape
    own, shared = (
        normalise(flat + sums(flat.size, many, 1, 1, 1, rng).reshape(shape)) for many in (users, 1)
    )
    truth = flat / users
    times = off(own, truth) / off(shared, truth)
    return Figure(
        "quadtree-1",
        FIGURES["quadtree-1"],
        "noise that each device adds for itself leaves nothing of the map",
        (f"the error is {times:.0f} times as large with noise of each device's own",),
        tables=(
            Table(
                "error of 64 x 64 cells",
                ("", "MSE in 1e-9"),
                (("each its own", off(own, truth)), ("shared", off(shared, truth))),
            ),
        ),
        maps=tuple(
            Grid2(title, show(mass, truth))
            for title, mass in (
                (f"{users} people", truth),
                ("each has all of the noise", own),
                ("all share one noise", shared),
            )
        ),
        notes=(*_MAPPED, "64 x 64 cells at epsilon 1, one sum over everybody"),
    )


def make_quadtree_2(order: Order, stage: Stage) -> Figure:
    """Return how often sums of shares have each value, beside the law that they must have."""
    rng, members, count = Tape(b"two %d" % order.seed), 20, max(500, int(4000 * order.scale))
    stage("adding shares")
    seen = Counter(
        sum(column)
        for _ in range(count // 100)
        for column in zip(*(shares(100, members, 1, 2, rng) for _ in range(members)), strict=True)
    )
    one = Counter(shares(count, members, 1, 2, rng))
    q, total, values = math.exp(-0.5), seen.total(), _VALUES
    law = {at: (1 - q) / (1 + q) * q ** abs(at) for at in values}
    lines = {
        "sums of 20 shares": _marks(seen),
        "one share": _marks(one),
        "discrete Laplace": tuple(Mark(at, law[at], float("nan"), 1) for at in values),
    }
    worst = max(abs(seen[at] / total - law[at]) for at in values)
    return Figure(
        "quadtree-2",
        FIGURES["quadtree-2"],
        "parts of the noise, one from each device, add up to what one trusted party would add",
        (
            f"one share is nought {one[0] / count:.0%} of the time; how often sums have a value "
            f"is off by {worst:.3f} at most",
        ),
        panels=(Panel("Epsilon 1/2", "noise", "how often", lines),),
    )


def _marks(seen: Counter[int]) -> tuple[Mark, ...]:
    """Return how often each value was seen, and half the width of its interval."""
    count = seen.total()
    shares_of = [(at, seen[at] / count) for at in _VALUES]
    return tuple(
        Mark(at, share, 1.96 * math.sqrt(share * (1 - share) / count), count)
        for at, share in shares_of
    )


def make_quadtree_3(order: Order, stage: Stage) -> Figure:
    """Return the map as it grows, round by round."""
    return _grown("quadtree-3", order, stage, 100_000, rounds=True)


def make_quadtree_6(order: Order, stage: Stage) -> Figure:
    """Return maps of one city for crowds of several sizes."""
    return _grown("quadtree-6", order, stage, 1_000_000, rounds=False)


def _grown(name: str, order: Order, stage: Stage, most: int, rounds: bool) -> Figure:
    maps, found, rows = list[Grid2](), list[str](), list[tuple[Any, ...]]()
    for users in (
        scale_users(order, part) for part in ((most,) if rounds else (most // 100, most))
    ):
        stage(f"asking {users} people")
        cells, rng = everybody(order, users), Tape(b"%s %d" % (name.encode(), order.seed))
        asked = ask(Grid((SIDE, SIDE), 0), (1, 1), "zero-out", users)
        releases, truth = play(asked, cells, users, rng), cells / users
        maps.append(Grid2(f"{users} people", show(truth, truth)))
        for number in range(1 if rounds else len(releases), len(releases) + 1):
            mass = density(count_squares(asked, releases[:number]))[0]
            squares = len(releases[number - 1].values)
            maps.append(Grid2(f"round {number}: {squares} squares", show(mass, truth)))
            rows.append((users, number, squares, off(mass, truth)))
        sent = sum(len(one.values) for one in releases)
        found.append(
            f"{users} people, {len(releases)} rounds, {sent} numbers a device: "
            f"MSE {off(mass, truth):.3g}e-9"
        )
    paper = (
        "squares are divided where people are" if rounds else "the tree follows where people live"
    )
    table = Table("maps", ("people", "round", "squares", "MSE in 1e-9"), tuple(rows))
    return Figure(
        name, FIGURES[name], paper, tuple(found), tables=(table,), maps=tuple(maps), notes=_MAPPED
    )


def make_quadtree_9(order: Order, stage: Stage) -> Figure:
    """Return the share of those who say yes, square by square, with its interval."""
    users, rng = scale_users(order, 300_000), Tape(b"nine %d" % order.seed)
    stage("asking for a yes or a no")
    cells, world = everybody(order, users), np.random.default_rng([order.seed, 9])
    y, x = np.mgrid[:SIDE, :SIDE] / SIDE
    chance = 0.8 * np.exp(-((x - 0.5) ** 2 + (y - 0.5) ** 2) / (2 * 0.15**2))
    yes = world.binomial(cells, chance)
    asked = ask(Grid((SIDE, SIDE), 0), (1, 1), "zero-out", users, kind="proportions")
    releases = play(asked, np.stack([yes, cells - yes]), users, rng)
    found = proportions(asked, releases)
    known, people = ~np.isnan(found.share), cells > 0
    where = known & people
    wrong = np.average(np.abs(found.share - chance)[where], weights=cells[where])
    return Figure(
        "quadtree-9",
        FIGURES["quadtree-9"],
        "where the share of those who say yes is high is found, too",
        (
            f"for {cells[where].sum() / users:.0%} of {users} people a share is known, off by "
            f"{wrong:.3f} on average",
        ),
        tables=(
            Table(
                "over the people whose share is known",
                ("mean error", "mean width"),
                ((wrong, np.average((found.high - found.low)[where], weights=cells[where])),),
            ),
        ),
        maps=(
            Grid2("the chance of a yes", np.where(people, chance, np.nan).tolist()),
            Grid2("share of those who say yes", found.share.tolist()),
            Grid2(f"width of its {asked.level:.0%} interval", (found.high - found.low).tolist()),
        ),
        notes=(*_MAPPED, "cells without a share, or without anybody, are left empty"),
    )
