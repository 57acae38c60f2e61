"""A million points sorted and blurred, beside plain counts; and how near each comes in a plane.

One core. The ratio is to what a grid of 256 x 256 cells takes, noise in every cell. Distances are
earth mover's, l1, in sides, at epsilon 1 and as the mean over twelve towns; fixed grids are the
best of three, chosen by the truth, which nobody could; "nearest" takes the nearest shares of total
one in the place of the papers' clipping. The last column of the hybrid is how much farther it is
than that grid, with two standard errors.
"""

import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from edge.core.entropy import Tape
from edge.core.noise import dlaplace
from edge.core.records import Grid
from physics.crowds.ranks import release_many
from recovery.distance import earth_movers
from recovery.peers.equi_width import SHARE, equi_width, sort_then_count
from recovery.ranks import Query, plan, recover
from recovery.ranks.order import cells_of, places_of
from recovery.ranks.query import ORDERS
from recovery.score import ranges

SIDE, RUNS = 128, 12


def drawing(*seed: int) -> Callable[[int, int], int]:
    """Return exact noise from a tape of its own."""
    return partial(lambda tape, num, den: dlaplace(num, den, tape), Tape(bytes(seed)))


def town(count: int, seed: int = 6) -> Any:
    """Return points in eight heaps of many widths."""
    world = np.random.default_rng(seed)
    centres, widths = world.random((8, 2)), world.uniform(0.004, 0.05, 8)
    which = world.integers(8, size=count)
    moved = centres[which] + widths[which, None] * world.standard_normal((count, 2))
    return np.clip(moved, 0, 0.9999)


def counted(points: Any, side: int) -> Any:
    """Return how many points each cell has."""
    flat = (points * side).astype(np.int64) @ np.array([1, side])
    return np.bincount(flat, minlength=side * side).reshape(side, side)


def sorted_map(points: Any, epsilon: Fraction, seed: int, side: int = SIDE) -> Any:
    """Return the map of sorted places."""
    query = Query(Grid((side, side), 0), epsilon.as_integer_ratio(), users=len(points))
    places = places_of(cells_of(points, ORDERS[2]), ORDERS[2])
    return recover(query, [release_many(plan(query, ()), places, Tape(bytes([seed])))]).mass


def grid_map(points: Any, side: int, seed: int, nearest: bool = False) -> Any:
    """Return the map of a fixed grid."""
    shares = equi_width(counted(points, side), Fraction(1), drawing(seed, side), nearest)
    return np.kron(shares, np.full((SIDE // side,) * 2, (side / SIDE) ** 2))


def hybrid_map(points: Any, seed: int) -> Any:
    """Return the map of counts in squares that sorted places choose."""
    order = sorted_map(points, 1 - SHARE, seed)
    return sort_then_count(counted(points, SIDE), order, SHARE, drawing(seed, 1))


def timed(work: Callable[[], Any]) -> float:
    """Return the least seconds of CPU of three runs."""
    took = []
    for _ in range(3):
        began = time.process_time()
        work()
        took.append(time.process_time() - began)
    return min(took)


def main() -> None:
    """Print both tables."""
    million = town(10**6)
    ranks = timed(lambda: sorted_map(million, Fraction(1), 1, 256))
    grid = timed(lambda: equi_width(counted(million, 256), Fraction(1), drawing(1)))
    print(
        f"a million points: ranks {ranks:.2f} s (bound 2 s), grid {grid:.2f} s: {ranks / grid:.2f}"
    )
    for count in (5_000, 20_000, 100_000):
        compare(count)


def compare(count: int) -> None:
    """Print how near each map of so many users is."""
    towns = [town(count, 100 + seed) for seed in range(RUNS)]
    truths = [counted(points, SIDE) / count for points in towns]
    boxes = ranges.draw_rectangles(Grid((SIDE, SIDE), 0), 1000)

    def scored(made: Callable[[Any, int], Any]) -> tuple[Any, float]:
        found = [made(points, seed) for seed, points in enumerate(towns)]
        far = [earth_movers(a, b / b.sum()) for a, b in zip(truths, found, strict=True)]
        off = [
            ranges.compare_shares(ranges.shares(a, boxes), ranges.shares(b, boxes)).absolute
            for a, b in zip(truths, found, strict=True)
        ]
        return np.array(far), float(np.mean(off))

    def grid(nearest: bool) -> tuple[Any, float]:
        of_sides = [
            scored(
                partial(lambda points, seed, side: grid_map(points, side, seed, nearest), side=n)
            )
            for n in (16, 32, 64)
        ]
        return min(of_sides, key=lambda one: one[0].mean())

    rows = {
        "ranks": scored(lambda points, seed: sorted_map(points, Fraction(1), seed)),
        "grid": grid(False),
        "grid, nearest": grid(True),
        "hybrid": scored(hybrid_map),
        "even, without data": scored(lambda points, seed: np.full((SIDE, SIDE), 1 / SIDE**2)),
    }
    for name, (far, off) in rows.items():
        told = f"{count:7,} users  {name:20} emd {far.mean():.4f}  range queries off by {off:.5f}"
        if name == "hybrid":
            more = far - rows["grid, nearest"][0]
            told += f"  {more.mean():+.4f} +- {2 * more.std(ddof=1) / RUNS**0.5:.4f}"
        print(told, flush=True)


if __name__ == "__main__":
    main()
