"""Figures 1 to 13 of paper 000: private heatmaps and their peers, and what a shuffler costs.

The paper's data sets cannot be kept here: a made city stands for its places, and people who look
at a few spots each for its gazes. With --points a file of one's own is taken instead. Noise is
the mechanism's own, from a tape: equal orders have equal figures, and none of them is private.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from edge.core.entropy import Tape
from edge.core.noise import dlaplace
from edge.core.records import Grid, Reading, Release
from edge.mechanisms.pyramid import gather_values, release, report
from physics.crowds import shuffle
from physics.crowds.pyramid import parts_of, release_sums
from physics.points import histogram
from recovery.distance import earth_movers, kl, pearson, similarity
from recovery.peers import grids, hierarchies
from recovery.pyramid import Query, plan, recover
from recovery.pyramid.dense import heatmap

from .figures import FIGURES, SHARES, UNIFORM, Figure, Grid2, Mark, Order, Panel, Stage, Table
from .people import places_of_order
from .trials import mark

Floats: TypeAlias = NDArray[np.float64]
Points: TypeAlias = Callable[[int, np.random.Generator], Floats]  # (people, 2) on the unit square

EPSILONS = ((1, 10), (1, 2), (1, 1), (2, 1), (5, 1), (10, 1))
BASE, TOP, PAPER, AUTO = "Laplace", "Laplace, top 0.01 %", "RECONSTRUCT, w = 20", "auto"
DENSE, ADAPTIVE, EXACT = "dense", "adaptive grid", "not private: w = 20, no noise"
OURS = {PAPER: "sparse", DENSE: "dense", AUTO: "auto"}
CHECK_INS, GAZES, SAMPLES = 20, 12, 100  # points of one person: of a city, a picture, a mixture
PEERS: dict[str, Callable[..., Floats]] = {
    BASE: grids.laplace,
    TOP: partial(grids.laplace, top_percent=0.01),
    ADAPTIVE: grids.adaptive_grid,
    "uniform grid": grids.uniform_grid,
    "geometric quadtree": partial(hierarchies.quadtree, depth=6),
    "hierarchy of 4 x 4": hierarchies.hierarchy,
    "wavelet": hierarchies.wavelet,
}
SHOWN = (BASE, TOP, PAPER, DENSE, AUTO, ADAPTIVE)
ALL = (*PEERS, *OURS, EXACT)  # of the figures by epsilon
_EMD_SIDE = 64  # to which maps are summed before the earth mover's distance: exact in a tenth


@dataclass(frozen=True)
class Setting:
    """One place of an axis: cells a side, people, epsilon, and where people come from."""

    points: Points
    side: int = 256  # cells; the longer side's
    users: int = 200
    epsilon: tuple[int, int] = (1, 1)
    each: int = 1  # points of one person, who has one mass
    rows: int | None = None  # where they are not as many

    @property
    def grid(self) -> Grid:
        """The map's."""
        return Grid((self.side, self.rows or self.side), 0)


def draw_map(name: str, people: Floats, setting: Setting, tape: Any) -> Floats:
    """Return the map that one contender draws of these people."""
    counts = histogram(people, setting.grid).astype(np.int64)
    if name in PEERS:
        crowd = grids.Crowd(counts, setting.users, setting.each)
        return PEERS[name](crowd, Fraction(*setting.epsilon), partial(dlaplace, rng=tape))
    each, users, sums = setting.each, setting.users, 1024 * counts
    asked: Any = {"estimator": OURS.get(name, "sparse"), "units": 1024 * each, "places": each}
    query = Query(setting.grid, setting.epsilon, users=users, **asked)
    round: Any = plan(query, ())
    if name == EXACT:
        released = Release(round, gather_values(round, parts_of(round, sums)), users)
    else:
        released = release_sums(round, sums, users, tape)
    found: Any = recover(query, [released])
    mass: Floats = found.mass
    return mass


def scores(truth: Floats, found: Floats) -> dict[str, float]:
    """Return the paper's four distances between two maps' heatmaps."""
    p, q = heatmap(truth / truth.sum(), None), heatmap(found, None)
    size = max(1, max(p.shape) // _EMD_SIDE)
    rows, columns = (cells // size for cells in p.shape)
    a, b = (one.reshape(rows, size, columns, size).sum(axis=(1, 3)) for one in (p, q))
    return {
        "earth mover's distance": earth_movers(a, b, normalise=True),
        "similarity": similarity(p, q),
        "Pearson": pearson(p, q),
        "KL": kl(p, q),
    }


def compare(
    title: str,
    across: str,
    settings: Sequence[tuple[float, Setting]],
    order: Order,
    stage: Stage,
    names: Sequence[str] = SHOWN,
    metrics: Sequence[str] = ("earth mover's distance", "similarity", "Pearson", "KL"),
) -> tuple[Panel, ...]:
    """Return a panel for each distance, a line for each contender and for an even map."""
    found: dict[tuple[str, str, float], list[float]] = {}
    for at, setting in settings:
        stage(f"{title}: {across} {at:g}")
        for run in range(order.runs):
            world = np.random.default_rng([order.seed, run])
            people = setting.points(setting.users * setting.each, world)
            truth = histogram(people, setting.grid).astype(float)
            even = np.full(truth.shape, 1 / truth.size)
            for name in (*names, UNIFORM):
                tape = Tape(f"{title} {at} {run} {name} {order.seed}".encode())
                mass = even if name == UNIFORM else draw_map(name, people, setting, tape)
                for metric, score in scores(truth, mass).items():
                    found.setdefault((metric, name, at), []).append(score)
    return tuple(
        Panel(
            f"{title}, {metric}",
            across,
            metric,
            {
                name: tuple(mark(at, found[metric, name, at]) for at, _ in settings)
                for name in (*names, UNIFORM)
            },
        )
        for metric in metrics
    )


def _looks(users: int, world: np.random.Generator, clusters: int = 4, sd: float = 0.02) -> Floats:
    """Return where people look: at a few spots, one point each."""
    centres = world.random((clusters, 2)) * 0.8 + 0.1
    return np.clip(world.normal(centres[world.integers(clusters, size=users)], sd), 0, 0.999)


def _figure(name: str, paper: str, panels: tuple[Panel, ...], *notes: str) -> Figure:
    found = []
    for panel in panels:
        best = max if panel.up in SHARES else min
        lines = {one: at for one, at in panel.lines.items() if one not in (UNIFORM, EXACT)}
        said = []
        for at, even in enumerate(panel.lines[UNIFORM]):
            means = {one: marks[at].mean for one, marks in lines.items()}
            said.append(f"{even.at:g} {best(means, key=means.__getitem__)}")
        found.append(f"{panel.title}, best at {'; '.join(said)}")
    return Figure(name, FIGURES[name], paper, tuple(found), panels, notes=notes)


def _stand_in(order: Order) -> tuple[str, ...]:
    """Return where the people of a city are not the paper's."""
    runs = f"{order.runs} runs of new people each; the paper has 10 to 60"
    points = f"{CHECK_INS} points of each person, drawn as if of all people"
    made = () if order.points else ("a made city in the place of Gowalla and Brightkite",)
    return (*made, points, runs)


_GAZES_NOTE = f"{GAZES} points of each person, at four spots, in the place of Salicon's gazes"


def _by_epsilon(
    points: Points, users: int, each: int, shape: tuple[int, int]
) -> list[tuple[float, Setting]]:
    side, rows = shape
    return [(n / d, Setting(points, side, users, (n, d), each, rows)) for n, d in EPSILONS]


def _by_users(order: Order, epsilon: tuple[int, int]) -> list[tuple[float, Setting]]:
    sizes = (50, 100, 200, 500, 1000)
    return [(n, Setting(places_of_order(order), 256, n, epsilon, CHECK_INS)) for n in sizes]


def _by_side(order: Order, epsilon: tuple[int, int]) -> list[tuple[float, Setting]]:
    return [
        (side, Setting(places_of_order(order), side, 200, epsilon)) for side in (64, 128, 256, 512)
    ]


def make_pyramid_1(order: Order, stage: Stage) -> Figure:
    """Return the figure: 256 x 256, 200 people, six epsilons."""
    settings = _by_epsilon(places_of_order(order), 200, CHECK_INS, (256, 256))
    panels = compare("city", "epsilon", settings, order, stage, ALL)
    paper = (
        "Laplace is poor even at 10; a threshold helps much; the algorithm beats both everywhere"
    )
    return _figure("pyramid-1", paper, panels, *_stand_in(order))


def _users_and_sides(
    name: str, epsilon: tuple[int, int], paper: str, kinds: str, emd: bool
) -> Callable[[Order, Stage], Figure]:
    """Return what makes a figure by users, by sides or both; of EMD alone or of all distances."""

    def make(order: Order, stage: Stage) -> Figure:
        metrics = ("earth mover's distance",) if emd else ("similarity", "Pearson", "KL")
        panels: tuple[Panel, ...] = ()
        if "users" in kinds:
            settings = _by_users(order, epsilon)
            panels += compare("city", "users", settings, order, stage, metrics=metrics)
        if "sides" in kinds:
            settings = _by_side(order, epsilon)
            panels += compare("city", "cells a side", settings, order, stage, metrics=metrics)
        return _figure(name, paper, panels, *_stand_in(order))

    return make


_TRENDS = "more people help all; finer cells hurt Laplace and leave the algorithm as it is"
make_pyramid_2 = _users_and_sides("pyramid-2", (10, 1), _TRENDS, "users, sides", True)
make_pyramid_4 = _users_and_sides("pyramid-4", (10, 1), _TRENDS, "users", False)
make_pyramid_5 = _users_and_sides("pyramid-5", (10, 1), _TRENDS, "sides", False)
_POOR = "as at epsilon 10, but thresholds are of little use: mostly noise is kept"
make_pyramid_6 = _users_and_sides("pyramid-6", (1, 1), _POOR, "users", False)
make_pyramid_7 = _users_and_sides("pyramid-7", (1, 1), _POOR, "sides", False)


def _example(
    name: str,
    points: Points,
    shape: tuple[int, int],
    epsilons: Sequence[int],
    order: Order,
    *notes: str,
) -> Figure:
    users, each = shape
    people = points(users * each, np.random.default_rng(order.seed))
    truth = histogram(people, Grid((128, 128), 0)).astype(float)
    maps: list[Grid2] = []
    rows: list[tuple[Any, ...]] = []
    for epsilon in epsilons:
        setting = Setting(points, 128, users, (epsilon, 1), each)
        shown = {"truth": truth / truth.sum()}
        for one in (BASE, TOP, PAPER, AUTO):
            shown[one] = draw_map(
                one, people, setting, Tape(f"{name} {one} {order.seed}".encode())
            )
            rows.append((f"{one}, epsilon {epsilon}", *scores(truth, shown[one]).values()))
        maps += [
            Grid2(f"{one}, epsilon {epsilon}", heatmap(mass, 2.0).tolist())
            for one, mass in shown.items()
        ]
    table = Table("one run", ("", "EMD", "similarity", "Pearson", "KL"), tuple(rows))
    nearest = min(rows, key=lambda row: row[1])
    found = (f"nearest by earth mover's distance is {nearest[0]}, {nearest[1]:.3f}",)
    paper = "Laplace is noise; a threshold leaves spots; the algorithm shows where people are"
    return Figure(name, FIGURES[name], paper, found, (), (table,), tuple(maps), notes)


def make_pyramid_3(order: Order, stage: Stage) -> Figure:
    """Return the maps of epsilon 1 and 5."""
    return _example(
        "pyramid-3",
        places_of_order(order),
        (200, CHECK_INS),
        (1, 5),
        order,
        *_stand_in(order)[:-1],
    )


def make_pyramid_9(order: Order, stage: Stage) -> Figure:
    """Return the maps of people who look at a few spots, epsilon 10, 50 people."""
    return _example("pyramid-9", _looks, (50, GAZES), (10,), order, _GAZES_NOTE)


def make_pyramid_8(order: Order, stage: Stage) -> Figure:
    """Return the figure of people who look: 50 of them."""
    settings = _by_epsilon(_looks, 50, GAZES, (320, 240))
    panels = compare("looks", "epsilon", settings, order, stage, ALL)
    paper = "Laplace is poor even at 20; the algorithm is better by every distance"
    return _figure("pyramid-8", paper, panels, _GAZES_NOTE)


def _sparse_settings(clusters: Sequence[tuple[int, float]]) -> list[tuple[float, Setting]]:
    """Return settings of 200 people's points, as wide as fills about such a part of the cells."""
    spots = {part: partial(_looks, clusters=k, sd=math.sqrt(part / k) / 5) for k, part in clusters}
    return [(part, Setting(law, 64, 200, (1, 1), SAMPLES)) for part, law in spots.items()]


_SPARSER = "the sparser, the more the algorithm is better"
_MIXTURE_NOTE = (
    f"{SAMPLES} points of each of 200 people on 64 x 64 cells, round hills of one width; the "
    "paper does not say how many points are whose"
)


def make_pyramid_10(order: Order, stage: Stage) -> Figure:
    """Return the figure by how many cells are full, 20 clusters throughout."""
    settings = _sparse_settings([(20, part) for part in (0.02, 0.05, 0.15, 0.3, 0.75)])
    panels = compare("20 clusters", "part of cells", settings, order, stage)
    return _figure(
        "pyramid-10", "the sparser, the more the algorithm is better", panels, _MIXTURE_NOTE
    )


def make_pyramid_11(order: Order, stage: Stage) -> Figure:
    """Return the figure by how many cells are full, with more clusters where more are."""
    settings = _sparse_settings([(5, 0.02), (10, 0.05), (20, 0.15), (40, 0.3), (80, 0.75)])
    panels = compare("5 to 80 clusters", "part of cells", settings, order, stage)
    return _figure(
        "pyramid-11", "the sparser, the more the algorithm is better", panels, _MIXTURE_NOTE
    )


SCALES = (16, 64, 256, 1024, 4096)


def make_pyramid_12(order: Order, stage: Stage) -> Figure:
    """Return what one of 50 people sends through a shuffler, epsilon 5, delta 1e-5, 320 x 240."""
    printed_squares, rows = 4 * 320 * 240 // 3, []
    for scale in SCALES:
        query = Query(Grid((320, 240), 0), (5, 1), users=50, estimator="sparse", units=scale)
        round: Any = plan(query, ())
        own, mod = len(shuffle.coordinates(round)), shuffle.modulus(round, 50)
        printed = shuffle.cost(5, printed_squares, 50, 1e-5, 50 * scale, printed=True)
        mended = shuffle.cost(5, own, 50, 1e-5, mod)
        rows.append((scale, printed.total_bytes / 1e6, mended.total_bytes / 1e6, mended.messages))
    table = Table(
        "MB a user, by the scale B", ("B", "printed", "corrected", "messages"), tuple(rows)
    )
    found = (
        f"as printed {rows[2][1]:.1f} MB at B = 256, and no privacy: the noise has one side, B "
        f"times too little, and is not in what is sent; corrected it takes {rows[2][2]:.1f} MB",
    )
    paper = "it grows with log B; about 10 MB at B = 256"
    lines = {
        name: tuple(Mark(row[0], row[at], math.nan, 1) for row in rows)
        for at, name in ((1, "printed, not private"), (2, "corrected"))
    }
    panel = Panel("What one of 50 sends", "scale B", "MB", lines)
    note = "corrected, levels are those that are measured, of a grid padded to 512 x 512"
    name = "pyramid-12"
    return Figure(name, FIGURES[name], paper, found, (panel,), (table,), notes=(note,))


def make_pyramid_13(order: Order, stage: Stage) -> Figure:
    """Return how near the map is by the scale that parts are rounded to, 50 people, epsilon 5."""
    side = 256
    lines: dict[str, list[list[float]]] = {
        metric: [[] for _ in SCALES] for metric in ("earth mover's distance", "similarity")
    }
    for at, scale in enumerate(SCALES):
        stage(f"B = {scale}")
        for run in range(order.runs):
            world = np.random.default_rng([order.seed, run])
            spots = [_looks(GAZES, world) for _ in range(50)]
            cells = [(one * side).astype(int) for one in spots]
            query = Query(Grid((side, side), 0), (5, 1), users=50, estimator="sparse")
            query = replace(query, units=scale, places=GAZES)
            round = plan(query, ())
            truth = np.zeros((side, side))
            payloads = []
            for user, own in enumerate(cells):
                np.add.at(truth, (own[:, 1], own[:, 0]), 1 / GAZES)
                values = tuple(int(n) for x, y in own for n in (x, y, scale))
                payloads.append(report(round, Reading(user, values), None))
            tape = Tape(f"scale {scale} {run} {order.seed}".encode())
            found = recover(query, [release(round, payloads, tape)])
            told = scores(truth, found.mass)  # type: ignore[union-attr]
            for metric, kept in lines.items():
                kept[at].append(told[metric])
    panels = tuple(
        Panel(
            metric,
            "scale B",
            metric,
            {PAPER: tuple(mark(b, v) for b, v in zip(SCALES, kept, strict=True))},
        )
        for metric, kept in lines.items()
    )
    emd = panels[0].lines[PAPER]
    found_said = (
        f"EMD {emd[0].mean:.3f} at B = 16, {emd[2].mean:.3f} at 256, {emd[-1].mean:.3f} at 4096"
    )
    note = "the users' noise adds to the gateway's exactly, so the gateway's is drawn here"
    paper = "nearly all is gained at B = 256"
    return Figure("pyramid-13", FIGURES["pyramid-13"], paper, (found_said,), panels, notes=(note,))
