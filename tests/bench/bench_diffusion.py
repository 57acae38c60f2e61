"""Time rooms of finite volumes: direct, multigrid, and py-pde in the same run.

Run it: `python tests/bench/bench_diffusion.py [--without-pde]`. Times are of the processor, as the
machine may be shared, on one thread. py-pde knows no unlike materials, so it gets a uniform
insulated plan, with its explicit Euler at the longest step that is stable; its compiling is told
apart. Errors there are against the exact answer of the same grid, by cosines. Nothing here is
asserted.
"""

import sys
import time
import warnings
from collections.abc import Callable

import numpy as np
from scipy.fft import dctn, idctn

from physics.diffusion.medium import Drive, Medium, still
from physics.diffusion.run import Run, march
from physics.places import Floats

PLAN, ROOM = (160, 240), (25, 40, 60)
CELL_M, MIXING, UNTIL_S = 0.025, 0.01, 240.0


def timed(call: Callable[[], object]) -> tuple[float, object]:
    """Return the processor time of a call in seconds, and what it gave."""
    start = time.process_time()
    given = call()
    return time.process_time() - start, given


def office(shape: tuple[int, ...], cell_m: float) -> tuple[Medium, Drive]:
    """Return air with a partition and a door gap, a cold side, ventilation and one person."""
    wall = np.zeros(shape, dtype=bool)
    wall[..., shape[-1] // 2] = True
    wall[..., shape[-2] // 3 : shape[-2] // 2, :] = False
    capacity = np.where(wall, 9e4, 3618.0)
    medium = Medium(
        (cell_m,) * len(shape),
        np.where(wall, 0.05, 12.06),
        capacity,
        np.where(wall, 0.0, 0.3),
        ((2.8, 0.3),) * len(shape),
        beyond=2.5 if len(shape) == 2 else 1.0,
    )
    power = np.zeros(shape)
    power[tuple(count // 3 for count in shape)] = 30.0
    return medium, Drive(power, ((-15.0, 2.0),) + ((0.0, 0.0),) * (len(shape) - 1), -5.0)


def rooms(shape: tuple[int, ...], cell_m: float, steps: int) -> None:
    """Print a line for each solver."""
    medium, drive = office(shape, cell_m)
    fields, times = [], []
    for solver in ("direct", "multigrid"):
        run = Run(medium, solver=solver)
        first_s, _ = timed(lambda run=run: run.step(drive, 1.0))
        rest_s, _ = timed(lambda run=run: list(march(run, lambda *_: drive, 1.0, float(steps))))
        fields.append(run.field_k)
        times.append(first_s + rest_s)
        apart = np.abs(fields[-1] - fields[0]).max() / np.abs(fields[0]).max()
        print(
            f"{' x '.join(map(str, shape[::-1])):>14} {solver:>10} {steps:6d} {first_s:9.2f} "
            f"{1e3 * rest_s / (steps - 1):9.2f} {times[-1]:8.2f} {times[-1] / times[0]:8.2f} "
            f"{apart:9.1e}",
            flush=True,
        )
    print(f"{'':>14} by itself: {Run(medium).solver}")


def blob() -> tuple[Floats, Floats]:
    """Return a smooth field on the plan, and what it is at the end on that grid, exactly."""
    y, x = (CELL_M * (np.arange(count) + 0.5) for count in PLAN)
    start = np.exp(-((x - 2) ** 2 + (y[:, None] - 1.5) ** 2) / (2 * 0.3**2))
    along_y, along_x = (
        (2 - 2 * np.cos(np.pi * np.arange(count) / count)) / CELL_M**2 for count in PLAN
    )
    fading = np.exp(-MIXING * UNTIL_S * (along_y[:, None] + along_x))
    return start, idctn(dctn(start) * fading)


def ours(steps: int) -> tuple[float, float]:
    """Return the time and the worst error of the uniform plan."""
    start, exact = blob()
    uniform = np.full(PLAN, MIXING), np.ones(PLAN), np.zeros(PLAN)
    medium = Medium((CELL_M, CELL_M), *uniform, ((0.0, 0.0),) * 2)
    drive = still(medium)
    run = Run(medium, start)
    took_s, _ = timed(lambda: list(march(run, lambda *_: drive, UNTIL_S / steps, UNTIL_S)))
    return took_s, float(np.abs(run.field_k - exact).max())


def theirs() -> tuple[float, float, float]:
    """Return py-pde's compiling time, its time, and its worst error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pde

        start, exact = blob()
        bounds = [[0, count * CELL_M] for count in PLAN]
        field = pde.ScalarField(pde.CartesianGrid(bounds, list(PLAN)), start)
        equation = pde.DiffusionPDE(diffusivity=MIXING, bc={"derivative": 0})
        # Stable to cell**2 / (4 mixing); a little below, and a whole number of steps.
        step_s = 0.015

        def solve(until_s: float) -> object:
            return equation.solve(field, until_s, dt=step_s, solver="explicit", tracker=None)

        compiling_s, _ = timed(lambda: solve(2 * step_s))
        whole_s, found = timed(lambda: solve(UNTIL_S))
        # The second call compiles again what belongs to its steps.
        again_s, _ = timed(lambda: solve(2 * step_s))
    error = float(np.abs(found.data - exact).max())  # type: ignore[attr-defined]
    return compiling_s, whole_s - again_s, error


def main() -> None:
    """Print both tables."""
    print("a room of unlike materials; seconds of the processor, but ms a step")
    print(
        f"{'cells':>14} {'solver':>10} {'steps':>6} {'first, s':>9} {'step, ms':>9} {'all, s':>8} "
        f"{'/direct':>8} {'apart':>9}"
    )
    rooms(PLAN, CELL_M, 240)
    rooms(ROOM, 0.1, 60)
    print(f"\n{' x '.join(map(str, PLAN[::-1]))} cells, uniform and insulated, {UNTIL_S:g} s")
    print(f"{'':>26} {'steps':>6} {'all, s':>8} {'error':>9}")
    found = {steps: ours(steps) for steps in (60, 120, 240)}
    for steps, (took_s, error) in found.items():
        print(f"{'here, everything':>26} {steps:6d} {took_s:8.2f} {error:9.1e}", flush=True)
    if "--without-pde" in sys.argv:
        return
    compiling_s, took_s, error = theirs()
    print(f"{'py-pde, explicit Euler':>26} {round(UNTIL_S / 0.015):6d} {took_s:8.2f} {error:9.1e}")
    print(f"{'its compiling, once more':>26} {'':>6} {compiling_s:8.2f}")
    reached = [(steps, own_s) for steps, (own_s, off) in found.items() if off <= error]
    if reached:
        steps, own_s = reached[0]
        print(f"at that accuracy here {steps} steps do: py-pde/here {took_s / own_s:.1f}", end="")
        print(f", with its compiling {(took_s + compiling_s) / own_s:.1f}")


if __name__ == "__main__":
    main()
