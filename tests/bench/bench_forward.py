"""Time the forward operator, dense against thin factors, with a peer in the same run.

Run it: `python tests/bench/bench_forward.py [largest]`. The peer is scipy's product with a
Toeplitz matrix by FFT, which needs sources and sensors on one even grid; dense is numpy, in
blocks of rows where the matrix would not fit. Nothing here is asserted: times are the machine's.
"""

import sys
import time
from collections.abc import Callable

import numpy as np
from scipy.linalg import matmul_toeplitz

from physics.kernel import forward, heat_kernel
from physics.lowrank import forward_lowrank

ROWS = 500
LARGEST_DENSE = 10_000


def best_s(call: Callable[[], object], tries: int = 3) -> float:
    """Return the shortest wall time of a few calls, in seconds."""
    times = []
    for _ in range(tries):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def dense(places: np.ndarray, spread: float, heat: np.ndarray) -> np.ndarray:
    """Return the readings at the places themselves, ROWS sensors at a time."""
    blocks = (places[start : start + ROWS] for start in range(0, len(places), ROWS))
    return np.concatenate([forward(places, block, spread) @ heat for block in blocks])


def line(size: int, spread: float, world: np.random.Generator) -> str:
    """Return one line of the table."""
    places, heat = np.arange(1, size + 1) / size, world.random(size)
    column = heat_kernel(places - places[0], spread)
    operator = forward_lowrank(places, places, spread)
    factor_s = best_s(lambda: forward_lowrank(places, places, spread))
    thin_s = best_s(lambda: operator.matvec(heat))
    peer_s = best_s(lambda: matmul_toeplitz((column, column), heat))
    readings, peer = operator.matvec(heat), matmul_toeplitz((column, column), heat)
    apart = np.abs(readings - peer).max() / np.abs(peer).max()
    whole_s = ratio = float("nan")
    if size <= LARGEST_DENSE:
        whole_s = best_s(lambda: dense(places, spread, heat), tries=1)
        ratio = whole_s / (factor_s + thin_s)
    return (
        f"{size:9d} {spread:7g} {operator.rank:5d} {1e3 * whole_s:11.2f} {1e3 * factor_s:11.2f} "
        f"{1e3 * thin_s:11.3f} {1e3 * peer_s:11.3f} {ratio:10.1f} {operator.error:9.1e} "
        f"{apart:9.1e}"
    )


def main() -> None:
    """Print the table for sizes up to the one that was asked for."""
    largest = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    print("one product of the operator with one vector; as many sensors as sources; times in ms")
    print(
        f"{'places':>9} {'spread':>7} {'rank':>5} {'dense':>11} {'factoring':>11} {'thin':>11} "
        f"{'scipy FFT':>11} {'dense/thin':>10} {'stated':>9} {'from peer':>9}"
    )
    world = np.random.default_rng(0)
    for size in (1_000, 10_000, 100_000, 1_000_000):
        if size <= largest:
            for spread in (0.5, 0.05, 0.001):
                print(line(size, spread, world), flush=True)
    print("dense/thin counts the factoring; nan where the dense matrix was not tried")


if __name__ == "__main__":
    main()
