"""Maps of places on crowds nobody here chose: what they claim, what it covers, how near they come.

    python -m tests.bench.bench_places 15 5           cells a side, and runs of each setting
    python -m tests.bench.bench_places 15 5 seen      on the crowds that its rules were set on, or
    python -m tests.bench.bench_places 15 5 once      on those looked at before the last change
    python -m tests.bench.bench_places 256            what a large map takes

A setting is a crowd at one epsilon, and its numbers are means over runs. Of intervals: how many of
the occupied cells and of the fullest tenth lie within theirs, and how wide these are; of drawn
blocks, how many hold the truth, and how many of the solid ones are empty; whether the block that
is named first, the densest, holds it in the runs that name one (nan where none does). Then W2 of
`auto` over that of the better of EM and EMS, and W2 as expected over W2 as it is. Recorded crowds
are read from the folder that HEATVEIL_DATA names.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy: ten times as long with two

import csv
import gzip
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from edge.core.records import Grid, Release
from physics.crowds.disk import count_many
from recovery.disk import Query, plan, recover
from recovery.disk.channel import channel_of
from recovery.disk.estimators import estimate, estimate_w2
from recovery.disk.profile import Profile, find_blocks
from recovery.distance import wasserstein2
from recovery.maps.heatmap import SOLID, Heatmap

EPSILONS = ((7, 10), (7, 5), (7, 2), (5, 1))
_SHARED = Path(__file__).parents[3] / "shared" / "data"
DATA = Path(os.environ.get("HEATVEIL_DATA") or _SHARED) / "grid"
_CHECKED = 40  # cells of the fullest tenth of a large map whose intervals are looked at
_NAMES = ("occupied", "fullest", "width", "held", "chosen", "empty", "behind", "said")
Setting = tuple[float, str]


def crowds(side: int, world: np.random.Generator) -> Iterator[tuple[str, Any]]:
    """Yield a name and how many people are in each cell.

    No rule was set on those marked * and **; how W2 is expected was changed once after those
    marked * were looked at.
    """
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
            ("sf_cabs_end*", 50_000),
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
    yield "gowalla brooklyn**", _cells(gowalla, side, (-74.03, 40.6, 0.1))
    yield "foursquare east**", _cells(foursquare, side, (139.72, 35.64, 0.08))
    with np.load(DATA / "dpbench_2d_256.npz") as rasters:
        for name, users in (("twitter_west_us", 15_000), ("gowalla_world", 25_000)):
            quarters = [np.split(half, 2, axis=1) for half in np.split(rasters[name], 2)]
            full = max((one for pair in quarters for one in pair), key=np.sum)
            yield f"{name} 1/4**", _drawn(_coarse(full.astype(np.float64), side), users, world)
    yield "streets D**", _drawn(_streets(side, 9, world), 5_000, world)
    suburbs = sum(_heap(side, world) ** 9 * world.random() for _ in range(30))
    yield "suburbs**", _drawn(suburbs, 30_000, world)
    yield "even", _drawn(np.ones((side, side)), 20_000, world)
    yield "heap", _drawn(_heap(side, world), 20_000, world)


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


def measure(side: int, epsilon: tuple[int, int], run: int, stars: int) -> Iterator[Any]:
    """Yield the name of every crowd, and the numbers of one run of it."""
    planned = plan(Query(Grid((side, side), 0), epsilon), [])
    assert planned is not None
    channel, one = channel_of(planned), epsilon[0] / epsilon[1]
    for name, people in crowds(side, np.random.default_rng([5, run])):
        if name.count("*") != stars:
            continue
        world = np.random.default_rng([side, run, *epsilon])
        counts = count_many(planned, people, world).astype(np.float64)
        truth = people / people.sum()
        maps = {way: estimate(way, channel, counts, one).mass for way in ("auto", "em", "ems")}
        far = {way: wasserstein2(mass, truth, normalise=True) for way, mass in maps.items()}
        said = estimate_w2("auto", channel, counts, one, maps["auto"]) or np.nan
        profile = Profile(channel, counts, maps["auto"])
        blocks = find_blocks(profile, maps["auto"])
        shares = np.array([truth[y : y + h, x : x + w].sum() for y, x, h, w in blocks.boxes])
        held = (blocks.low - 1e-9 <= shares) & (shares <= blocks.high + 1e-9)
        solid = blocks.styles == SOLID
        yield (
            name,
            (
                *_cover(profile, truth.ravel()),
                held.mean(),
                float(held[blocks.claims[0]]) if len(blocks.claims) else np.nan,
                np.mean(shares[solid] == 0) if solid.any() else 0.0,
                far["auto"] / min(far["em"], far["ems"]),
                said / far["auto"],
            ),
        )


def _cover(profile: Profile, truth: Any) -> tuple[float, float, float]:
    """Return which part of the occupied cells and of the fullest tenth is covered; the width."""
    order = np.argsort(-truth, kind="stable")
    some, tenth = order[: int((truth > 0).sum())], order[: truth.size // 10]
    if truth.size > 225:
        world = np.random.default_rng(3)
        tenth = world.choice(tenth, _CHECKED, replace=False)
        some = np.append(tenth, world.choice(some, min(len(some), _CHECKED), replace=False))
    held, width = {}, {}
    for cell in {*some.tolist(), *tenth.tolist()}:
        low, high = profile.interval(np.arange(truth.size) == cell)
        held[cell], width[cell] = low - 1e-9 <= truth[cell] <= high + 1e-9, high - low
    return (
        float(np.mean([held[cell] for cell in some.tolist()])),
        float(np.mean([held[cell] for cell in tenth.tolist()])),
        float(np.mean([width[cell] for cell in tenth.tolist()])),
    )


def compare(side: int, runs: int, stars: int) -> None:
    """Print the numbers of every setting, and over all of them."""
    found: dict[Setting, Any] = {}
    print(" epsilon  crowd                " + "".join(f"{name:>10}" for name in _NAMES))
    for epsilon in EPSILONS:
        rows: dict[str, list[Any]] = {}
        for run in range(runs):
            for name, numbers in measure(side, epsilon, run, stars):
                rows.setdefault(name, []).append(numbers)
        for name, each in rows.items():
            mean = found[epsilon[0] / epsilon[1], name] = _mean(each)
            cells = "".join(f"{number:10.3f}" for number in mean)
            print(f"{epsilon[0] / epsilon[1]:8g}  {name:20} {cells}", flush=True)
    for what, wanted in (("epsilon <= 1.4", True), ("epsilon >= 3.5", False)):
        some = [row for (epsilon, _), row in found.items() if (epsilon < 2) == wanted]
        _tell_mean(f"fullest tenth covered, {what}", [row[1] for row in some])
        _tell_mean(f"occupied cells covered, {what}", [row[0] for row in some])
    every = np.array(list(found.values()))
    _tell_mean("blocks that hold the truth", every[:, 3])
    chosen = every[:, 4]
    _tell_mean("named block that holds the truth", chosen[np.isfinite(chosen)])
    _tell_mean("solid blocks with nobody in them", every[:, 5])
    behind = every[:, 6]
    _tell_part("auto at most 5 % behind the better of EM and EMS", behind <= 1.05)
    _tell_part("auto at most 10 % behind", behind <= 1.1)
    print(f"  geometric mean {np.exp(np.log(behind).mean()):.3f}, worst {behind.max():.2f}")
    _tell_part("expected W2 within a factor of 1.5", np.abs(np.log(every[:, 7])) <= np.log(1.5))
    said = every[:, 7]
    print(f"  median {np.median(said):.2f}, {said.min():.2f} to {said.max():.2f}")


def _mean(each: Any) -> Any:
    """Return means over runs; of what no run has none."""
    found = np.full(len(each[0]), np.nan)
    some = np.isfinite(each).any(axis=0)
    found[some] = np.nanmean(np.array(each)[:, some], axis=0)
    return found


def _tell_mean(what: str, values: Any) -> None:
    """Print a mean over settings, with twice its standard error, and the least."""
    error = 2 * np.std(values, ddof=1) / np.sqrt(len(values))
    print(
        f"{what}: {np.mean(values):.3f} ± {error:.3f} of {len(values)} settings, "
        f"{np.min(values):.2f} to {np.max(values):.2f}"
    )


def _tell_part(what: str, right: Any) -> None:
    """Print how many settings are so, with Wilson's interval at 95 %."""
    count, part, z = len(right), float(np.mean(right)), 1.96
    middle = (part + z * z / 2 / count) / (1 + z * z / count)
    half = z * np.sqrt(part * (1 - part) / count + z * z / 4 / count**2) / (1 + z * z / count)
    print(f"{what}: {np.sum(right)} of {count} ({middle - half:.2f} to {middle + half:.2f})")


def large(side: int) -> None:
    """Print what maps of a million people take."""
    query = Query(Grid((side, side), 0), (7, 2))
    planned = plan(query, [])
    assert planned is not None
    world = np.random.default_rng(0)
    with np.load(DATA / "dpbench_2d_256.npz") as rasters:
        for name in ("twitter_west_us", "gowalla_world", "sf_cabs_start"):
            people = _drawn(_coarse(rasters[name].astype(np.float64), side), 1_000_000, world)
            counts = count_many(planned, people, world)
            whole = Release(planned, counts.ravel().tolist(), int(counts.sum()))
            began, clock = time.process_time(), time.perf_counter()
            found = recover(query, [whole])
            took, waited = time.process_time() - began, time.perf_counter() - clock
            assert isinstance(found, Heatmap)
            boxes = found.blocks.boxes
            shares = np.array([people[y : y + h, x : x + w].sum() for y, x, h, w in boxes]) / 1e6
            held = (found.blocks.low <= shares) & (shares <= found.blocks.high)
            print(
                f"{name:20} {took:.1f} s of CPU, {waited:.1f} s; {held.sum()} of {len(boxes)} "
                f"blocks hold the truth ({found.why})",
                flush=True,
            )


def main() -> None:
    """Print what was asked for."""
    side, runs = (*map(int, [one for one in sys.argv[1:] if one.isdigit()]), 1)[:2]
    if side > 64:
        large(side)
    else:
        compare(side, runs, 0 if "seen" in sys.argv else 1 if "once" in sys.argv else 2)


if __name__ == "__main__":
    main()
