"""Figures 6 to 9 and Table 2 of paper 004: densities and range queries of sorted places.

The paper's 183 072 Twitter users cannot be kept here: a made city stands for them, --points takes
a file. Sorted places are drawn as printed, each group's average spread over its Voronoi cell, and
as heatveil draws them ("lines", groups by the rule). The paper chooses the peers' bins by the
truth, which nobody could; so do the figures here. Noise is the mechanisms' own, from a tape.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import map_coordinates

from edge.core.entropy import Tape
from edge.core.noise import dlaplace
from edge.core.records import Grid
from edge.mechanisms.ranks import params_of
from physics.crowds.ranks import release_many
from physics.points import histogram, mnormal, szipf
from recovery.peers.equi_width import SHARE, equi_width, sort_then_count
from recovery.peers.grids import Crowd
from recovery.peers.hierarchies import wavelet
from recovery.ranks import Query, plan, recover
from recovery.ranks.groups import paper_group
from recovery.ranks.order import cells_of, order_behind, places_of, voronoi_density
from recovery.ranks.query import ORDERS
from recovery.score import ranges

from .figures import FIGURES, UNIFORM, Figure, Grid2, Mark, Order, Panel, Stage, Table
from .people import places_of_order
from .ranks_line import sorted_release
from .trials import mark

Floats = NDArray[np.float64]

PRINTED, LINES, HYBRID = "ranks, printed", "ranks, lines", "sorted, then counted"
SIDES = (8, 16, 32, 64, 128, 256)
SIDE = 256  # of the raster on which densities are compared
USERS, USERS_8 = 180_000, 60_000
ONE = Fraction(1)


def _tape(*words: object) -> Any:
    return Tape(" ".join(map(str, words)).encode())


def sorted_maps(points: Floats, side: int, *seed: object) -> dict[str, Floats]:
    """Return the shares of cells by a release each, epsilon 1: printed, lines, and the hybrid."""
    order, grid = ORDERS[2], Grid((side, side), 0)
    places = places_of(cells_of(points, order), order)

    def released(epsilon: Fraction, groups: Any, name: str) -> tuple[Query, Any]:
        query = Query(grid, epsilon.as_integer_ratio(), users=len(points), groups=groups)
        return query, release_many(plan(query, ()), places, _tape(name, *seed))  # type: ignore[arg-type]

    _, release = released(ONE, "paper", PRINTED)
    params = params_of(release.round)
    sites = order_behind(release, lines=False).points(params.order, params.axes)
    density = voronoi_density(*sites, (side, side))
    query, release = released(ONE, "rule", LINES)
    found: Any = recover(query, [release])
    query, release = released(1 - SHARE, "rule", HYBRID)
    first: Any = recover(query, [release])
    draw = partial(dlaplace, rng=_tape(HYBRID, "counts", *seed))
    counts = histogram(points, grid)
    return {
        PRINTED: density / density.sum(),
        LINES: found.mass,
        HYBRID: sort_then_count(counts, first.mass, SHARE, draw),
    }


def equi_width_map(points: Floats, side: int, *seed: object) -> Floats:
    """Return the shares of side x side squares, epsilon 1."""
    draw = partial(dlaplace, rng=_tape("equi-width", side, *seed))
    return equi_width(histogram(points, Grid((side, side), 0)), ONE, draw)


def enlarge(mass: Floats, side: int) -> Floats:
    """Return the map on more cells: a square's share is even over its own."""
    times = side // len(mass)
    return np.kron(mass, np.full((times, times), times**-2))


def blocks(mass: Floats, side: int) -> Floats:
    """Return the sums of side x side equal squares."""
    size = len(mass) // side
    found: Floats = mass.reshape(side, size, side, size).sum(axis=(1, 3))
    return found


def differences(truth: Floats, found: Floats) -> tuple[float, float]:
    """Return the l1 and the l2 distance of two maps of total one."""
    off = found - truth
    return float(np.abs(off).sum()), float(np.sqrt(np.square(off).sum()))


def _people(order: Order, users: int, run: int = 0) -> Floats:
    count = max(200, round(users * order.scale))
    return places_of_order(order)(count, np.random.default_rng([order.seed, run]))


def _truth(points: Floats, side: int) -> Floats:
    return histogram(points, Grid((side, side), 0)) / len(points)


def _best_grid(points: Floats, truth: Floats, *seed: object) -> tuple[int, Floats]:
    """Return the bins along a side with the least l1 distance, and their map on the raster."""
    side = len(truth)
    maps = {
        bins: enlarge(equi_width_map(points, bins, *seed), side) for bins in SIDES if bins <= side
    }
    best = min(maps, key=lambda bins: differences(truth, maps[bins])[0])
    return best, maps[best]


def _show(mass: Floats) -> list[list[float]]:
    """Return a map as it is drawn: the fullest hundredth of its cells in one colour."""
    found: list[list[float]] = np.minimum(mass, np.quantile(mass[mass > 0], 0.99)).tolist()
    return found


def _densities(name: str, order: Order, stage: Stage, zoom: bool) -> Figure:
    side = SIDE if zoom else SIDE // 2
    points = _people(order, USERS)
    truth = _truth(points, side)
    stage("fixed squares")
    bins, fixed = _best_grid(points, _truth(points, SIDE), name, order.seed)
    stage("sorted places")
    maps = {
        f"{len(points)} people": truth,
        f"equi-width, {bins} x {bins}": blocks(fixed, side),
        **sorted_maps(points, side, name, order.seed),
    }
    scores = {kind: differences(truth, mass) for kind, mass in maps.items()}
    rows = tuple((kind, l1, f"{l2:.4f}") for kind, (l1, l2) in scores.items())
    if zoom:  # where most people of a quarter of the side are
        part = side // 4
        y, x = (part * int(i) for i in np.unravel_index(int(blocks(truth, 4).argmax()), (4, 4)))
        maps = {kind: mass[y : y + part, x : x + part] for kind, mass in maps.items()}
    shown = tuple(Grid2(kind, _show(mass)) for kind, mass in maps.items())
    nearest = min(rows[1:], key=lambda row: row[1])
    found = (f"by l1 on {side} x {side} cells {nearest[0]} is nearest, {nearest[1]:.3f}",)
    table = Table("distance of densities to the people's", ("", "l1", "l2"), rows)
    paper = "cells of sorted places are small where people are many, and show what squares do not"
    notes = ("a made city in the place of the paper's Twitter users, all of whom are counted",)
    return Figure(
        name, FIGURES[name], paper, found, tables=(table,), maps=shown,
        notes=() if order.points else notes,
    )  # fmt: skip


def make_ranks_6(order: Order, stage: Stage) -> Figure:
    """Return the maps of densities."""
    return _densities("ranks-6", order, stage, zoom=False)


def make_ranks_7(order: Order, stage: Stage) -> Figure:
    """Return the same near where most people are."""
    return _densities("ranks-7", order, stage, zoom=True)


_NOTES = (
    f"the true density is that of {SIDE} x {SIDE} cells; the paper does not say what its own is",
    "groups that regression makes equal are one point for lines: near by earth mover's distance, "
    "far by density",
)


def make_ranks_table2(order: Order, stage: Stage) -> Figure:
    """Return the distances of densities, and where the maps differ."""
    scores: dict[str, list[tuple[float, float]]] = {}
    maps: dict[str, Floats] = {}
    for run in range(order.runs):
        stage(f"run {run + 1} of {order.runs}")
        points = _people(order, USERS_8, run)
        truth = _truth(points, SIDE)
        bins, fixed = _best_grid(points, truth, run, order.seed)
        found = {"equi-width, best": fixed, **sorted_maps(points, SIDE, run, order.seed)}
        found[UNIFORM] = np.full(truth.shape, 1 / truth.size)
        for name, mass in found.items():
            scores.setdefault(name, []).append(differences(truth, mass))
            maps[name] = np.abs(mass - truth)
    means = {name: np.mean(found, axis=0) for name, found in scores.items()}
    rows = tuple((name, float(l1), f"{l2:.4f}") for name, (l1, l2) in means.items())
    shown = tuple(
        Grid2(f"|difference|, {name}", _show(blocks(mass, 64)))
        for name, mass in maps.items()
        if name != UNIFORM
    )
    table = Table("distance of densities", ("", "l1", "l2"), rows)
    best = min(rows, key=lambda row: row[1])[0]
    said = f"by l1 {best} is nearest; equi-width has {bins} x {bins} squares, chosen by the truth"
    paper = "l1 1.23 and l2 0.25 for equi-width, 1.13 and 0.20 for sorted places"
    return Figure(
        "ranks-table2", FIGURES["ranks-table2"], paper, (said,), tables=(table,), maps=shown,
        notes=_NOTES,
    )  # fmt: skip


def make_ranks_8(order: Order, stage: Stage) -> Figure:
    """Return the distances of equi-width densities by the number of bins, for three data sets."""
    town, users = places_of_order(order), max(200, round(USERS_8 * order.scale))
    sets = {"city": town, "three hills": lambda n, w: mnormal(n, w), "skewed": szipf}
    lines: dict[str, dict[str, list[Mark]]] = {"l1": {}, "l2": {}}
    rows = []
    for name, drawn in sets.items():
        stage(name)
        off: dict[int, list[tuple[float, float]]] = {}
        sorted_off = []
        for run in range(order.runs):
            points = drawn(users, np.random.default_rng([order.seed, run]))
            truth = _truth(points, SIDE)
            for bins in SIDES:
                mass = enlarge(equi_width_map(points, bins, name, run, order.seed), SIDE)
                off.setdefault(bins, []).append(differences(truth, mass))
            maps = sorted_maps(points, SIDE, name, run, order.seed)
            sorted_off.append([differences(truth, maps[kind])[0] for kind in (PRINTED, LINES)])
        for at, norm in enumerate(lines):
            lines[norm][name] = [
                mark(bins, [one[at] for one in found]) for bins, found in off.items()
            ]
        best = min(lines["l1"][name], key=lambda one: one.mean)
        rows.append((name, round(best.at), best.mean, *np.mean(sorted_off, axis=0).tolist()))
    panels = tuple(
        Panel(f"{norm} distance", "bins along a side", norm, {k: tuple(v) for k, v in own.items()})
        for norm, own in lines.items()
    )
    columns = ("", "best bins", "l1 there", PRINTED, LINES)
    table = Table("the best equi-width, and sorted places", columns, tuple(rows))
    found = ("best bins along a side: " + ", ".join(f"{row[0]} {row[1]}" for row in rows),)
    paper = "the best width is another one for each of three data sets"
    return Figure("ranks-8", FIGURES["ranks-8"], paper, found, panels, (table,), notes=_NOTES)


# Figure 9: range queries on a line and in a plane.

RANGES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.4)
QUERIES = 1000
BINS_1D, WAVELET_1D, BINS_2D, WAVELET_2D = 1000, 1024, 40, 512  # the paper's


def _cumulate(mass: Floats, at: Floats) -> Floats:
    """Return the share of cells of a line below each place; within a cell it is even."""
    cumulated = np.concatenate([[0.0], np.cumsum(mass.ravel())])
    return np.interp(at, np.linspace(0, 1, len(cumulated)), cumulated)


def _on_line(order: Order, run: int) -> dict[str, list[float]]:
    """Return the mean error in people by the width of ranges, of distances to a city's middle."""
    points = _people(order, USERS, run)
    far = np.hypot(*(points - 0.5).T)
    places = np.sort(far / np.nextafter(far.max(), 2))
    users, seed = len(places), (order.seed, run)
    counts = {bins: np.histogram(places, bins, (0, 1))[0][None] for bins in (BINS_1D, WAVELET_1D)}
    fixed = equi_width(counts[BINS_1D], ONE, partial(dlaplace, rng=_tape("bins", *seed)))
    waves = wavelet(
        Crowd(counts[WAVELET_1D], users),
        ONE,
        partial(dlaplace, rng=_tape("haar", *seed)),
        changes=2,
        total=True,
    )
    steps = sorted_release(places, ONE, paper_group(users, 1.0), f"{seed}")
    sites, which = np.unique(steps.averages, return_inverse=True)
    edges = np.concatenate([[0.0], (sites[1:] + sites[:-1]) / 2, [1.0]])
    weights = np.bincount(which, weights=steps.sizes / steps.sizes.sum())
    own = sorted_release(places, ONE, None, f"lines {seed}", lines=True)
    below: dict[str, Callable[[Floats], Floats]] = {
        f"equi-width, {BINS_1D}": partial(_cumulate, fixed),
        f"wavelet, {WAVELET_1D}": partial(_cumulate, waves),
        PRINTED: lambda at: np.interp(at, edges, np.concatenate([[0.0], np.cumsum(weights)])),
        LINES: own.below,
        UNIFORM: lambda at: at,
    }
    off: dict[str, list[float]] = {name: [] for name in below}
    for width in RANGES:
        box = ranges.workload(Grid((1, 1), 0), QUERIES, width, run)
        true = (np.searchsorted(places, box[:, 2]) - np.searchsorted(places, box[:, 0])) / users
        for name, share in below.items():
            told = share(box[:, 2]) - share(box[:, 0])
            off[name].append(users * ranges.errors(true, told).absolute)
    return off


def _in_plane(order: Order, run: int) -> dict[str, list[float]]:
    """Return the mean error in people by the side of square ranges, on 512 x 512 cells."""
    side, seed = WAVELET_2D, (order.seed, run)
    points = _people(order, USERS, run)
    counts = histogram(points, Grid((side, side), 0))
    draw = partial(dlaplace, rng=_tape("haar, plane", *seed))
    maps = {
        f"equi-width, {BINS_2D} x {BINS_2D}": equi_width_map(points, BINS_2D, *seed),
        f"wavelet, {side} x {side}": wavelet(
            Crowd(counts, len(points)), ONE, draw, changes=2, total=True
        ),
        **sorted_maps(points, side, *seed),
        UNIFORM: np.ones((1, 1)),
    }
    tables = {name: _table(mass) for name, mass in {"": counts / len(points), **maps}.items()}
    off: dict[str, list[float]] = {name: [] for name in maps}
    for width in RANGES:
        box = ranges.workload(Grid((1, 1), 0), QUERIES, width, run)
        true = _count_held(tables[""], box)
        for name in maps:
            told = _count_held(tables[name], box)
            off[name].append(len(points) * ranges.errors(true, told).absolute)
    return off


def _table(mass: Floats) -> Floats:
    """Return the sums of all rectangles that begin at the corner."""
    return np.pad(mass.cumsum(axis=0).cumsum(axis=1), ((1, 0), (1, 0)))


def _count_held(table: Floats, boxes: Floats) -> Floats:
    """Return what boxes of the unit square hold; cells may be negative, as a wavelet's are."""
    x0, y0, x1, y1 = (boxes * (len(table) - 1)).T
    at = partial(map_coordinates, table, order=1)
    held: Floats = at([y1, x1]) - at([y0, x1]) - at([y1, x0]) + at([y0, x0])
    return held


def make_ranks_9(order: Order, stage: Stage) -> Figure:
    """Return the errors of range queries by their size, on a line and in a plane."""
    panels, found = [], []
    for title, made in (("On a line", _on_line), ("In a plane", _in_plane)):
        runs: list[dict[str, list[float]]] = []
        for run in range(order.runs):
            stage(f"{title.lower()}: run {run + 1} of {order.runs}")
            runs.append(made(order, run))
        lines = {
            name: tuple(
                mark(width, [one[name][at] for one in runs]) for at, width in enumerate(RANGES)
            )
            for name in runs[0]
        }
        panels.append(Panel(title, "side of the range", "people", lines))
        found.append(f"{title.lower()} the nearest is {_nearest(lines)}")
    notes = (
        f"of {_people(order, USERS).shape[0]} people, whose number is public and every map's "
        "total; in a plane a true range is that of 512 x 512 cells",
        "on a line people are at their distance to the middle of a made city; the paper has "
        "Twitter users' distance to New York",
    )
    paper = (
        "on a line sorted places do best and hardly depend on the range; the wavelet is better at "
        "large ranges than bins, and worse at small ones"
    )
    return Figure("ranks-9", FIGURES["ranks-9"], paper, tuple(found), tuple(panels), notes=notes)


def _nearest(lines: dict[str, tuple[Mark, ...]]) -> str:
    """Return who is nearest at which ranges, in words."""
    sides: dict[str, list[str]] = {}
    for at, width in enumerate(RANGES):
        names = (name for name in lines if name != UNIFORM)
        best = min(names, key=lambda name: lines[name][at].mean)
        sides.setdefault(best, []).append(f"{width:g}")
    return "; ".join(f"{name} at {', '.join(own)}" for name, own in sides.items())
