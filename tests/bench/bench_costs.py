"""What is waited for: seconds of processor and megabytes of whole processes and of single steps.

Run it: `python tests/bench/bench_costs.py [rows]`. Each line is a process of its own, twice, of
which the second is told: compiled files and caches are there then. `rows` is of a file of points
whose people are all different (2,000,000 without it).
"""

import os
import random
import sys
import tempfile
from pathlib import Path

PLAN = (
    "from heatveil import Grid, ThermalQuery, plan; "
    "plan(ThermalQuery(Grid({shape}, 0), {sensors}, {spread}, (4, 1)))"
)
PLAY = (
    "import sys; from gateway.cli import main; sys.argv = ['heatveil', *{words!r}.split()]; main()"
)
COSTS = {
    "import heatveil": "import heatveil",
    "import numpy, for comparison": "import numpy",
    "plan, 100 cells x 50 sensors": PLAN.format(shape=(100, 1), sensors=(50,), spread=0.05),
    "plan, 10,000 x 1,000 along a line": PLAN.format(
        shape=(10000, 1), sensors=(1000,), spread=0.05
    ),
    "plan, 100 by 100 x 40 by 25": PLAN.format(shape=(100, 100), sensors=(40, 25), spread=0.005),
    "heatveil config --sample": PLAY.format(words="config --sample"),
    "heatveil play --help": PLAY.format(words="play --help"),
    "heatveil play thermal": PLAY.format(words="play thermal --sources-random 2 --seed 3"),
    "heatveil play disk, 10,000": PLAY.format(words="play disk --points mnormal --users 10000"),
    "read_points of a file": "from physics.points import read_points; read_points({path!r})",
}


def cost(script: str) -> tuple[float, float]:
    """Return seconds of processor, user and system, and the most megabytes, of one process."""
    words = [sys.executable, "-c", script]
    child = os.posix_spawn(
        sys.executable,
        words,
        {**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)],
    )
    _, status, used = os.wait4(child, 0)
    if status:
        raise SystemExit(f"it did not end well: {script}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def main(rows: int) -> None:
    """Print a line each."""
    world = random.Random(1)  # no list of them, for a child counts its parent's memory as its own
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "points.csv")
        with path.open("w") as file:
            file.write("user,x,y\n")
            for who in range(rows):
                file.write(f"u{who},{world.random():.6f},{world.random():.6f}\n")
        for name, script in COSTS.items():
            script = script.replace("{path!r}", repr(str(path)))
            seconds, megabytes = [cost(script) for _ in range(2)][1]
            name = name.replace("a file", f"{rows:,} rows")
            print(f"{name:36s} {seconds:6.2f} s {megabytes:7.0f} MB", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2_000_000)
