"""How near maps are with the wave and its reach, beside the disk and the printed radius.

Run it: `python tests/bench/bench_wave.py [--sides 5,10,15,20] [--epsilons 0.7,1.4,3.5,5]
[--runs 20] [--estimator printed|auto] [--unseen] [file of points ...]`. W2 in cells between the
map and the shares of the points, exact; each run draws its own points, the same ones for every
scheme, and its own answers. Beside each disk stands by how much the wave is nearer, in hundredths
of W2, with 95 % of the mean over runs, paired: `+` where it is sure, `-` where the wave is
farther, and `.` where neither is. "best disk" is DAM-NS at the radius that is best on this very
table, which nobody can know beforehand. `--unseen` takes sets that nothing was chosen with.
Nothing is asserted.
"""

import argparse
import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from edge.records import Grid
from physics.crowds.disk import count_many
from physics.points import histogram
from recovery.disk import Query, promise
from recovery.disk.channel import Channel, channel_of
from recovery.disk.em import gain_of
from recovery.disk.estimators import estimate
from recovery.disk.query import radius_of
from recovery.disk.round import disk_round
from recovery.distance import wasserstein2

Floats = NDArray[np.float64]
STEPS_MAX = 10_000


def printed(channel: Channel, counts: Floats, epsilon: float) -> Floats:
    """Return the printed method's maps of many counts at once, (maps, rows, columns).

    It is `recovery.disk.em.em` with `gain_of`, by one product of matrices a step for all maps.
    """
    law = channel.matrix()[channel.support.ravel()]
    left = counts.reshape(len(counts), -1).T[channel.support.ravel()]
    maps = np.full((law.shape[1], len(counts)), 1 / law.shape[1])
    going = np.arange(len(counts))
    likely = law @ maps
    worth = (left * np.log(likely)).sum(axis=0)
    for _ in range(STEPS_MAX):
        after = maps[:, going] * (law.T @ (left / likely))
        maps[:, going] = after / after.sum(axis=0)
        likely = law @ maps[:, going]
        before, worth = worth, (left * np.log(likely)).sum(axis=0)
        on = worth - before >= gain_of(epsilon)
        if not on.any():
            break
        going, left, likely, worth = going[on], left[:, on], likely[:, on], worth[on]
    return maps.T.reshape(-1, channel.rows, channel.columns)


def wrong(people: Floats, query: Query, estimator: str, seed: int) -> Floats:
    """Return W2 of each run's map, in cells."""
    made = disk_round(query, 1, promise(query))
    channel, world = channel_of(made), np.random.default_rng([seed, 11])
    counts = np.array([count_many(made, each, world) for each in people], dtype=np.float64)
    epsilon = query.epsilon[0] / query.epsilon[1]
    if estimator == "printed":
        maps = printed(channel, counts, epsilon)
    else:
        maps = np.array([estimate(estimator, channel, one, epsilon).mass for one in counts])
    side = max(people.shape[1:])
    pairs = zip(maps, people, strict=True)
    return np.array([side * wasserstein2(a, b, normalise=True) for a, b in pairs])


def gain(wave: Floats, disk: Floats) -> str:
    """Return by how many hundredths the wave is nearer, and whether that is sure."""
    paired = 100 * (disk - wave) / disk.mean()
    mean, half = float(paired.mean()), 1.96 * float(paired.std(ddof=1)) / math.sqrt(len(paired))
    sure = "." if abs(mean) <= half else "+" if mean > 0 else "-"
    return f"{disk.mean():7.3f} {mean:+6.1f} ±{half:4.1f} {sure}"


def compared(side: int, epsilon: Fraction, given: argparse.Namespace) -> list[Floats]:
    """Print one setting; return the logarithms of W2: wave, DAM, DAM-NS, best disk."""
    grid, ratio = Grid((side, side), 0), epsilon.as_integer_ratio()

    def asked(scheme: str, radius: float | None = None) -> Query:
        return Query(grid, ratio, scheme=scheme, radius=radius)  # type: ignore[arg-type]

    reach, disk = radius_of(asked("wave")), int(radius_of(asked("dam")))
    shown = {
        "wave": asked("wave"),
        "DAM": asked("dam"),
        "DAM-NS": asked("dam-ns"),
    }
    others = [r for r in range(disk + 1) if r != disk] if given.best else []
    print(f"\n{side} x {side}, epsilon {float(epsilon):g}: wave {reach:g}, printed {disk}")
    print(f"{'':10}{'wave':>7}" + "".join(f"{name:>23}" for name in list(shown)[1:]), end="")
    print(f"{'best disk':>23}" if given.best else "")
    logs: list[list[Floats]] = []
    # Found beside this file, where it is run.
    from point_sets import UNSEEN, sets

    known = UNSEEN if given.unseen else sets(given.files)
    for nth, (name, (points, n)) in enumerate(known.items()):
        world = np.random.default_rng([nth, side])
        people = np.array([histogram(points(n, world), grid) for _ in range(given.runs)])
        seed = 1000 * nth + side
        found = [wrong(people, q, given.estimator, seed + i) for i, q in enumerate(shown.values())]
        if given.best:
            tried = [wrong(people, asked("dam-ns", r), given.estimator, seed + 9) for r in others]
            found.append(min([*tried, found[2]], key=np.mean))
        row = "  ".join(gain(found[0], other) for other in found[1:])
        print(f"{name:10}{found[0].mean():7.3f} {row}", flush=True)
        logs.append([np.log(one) for one in found])
    means = [np.mean([row[i] for row in logs], axis=0) for i in range(len(logs[0]))]
    row = "  ".join(gain_of_logs(means[0], other) for other in means[1:])
    print(f"{'geometric':10}{math.exp(means[0].mean()):7.3f} {row}", flush=True)
    return means


def gain_of_logs(wave: Floats, disk: Floats) -> str:
    """Return the gain of geometric means over the sets; runs are paired."""
    return gain(np.exp(wave), np.exp(disk))


def main() -> None:
    """Print every setting."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--sides", default="5,10,15")
    parser.add_argument("--epsilons", default="1.4,3.5,5")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument(
        "--estimator", choices=("printed", "em", "ems", "map", "auto"), default="printed"
    )
    parser.add_argument("--best", action="store_true", help="try every radius of the disk, too")
    parser.add_argument("--unseen", action="store_true", help="sets that nothing was chosen with")
    parser.add_argument("files", nargs="*", help="files of points on the unit square")
    given = parser.parse_args()
    for side in map(int, given.sides.split(",")):
        for epsilon in map(Fraction, given.epsilons.split(",")):
            compared(side, epsilon, given)


if __name__ == "__main__":
    main()
