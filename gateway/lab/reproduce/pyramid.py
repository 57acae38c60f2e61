"""Figures 1, 2, 4 to 8 and 10 to 13 of paper 000: private heatmaps and their peers.

The paper's data sets cannot be kept here: a made city stands for its places, and people who look
at a few spots each for its gazes. Each run draws new people. Noise is the mechanism's own, from a
tape: equal orders have equal figures, and none of them is private.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from edge.core.entropy import Tape
from edge.core.noise import dlaplace
from edge.core.records import Grid, Reading, Release
from edge.mechanisms.pyramid import gather_values, release, report
from physics.crowds import shuffle
from physics.crowds.pyramid import make_parts_lookup, release_sums
from physics.points import histogram
from recovery.distance import earth_movers, kl, pearson, similarity
from recovery.peers import grids, hierarchies
from recovery.pyramid import Query, plan, recover
from recovery.pyramid.dense import blur_map

from .figures import (
    Figure,
    Finding,
    Floats,
    Place,
    Results,
    Task,
    Value,
    check_falling,
    check_lowest,
    check_power,
    combine_findings,
    judge_claim,
)
from .people import STAND_IN, draw_people, read_gazes
from .picture import UNIFORM

BASE, TOP, PAPER, AUTO = "Laplace", "Laplace, top 0.01 %", "RECONSTRUCT, w = 20", "auto"
DENSE, ADAPTIVE, EXACT = "dense", "adaptive grid", "not private: w = 20, no noise"
OURS = {PAPER: "sparse", DENSE: "dense", AUTO: "auto"}
CHECK_INS, GAZES, SAMPLES = 20, 12, 100  # points of one person: of a city, a picture, a mixture
PEERS: dict[str, Callable[..., Floats]] = {
    BASE: grids.map_by_laplace,
    TOP: partial(grids.map_by_laplace, top_percent=0.01),
    ADAPTIVE: grids.map_by_adaptive_grid,
    "uniform grid": grids.map_by_uniform_grid,
    "geometric quadtree": partial(hierarchies.map_by_quadtree, depth=6),
    "hierarchy of 4 x 4": hierarchies.map_by_hierarchy,
    "wavelet": hierarchies.map_by_wavelet,
}
SHOWN = (BASE, TOP, PAPER, DENSE, AUTO, ADAPTIVE)
ALL = (*PEERS, *OURS, EXACT)  # of the figure by epsilon
_EMD_SIDE = 64  # to which maps are summed before the earth mover's distance: exact in a tenth
EMD, UNLIKE, APART, KL = "EMD", "1 - similarity", "1 - Pearson", "KL"


@dataclass(frozen=True)
class Setting:
    """Who is where on which grid, and what they are promised."""

    points: Floats  # (points, 2) on the unit square
    side: int = 256  # cells; the longer side's
    users: int = 200
    epsilon: tuple[int, int] = (1, 1)
    each: int = 1  # points of one person, who has one mass
    rows: int | None = None  # where they are not as many

    @property
    def grid(self) -> Grid:
        """The map's."""
        return Grid((self.side, self.rows or self.side), 0)


def draw_map(name: str, setting: Setting, tape: Any) -> Floats:
    """Return the map that one contender draws of these people."""
    counts = histogram(setting.points, setting.grid).astype(np.int64)
    if name in PEERS:
        crowd = grids.Crowd(counts, setting.users, setting.each)
        return PEERS[name](crowd, Fraction(*setting.epsilon), partial(dlaplace, rng=tape))
    each, users, sums = setting.each, setting.users, 1024 * counts
    asked: Any = {"estimator": OURS.get(name, "sparse"), "units": 1024 * each, "places": each}
    query = Query(setting.grid, setting.epsilon, users=users, **asked)
    round: Any = plan(query, ())
    if name == EXACT:
        released = Release(round, gather_values(round, make_parts_lookup(round, sums)), users)
    else:
        released = release_sums(round, sums, users, tape)
    found: Any = recover(query, [released])
    mass: Floats = found.mass
    return mass


def measure_distances(truth: Floats, found: Floats) -> dict[str, float]:
    """Return the paper's four distances between two maps' heatmaps; the less, the nearer."""
    p, q = blur_map(truth / truth.sum(), None), blur_map(found, None)
    size = max(1, max(p.shape) // _EMD_SIDE)
    rows, columns = (cells // size for cells in p.shape)
    a, b = (one.reshape(rows, size, columns, size).sum(axis=(1, 3)) for one in (p, q))
    return {
        EMD: earth_movers(a, b, normalise=True),
        UNLIKE: 1 - similarity(p, q),
        APART: 1 - pearson(p, q),
        KL: kl(p, q),
    }


def draw_gazes(
    users: int, world: np.random.Generator, clusters: int = 4, sd: float = 0.02
) -> Floats:
    """Return where people look: at a few spots, one point each."""
    centres = world.random((clusters, 2)) * 0.8 + 0.1
    return np.clip(world.normal(centres[world.integers(clusters, size=users)], sd), 0, 0.999)


def gather_gazes(task: Task, users: int, world: np.random.Generator) -> Floats:
    """Return where people look at one picture, a made one or a file's, GAZES points of each."""
    if not task.points.endswith(".json"):
        return draw_gazes(users * GAZES, world)
    pictures = read_gazes(Path(task.points))
    people = pictures[task.run % len(pictures)]
    own = [people[one] for one in world.integers(len(people), size=users)]
    return np.concatenate([one[world.integers(len(one), size=GAZES)] for one in own])


def compare_contenders(task: Task) -> Iterator[Value]:
    """Yield the four distances of every contender at one place."""
    kind, at, text = str(task.place[0]), float(task.place[1]), str(task.place[2])
    epsilon, world = Fraction(text).as_integer_ratio(), task.make_generator()
    if kind == "gazes":
        setting = Setting(gather_gazes(task, 50, world), 320, 50, epsilon, GAZES, 240)
    elif kind.endswith("clusters"):
        more = {0.02: 5, 0.05: 10, 0.15: 20, 0.3: 40}.get(at, 80)
        clusters = 20 if kind == "20 clusters" else more
        wide = math.sqrt(at / clusters) / 5  # fills about such a part of the cells
        people = draw_gazes(200 * SAMPLES, world, clusters, wide)
        setting = Setting(people, 64, 200, epsilon, SAMPLES)
    else:
        users = int(at) if kind == "users" else 200
        people = draw_people(task.points, users * CHECK_INS, world)
        setting = Setting(people, int(at) if kind == "sides" else 256, users, epsilon, CHECK_INS)
    truth = histogram(setting.points, setting.grid).astype(float)
    for name in (*(ALL if kind == "city" else SHOWN), UNIFORM):
        tape = Tape(task.make_tape(name))
        even = np.full(truth.shape, 1 / truth.size)
        mass = even if name == UNIFORM else draw_map(name, setting, tape)
        for metric, score in measure_distances(truth, mass).items():
            yield Value(metric, name, at, score)


def _judge_algorithm_best(results: Results) -> Finding:
    return check_lowest(results, PAPER, (BASE, TOP))


def _judge_users_help(results: Results) -> Finding:
    return combine_findings(
        _judge_algorithm_best(results),
        check_falling(results, PAPER, EMD),
        check_falling(results, BASE, EMD),
    )


def _judge_fineness(results: Results) -> Finding:
    return combine_findings(
        check_power(results, EMD, PAPER, 0, 0.25), check_falling(results, BASE, rises=True)
    )


def _judge_sparser_data(results: Results) -> Finding:
    """Return whether the sparser the data, the further the algorithm is ahead of Laplace."""
    first, *_, last = results.list_places(EMD, PAPER)
    ahead = {
        metric: [
            results.compute_mean(metric, BASE, at) / results.compute_mean(metric, PAPER, at)
            for at in (first, last)
        ]
        for metric in results.list_panels()
    }
    asked = {metric: int(np.sign(sparse - full)) for metric, (sparse, full) in ahead.items()}
    sparse, full = ahead[EMD]
    said = f"Laplace's EMD is {sparse:.2g} times as large at the sparsest, {full:.2g} fullest: "
    return combine_findings(_judge_algorithm_best(results), judge_claim(asked, said))


BYTES = "MB a user"


def measure_message_cost(task: Task) -> Iterator[Value]:
    """Yield what one of 50 people sends through a shuffler, epsilon 5, delta 1e-5."""
    scale, squares = int(task.place[0]), 4 * 320 * 240 // 3
    query = Query(Grid((320, 240), 0), (5, 1), users=50, estimator="sparse", units=scale)
    round: Any = plan(query, ())
    own, mod = len(shuffle.list_coordinates(round)), shuffle.choose_modulus(round, 50)
    printed = shuffle.compute_cost(5, squares, 50, 1e-5, 50 * scale, printed=True)
    mended = shuffle.compute_cost(5, own, 50, 1e-5, mod)
    yield Value(BYTES, "printed, not private", scale, printed.total_bytes / 1e6)
    yield Value(BYTES, "corrected", scale, mended.total_bytes / 1e6)


def _judge_log_growth(results: Results) -> Finding:
    """Return whether what is sent grows no faster than the logarithm of B, and is about 10 MB."""
    line = "printed, not private"
    growth = results.compute_mean(BYTES, line, 4096) / results.compute_mean(BYTES, line, 16)
    at, mended = (results.compute_mean(BYTES, name, 256) for name in (line, "corrected"))
    said = f"{at:.1f} MB at B = 256, {growth:.2f} times from 16 to 4096; corrected {mended:.1f} MB"
    held = 5 <= at <= 20 and growth <= math.log(4096 * 50) / math.log(16 * 50)
    return Finding("confirmed" if held else "refuted", said)


def measure_by_scale(task: Task) -> Iterator[Value]:
    """Yield how near the map is by the scale that parts are rounded to, 50 people, epsilon 5."""
    scale, side, world = int(task.place[0]), 256, task.make_generator()
    cells = (gather_gazes(task, 50, world) * side).astype(int).reshape(50, GAZES, 2)
    query = Query(Grid((side, side), 0), (5, 1), users=50, estimator="sparse")
    round = plan(query := replace(query, units=scale, places=GAZES), ())
    truth, payloads = np.zeros((side, side)), []
    for user, own in enumerate(cells):
        np.add.at(truth, (own[:, 1], own[:, 0]), 1 / GAZES)
        values = tuple(int(n) for x, y in own for n in (x, y, scale))
        payloads.append(report(round, Reading(user, values), None))
    found: Any = recover(query, [release(round, payloads, Tape(task.make_tape()))])
    for metric, score in measure_distances(truth, found.mass).items():
        yield Value(metric, PAPER, scale, score)


def _judge_gain_above_256(results: Results) -> Finding:
    """Return whether nothing is surely gained above B = 256."""
    asked = {
        metric: 1 - 2 * (results.compare_lines(metric, (PAPER, 4096), (PAPER, 256)) > 0)
        for metric in results.list_panels()
    }
    emd = [results.compute_mean(EMD, PAPER, at) for at in (16, 256, 4096)]
    said = f"EMD {emd[0]:.3f} at B = 16, {emd[1]:.3f} at 256, {emd[2]:.3f} at 4096; not above it: "
    return judge_claim(asked, said)


def _make_places(kind: str, places: tuple[float, ...], epsilon: str = "") -> tuple[Place, ...]:
    return tuple((kind, at, epsilon or f"{at:g}") for at in places)


_EPSILONS = (0.1, 0.5, 1, 2, 5, 10)
_USERS, _SIDES = (50, 100, 200, 500, 1000), (64, 128, 256, 512)
_PARTS = (0.02, 0.05, 0.15, 0.3, 0.75)
_CITY = f"{CHECK_INS} points of each person; {STAND_IN}"
_LOOKS = (
    f"{GAZES} points of each person, at four spots, in the place of Salicon's gazes, unless "
    "--points gives them"
)
_MIXTURE = f"200 people of {SAMPLES} points on 64 x 64 cells, epsilon 1, round hills"
_HELP = "the algorithm beats both baselines, and more people help all"
_FINE = "finer cells hurt Laplace and leave the algorithm as it is"
_SPARSE = "the algorithm beats both baselines, the more the sparser the data"
_FEW: tuple[int, float, tuple[Any, ...]] = (6, 1.0, ())
_ENDS = (6, 1.0, _make_places("sides", (64, 256), "10"))

FIGURES = (
    Figure(
        "pyramid-1", "the algorithm beats Laplace and its threshold at every epsilon",
        f"256 x 256, 200 people; {_CITY}", "epsilon",
        _make_places("city", _EPSILONS), compare_contenders, _judge_algorithm_best,
        60,
        (6, 1.0, _make_places("city", (0.5, 1, 2, 5))),
    ),
    Figure(
        "pyramid-4", f"{_HELP} (Figures 2 and 4)", f"256 x 256, epsilon 10; {_CITY}", "people",
        _make_places("users", _USERS, "10"), compare_contenders, _judge_users_help, 20,
        (6, 1.0, _make_places("users", (50, 200, 500), "10")),
    ),
    Figure(
        "pyramid-5", f"{_FINE} (Figures 2 and 5)", f"200 people, epsilon 10; {_CITY}",
        "cells along a side", _make_places("sides", _SIDES, "10"), compare_contenders,
        _judge_fineness, 20, _ENDS,
    ),
    Figure(
        "pyramid-6", _HELP, f"256 x 256, epsilon 1; {_CITY}", "people",
        _make_places("users", _USERS, "1"), compare_contenders, _judge_users_help, 20,
        (6, 1.0, _make_places("users", (50, 200, 500), "1")),
    ),
    Figure(
        "pyramid-7", _FINE, f"200 people, epsilon 1; {_CITY}", "cells along a side",
        _make_places("sides", _SIDES, "1"), compare_contenders, _judge_fineness, 20,
        (6, 1.0, _make_places("sides", (64, 256), "1")),
    ),
    Figure(
        "pyramid-8", "the algorithm beats Laplace and its threshold at every epsilon",
        f"320 x 240, 50 people; {_LOOKS}", "epsilon",
        _make_places("gazes", _EPSILONS), compare_contenders, _judge_algorithm_best,
        76,
        (4, 1.0, _make_places("gazes", (1, 5))),
    ),
    Figure(
        "pyramid-10", _SPARSE, f"20 clusters, {_MIXTURE}", "part of cells that are full",
        _make_places("20 clusters", _PARTS, "1"), compare_contenders, _judge_sparser_data,
        20, _FEW,
    ),
    Figure(
        "pyramid-11", _SPARSE, f"5 to 80 clusters, {_MIXTURE}", "part of cells that are full",
        _make_places("more clusters", _PARTS, "1"), compare_contenders, _judge_sparser_data,
        20, _FEW,
    ),
    Figure(
        "pyramid-12",
        "what each person sends through a shuffler grows by log B, about 10 MB at B = 256",
        "320 x 240, 50 people, epsilon 5, delta 1e-5; as printed it is not private: noise of one "
        "side, B times too little, and not in what is sent", "scale B",
        tuple((scale,) for scale in (16, 64, 256, 1024, 4096)), measure_message_cost,
        _judge_log_growth, 1,
    ),
    Figure(
        "pyramid-13", "nearly all is gained at B = 256",
        f"256 x 256, 50 people, epsilon 5; {_LOOKS}",
        "scale B", tuple((scale,) for scale in (16, 64, 256, 1024, 4096)), measure_by_scale,
        _judge_gain_above_256, 20, _FEW,
    ),
)  # fmt: skip
