"""Maps of places on crowds nobody here chose: what their intervals cover, and how near they come.

    python -m tests.bench.bench_places cover 15      intervals of single cells and of drawn blocks
    python -m tests.bench.bench_places default 15    W2 beside EM's and EMS's, said W2 beside true
    python -m tests.bench.bench_places large         seconds of CPU at 256 x 256

Recorded crowds are read from the folder that HEATVEIL_DATA names. A second number is how many runs
of each, one if left out.
"""

import csv
import gzip
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from edge.records import Grid, Release
from physics.crowds.disk import count_many
from recovery.disk import Query, plan, recover
from recovery.disk.channel import Channel, channel_of
from recovery.disk.estimators import estimate, expected_w2
from recovery.disk.profile import Profile, resolved
from recovery.distance import wasserstein2
from recovery.maps.heatmap import SOLID, Heatmap

EPSILONS = ((7, 10), (7, 5), (7, 2), (5, 1))
_SHARED = Path(__file__).parents[3] / "shared" / "data"
DATA = Path(os.environ.get("HEATVEIL_DATA") or _SHARED) / "grid"
_CHECKED = 80  # cells of a large map whose intervals are looked at


def crowds(side: int, world: np.random.Generator) -> Iterator[tuple[str, Any]]:
    """Yield a name and how many people are in each cell; those marked * no rule was set on."""
    gowalla = _points("gowalla_nyc.csv.gz", "lon", "lat")
    yield "gowalla", _cells(gowalla, side, (-74.05, 40.6, 0.3))
    yield "gowalla mid", _cells(gowalla, side, (-74.02, 40.7, 0.06))
    yield "gowalla west*", _cells(gowalla, side, (-74.2, 40.62, 0.2))
    foursquare = _points("foursquare_tky_head.csv.gz", "lon", "lat")
    yield "foursquare", _cells(foursquare, side, (139.5, 35.53, 0.32))
    yield "foursquare mid*", _cells(foursquare, side, (139.66, 35.63, 0.12))
    kaluza = _points("kaluza_part.csv.gz", "x", "y")
    yield "kaluza", _cells(kaluza, side, (0, 0, 5))
    with np.load(DATA / "dpbench_2d_256.npz") as rasters:
        for name, users in (
            ("sf_cabs_start", 100_000),
            ("beijing_taxi_start", 20_000),
            ("twitter_west_us", 20_000),
            ("beijing_taxi_end*", 60_000),
            ("gowalla_world*", 30_000),
        ):
            raster = rasters[name.rstrip("*")].astype(np.float64)
            yield name, _drawn(_coarse(raster, side), users, world)
    for name, lines, users in (("streets A", 14, 10_000), ("streets B", 50, 60_000)):
        yield name, _drawn(_streets(side, lines, world), users, world)
    yield "streets C*", _drawn(_streets(side, 25, world), 30_000, world)
    points = np.zeros(side * side)
    points[world.choice(side * side, 40, replace=False)] = world.exponential(size=40)
    yield "points", _drawn(points.reshape(side, side), 20_000, world)
    zipf = 1 / np.arange(1.0, side * side + 1)
    yield "zipf city", _drawn(world.permutation(zipf).reshape(side, side), 40_000, world)
    heaps = sum(_heap(side, world) for _ in range(4))
    yield "mixture", _drawn(heaps, 10_000, world)
    shops = _heap(side, world) * world.pareto(1.2, (side, side))
    yield "shops*", _drawn(shops, 15_000, world)


def _points(name: str, x: str, y: str) -> Any:
    with gzip.open(DATA / name, "rt", newline="") as file:
        return np.array([(float(row[x]), float(row[y])) for row in csv.DictReader(file)])


def _cells(points: Any, side: int, window: tuple[float, float, float]) -> Any:
    left, low, wide = window
    found = np.histogram2d(
        points[:, 1], points[:, 0], side, [(low, low + wide), (left, left + wide)]
    )[0]
    return found.astype(np.int64)


def _coarse(raster: Any, side: int) -> Any:
    """Return a raster summed to fewer cells, the last ones as large as is left."""
    edges = np.linspace(0, len(raster), side + 1).astype(int)[:-1]
    return np.add.reduceat(np.add.reduceat(raster, edges, 0), edges, 1)


def _drawn(shares: Any, users: int, world: np.random.Generator) -> Any:
    return world.multinomial(users, (shares / shares.sum()).ravel()).reshape(shares.shape)


def _streets(side: int, lines: int, world: np.random.Generator) -> Any:
    """Return lumps of many sizes on straight lines."""
    found = np.zeros((side, side))
    for _ in range(lines):
        start, way = world.random(2), world.standard_normal(2)
        along = start + world.uniform(-1, 1, 30)[:, None] * way / np.hypot(*way)
        inside = along[((along >= 0) & (along < 1)).all(axis=1)]
        y, x = (inside * side).astype(int).T
        np.add.at(found, (y, x), world.exponential(size=len(inside)) ** 2)
    return found


def _heap(side: int, world: np.random.Generator) -> Any:
    y, x = (np.indices((side, side)) + 0.5) / side
    top, left, wide = world.random(), world.random(), world.uniform(0.03, 0.15)
    return np.exp(-((y - top) ** 2 + (x - left) ** 2) / (2 * wide**2)) * world.random()


def answered(
    side: int, epsilon: tuple[int, int], run: int, which: str = ""
) -> Iterator[tuple[str, Any, Any, Channel, Any]]:
    """Yield name, query, people, channel and the release of every crowd."""
    query = Query(Grid((side, side), 0), epsilon)
    planned = plan(query, [])
    assert planned is not None
    channel = channel_of(planned)
    for name, people in crowds(side, np.random.default_rng([5, run])):
        if which in name:
            counts = count_many(planned, people, np.random.default_rng([side, run, *epsilon]))
            yield name, query, people, channel, counts.astype(np.float64)


def cover(side: int, runs: int, which: str) -> None:
    """Print how often intervals of single cells and of drawn blocks hold the truth."""
    for epsilon in EPSILONS:
        all_sets = []
        for name, (occupied, fullest, width, spent, right, empty) in _together(
            _covered(*one) for run in range(runs) for one in answered(side, epsilon, run, which)
        ):
            all_sets.append((occupied, fullest))
            print(
                f"{epsilon[0] / epsilon[1]:4g} {name:20} occupied {occupied:.2f}  fullest tenth "
                f"{fullest:.2f}  width {100 * width:5.1f} %  {1000 * spent:5.1f} ms a cell  "
                f"blocks held {right:.2f}, solid and empty {empty:.3f}",
                flush=True,
            )
        means, worst = np.nanmean(all_sets, axis=0), np.nanmin(all_sets, axis=0)
        print(
            f"{epsilon[0] / epsilon[1]:4g} all: occupied {means[0]:.3f}, fullest {means[1]:.3f}; "
            f"worst {worst[0]:.2f}, {worst[1]:.2f}"
        )


def _together(rows: Iterator[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    found: dict[str, list[Any]] = {}
    for name, numbers in rows:
        found.setdefault(name, []).append(numbers)
    for name, each in found.items():
        yield name, np.nanmean(each, axis=0)


def _covered(name: str, query: Query, people: Any, channel: Channel, counts: Any) -> Any:
    truth = (people / people.sum()).ravel()
    began = time.process_time()
    epsilon = query.epsilon[0] / query.epsilon[1]
    profile = Profile(channel, counts, estimate("em", channel, counts, epsilon).mass, query.level)
    order = np.argsort(-truth, kind="stable")
    some = order[: int((truth > 0).sum())]
    tenth = order[: truth.size // 10]
    if truth.size > 225:
        world = np.random.default_rng(3)
        tenth = world.choice(tenth, _CHECKED // 2, replace=False)
        some = np.append(tenth, world.choice(some, min(len(some), _CHECKED // 2), replace=False))
    held, width = {}, {}
    for cell in {*some.tolist(), *tenth.tolist()}:
        block = np.zeros(truth.size, dtype=np.bool_)
        block[cell] = True
        low, high = profile.interval(block)
        held[cell], width[cell] = low - 1e-12 <= truth[cell] <= high + 1e-12, high - low
    spent = (time.process_time() - began) / len(held)
    blocks = resolved(profile, estimate("auto", channel, counts, epsilon).mass)
    shares = np.array([people[y : y + h, x : x + w].sum() for y, x, h, w in blocks.boxes])
    shares = shares / people.sum()
    right = np.mean((blocks.low - 1e-12 <= shares) & (shares <= blocks.high + 1e-12))
    solid = blocks.looks == SOLID
    empty = np.mean(shares[solid] == 0) if solid.any() else 0.0
    return name, (
        np.mean([held[cell] for cell in some.tolist()]),
        np.mean([held[cell] for cell in tenth.tolist()]),
        np.mean([width[cell] for cell in tenth.tolist()]),
        spent,
        right,
        empty,
    )


def default(side: int, runs: int, which: str) -> None:
    """Print W2 of the default over that of the better of EM and EMS, and said W2 over true."""
    ratios, said = [], []
    for epsilon in EPSILONS:
        for name, (ratio, told) in _together(
            _compared(*one) for run in range(runs) for one in answered(side, epsilon, run, which)
        ):
            ratios.append(ratio)
            said.append(told)
            print(
                f"{epsilon[0] / epsilon[1]:4g} {name:20} over the better {ratio:.2f}  "
                f"said over true {told:.2f}",
                flush=True,
            )
    behind, off = np.array(ratios), np.exp(np.abs(np.log(said)))
    print(
        f"{len(behind)} settings: geometric mean {np.exp(np.log(behind).mean()):.3f}, 95th "
        f"percentile {np.quantile(behind, 0.95):.2f}, worst {behind.max():.2f}, beyond 1.05 "
        f"{(behind > 1.05).sum()}; said over true median {np.median(said):.2f}, "
        f"{min(said):.2f} to {max(said):.2f}, within 1.5 {np.mean(off <= 1.5):.0%}"
    )


def _compared(name: str, query: Query, people: Any, channel: Channel, counts: Any) -> Any:
    epsilon, truth = query.epsilon[0] / query.epsilon[1], people / people.sum()
    found = {one: estimate(one, channel, counts, epsilon).mass for one in ("auto", "em", "ems")}
    far = {one: wasserstein2(mass, truth, normalise=True) for one, mass in found.items()}
    told = expected_w2("auto", channel, counts, epsilon, found["auto"])
    return name, (far["auto"] / min(far["em"], far["ems"]), (told or np.nan) / far["auto"])


def large() -> None:
    """Print what a map of 256 x 256 cells and a million people takes."""
    query = Query(Grid((256, 256), 0), (7, 2))
    planned = plan(query, [])
    assert planned is not None
    world = np.random.default_rng(0)
    with np.load(DATA / "dpbench_2d_256.npz") as rasters:
        for name in ("twitter_west_us", "gowalla_world", "sf_cabs_start"):
            people = _drawn(rasters[name].astype(np.float64), 1_000_000, world)
            counts = count_many(planned, people, world)
            whole = Release(planned, counts.ravel().tolist(), int(counts.sum()))
            began = time.process_time()
            fit = estimate("auto", channel_of(planned), counts, 3.5)
            drawn = time.process_time() - began
            began = time.process_time()
            found = recover(query, [whole])
            took = time.process_time() - began
            assert isinstance(found, Heatmap)
            assert found.blocks is not None
            print(
                f"{name:20} the map {drawn:.1f} s of CPU; with {len(found.blocks.shares)} blocks "
                f"{took:.1f} s ({fit.why})",
                flush=True,
            )


def main() -> None:
    """Print what was asked for."""
    what, *rest = sys.argv[1:]
    numbers = [int(one) for one in rest if one.isdigit()]
    which = next((one for one in rest if not one.isdigit()), "")
    if what == "large":
        large()
    else:
        side, runs = (*numbers, 1)[:2]
        (cover if what == "cover" else default)(side, runs, which)


if __name__ == "__main__":
    main()
