"""Distances between maps: ours beside POT, scipy and HiGHS, on the same maps in one run.

Run it: `python tests/bench/bench_distance.py [side ...]`. Processor seconds of the faster of two
runs, compiled code loaded before; `-` was not run, because it takes minutes or gigabytes. The
differences are relative, or to the lower bound where there is no peer. Nothing is asserted.
"""

import sys
import time
from collections.abc import Callable

import numpy as np
import ot
from scipy.optimize import linprog
from scipy.sparse import coo_array, hstack
from scipy.spatial.distance import cdist
from scipy.stats import wasserstein_distance

from recovery.distance import earth_movers, sliced_distance, wasserstein2

SIDES = (16, 32, 64, 128, 256)
Maps = tuple[np.ndarray, np.ndarray]


def timed(work: Callable[[], float]) -> tuple[float, float]:
    """Return what it computes and the processor seconds of the faster of two runs."""
    spent = []
    for _ in range(2):
        begun = time.process_time()
        found = work()
        spent.append(time.process_time() - begun)
        if spent[0] > 5:
            break
    return found, min(spent)


def heaps(side: int, world: np.random.Generator) -> np.ndarray:
    """A mixture of five round heaps."""
    y, x = np.indices((side, side)) / side
    heat = np.zeros((side, side))
    for a, b in world.random((5, 2)):
        wide = world.uniform(0.03, 0.15)
        heat += world.random() * np.exp(-((x - a) ** 2 + (y - b) ** 2) / 2 / wide**2)
    return heat / heat.sum()


def sparse(side: int, cells: int, world: np.random.Generator) -> np.ndarray:
    """So many cells with heat, anywhere."""
    heat = np.zeros(side**2)
    heat[world.choice(side**2, cells, replace=False)] = world.random(cells)
    return (heat / heat.sum()).reshape(side, side)


def kinds(side: int) -> dict[str, Maps]:
    """The maps that are compared."""
    world = np.random.default_rng(side)
    noise = [rough / rough.sum() for rough in world.random((2, side, side))]
    return {
        "smooth": (heaps(side, world), heaps(side, world)),
        "noise": (noise[0], noise[1]),
        "20 cells": (sparse(side, 20, world), sparse(side, 20, world)),
        "200 cells": (sparse(side, 200, world), sparse(side, 200, world)),
        "20 : smooth": (sparse(side, 20, world), heaps(side, world)),
    }


def by_pot(p: np.ndarray, q: np.ndarray, ground: str) -> float:
    """All pairs of cells that have mass."""
    side = len(p)
    here, there = np.flatnonzero(p), np.flatnonzero(q)
    places = np.indices(p.shape).reshape(2, -1).T / side
    pairs = cdist(places[here], places[there], ground)
    return float(ot.emd2(p.ravel()[here], q.ravel()[there], pairs, numItermax=10**9))


def by_highs(p: np.ndarray, q: np.ndarray) -> float:
    """The flow on the grid as a linear program."""
    cell = np.arange(p.size).reshape(p.shape)
    tails = np.concatenate([cell[:, :-1].ravel(), cell[:-1].ravel()])
    heads = np.concatenate([cell[:, 1:].ravel(), cell[1:].ravel()])
    edges = np.arange(len(tails))
    sign = np.ones(len(tails))
    ends = np.concatenate([tails, heads]), np.concatenate([edges, edges])
    away = coo_array((np.concatenate([sign, -sign]), ends)).tocsr()
    program = linprog(
        np.ones(2 * len(tails)), A_eq=hstack([away, -away]).tocsr(), b_eq=(p - q).ravel()
    )
    return float(program.fun) / len(p)


def line(
    name: str, ours: tuple[float, float], peers: dict[str, tuple[float, float] | None]
) -> str:
    """Return one line of a table."""
    told = [f"{name:28} {1e3 * ours[1]:10.2f} ms"]
    for peer, found in peers.items():
        if found is None:
            told.append(f"{peer} -")
            continue
        off = abs(found[0] - ours[0]) / max(found[0], 1e-300)
        told.append(
            f"{peer} {1e3 * found[1]:.1f} ms, {found[1] / ours[1]:.3g} times, off {off:.0e}"
        )
    return "   ".join(told)


def in_a_line() -> None:
    """Print the distances of lines."""
    world = np.random.default_rng(0)
    for cells in (100, 1_000, 10_000, 100_000):
        p, q = (heat / heat.sum() for heat in world.random((2, cells)))
        places = np.arange(cells) / cells

        def scipys(p: np.ndarray = p, q: np.ndarray = q, at: np.ndarray = places) -> float:
            return float(wasserstein_distance(at, at, p, q))

        def pots(p: np.ndarray = p, q: np.ndarray = q, at: np.ndarray = places) -> float:
            return float(ot.emd2_1d(at, at, p, q, metric="euclidean"))

        ours = timed(lambda p=p, q=q: earth_movers(p, q))
        print(line(f"line of {cells}", ours, {"scipy": timed(scipys), "POT": timed(pots)}))


def in_a_plane(side: int) -> None:
    """Print the distances of square maps."""
    for kind, (p, q) in kinds(side).items():
        pairs = np.count_nonzero(p) * np.count_nonzero(q)
        all_pairs = (pairs <= 2_000_000 and side < 256) or pairs <= 40_000
        all_pairs |= side == 64 and kind == "smooth"
        for name, ground, ours in (
            ("l1", "cityblock", lambda p=p, q=q: earth_movers(p, q)),
            ("l2", "euclidean", lambda p=p, q=q: earth_movers(p, q, "l2")),
            ("w2 squared", "sqeuclidean", lambda p=p, q=q: wasserstein2(p, q) ** 2),
        ):
            if side == 256 and name != "l1" and pairs > 2**28:
                continue
            found = timed(ours)
            peers: dict[str, tuple[float, float] | None] = {
                "POT": timed(lambda p=p, q=q, g=ground: by_pot(p, q, g)) if all_pairs else None
            }
            if name == "l1":
                small = side <= 32 or (side == 64 and kind in ("smooth", "noise"))
                peers["HiGHS"] = timed(lambda p=p, q=q: by_highs(p, q)) if small else None
            print(line(f"{side:4} {kind:12} {name}", found, peers))
        if kind == "smooth" and side <= 128:
            exact = wasserstein2(p, q)
            below, spent = timed(lambda p=p, q=q: sliced_distance(p, q))
            print(f"{side:4} {kind:12} sliced         {1e3 * spent:10.2f} ms, {below:.4f}", end="")
            print(f" below {exact:.4f}")


def main() -> None:
    """Load what is compiled, then print all tables."""
    for p, q in kinds(20).values():
        earth_movers(p, q), earth_movers(p, q, "l2"), wasserstein2(p, q)
    p, q = kinds(32)["noise"]
    earth_movers(p, q), earth_movers(p, q, "l2"), wasserstein2(p, q)
    in_a_line()
    for side in [int(given) for given in sys.argv[1:]] or SIDES:
        in_a_plane(side)


if __name__ == "__main__":
    main()
