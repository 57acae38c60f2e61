"""Time noise from tables beside exact noise, on CPython and on MicroPython's unix ports.

Run: python tests/bench/bench_table.py. Microseconds a sample, 64 at once as an array's frame has
them, the best of five; faster is exact over table. Build is the time that a board needs once for
each variance, `plain` what a port without machine code takes. Bits are what one sample reads from
the stream, of which a block of 256 costs a board one HMAC; thresholds have as many as Rounds ask
for.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SIGMAS = (10, 50, 127, 1273, 4096)
FRAMES = 20

SCRIPT = """
import time
from edge import bulk, noise, table
from edge.entropy import Tape
from edge.sampler import Sampler
clock = getattr(time, "ticks_us", None) or (lambda: time.perf_counter_ns() // 1000)
out = [0] * 64
def best(draw):
    spent = []
    for _ in range(5):
        rng = Tape(b"bench")
        begun = clock()
        for _ in range({frames}):
            draw(rng)
        spent.append(clock() - begun)
    bits = rng._counter * 256 - rng._left
    return min(spent) / (64 * {frames}), bits / (64 * {frames})
for sigma in {sigmas}:
    begun = clock()
    made = Sampler(sigma * sigma, 1, bulk.BITS)
    build = (clock() - begun) / 1000
    length = sum([len(part) for _, part in made.parts])
    def exact(rng):
        for at in range(64):
            out[at] = noise.dgauss(sigma * sigma, 1, rng)
    row = [sigma, len(made.parts), length, build]
    row += best(exact)
    row += best(lambda rng: made.fill(out, rng))
    for _, part in made.parts:
        part._search, part._split = table.search, table.split
    row.append(best(lambda rng: made.fill(out, rng))[0])
    print(*row)
"""


def main() -> None:
    """Print one table for each interpreter that is here."""
    places = os.pathsep.join([str(ROOT / ".tools"), os.environ.get("PATH", "")])
    commands = {"CPython": [sys.executable, "-c"]}
    for name in ("micropython", "micropython-i386"):
        if path := shutil.which(name, path=places):
            commands[name] = [path, "-c"]
    script = SCRIPT.format(sigmas=SIGMAS, frames=FRAMES)
    for name, command in commands.items():
        ran = subprocess.run(
            [*command, script], cwd=ROOT, capture_output=True, text=True, check=True
        )
        print(name)
        print(" sigma tables thresholds build,ms  exact,us  table,us plain,us bits   faster")
        for line in ran.stdout.splitlines():
            sigma, parts, length, build, exact, _, table, bits, plain = map(float, line.split())
            print(
                f"{sigma:6.0f} {parts:6.0f} {length:10.0f} {build:8.1f} {exact:9.2f} "
                f"{table:9.2f} {plain:8.2f} {bits:4.0f} {exact / table:8.1f}"
            )


if __name__ == "__main__":
    main()
