"""Mechanisms and their peers at one worst-case promise, on six crowds; what maps say of them.

    python tests/bench/bench_mechanisms.py [runs] [people]   3 runs of 20,000 people without these
    python tests/bench/bench_mechanisms.py large [people]    what a round of 5,000,000 takes here
                                                             and on a cluster of two workers

Epsilon 2 for one person who moves, 32 x 32 cells: whatever promises that one may join or leave has
epsilon 1. Earth mover's distance (l1) in thousandths of the side, mean over runs; the last column
is the geometric mean, over crowds, of the ratio to the nearest of equal trust: 1 is the nearest
everywhere. Then what no paper's map has: how many occupied cells lie within 1.645 of their own
deviations (of ten, nine should), how many blocks hold their share, in how many maps all do at
once (nine of ten should), and of the blocks that a map names how many are above an even share.
Recorded crowds are read from the folder that HEATVEIL_DATA names.

Five million people, CPU seconds and GB here, then of a worker of the cluster; the same maps:

    disk           48   1.0     44   1.0
    quadtree      1.3   .46    0.6   .49
    pyramid        81   1.5    105   1.5
    pyramid_sum    20   .54     29   .57
    ranks         143   2.0    158   2.0
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy

import resource
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from fractions import Fraction
from functools import partial
from hashlib import sha256
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from bench_places import crowds

from edge.core.entropy import Tape
from edge.core.noise import dlaplace
from edge.core.records import Grid, Release
from gateway.lab.reproduce.people import draw_city
from gateway.mechanisms import find_mechanism, play
from gateway.mechanisms.flags import parse_query
from gateway.mechanisms.quadtree.crowd import release_crowd
from gateway.mechanisms.scores import Watch
from gateway.mechanisms.worlds import Inputs
from physics.crowds.disk import count_many
from physics.crowds.pyramid import release_points
from physics.crowds.ranks import release_many
from physics.points import histogram, mnormal, szipf
from recovery import disk, pyramid, quadtree, ranks
from recovery.distance import earth_movers
from recovery.maps.heatmap import Heatmap
from recovery.peers.equi_width import SHARE, sort_then_count
from recovery.peers.grids import Crowd, map_by_adaptive_grid, map_by_uniform_grid
from recovery.peers.hierarchies import map_by_quadtree as plain_quadtree
from recovery.peers.hierarchies import map_by_wavelet
from recovery.peers.sketched_trees import map_by_privtree
from recovery.ranks.order import cells_of, places_of
from recovery.ranks.query import ORDERS

SIDE = 32
GRID, TWO, ONE = Grid((SIDE, SIDE), 0), (2, 1), (1, 1)
NORMAL = 1.645  # of a law with a deviation of one, nine in ten lie within
RECORDED = ("gowalla", "foursquare", "sf_cabs_start")
Way = Callable[[Any, Tape, np.random.Generator], Any]


def by_answers(scheme: str, points: Any, tape: Tape, world: np.random.Generator) -> Any:
    """Return the map of answers that everybody blurs alone."""
    query = disk.Query(GRID, TWO, scheme=scheme)
    round = disk.plan(query, [])
    counts = count_many(round, histogram(points, GRID), world)
    return disk.recover(query, [Release(round, counts.ravel().tolist(), len(points))])


def by_quadtree(points: Any, tape: Tape, world: np.random.Generator) -> Any:
    """Return the map of secure sums, round by round."""
    query, releases = quadtree.Query(GRID, TWO, "replace-one", len(points)), list[Any]()
    while round := quadtree.plan(query, releases):
        releases.append(release_crowd(round, histogram(points, GRID), len(points), tape))
    return quadtree.recover(query, releases)


def by_pyramid(points: Any, tape: Tape, world: np.random.Generator) -> Any:
    """Return the map of a gateway that blurs squares within squares."""
    query = pyramid.Query(GRID, ONE, users=len(points))
    x, y = (points * SIDE).astype(int).T
    return pyramid.recover(query, [release_points(pyramid.plan(query, ()), y * SIDE + x, tape)])


def _along(points: Any, epsilon: tuple[int, int], tape: Tape, grid: Grid = GRID) -> Any:
    query = ranks.Query(grid, epsilon, users=len(points))
    places = places_of(cells_of(points, ORDERS[2]), ORDERS[2])
    return ranks.recover(query, [release_many(ranks.plan(query, ()), places, tape)])


def by_ranks(points: Any, tape: Tape, world: np.random.Generator) -> Any:
    """Return the map of a gateway that sorts places along a curve."""
    return _along(points, TWO, tape)


def by_hybrid(points: Any, tape: Tape, world: np.random.Generator) -> Any:
    """Return the map of counts in squares that sorted places choose; counts cost twice to move."""
    order = _along(points, (2 * (1 - SHARE)).as_integer_ratio(), tape).mass
    return sort_then_count(histogram(points, GRID), order, SHARE, partial(dlaplace, rng=tape))


def by_peer(peer: Any, points: Any, tape: Tape, world: np.random.Generator) -> Any:
    """Return the map of a peer whose gateway is trusted."""
    crowd = Crowd(histogram(points, GRID), len(points))
    return peer(crowd, Fraction(1), partial(dlaplace, rng=tape))


WAYS: dict[str, dict[str, Way]] = {
    "nobody": {"disk": partial(by_answers, "auto"), "k-ary response": partial(by_answers, "krr")},
    "a sum": {"quadtree": by_quadtree},
    "the gateway": {
        "pyramid": by_pyramid,
        "ranks": by_ranks,
        "ranks, then counts": by_hybrid,
        **{
            name: partial(by_peer, peer)
            for name, peer in (
                ("uniform grid", map_by_uniform_grid),
                ("adaptive grid", map_by_adaptive_grid),
                ("plain quadtree", plain_quadtree),
                ("wavelet", map_by_wavelet),
                ("privtree", map_by_privtree),
            )
        },
    },
}


def draw_crowds(users: int, world: np.random.Generator) -> dict[str, Any]:
    """Return six crowds, (users, 2) each in [0, 1): three made, three recorded."""
    found = {"mnormal": mnormal(users, world), "szipf": szipf(users, world)}
    found["city"] = draw_city(users, world)
    for name, counts in crowds(SIDE, world):
        if name in RECORDED:
            shares = np.ravel(counts) / np.sum(counts)
            rows, columns = np.divmod(world.choice(SIDE * SIDE, users, p=shares), SIDE)
            found[name] = (np.stack([columns, rows], axis=1) + world.random((users, 2))) / SIDE
    return found


def compare(runs: int, users: int) -> None:
    """Print both tables."""
    far: dict[tuple[str, str], list[float]] = {}
    said: dict[str, list[tuple[float, ...]]] = {}
    for run in range(runs):
        for crowd, points in draw_crowds(users, np.random.default_rng([9, run])).items():
            truth = histogram(points, GRID) / users
            even = np.full(truth.shape, 1 / truth.size)
            far.setdefault((crowd, "nothing asked"), []).append(earth_movers(truth, even))
            for name, way in ((n, w) for ways in WAYS.values() for n, w in ways.items()):
                world = np.random.default_rng([run, users])
                found = way(points, Tape(f"{name} {crowd} {run}".encode()), world)
                mass = found.mass if isinstance(found, Heatmap) else found
                score = earth_movers(truth, mass, normalise=True)
                far.setdefault((crowd, name), []).append(score)
                if isinstance(found, Heatmap):
                    said.setdefault(name, []).append(_hold(found, truth))
    known = list(dict.fromkeys(crowd for crowd, _ in far))
    mean = {key: 1000 * float(np.mean(values)) for key, values in far.items()}
    print(f"{'':32}" + "".join(f"{crowd[:13]:>14}" for crowd in known) + f"{'to nearest':>12}")
    _tell("", "nothing asked", [mean[crowd, "nothing asked"] for crowd in known], "")
    for trust, ways in WAYS.items():
        least = [min(mean[crowd, name] for name in ways) for crowd in known]
        for name in ways:
            own = [mean[crowd, name] for crowd in known]
            ratio = np.exp(np.mean(np.log(np.divide(own, least))))
            _tell(trust, name, own, f"{ratio:12.2f}")
    print(f"\n{'':32}{'cells held':>14}{'blocks held':>14}{'all at once':>14}{'named right':>14}")
    for name, rows in said.items():
        told = np.array(rows)
        some = np.isfinite(told).any(axis=0)
        means = [np.nanmean(told[:, at]) if some[at] else np.nan for at in range(4)]
        print(f"{'':14}{name:18}" + "".join(f"{one:14.3f}" for one in means))


def _tell(trust: str, name: str, values: list[float], last: str) -> None:
    print(f"{trust:14}{name:18}" + "".join(f"{one:14.1f}" for one in values) + last, flush=True)


def _hold(found: Heatmap, truth: Any) -> tuple[float, float, float, float]:
    """Return which shares of cells and blocks are held, whether all are, and of claims."""
    cells = named = blocks = every = np.nan
    if found.sd is not None:
        within = np.abs(found.mass - truth) <= NORMAL * found.sd + 1e-12
        cells = float(within[truth > 0].mean())
    if (of := found.blocks) is not None:
        shares = np.array([truth[y : y + h, x : x + w].sum() for y, x, h, w in of.boxes])
        held = (of.low - 1e-9 <= shares) & (shares <= of.high + 1e-9)
        blocks, every = float(held.mean()), float(held.all())
        if len(of.claims):
            sizes = of.boxes[:, 2] * of.boxes[:, 3] / truth.size
            named = float((shares > sizes)[of.claims].mean())
    return cells, blocks, every, named


def play_round(name: str, users: int) -> tuple[float, float, str]:
    """Return what a round takes, seconds of CPU and the MB of this process, and a name of its map.

    Without a mechanism people are counted in numpy, and nothing more.
    """
    began, world = time.process_time(), np.random.default_rng(1)
    if name:
        of = find_mechanism(name)
        there = of.world(parse_query(of, ()), Inputs(points="mnormal", users=users), world)
        watched = Watch().watch_mechanism(of, True, of.reporter)
        mass = play(watched, there.query, there.readings, Tape(b"large")).mass
    else:
        mass = histogram(mnormal(users, world), Grid((15, 15), 0)).astype(float)
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return time.process_time() - began, largest, sha256(mass.tobytes()).hexdigest()[:8]


def large(users: int) -> None:
    """Print what one round of many simulated people takes here, and then on a cluster of two."""
    print(f"{users:,} people on 15 x 15 cells; the peer counts them in numpy, nothing more")
    print(f"{'':12}{'CPU':>8}  {'memory':>9}  {'to the peer':>11}   {'map':8}   on a cluster")
    names = ("", "disk", "quadtree", "pyramid", "pyramid_sum", "ranks")
    with ExitStack() as stack:
        afar = dict[str, Any]()
        if find_spec("distributed"):
            from distributed import Client, LocalCluster, wait

            # A worker that goes above its memory is ended.
            cluster = LocalCluster(
                n_workers=2, threads_per_worker=1, memory_limit="3GB", dashboard_address=None
            )
            client = stack.enter_context(Client(stack.enter_context(cluster)))
            afar = {name: client.submit(play_round, name, users, pure=False) for name in names}
            wait(list(afar.values()))
        peer = 0.0
        for name in names:
            # A process each, for memory that was had is not given back.
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as here:
                seconds, megabytes, made = here.submit(play_round, name, users).result()
            peer = peer or seconds
            there = "not tried: install heatveil[cluster]"
            if name in afar:
                taken, held, theirs = afar[name].result()
                same = "the same map" if theirs == made else f"ANOTHER MAP, {theirs}"
                there = f"{taken:5.1f} s {held:6.0f} MB, {same}"
            print(
                f"{name or 'counted':12}{seconds:6.1f} s  {megabytes:6.0f} MB  "
                f"{seconds / peer:11.1f}   {made}   {there}",
                flush=True,
            )


def main() -> None:
    """Print what was asked for."""
    numbers = [int(one) for one in sys.argv[1:] if one.isdigit()]
    if "large" in sys.argv:
        large(*numbers or [5_000_000])
    else:
        compare(*(*numbers, 3, 20_000)[:1], *(numbers[1:2] or [20_000]))


if __name__ == "__main__":
    main()
