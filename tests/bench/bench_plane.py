"""Time the least heat of a plane, its operator never formed, with peers in the same run.

Run it: `python tests/bench/bench_plane.py [largest] [dense]`, 512 and 32 if not said. The
peers need the Kronecker matrix itself, so they run on a plane of dense by dense cells with
half as many sensors along x and three eighths along y: cvxpy with Clarabel as one would write
it, the same re-solved by parameters, Clarabel on the matrix made small, and SPGL1, which knows
no upper bound. With 64 for dense this takes ten minutes. The larger planes run alone, with
the gap that is proved from the heat in the sensors' own space. Processor time; nothing here is
asserted: times are the machine's.
"""

import sys
import time
from collections.abc import Callable

import cvxpy
import numpy as np
from scipy.stats import chi2

from physics.operators.separable import Separable, forward_separable
from recovery.l1.cone import least_l1
from recovery.sparse import minimise_l1, prepare

NOISE = 0.1
SEEDS = 5
PLANES = ((64, 32, 24), (256, 32, 24), (512, 64, 48))


def cpu_ms(call: Callable[[], object], tries: int = 3) -> float:
    """Return the least processor time of a few calls, in milliseconds."""
    times = []
    for _ in range(tries):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return 1e3 * min(times)


def plane(cells: int, columns: int, rows: int, spread: float) -> Separable:
    """Return the operator of a unit square, everything where the paper puts it."""
    along, x, y = (np.arange(1, count + 1) / count for count in (cells, columns, rows))
    return forward_separable([along, along], [x, y], spread)


def scene(operator: Separable, sources: int, seed: int) -> tuple[np.ndarray, float]:
    """Return blurred readings of so many warm cells, and the radius that the truth keeps."""
    world = np.random.default_rng(seed)
    heat = np.zeros(operator.shape[1])
    heat[world.choice(len(heat), sources, replace=False)] = world.uniform(0.3, 1, sources)
    readings = operator.matvec(heat) + NOISE * world.normal(size=operator.shape[0])
    return readings, NOISE * float(np.sqrt(chi2.ppf(0.95, len(readings))))


def gap(operator: Separable, readings: np.ndarray, radius: float, heat: np.ndarray) -> float:
    """Return by how much the total may exceed the least, of itself, seen from the heat alone.

    The certificate is the residual r, scaled by the best of the t at which a warm cell earns
    just its price: t (r'y - radius ||r||) - sum(max(0, t A'r - 1)).
    """
    rest = readings - operator.matvec(heat)
    earned = operator.rmatvec(rest)
    base = float(rest @ readings - radius * np.linalg.norm(rest))
    warm = earned[heat > 0]
    scales = [1 / earned.max(), *(1 / warm[warm > 0]), 1 / float(np.median(warm))]
    best = max(t * base - float(np.maximum(0, t * earned - 1).sum()) for t in scales)
    return (float(heat.sum()) - best) / float(heat.sum())


def large(cells: int, columns: int, rows: int, spread: float) -> str:
    """Return one line of the table of large planes."""
    operator = plane(cells, columns, rows, spread)
    ready = prepare(operator)
    setup = cpu_ms(lambda: prepare(plane(cells, columns, rows, spread)))
    texts, worst = [], 0.0
    for sources in (1, 4, 10):
        times, steps = [], []
        for seed in range(SEEDS):
            readings, radius = scene(operator, sources, seed)
            found = minimise_l1(ready, readings, radius, method="fast")
            times.append(
                cpu_ms(lambda y=readings, r=radius: minimise_l1(ready, y, r, method="fast"))
            )
            steps.append(found.iterations)
            if found.status == "optimal":
                worst = max(worst, gap(operator, readings, radius, found.heat))
            elif found.status != "zero":
                texts.append(f"[{found.status}]")
        texts.append(f"{np.median(times):9.3f} {np.median(steps):5.0f}")
    return (
        f"{cells:4d}^2 {columns * rows:6d} {spread:7g} {ready.rank:5d} {setup:8.2f} "
        f"{' '.join(texts)} {worst:9.1e}"
    )


def peers(cells: int, spread: float, sources: int) -> str:
    """Return one line of the table of peers."""
    import spgl1  # only the bench installs it

    operator = plane(cells, cells // 2, cells * 3 // 8, spread)
    readings, radius = scene(operator, sources, 1)
    matrix, ready = operator.dense(), prepare(operator)
    inside, beyond = ready.compress(readings)
    reach, small = float(np.sqrt(radius**2 - beyond @ beyond)), ready.small()
    heat, target = cvxpy.Variable(matrix.shape[1]), cvxpy.Parameter(len(readings))
    bounds = [heat >= 0, heat <= 1]

    def naive() -> float:
        near = cvxpy.norm(matrix @ heat - readings) <= radius
        return cvxpy.Problem(cvxpy.Minimize(cvxpy.sum(heat)), [near, *bounds]).solve("CLARABEL")

    near = cvxpy.norm(matrix @ heat - target) <= radius
    again = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum(heat)), [near, *bounds])
    target.value = readings
    again.solve("CLARABEL")
    ours = minimise_l1(ready, readings, radius, method="fast")
    other = spgl1.spg_bpdn(matrix, readings, radius, iter_lim=10000)[0]
    objective = naive()
    our_ms = cpu_ms(lambda: minimise_l1(ready, readings, radius, method="fast"), 20)
    cold_ms = cpu_ms(
        lambda: minimise_l1(
            plane(cells, cells // 2, cells * 3 // 8, spread), readings, radius, method="fast"
        )
    )
    times = [
        cpu_ms(naive, 1),
        cpu_ms(lambda: again.solve("CLARABEL"), 1),
        cpu_ms(lambda: least_l1(small, inside, reach, 1.0), 1),
        cpu_ms(lambda: spgl1.spg_bpdn(matrix, readings, radius, iter_lim=10000), 1),
    ]
    return (
        f"{cells:4d}^2 {len(readings):6d} {spread:7g} {sources:3d} {our_ms:9.3f} {cold_ms:9.3f} "
        + " ".join(f"{one:9.1f} {one / our_ms:9.0f}" for one in times)
        + f" {ours.objective / objective - 1:10.1e} {other.sum() / objective - 1:10.1e}"
    )


def main() -> None:
    """Print the tables, up to the sizes that were asked for."""
    largest = int(sys.argv[1]) if len(sys.argv) > 1 else 512
    dense = int(sys.argv[2]) if len(sys.argv) > 2 else 32
    grid, sensors = np.arange(1, 1001) / 1000, np.arange(1, 501) / 500
    heat = np.random.default_rng(0).random(1_000_000)
    print("1000 x 1000 cells to 500 x 500 sensors, one product; times in ms")
    print(f"{'spread':>7} {'making':>9} {'forward':>9} {'back':>9}")
    for spread in (0.5, 0.05, 0.001, 0.0001):
        operator = forward_separable([grid, grid], [sensors, sensors], spread)
        readings = operator.matvec(heat)
        made = cpu_ms(lambda s=spread: forward_separable([grid, grid], [sensors, sensors], s))
        there = cpu_ms(lambda op=operator: op.matvec(heat))
        back = cpu_ms(lambda op=operator, y=readings: op.rmatvec(y))
        print(f"{spread:7g} {made:9.2f} {there:9.2f} {back:9.2f}", flush=True)
    print("\nthe least heat against peers on the matrix formed whole; ms, and times ours; the")
    print("last two: by how much our total and SPGL1's differ from cvxpy's, of it")
    print(
        f"{'cells':>6} {'sensors':>6} {'spread':>7} {'k':>3} {'ours':>9} {'cold':>9} "
        + " ".join(f"{name:>9} {'times':>9}" for name in ("cvxpy", "again", "small", "SPGL1"))
        + f" {'ours':>10} {'SPGL1':>10}"
    )
    for spread in (0.05, 0.005):
        for sources in (1, 4):
            print(peers(dense, spread, sources), flush=True)
    print(f"\nthe least heat of large planes; ms and steps, medians of {SEEDS} scenes")
    print(
        f"{'cells':>6} {'sensors':>6} {'spread':>7} {'rank':>5} {'set-up':>8} "
        + " ".join(f"{f'k={k}':>9} {'steps':>5}" for k in (1, 4, 10))
        + f" {'gap':>9}"
    )
    for cells, columns, rows in PLANES:
        if cells <= largest:
            for spread in (0.005, 0.05, 0.5, 0.0005):
                print(large(cells, columns, rows, spread), flush=True)


if __name__ == "__main__":
    main()
