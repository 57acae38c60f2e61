"""The certified band: how often it holds and how wide it is, at the paper's printed noise.

OMP_NUM_THREADS=1 python tests/bench/bench_certified.py [runs]
"""

import sys
import time

import numpy as np

from physics.kernel import forward, sensitivity
from recovery.noise.gaussian import paper_sigma
from recovery.proofs.certified import certified_band

CELLS, SENSORS, SPREAD, DELTA, LEVEL = 100, 50, 0.05, 0.1, 0.9


def main(runs: int) -> None:
    """Print a row for each epsilon and number of sources."""
    operator = forward(
        np.arange(1, CELLS + 1) / CELLS, np.arange(1, SENSORS + 1) / SENSORS, SPREAD
    )
    print(f"{CELLS} cells, {SENSORS} sensors, spread {SPREAD}, level {LEVEL}, {runs} runs a row")
    print("epsilon sources directions  holds  no band  mean half-width    ms a band")
    for epsilon in (1, 4, 10):
        sigma = paper_sigma(epsilon, DELTA, sensitivity(operator))
        for sources in (1, 2, 3, 4):
            world = np.random.default_rng(90)
            widths, held, used = [], 0, 0
            started = time.process_time()
            for _ in range(runs):
                heat = np.zeros(CELLS)
                heat[world.choice(CELLS, sources, replace=False)] = 1
                readings = operator @ heat + sigma * world.normal(size=SENSORS)
                found = certified_band(operator, readings, sigma, float(sources), level=LEVEL)
                used = found.directions
                if (band := found.band) is None:
                    continue
                share = np.cumsum(heat) / sources
                held += bool(
                    (band.low <= share + 1e-9).all() and (share <= band.high + 1e-9).all()
                )
                widths.append(float(np.mean(band.high - band.low)) / 2)
            each = (time.process_time() - started) / runs * 1e3
            none = 1 - len(widths) / runs
            print(
                f"{epsilon:7d} {sources:7d} {used:10d} {held / runs:6.3f} {none:8.3f}"
                f" {np.mean(widths):16.3f} {each:12.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 500)
