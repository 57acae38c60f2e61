"""Time every forward operator, beside direct sums and finufft in the same run.

Run it: `python tests/bench/bench_forward.py [largest]`. As many sensors as sources on the unit
interval, at the middles of cells or scattered; then 1000 x 1000 sources and 500 x 500 sensors in a
plane. Direct sums are compiled by numba where it is installed, else made by numpy in blocks. The
peer takes the Fourier series of the kernel, made periodic far enough out to be felt by nobody, to
scattered places and back by finufft (types 1 and 2, at 1e-13, its plans made beforehand). Errors
are those against direct sums on 16 sensors, relative to the greatest reading. Nothing here is
asserted: times are the machine's.
"""

import math
import sys
import time
from collections.abc import Callable

import numpy as np

from physics.kernel import forward
from physics.operators.choose import Axes, forward_operator
from physics.operators.moved import moved

try:
    import finufft
except ImportError:
    finufft = None
try:
    import numba
except ImportError:
    numba = None

LARGEST_DIRECT = 10_000
SAMPLE = 16


def best_s(call: Callable[[], object], tries: int = 3) -> float:
    """Return the shortest wall time of a few calls, in seconds."""
    times = []
    for _ in range(tries):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def loops(sources: np.ndarray, sensors: np.ndarray, spread: float, heat: np.ndarray) -> np.ndarray:
    """Return direct sums without walls, one sensor after the other."""
    readings = np.zeros(len(sensors))
    for i in range(len(sensors)):
        total = 0.0
        for j in range(len(sources)):
            gap = sensors[i] - sources[j]
            total += math.exp(-gap * gap / (4 * spread)) * heat[j]
        readings[i] = total / math.sqrt(4 * math.pi * spread)
    return readings


def blocks(
    sources: np.ndarray, sensors: np.ndarray, spread: float, heat: np.ndarray
) -> np.ndarray:
    """Return direct sums without walls, 500 sensors at a time."""
    parts = (sensors[start : start + 500] for start in range(0, len(sensors), 500))
    return np.concatenate([forward(sources, part, spread) @ heat for part in parts])


class Series:
    """The kernel's Fourier series, by finufft."""

    def __init__(self, places: np.ndarray, spread: float) -> None:
        """Make it periodic, and plan the way to the series and back."""
        far = 4 * spread * math.log(1e16)
        period = 1 + math.sqrt(far)
        last = math.ceil(period / (2 * math.pi) * math.sqrt(math.log(1e16) / spread))
        waves = np.arange(-last, last + 1)
        self.shares = np.exp(-spread * (2 * math.pi * waves / period) ** 2) / period
        # Angles from -pi to pi.
        angles = 2 * math.pi * (places - 0.5) / period
        self.there = finufft.Plan(1, (len(waves),), eps=1e-13, isign=-1)
        self.there.setpts(angles)
        self.back = finufft.Plan(2, (len(waves),), eps=1e-13, isign=1)
        self.back.setpts(angles)

    def matvec(self, heat: np.ndarray) -> np.ndarray:
        """Return the readings at the places themselves."""
        return self.back.execute(self.there.execute(heat.astype(complex)) * self.shares).real


def table(size: int, spread: float, scattered: bool, world: np.random.Generator) -> None:
    """Print one line for each way."""
    places = world.random(size) if scattered else (np.arange(size) + 0.5) / size
    heat, some = world.random(size), np.linspace(0, size - 1, SAMPLE).astype(int)
    truth = forward(places, places[some], spread) @ heat
    kind = "scattered" if scattered else "even"
    peer_s = math.nan

    def row(name: str, made_s: float, product_s: float, readings: np.ndarray, right=truth) -> None:
        error = np.abs(readings - right).max() / np.abs(right).max()
        print(
            f"{size:9d} {spread:7g} {kind:>9} {name:>14} {1e3 * made_s:11.2f} "
            f"{1e3 * product_s:11.3f} {error:9.1e} {peer_s / product_s:10.1f}",
            flush=True,
        )

    if finufft is not None:
        start = time.perf_counter()
        series = Series(places, spread)
        made_s = time.perf_counter() - start
        peer_s = best_s(lambda: series.matvec(heat))
        row("finufft", made_s, peer_s, series.matvec(heat)[some])
    if size <= LARGEST_DIRECT:
        sums = numba.njit(loops) if numba is not None else blocks
        found = sums(places, places, spread, heat)
        row("direct", 0.0, best_s(lambda: sums(places, places, spread, heat), 1), found[some])
    for want, walls in [
        ("transform", "none"),
        ("transform", "insulated"),
        ("low rank", "none"),
        ("near", "none"),
        ("panels", "none"),
    ]:
        start = time.perf_counter()
        try:
            operator = forward_operator(places, places, spread, walls, want=want)
        except ValueError:
            continue
        made_s = time.perf_counter() - start
        right = truth if walls == "none" else forward(places, places[some], spread, walls) @ heat
        product_s = best_s(lambda held=operator: held.matvec(heat))
        row(operator.method, made_s, product_s, operator.matvec(heat)[some], right)
    chosen = forward_operator(places, places, spread)
    print(f"{'':28}chosen: {chosen.method}, {chosen.why}")


def plane(spread: float, walls: str, world: np.random.Generator) -> None:
    """Print the ways from 1000 x 1000 sources to 500 x 500 sensors."""
    sources = Axes(((np.arange(1000) + 0.5) / 1000,) * 2)
    sensors = Axes(((np.arange(500) + 0.5) / 500,) * 2)
    heat, some = world.random(1_000_000), np.linspace(0, 249_999, 4).astype(int)
    truth = forward(sources.flat(), sensors.flat()[some], spread, walls) @ heat
    for want in ("transform", "separable"):
        start = time.perf_counter()
        operator = forward_operator(sources, sensors, spread, walls, want=want)
        made_s = time.perf_counter() - start
        product_s = best_s(lambda held=operator: held.matvec(heat))
        error = np.abs(operator.matvec(heat)[some] - truth).max() / np.abs(truth).max()
        start = time.perf_counter()
        felt = moved(operator, 1, "corners")
        print(
            f"{spread:7g} {walls:>9} {operator.method:>10} {1e3 * made_s:9.1f} "
            f"{1e3 * product_s:9.2f} {error:9.1e} {felt:12.6g} "
            f"{1e3 * (time.perf_counter() - start):9.1f}",
            flush=True,
        )


def main() -> None:
    """Print the tables for sizes up to the one that was asked for."""
    largest = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    print(
        "times in ms; making an operator includes measuring its error; x peer: finufft / product"
    )
    print(
        f"{'places':>9} {'spread':>7} {'standing':>9} {'way':>14} {'making':>11} {'product':>11} "
        f"{'error':>9} {'x peer':>10}"
    )
    world = np.random.default_rng(0)
    for size in (1_000, 10_000, 100_000, 1_000_000):
        for spread in (0.05, 0.001, 1e-9) if size <= largest else ():
            # The peer's series is as long as the heat is fresh.
            for scattered in (False, True):
                table(size, spread, scattered, world)
    print("\n1000 x 1000 sources to 500 x 500 sensors; the last two: sensitivity to 8 neighbours")
    for walls in ("none", "insulated"):
        for spread in (0.05, 1e-4):
            plane(spread, walls, world)


if __name__ == "__main__":
    main()
