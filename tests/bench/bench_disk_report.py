"""Time one answer of a disk device, beside a plain Python one, and weigh its table on a board.

Run: python tests/bench/bench_disk_report.py. The peers are what a Python user would write from
the matrix of the paper, with the system's entropy: `choices` of `secrets.SystemRandom` over the
true cell's row of probabilities, and a search in the row's sums, made for all cells beforehand.
Both need the row for each cell, in floats or in whole numbers; memory is of the rows of all cells.
Microseconds are the least of several runs, for a machine that is busy.
"""

import itertools
import os
import secrets
import shutil
import subprocess
import sys
import time
from bisect import bisect
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from edge import disk  # noqa: E402
from edge.entropy import Tape  # noqa: E402
from edge.records import Grid, Reading, Round  # noqa: E402
from recovery.disk import plan  # noqa: E402
from recovery.disk.query import Query  # noqa: E402
from recovery.disk.round import domain_of, weights_of  # noqa: E402

REPEATS, REPORTS = 15, 2000
CASES = (
    (5, (7, 2), None, "dam"),
    (15, (7, 2), None, "dam"),
    (20, (1, 1), 10, "dam"),
    (20, (1, 1), 10, "huem"),
    (64, (1, 1), 30, "dam"),
    (128, (1, 2), 60, "dam"),
)

# Runs on MicroPython; prints bytes of the table, and microseconds an answer.
BOARD = """
import gc, time
def used():
    gc.collect()
    gc.collect()
    return gc.mem_alloc()
from edge import disk
from edge.entropy import Tape
from edge.records import Grid, Reading, Round
plan = Round(1, "disk", Grid(SHAPE, 0), PARAMS, None)
before = used()
table = disk.Table(plan)
held = used() - before
rng, reading, best = Tape(b"bench"), Reading(0, (1, 1)), 1 << 60
for _ in range(5):
    begun = time.ticks_us()
    for _ in range(500):
        disk.report(plan, reading, rng, table)
    best = min(best, time.ticks_diff(time.ticks_us(), begun))
print(held, best // 500)
"""


def planned(side: int, epsilon: tuple[int, int], radius: int | None, scheme: str) -> Round:
    """Return the Round of a square grid."""
    made: Round = plan(Query(Grid((side, side), 0), epsilon, scheme=scheme, radius=radius), [])
    return made


def row(round: Round, cell: tuple[int, int]) -> tuple[list[int], list[int]]:
    """Return the places that a cell can answer, and what each weighs."""
    weights, domain = weights_of(round), domain_of(round)
    high, wide = weights.shape
    whole = domain * round.params[1]
    near = whole[cell[1] : cell[1] + high, cell[0] : cell[0] + wide]
    near[weights > 0] = weights[weights > 0]
    places = domain.ravel().nonzero()[0]
    return places.tolist(), whole.ravel()[places].tolist()


def least_us(act: Callable[[], object], count: int = REPORTS) -> float:
    """Return the microseconds of one of many acts, in the best of several runs."""
    best = float("inf")
    for _ in range(REPEATS):
        begun = time.perf_counter()
        for _ in range(count):
            act()
        best = min(best, time.perf_counter() - begun)
    return 1e6 * best / count


def on_board(name: str, round: Round) -> str:
    """Return the bytes of a table and the microseconds of an answer there, "-" without it."""
    places = os.pathsep.join([str(ROOT / ".tools"), os.environ.get("PATH", "")])
    program = shutil.which(name, path=places)
    if program is None:
        return "-    -"
    script = f"SHAPE, PARAMS = {round.grid.shape}, {round.params}\n{BOARD}"
    command = [program, "-X", "heapsize=256k", "-c", script]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    held, spent = ran.stdout.split()
    return f"{held:>6} {spent:>7}"


def main() -> None:
    """Print the tables."""
    print(
        "side radius scheme   answer   below   table  choices  search  answer/choices"
        "  | rows of all cells, MB | i386 table, B, us | unix table, B, us"
    )
    for side, epsilon, radius, scheme in CASES:
        round = planned(side, epsilon, radius, scheme)
        table, rng, reading = disk.Table(round), Tape(b"bench"), Reading(0, (1, 1))
        places, weights = row(round, (1, 1))
        if sum(weights) != table.total:
            raise SystemExit("the peer's row is another law than the device's")
        chances = [weight / table.total for weight in weights]
        sums = list(itertools.accumulate(weights))
        entropy = secrets.SystemRandom()
        ours = least_us(lambda r=round, x=reading, g=rng, t=table: disk.report(r, x, g, t))
        below = least_us(lambda g=rng, n=table.total: g.below(n))
        made = least_us(lambda r=round: disk.Table(r), 20)
        naive = least_us(lambda e=entropy, p=places, c=chances: e.choices(p, c), 50)
        search = least_us(lambda p=places, s=sums: p[bisect(s, secrets.randbelow(s[-1]))])
        print(
            f"{side:4d} {round.params[0]:6d} {scheme:6s} {ours:8.1f} {below:7.1f} {made:7.0f} "
            f"{naive:8.1f} {search:7.1f} {ours / naive:15.2f}  | "
            f"{8 * len(places) * side * side / 1e6:21.1f} | "
            f"{on_board('micropython-i386', round):>17} | {on_board('micropython', round):>17}"
        )
    round = planned(20, (1, 1), 10, "dam")
    table, rng = disk.Table(round), Tape(b"bench")
    some = [disk.report(round, Reading(0, (3, 4)), rng, table)[1] for _ in range(5000)]
    payloads = [[sensor, some[sensor % 5000]] for sensor in range(10**6)]
    begun = time.perf_counter()
    disk.release(round, payloads, None)
    print(f"release of 1e6 answers: {time.perf_counter() - begun:.2f} s")


if __name__ == "__main__":
    main()
