"""The exact posterior's maps: distances beside those found elsewhere, and seconds a recovery.

Run it: `python tests/bench/bench_posterior.py [trials] [trials in a plane]`. The paper's line of
100 cells and 50 sensors at the noise it prints for delta 1/10, and a plane of 20 x 20 cells and
10 x 10 sensors at the exact noise, where the least heat stands beside. Unit sources in random
cells; means with their 95 % half-widths. Nothing here is asserted.
"""

import sys
import time

import numpy as np

from physics.kernel import forward
from recovery.bayes.yardstick import bayes_yardstick
from recovery.distance import earth_movers
from recovery.estimators.posterior import estimate
from recovery.estimators.record import Prior, Seen
from recovery.sparse import minimise_l1

LINE = np.arange(1, 101)[:, None] / 100
PAPER = forward(LINE[:, 0], np.arange(1, 51) / 50, 0.05)
# By epsilon: sigma, and what was found elsewhere with 100 trials for one to four sources.
ELSEWHERE = {
    1: (0.686, (0.041, 0.045, 0.053, 0.051)),
    4: (0.172, (0.010, 0.015, 0.026, 0.029)),
    10: (0.069, (0.003, 0.007, 0.016, 0.021)),
}
# Sigma over sensitivity by epsilon, and found elsewhere: the least heat, the medoid.
EXACT = {1: (1.086, 0.215, 0.085), 4: (0.4855, 0.123, 0.043), 10: (0.2818, 0.087, 0.016)}
PRINTED = {1: (5.05, None, None), 4: (1.26, None, None), 10: (0.505, None, None)}


def half(values: list[float]) -> float:
    """Return the 95 % half-width of a mean."""
    return float(1.96 * np.std(values) / np.sqrt(len(values)))


def line(sigma: float, number: int, prior: Prior, trials: int) -> tuple[str, float]:
    """Return distances and their coverage by the band, and the seconds of one recovery."""
    distances, seconds, within = [], [], []
    for trial in range(trials):
        world = np.random.default_rng([number, trial])
        heat = np.zeros(100)
        heat[world.choice(100, number, replace=False)] = 1
        readings = PAPER @ heat + sigma * world.normal(size=50)
        began = time.process_time()
        found = estimate(Seen(PAPER, readings, sigma, LINE, (1, 100), prior))
        seconds.append(time.process_time() - began)
        distances.append(earth_movers(found.heat, heat, normalise=True))
        upto, band = np.cumsum(heat) / number, found.credible.band
        within.append(np.all((band.low <= upto + 1e-9) & (upto <= band.high + 1e-9)))
    text = f"{np.mean(distances):.4f} ±{half(distances):.4f}  in the band {np.mean(within):.3f}"
    return text, float(np.median(seconds))


def plane(side: int, sensors: int, spread: float, factor: float, trials: int) -> str:
    """Return the medoid's and the least heat's distances, along the axes."""
    cells = np.arange(1, side + 1) / side
    one = forward(cells, np.arange(1, sensors + 1) / sensors, spread)
    operator = np.kron(one, one)
    # The joint sensitivity to one step along an axis.
    step = np.linalg.norm(np.diff(one, axis=1), axis=0).max()
    sigma = factor * step * np.linalg.norm(one, axis=0).max()
    places = np.stack([np.tile(cells, side), np.repeat(cells, side)], axis=1)
    ours, least, seconds = [], [], []
    for trial in range(trials):
        world = np.random.default_rng(trial)
        heat = np.zeros(side * side)
        heat[world.choice(side * side, 2, replace=False)] = 1
        readings = operator @ heat + sigma * world.normal(size=sensors * sensors)
        began = time.process_time()
        seen = Seen(operator, readings, sigma, places, (side, side), Prior(2, 2))
        found = estimate(seen).heat
        seconds.append(time.process_time() - began)
        other = minimise_l1(operator, readings, sigma * sensors).heat
        other = np.where(other > 1e-3 * other.max(), other, 0) if other.any() else other + 1
        truth = heat.reshape(side, side)
        for kept, made in ((ours, found), (least, other)):
            kept.append(earth_movers(made.reshape(side, side), truth, normalise=True))
    return (
        f"medoid {np.mean(ours):.4f} ±{half(ours):.4f}  least heat {np.mean(least):.4f} "
        f"±{half(least):.4f}  ratio {np.mean(least) / np.mean(ours):.2f}  "
        f"{1e3 * np.median(seconds):6.1f} ms"
    )


def main() -> None:
    """Print the line's table, the yardstick's, and the plane's."""
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    in_plane = int(sys.argv[2]) if len(sys.argv) > 2 else 40
    print(f"along a line, {trials} trials\nepsilon sources prior elsewhere ours")
    for epsilon, (sigma, elsewhere) in ELSEWHERE.items():
        for number in (1, 2, 3, 4):
            for name, prior in (("known", Prior(number, number)), ("1..4", Prior(1, 4))):
                text, seconds = line(sigma, number, prior, trials)
                print(
                    f"{epsilon:7d} {number:7d} {name:>5} {elsewhere[number - 1]:9.3f} {text}"
                    f"  {1e3 * seconds:5.1f} ms",
                    flush=True,
                )
    print("\nthe yardstick\nepsilon sources distance")
    for epsilon, (sigma, _) in ELSEWHERE.items():
        for sources in (1, 2, 3, 4, (1, 4)):
            began = time.process_time()
            found = bayes_yardstick(PAPER, sigma, sources, None, LINE)
            print(
                f"{epsilon:7d} {sources!s:>7} {found.distance:.4f} ±"
                f"{1.96 * found.standard_error:.4f}  {found.trials} scenes in "
                f"{time.process_time() - began:.2f} s"
            )
    print(f"\nin a plane, two sources, {in_plane} trials")
    for name, noises in (("exact", EXACT), ("printed", PRINTED)):
        for epsilon, (factor, least, medoid) in noises.items():
            print(
                f"{name} noise, epsilon {epsilon:2d}, elsewhere least heat {least} medoid "
                f"{medoid}: {plane(20, 10, 0.02, factor, in_plane)}",
                flush=True,
            )


if __name__ == "__main__":
    main()
