"""Time exact discrete Gaussians: here, on MicroPython, and beside OpenDP's.

Run: python tests/bench/bench_noise.py. The peer is what a Python user would take instead, a
compiled sampler of the same law; `pip install opendp` puts it into the same run.
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SIGMAS = (10, 100, 1000, 100_000)
DRAWS = 5000

# Runs on either Python; prints microseconds and HMAC blocks a sample for each sigma.
SCRIPT = """
import time
from edge import noise
from edge.entropy import opened
clock = getattr(time, "perf_counter", None) or (lambda: time.ticks_us() / 1e6)
for sigma in {sigmas}:
    blocks = 0
    begun = clock()
    for seq in range({draws}):
        rng = opened(bytes(32), "bench", 1, seq, 0)
        noise.dgauss(sigma * sigma, 1, rng)
        blocks += rng._counter
    spent = clock() - begun
    print(1e6 * spent / {draws}, blocks / {draws})
"""


def edge_times(command: list[str]) -> list[tuple[float, float]]:
    """Return (microseconds, HMAC blocks) a sample on one interpreter, a stream each."""
    script = SCRIPT.format(sigmas=SIGMAS, draws=DRAWS)
    ran = subprocess.run([*command, script], cwd=ROOT, capture_output=True, text=True, check=True)
    rows = [line.split() for line in ran.stdout.splitlines()]
    return [(float(spent), float(blocks)) for spent, blocks in rows]


def opendp_sampler(sigma: int) -> Callable[[int], int] | None:
    """Return OpenDP's discrete Gaussian of one number, None where it is not installed."""
    try:
        import opendp.prelude as dp
    except ImportError:
        return None
    dp.enable_features("contrib")
    domain, metric = dp.atom_domain(T=int), dp.absolute_distance(T=int)
    return dp.m.make_gaussian(domain, metric, scale=float(sigma))


def main() -> None:
    """Print the table."""
    places = os.pathsep.join([str(ROOT / ".tools"), os.environ.get("PATH", "")])
    micropython = shutil.which("micropython", path=places)
    ours = edge_times([sys.executable, "-c"])
    board = edge_times([micropython, "-c"]) if micropython else None
    print("sigma, grains   CPython, us   blocks   MicroPython, us   OpenDP, us   CPython/OpenDP")
    for row, sigma in enumerate(SIGMAS):
        line = f"{sigma:13d} {ours[row][0]:13.1f} {ours[row][1]:8.2f} "
        line += f"{board[row][0]:17.1f}" if board else " " * 16 + "-"
        if sampler := opendp_sampler(sigma):
            begun = time.perf_counter()
            for _ in range(DRAWS):
                sampler(0)
            peer = 1e6 * (time.perf_counter() - begun) / DRAWS
            line += f" {peer:12.1f} {ours[row][0] / peer:16.2f}"
        print(line)
    if not opendp_sampler(SIGMAS[0]):
        print("OpenDP is not installed; pip install opendp, to see it beside")


if __name__ == "__main__":
    main()
