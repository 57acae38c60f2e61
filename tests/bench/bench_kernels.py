"""Time kernels of heat that is given off over time, with peers in the same run.

Run it: `python tests/bench/bench_kernels.py`. A room of 6 x 4 m between insulated walls,
sources of 0.3 m, read at 50 places. Peers: scipy's adaptive quadrature of the instantaneous
kernel over the age of the heat (`quad_vec`, to the same 1e-9), and py-pde, which steps a grid
of 10 cm through the same minute and whose error falls by 3.98 where cells are halved. Apart is
the greatest difference from our answer, relative to the largest entry. Nothing here is
asserted: times are the machine's.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.integrate import quad_vec

from physics.kernel import forward
from physics.kernels.continuous import forward_continuous
from physics.kernels.moving import Path, forward_moving

LENGTH = (6.0, 4.0)
MIXING, ON_S, SD = 0.02, 60.0, 0.3


def timed(call: Callable[[], np.ndarray], tries: int = 3) -> tuple[np.ndarray, float]:
    """Return the answer, and the shortest processor time of a few calls, in seconds."""
    times = []
    for _ in range(tries):
        start = time.process_time()
        answer = call()
        times.append(time.process_time() - start)
    return answer, min(times)


def row(name: str, ours: tuple[np.ndarray, float], peer: str, other: tuple[np.ndarray, float]):
    """Print one line of the table."""
    apart = np.abs(other[0] - ours[0]).max() / np.abs(ours[0]).max()
    print(
        f"{name:>22} {1e3 * ours[1]:10.2f} {peer:>10} {1e3 * other[1]:10.2f} "
        f"{other[1] / ours[1]:8.1f} {apart:9.1e}"
    )


def stepped(place_at: Callable[[float], np.ndarray], grid: Any) -> np.ndarray:
    """Return the field after the minute, by py-pde, with a source that is where it is told."""
    import pde  # only the bench installs it

    centres = grid.cell_coords

    class Room(pde.PDEBase):
        """Heat that spreads between insulated walls, and one source."""

        def evolution_rate(self, state, t: float = 0.0):
            """Return how fast each cell warms."""
            away = np.square(centres - place_at(t)).sum(axis=-1)
            power = np.exp(-away / (2 * SD**2)) / (2 * np.pi * SD**2)
            rate = MIXING * state.laplace({"derivative": 0})
            return pde.ScalarField(grid, rate.data + power)

    start = pde.ScalarField(grid, 0.0)
    ended = Room().solve(start, ON_S, dt=0.1, backend="numpy", tracker=None, adaptive=False)
    return ended.data.reshape(-1)


def main() -> None:
    """Print the table."""
    world = np.random.default_rng(1)
    print(f"{'what':>22} {'ours ms':>10} {'peer':>10} {'peer ms':>10} {'ratio':>8} {'apart':>9}")
    for count in (1, 100, 1000):
        sources, sensors = world.random((count, 2)) * LENGTH, world.random((50, 2)) * LENGTH

        def felt(age: float, sources=sources, sensors=sensors) -> np.ndarray:
            return forward(sources, sensors, MIXING * age + SD**2 / 2, "insulated", LENGTH)

        def ours(sources=sources, sensors=sensors) -> np.ndarray:
            given = sources, sensors, MIXING, ON_S, "insulated", LENGTH
            return forward_continuous(*given, source_sd_m=SD)

        peer = timed(lambda: quad_vec(felt, 0, ON_S, epsrel=1e-9, norm="max")[0])
        row(f"on, {count} x 50", timed(ours), "quad_vec", peer)
    import pde  # only the bench installs it

    grid = pde.CartesianGrid([[0, 6], [0, 4]], [60, 40])
    centres = grid.cell_coords.reshape(-1, 2)
    still, way = np.array([2.5, 1.5]), np.array([[1.5, 1.5], [4.5, 2.5]])
    one = timed(
        lambda: forward_continuous(
            still[None], centres, MIXING, ON_S, "insulated", LENGTH, source_sd_m=SD
        )[:, 0]
    )
    row("on, 1 x 2400", one, "py-pde", timed(lambda: stepped(lambda t: still, grid), 2))
    path = Path(np.array([0.0, ON_S]), way, np.ones(2))
    walked = timed(
        lambda: (
            forward_moving(
                path, centres, ON_S, MIXING, "insulated", LENGTH, source_sd_m=SD
            ).warmth_k
        )
    )

    def place(at: float) -> np.ndarray:
        return way[0] + (way[1] - way[0]) * at / ON_S

    row("walking, 1 x 2400", walked, "py-pde", timed(lambda: stepped(place, grid), 1))


if __name__ == "__main__":
    main()
