"""Heatmaps of a trusted gateway: how quick, and how near beside the peers.

Run it: `python tests/bench/bench_pyramid.py speed`, or `... emd [runs]`. Nothing is asserted.

speed: processor seconds of a whole release and its map, of RECONSTRUCT by the tree against
    HiGHS, and of both as w grows; the last column is even where the tree takes time like w times
    levels.
emd: mean earth mover's distance at 64 x 64 over runs, of mixtures of Gaussians and of made cities,
    256 x 256 cells; the last column is auto, drawn from the same noise as what it chooses, over
    the better of sparse and dense, with its standard error from the differences of runs.
"""

import itertools
import sys
import time
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from edge.core.entropy import Tape
from edge.core.noise import dlaplace
from edge.core.records import Grid
from gateway.lab.reproduce.people import draw_city
from physics.crowds.pyramid import release_points
from physics.points import histogram, mnormal
from recovery.distance import earth_movers
from recovery.peers import grids
from recovery.pyramid import Query, fit_parts, plan, recover
from recovery.pyramid.query import choose_first_level, compute_weights, estimator_of
from recovery.pyramid.tree import read_tree, reconstruct, solve_program


def timed(what: Any, times: int) -> float:
    """Processor seconds of one call, the least of three tries."""
    found = []
    for _ in range(3):
        began = time.process_time()
        for _ in range(times):
            what()
        found.append((time.process_time() - began) / times)
    return min(found)


def mixture(users: int, world: np.random.Generator, centres: int = 5, sd: float = 0.03) -> Any:
    """Points of a mixture of Gaussians, (users, 2)."""
    middle, wide = world.random((centres, 2)), sd * (0.5 + world.random(centres))
    own = world.choice(centres, users, p=world.dirichlet(np.ones(centres)))
    return np.clip(middle[own] + wide[own][:, None] * world.normal(size=(users, 2)), 0, 0.9999)


def cells(points: Any, side: int) -> Any:
    x, y = (points * side).astype(int).T
    return y * side + x


def speed() -> None:
    """Print the tables of times."""
    print("release and map           seconds")
    for side, users, name in (
        (256, 200, "sparse"),
        (256, 200, "auto"),
        (1024, 10**6, "sparse"),
        (1024, 10**6, "auto"),
    ):
        where = cells(draw_city(users, np.random.default_rng(1)), side)
        query = Query(Grid((side, side), 0), (1, 1), users=users, estimator=name)
        round: Any = plan(query, ())

        def whole(where: Any = where, query: Any = query, round: Any = round) -> None:
            recover(query, [release_points(round, where, Tape(b"speed"))])

        print(f"{side:5} {users:8} {name:6} {timed(whole, 1):12.3f}", flush=True)
    print("RECONSTRUCT    w   nodes  tree ms  HiGHS ms  ratio  difference  us / (w levels)")
    for side, kept in itertools.product((256, 1024), (20, 40, 80, 160)):
        grid = Grid((side, side), 0)
        query = Query(grid, (1, 1), users=200, estimator="sparse", kept=kept)
        round = plan(query, ())
        where = cells(draw_city(200, np.random.default_rng(2)), side)
        nodes = read_tree(release_points(round, where, Tape(b"tree")))
        assert len(round.params) == 6 + len(compute_weights(len(nodes)))
        assert nodes[0][0].level == choose_first_level(kept, grid)
        ours = timed(lambda nodes=nodes: reconstruct(nodes), 20)
        peer = timed(lambda nodes=nodes: solve_program(nodes), 1)
        off = abs(reconstruct(nodes).cost - solve_program(nodes)) / reconstruct(nodes).cost
        many = sum(node.kept for row in nodes for node in row)
        told = f"{1000 * ours:8.2f} {1000 * peer:9.2f} {peer / ours:6.0f} {off:11.1e}"
        told += f" {1e6 * ours / (kept * len(nodes)):14.2f}"
        print(f"{side:8} {kept:7} {many:7} {told}", flush=True)


def far(truth: Any, mass: Any) -> float:
    coarse = [one.reshape(64, 4, 64, 4).sum(axis=(1, 3)) for one in (truth, mass)]
    return earth_movers(*coarse, normalise=True)


def emd(runs: int) -> None:
    """Print the table of distances."""
    names = ("sparse", "dense", "tree", "auto", "refit", "adaptive")
    inputs = {
        "5 hills": mixture,
        "40 hills": partial(mixture, centres=40, sd=0.05),
        "3 hills": mnormal,
        "city": draw_city,
    }
    settings = (
        *((200, epsilon) for epsilon in ((1, 4), (1, 2), (1, 1), (2, 1), (5, 1), (10, 1))),
        *((users, (1, 1)) for users in (5000, 20_000, 100_000)),
    )
    print("input      users  eps " + " ".join(f"{name:>8}" for name in names) + "  auto/better")
    ratios = []
    for (users, epsilon), (kind, points) in itertools.product(settings, inputs.items()):
        found = np.empty((runs, len(names)))
        for run in range(runs):
            world = np.random.default_rng([run, users])
            people = points(users, world)
            truth = histogram(people, Grid((256, 256), 0)).astype(float)
            for at, name in enumerate(names[:3]):
                query = Query(Grid((256, 256), 0), epsilon, users=users, estimator=name)
                tape = Tape(f"{kind} {users} {epsilon} {run} {name}".encode())
                release = release_points(plan(query, ()), cells(people, 256), tape)  # type: ignore[arg-type]
                found[run, at] = far(truth, recover(query, [release]).mass)  # type: ignore[union-attr]
                if name == "sparse":  # the same numbers, fitted by least squares
                    found[run, 4] = far(truth, fit_parts("tree", release))
            query = Query(Grid((256, 256), 0), epsilon, users=users)
            found[run, 3] = found[run, names.index(estimator_of(query))]
            crowd = grids.Crowd(truth.astype(np.int64), users)
            draw = partial(dlaplace, rng=Tape(f"{kind} {users} {epsilon} {run}".encode()))
            found[run, 5] = far(truth, grids.map_by_adaptive_grid(crowd, Fraction(*epsilon), draw))
        means = found.mean(axis=0)
        better = int(means[:2].argmin())
        off = (found[:, 3] - found[:, better]).std(ddof=1) / runs**0.5 / means[better]
        ratios.append(means[3] / means[better])
        told = " ".join(f"{mean:8.4f}" for mean in means)
        value = epsilon[0] / epsilon[1]
        print(f"{kind:9} {users:6} {value:4g} {told} {ratios[-1]:8.2f} +-{off:.2f}", flush=True)
    above = sum(ratio > 1.05 for ratio in ratios)
    print(
        f"auto over the better of both: {np.mean(ratios):.2f} in the mean, {max(ratios):.2f} at "
        f"the most, above 1.05 in {above} of {len(ratios)} settings"
    )


if __name__ == "__main__":
    what, *more = sys.argv[1:] or ["speed"]
    if what == "speed":
        speed()
    else:
        emd(int(more[0]) if more else 16)
