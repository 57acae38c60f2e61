"""Time the exact least heat against its peers, on the same readings in the same run.

Run it: `python tests/bench/bench_l1.py [most cells * sensors for cvxpy]`; the slowest rows take
minutes, so by default cvxpy is given at most a million entries. Times are of the processor, of
one thread if the library of linear algebra is told so (OPENBLAS_NUM_THREADS=1). Ready: the
operator was prepared. Dense: from the matrix on. Nothing here is
asserted: times are the machine's.
"""

import sys
import time
from collections.abc import Callable

import cvxpy
import numpy as np
from scipy.optimize import minimize

from physics.kernel import forward
from recovery import l1
from recovery.l1 import by_clarabel
from recovery.sparse import Prepared, minimise_l1, prepare

SPREAD, NOISE = 0.05, 0.1
SIZES = ((100, 50), (400, 200), (1000, 500), (4000, 2000), (10_000, 1000), (1000, 10_000))
SCENES = 5


def cpu_s(call: Callable[[], object], tries: int = 1, repeats: int = 3) -> float:
    """Return the least processor time of a call, in seconds."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        for _ in range(tries):
            call()
        times.append((time.process_time() - start) / tries)
    return min(times)


def places(count: int) -> np.ndarray:
    """Return the paper's places."""
    return np.arange(1, count + 1) / count


def scenes(ready: Prepared, sources: int, count: int) -> tuple[np.ndarray, float]:
    """Return readings that the truth explains within the paper's radius, and the radius."""
    world, found = np.random.default_rng(0), []
    sensors, cells = ready.shape
    radius = NOISE * float(np.sqrt(sensors))
    while len(found) < count:
        heat = np.zeros(cells)
        where = [cells // 2 - 1] if sources == 1 else world.choice(cells, sources, replace=False)
        heat[where] = 1 if sources == 1 else world.uniform(0.3, 1, sources)
        noise = NOISE * world.normal(size=sensors)
        if np.linalg.norm(noise) <= radius:
            found.append(ready.expand(ready.small @ heat) + noise)
    return np.array(found), radius


def by_cvxpy(matrix: np.ndarray, readings: np.ndarray, radius: float) -> tuple[float, float]:
    """Return the seconds of the program as printed, and those of solving it once more."""
    heat, target = cvxpy.Variable(matrix.shape[1]), cvxpy.Parameter(len(readings))

    def naive() -> None:
        near = cvxpy.norm(matrix @ heat - readings) <= radius
        cvxpy.Problem(cvxpy.Minimize(cvxpy.sum(heat)), [near, heat >= 0, heat <= 1]).solve(
            solver=cvxpy.CLARABEL
        )

    near = cvxpy.norm(matrix @ heat - target) <= radius
    again = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum(heat)), [near, heat >= 0, heat <= 1])
    target.value = readings
    repeats = 5 if matrix.size < 10_000 else 1
    first_s = cpu_s(naive, repeats=repeats)
    again.solve(solver=cvxpy.CLARABEL)
    return first_s, cpu_s(lambda: again.solve(solver=cvxpy.CLARABEL), repeats=repeats)


def by_scipy(matrix: np.ndarray, readings: np.ndarray, radius: float) -> None:
    """Solve it with scipy's sequential quadratic programming, from the middle of the box."""
    cells = matrix.shape[1]
    minimize(
        np.sum, np.full(cells, 0.5), jac=np.ones_like, bounds=[(0, 1)] * cells, method="SLSQP",
        constraints={
            "type": "ineq",
            "fun": lambda f: radius**2 - np.sum((matrix @ f - readings) ** 2),
            "jac": lambda f: -2 * matrix.T @ (matrix @ f - readings),
        },
    )  # fmt: skip


def row(cells: int, sensors: int, most: int) -> None:
    """Print one line of the table."""
    import spgl1  # only the bench installs it

    there, here = places(cells), places(sensors)
    matrix = forward(there, here, SPREAD)
    ready = prepare(matrix)
    readings, radius = scenes(ready, 1, SCENES)
    y = readings[0]
    found = [minimise_l1(ready, one, radius, method="fast") for one in readings]

    def from_matrix() -> None:
        l1._recent.clear()
        minimise_l1(matrix, y, radius, method="fast")

    nan = float("nan")
    numbers = np.random.default_rng(1).random((ready.rank, cells))
    vector = np.ones(ready.rank)
    seconds = {
        "ready": float(np.median([
            cpu_s(lambda one=one: minimise_l1(ready, one, radius, method="fast"), 100, 5)
            for one in readings
        ])),
        "dense": cpu_s(from_matrix),
        "limit": cpu_s(lambda: vector @ numbers, 100),
        "small": cpu_s(lambda: by_clarabel(ready, y, radius, np.ones(1))),
        "spgl1": cpu_s(lambda: spgl1.spg_bpdn(matrix, y, radius, iter_lim=10_000), repeats=1),
        "scipy": cpu_s(lambda: by_scipy(matrix, y, radius), repeats=1) if cells <= 100 else nan,
    }  # fmt: skip
    naive = again = nan
    if matrix.size <= most:
        naive, again = by_cvxpy(matrix, y, radius)
    seconds |= {"cvxpy": naive, "again": again}
    gap = max(one.gap / one.objective for one in found)
    print(
        f"{cells:6d} {sensors:6d} {ready.rank:4d} "
        + " ".join(f"{1e6 * seconds[name]:10.1f}" for name in ("ready", "dense", "limit"))
        + " "
        + " ".join(
            f"{1e3 * seconds[n]:10.2f}" for n in ("cvxpy", "again", "small", "spgl1", "scipy")
        )
        + f" {naive / seconds['ready']:11,.0f} {naive / seconds['dense']:9,.0f} {gap:8.0e}",
        flush=True,
    )


def main() -> None:
    """Print the tables."""
    most = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    print(f"one solve, one source, spread {SPREAD:g}, noise {NOISE:g}; the first three in")
    print("microseconds, the peers in milliseconds, then cvxpy as a multiple of ours")
    print(
        f"{'cells':>6} {'sens.':>6} {'rank':>4} {'ready':>10} {'dense':>10} "
        f"{'limit':>10} {'cvxpy':>10} {'again':>10} {'small':>10} {'SPGL1':>10} {'scipy':>10} "
        f"{'x ready':>11} {'x dense':>9} {'gap':>8}"
    )
    for size in SIZES:
        row(*size, most)


if __name__ == "__main__":
    main()
