"""Maps from a channel's answers: how far from the truth, how quick, how sure.

Run it: `python tests/bench/bench_em.py w2 [side ...]`, `... speed [side ...]` or `... sd`.
Nothing is asserted.

w2: mean W2 in cells over runs of EM and EMS by the printed rule, and of `auto`; the last column
    is auto over the better of the two, and at the end stand the worst of these.
speed: processor seconds beside the same method by a matrix in numpy, and beside Richardson-Lucy by
    scipy.signal.fftconvolve, which knows neither the base nor what is kept between steps.
sd: z-scores of shares against the users' own, over runs; and the W2 that was expected of auto.
"""

import itertools
import sys
import time

import numpy as np
from scipy.signal import fftconvolve

from edge.records import Grid
from physics.crowds.disk import count_many
from physics.points import histogram, mnormal, normal, szipf
from recovery.disk import Query, plan
from recovery.disk.channel import Channel, channel_of
from recovery.disk.em import em, em_fast, gain_of, log_likelihood
from recovery.disk.estimators import cell_sd, estimate
from recovery.distance import wasserstein2

INPUTS = {"normal": normal, "szipf": szipf, "mnormal": mnormal}
EPSILONS = ((7, 10), (7, 5), (7, 2), (5, 1))
RUNS = 3  # as many as five minutes allow at the larger sides


def drawn(
    kind: str, side: int, epsilon: tuple[int, int], users: int, run: int, **more: object
) -> tuple[np.ndarray, Channel, np.ndarray]:
    """The users' own shares, the channel, and their answers."""
    world = np.random.default_rng([run, side, users])
    grid = Grid((side, side), 0)  # of the unit square
    planned = plan(Query(grid, epsilon, **more), [])  # type: ignore[arg-type]
    assert planned is not None
    cells = histogram(INPUTS[kind](users, world), grid)
    return cells / cells.sum(), channel_of(planned), count_many(planned, cells, world)


def far(mass: np.ndarray, truth: np.ndarray) -> float:
    """W2 in cells."""
    return wasserstein2(mass, truth, normalise=True) * max(truth.shape)


def distances(sides: list[int]) -> None:
    """Print the table of W2."""
    ratios = []
    print("input    d eps  scheme users      EM    EMS   auto   auto/better")
    settings = itertools.product(sides, INPUTS, EPSILONS, ("dam", "dam-ns"), (100_000, 300_000))
    for side, kind, epsilon, scheme, users in settings:
        value = epsilon[0] / epsilon[1]
        found = np.empty((RUNS, 3))
        for run in range(RUNS):
            truth, channel, counts = drawn(kind, side, epsilon, users, run, scheme=scheme)
            for at, name in enumerate(("em", "ems", "auto")):
                found[run, at] = far(estimate(name, channel, counts, value).mass, truth)
        a, b, c = found.mean(axis=0)
        told = f"{kind:8} {side:2} {value:3g} {scheme:6} {users:6} {a:6.3f} {b:6.3f} {c:6.3f}"
        ratios.append((c / min(a, b), told))
        print(f"{told}   {ratios[-1][0]:.2f}", flush=True)
    print(f"auto / better: mean {np.mean([r for r, _ in ratios]):.2f}; the worst:")
    for ratio, told in sorted(ratios, reverse=True)[:5]:
        print(f"  {ratio:.3f}  {told}")


def by_matrix(matrix: np.ndarray, counts: np.ndarray, gain: float) -> np.ndarray:
    """EM as it is written in a book, without empty rows."""
    mass = np.full(matrix.shape[1], 1 / matrix.shape[1])
    before = -np.inf
    for _ in range(10_000):
        law = matrix @ mass
        worth = float(counts @ np.log(law))
        if worth - before < gain:
            break
        before = worth
        mass *= (counts / law) @ matrix / counts.sum()
    return mass


def richardson_lucy(channel: Channel, counts: np.ndarray, steps: int) -> np.ndarray:
    """The same steps by fftconvolve, the base in the kernel's place outside."""
    mass = np.full((channel.rows, channel.columns), 1 / (channel.rows * channel.columns))
    even = channel.base * channel.support
    for _ in range(steps):
        law = fftconvolve(mass, channel.kernel) + even * mass.sum()
        ratio = np.divide(counts, law, out=np.zeros_like(law), where=counts > 0)
        back = fftconvolve(ratio, channel.kernel[::-1, ::-1], mode="valid") + (even * ratio).sum()
        mass = mass * back / (mass * back).sum()
    return mass


def spent(work: object) -> tuple[object, float]:
    """What it returns, and the processor seconds of the faster of two runs."""
    times = []
    for _ in range(2):
        begun = time.process_time()
        found = work()  # type: ignore[operator]
        times.append(time.process_time() - begun)
    return found, min(times)


def speed(sides: list[int]) -> None:
    """Print seconds."""
    for side in sides:
        radius, users = 30 if side == 256 else None, 300_000 if side <= 20 else 10**6
        truth, channel, counts = drawn("normal", side, (7, 5), users, 0, radius=radius)
        gain = gain_of(1.4)
        twenty, took = spent(lambda: em(channel, counts, gain=0, steps_max=20))  # noqa: B023
        lucy, slow = spent(lambda: richardson_lucy(channel, counts, 20))  # noqa: B023
        off = abs(twenty.mass - lucy).max() / lucy.max()  # type: ignore[attr-defined]
        print(
            f"side {side}, reach {channel.reach[0]}, {channel.way}: a step {50 * took:.3f} ms; "
            f"fftconvolve {slow / took:.1f} times that, off {off:.0e}"
        )
        fast, quick = spent(lambda: em_fast(channel, counts, gain=gain))  # noqa: B023
        print(f"  rule by flow {quick:.3f} s, {fast.steps} evaluations", end="")  # type: ignore[attr-defined]
        if side <= 32:
            plain, long = spent(lambda: em(channel, counts, gain=gain))  # noqa: B023
            apart = abs(plain.mass - fast.mass).sum() / 2  # type: ignore[attr-defined]
            print(f"; plain {long:.3f} s, {plain.steps}, apart {apart:.0e}", end="")  # type: ignore[attr-defined]
        if side <= 20:
            some = counts.ravel() > 0
            matrix, seen = channel.matrix()[some], counts.ravel()[some].astype(float)
            _, dense = spent(lambda: by_matrix(matrix, seen, gain))  # noqa: B023
            print(f"; numpy matrix {dense:.3f} s", end="")
        chosen, auto = spent(lambda: estimate("auto", channel, counts, 1.4))  # noqa: B023
        better = chosen.log_likelihood - log_likelihood(counts, channel.forward(truth))  # type: ignore[attr-defined]
        print(f"\n  auto {auto:.3f} s, {better:+.1f} nats over the truth", flush=True)


def sureness() -> None:
    """Print z-scores."""
    print("input    d eps   z of auto: mean  rms  in 90 %   z of em: rms  in 90 %")
    for kind, side, epsilon in itertools.product(INPUTS, (5, 15), EPSILONS):
        value = epsilon[0] / epsilon[1]
        ours, theirs = [], []
        for run in range(RUNS):
            truth, channel, counts = drawn(kind, side, epsilon, 300_000, run)
            fit = estimate("auto", channel, counts, value)
            # Cells that hold next to nobody would only count how many of them there are.
            held = truth > 0.2 / truth.size
            ours.append(((fit.mass - truth) / fit.sd)[held])
            plain = estimate("em", channel, counts, value).mass
            sd = cell_sd(channel, plain, 300_000)
            theirs.append(((plain - truth) / sd)[held])
        z, y = np.concatenate(ours), np.concatenate(theirs)
        print(
            f"{kind:8} {side:2} {value:3g}   {z.mean():14.2f} {np.sqrt((z**2).mean()):5.2f} "
            f"{(abs(z) < 1.645).mean():7.2f} {np.sqrt((y**2).mean()):15.2f} "
            f"{(abs(y) < 1.645).mean():7.2f}",
            flush=True,
        )


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["speed", *given]:
            speed([int(side) for side in given] or [15, 20, 32, 64, 256])
        case ["sd"]:
            sureness()
        case ["w2", *given]:
            distances([int(side) for side in given] or [5, 10, 15, 20])
        case _:
            print(__doc__)
