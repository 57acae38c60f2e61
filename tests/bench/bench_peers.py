"""Every mechanism of the disk's comparison on the same points, with what each really promises.

Run it: `python tests/bench/bench_peers.py [--runs N] [--sides 5,15] [--epsilons 1.4,3.5,5]
[--data normal,szipf,mnormal] [--only NAMES]`; all of it takes some minutes of a processor.

A row is one mechanism at one setting: W2 between the users' map and the estimate, in cells, mean
and 95 % half width over the runs; local privacy in cells (how far off a guess by the answer is);
the worst log-ratio, which is the epsilon that holds between any two cells; and the processor
seconds of one recovery. The points stay, what devices draw changes from run to run. Above each
block stands what the map that looks at no data scores, and what an answer that tells nothing
leaves. Nothing is asserted.

What it said when it was written, of 20 runs; "printed" is expectation maximisation, "em":
  - On 5 x 5 cells mechanisms that know no distance beat dam printed: OUE at 1.4, k-RR at 3.5.
  - On 15 x 15 dam beats both on the two normal sets at all three epsilons, and there MDSW too;
    on the skewed set, whose axes are independent, MDSW beats dam printed (0.24 to 0.51 at 3.5).
    With auto they are as good as each other there.
  - dam-ns is as good as dam or better, to within the spread.
  - What the map is drawn with weighs more than the footprint: auto takes a fifth to three fifths
    off dam's error on 15 x 15, and k-RR with auto is nearer there than dam printed from 3.5 on.
  - At dam's local privacy SEM-Geo-I of pairs is the nearest at 5 on the normal sets (0.09 to
    dam's 0.24 printed, 0.09 with auto), with a log-ratio of 59 for 5. At dam's epsilon it is
    twice as far off as dam on the normal sets, and nearer than dam printed on the skewed one.

sem-geo-i is not local: it is made to have the disk's local privacy, and pays with its log-ratio.
sem-geo-i (1) is the same with sets of one cell, and sem-geo-i local the same at the exponent at
which it is local after all.
"""

import argparse
import math
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from edge.records import Grid
from physics.crowds import disk, peers
from physics.points import cells_of, mnormal, normal, szipf
from recovery.disk import promise
from recovery.disk.channel import Channel, channel_of
from recovery.disk.em import gain_of
from recovery.disk.estimators import estimate
from recovery.disk.query import Query
from recovery.disk.round import disk_round
from recovery.distance import wasserstein2
from recovery.peers import frequency_oracles as krr_peer
from recovery.peers import frequency_oracles as oue_peer
from recovery.peers import mdsw as mdsw_peer
from recovery.peers import sem_geo_i as sem_calibration
from recovery.peers import sem_geo_i as sem_peer
from recovery.peers import sem_geo_i as sem_privacy
from recovery.peers.local_privacy import blind, distances, local_privacy, worst_log_ratio

DATA = {"normal": (normal, 300_000), "szipf": (szipf, 100_000), "mnormal": (mnormal, 300_000)}
# Of the disk's kin: the shape of the footprint, and the estimator.
DISKS = (
    ("dam", "em"),
    ("dam", "ems"),
    ("dam", "auto"),
    ("dam-ns", "em"),
    ("dam-ns", "auto"),
    ("area", "em"),
    ("huem", "em"),
    ("wave", "em"),
    ("wave", "auto"),
    ("krr", "auto"),
)
Crowd = Callable[[np.ndarray, np.random.Generator], object]
Recover = Callable[[object], np.ndarray]


class Mechanism(NamedTuple):
    """One way to ask and to recover, and what it promises."""

    name: str
    crowd: Crowd  # (rows, columns) users -> what is answered
    recover: Recover  # -> (rows, columns), of total one
    privacy: float  # local privacy, in cells
    ratio: float  # the worst log-ratio


def a_disk(side: int, epsilon: Fraction, scheme: str, name: str, away: np.ndarray) -> Mechanism:
    """The disk mechanism in one of its shapes, with one of its estimators."""
    query = Query(Grid((side, side), 0), epsilon.as_integer_ratio(), scheme=scheme)
    round = disk_round(query, 1, promise(query))
    channel = channel_of(round)
    matrix = answered(channel)
    return Mechanism(
        f"{scheme} {name}",
        lambda users, world: disk.count_many(round, users, world),
        lambda counts: estimate(name, channel, counts, float(epsilon)).mass,
        local_privacy(matrix, away),
        worst_log_ratio(matrix),
    )


def a_krr(side: int, epsilon: Fraction, away: np.ndarray) -> Mechanism:
    """Randomised response: a disk of reach 0, unbiased shares, projected."""
    query = Query(Grid((side, side), 0), epsilon.as_integer_ratio(), scheme="krr")
    round = disk_round(query, 1, promise(query))
    matrix = answered(channel_of(round))
    log_ratio = math.log(round.params[2] / round.params[1])
    return Mechanism(
        "k-rr",
        lambda users, world: disk.count_many(round, users, world),
        lambda counts: krr_peer.estimate_krr(counts, log_ratio),
        local_privacy(matrix, away),
        worst_log_ratio(matrix),
    )


def an_oue(epsilon: Fraction, away: np.ndarray) -> Mechanism:
    """One bit a cell, unbiased shares, projected."""
    one = float(epsilon)
    return Mechanism(
        "oue",
        lambda users, world: (peers.count_oue(users, one, world), int(users.sum())),
        lambda seen: oue_peer.estimate_oue(seen[0], seen[1], one),
        oue_peer.local_privacy(away, one),
        one,
    )


def an_mdsw(
    side: int, epsilon: Fraction, split: mdsw_peer.Split, name: str, away: np.ndarray
) -> Mechanism:
    """A square wave along each axis, and the product of the two lines."""
    asked = mdsw_peer.queries(Grid((side, side), 0), epsilon.as_integer_ratio(), split)
    rounds = [disk_round(query, 1, promise(query)) for query in asked]
    across, down = (channel_of(round) for round in rounds)
    share = mdsw_peer.share(epsilon.as_integer_ratio(), split)

    def crowd(users: np.ndarray, world: np.random.Generator) -> list[np.ndarray]:
        first = world.binomial(users, 0.5) if split == "users" else users
        second = users - first if split == "users" else users
        sums = first.sum(axis=0), second.sum(axis=1)
        return [
            disk.count_many(round, line[None, :], world)
            for round, line in zip(rounds, sums, strict=True)
        ]

    def recover(seen: list[np.ndarray]) -> np.ndarray:
        one = share[0] / share[1]
        return mdsw_peer.estimate(across, seen[0], down, seen[1], one, name).mass

    matrix = mdsw_peer.matrix(across, down, split)
    matrix = matrix[matrix.any(axis=1)]
    return Mechanism(
        f"mdsw {split} {name}",
        crowd,
        recover,
        local_privacy(matrix, away),
        worst_log_ratio(matrix),
    )


def a_sem(side: int, epsilon: float, name: str, size: int, exponent: float) -> Mechanism:
    """Sets of so many cells."""
    away = distances(side, side)
    table = sem_peer.anchors(away, exponent)

    def crowd(users: np.ndarray, world: np.random.Generator) -> np.ndarray:
        cells = np.repeat(np.arange(users.size), users.ravel())
        return peers.report_sem_geo_i(table, cells, size, world)

    return Mechanism(
        name,
        crowd,
        lambda sets: sem_peer.em(sets, table, gain=gain_of(epsilon)).mass.reshape(side, side),
        sem_privacy.local_privacy(away, exponent, size),
        sem_peer.worst_log_ratio(table, size),
    )


def sems(side: int, epsilon: float, target: float, away: np.ndarray) -> Iterator[Mechanism]:
    """At the disk's local privacy, in the largest sets and in single cells; and at its epsilon."""
    size, exponent = sem_calibration.size_for(away, target, epsilon)
    yield a_sem(side, epsilon, f"sem-geo-i ({size})", size, exponent)
    if size > 1:
        alone = sem_calibration.exponent_for(away, target, 1)
        if alone is not None:
            yield a_sem(side, epsilon, "sem-geo-i (1)", 1, alone)
    strict = sem_calibration.exponent_at_worst(away, epsilon, 1)
    yield a_sem(side, epsilon, "sem-geo-i local", 1, strict)


def answered(channel: Channel) -> np.ndarray:
    """The channel over the places that are ever answered."""
    return channel.matrix()[channel.support.ravel()]


def mechanisms(side: int, epsilon: Fraction, only: set[str]) -> Iterator[Mechanism]:
    """All of them; those of one group are made only if it is wanted."""
    away = distances(side, side)
    target = a_disk(side, epsilon, "dam", "em", away).privacy
    if not only or "disk" in only:
        for scheme, name in DISKS:
            yield a_disk(side, epsilon, scheme, name, away)
    if not only or "bits" in only:
        yield a_krr(side, epsilon, away)
        yield an_oue(epsilon, away)
    if not only or "mdsw" in only:
        yield an_mdsw(side, epsilon, "users", "em", away)
        yield an_mdsw(side, epsilon, "users", "auto", away)
        yield an_mdsw(side, epsilon, "budget", "em", away)
    if not only or "sem" in only:
        yield from sems(side, float(epsilon), target, away)


def scored(mechanism: Mechanism, users: np.ndarray, runs: int) -> str:
    """One row."""
    far, spent = [], 0.0
    for run in range(runs):
        answers = mechanism.crowd(users, np.random.default_rng([run, 8]))
        begun = time.process_time()
        found = mechanism.recover(answers)
        spent += time.process_time() - begun
        far.append(wasserstein2(users / users.sum(), found) * max(users.shape))
    half = 1.96 * float(np.std(far, ddof=1)) / math.sqrt(runs) if runs > 1 else math.nan
    return (
        f"  {mechanism.name:16} {np.mean(far):6.3f} ±{half:6.3f}"
        f"   privacy {mechanism.privacy:5.2f}   log-ratio {mechanism.ratio:6.2f}"
        f"   {spent / runs:7.3f} s"
    )


def main() -> None:
    """Print the table."""
    given = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    given.add_argument("--runs", type=int, default=20)
    given.add_argument("--sides", default="5,15")
    given.add_argument("--epsilons", default="1.4,3.5,5")
    given.add_argument("--data", default=",".join(DATA))
    given.add_argument("--only", default="", help="disk, bits, mdsw, sem, with commas")
    asked = given.parse_args()
    only = set(asked.only.split(",")) - {""}
    for side in map(int, asked.sides.split(",")):
        grid, even = Grid((side, side), 0), np.full((side, side), side**-2)
        away = distances(side, side)
        for epsilon in map(Fraction, asked.epsilons.split(",")):
            ways = list(mechanisms(side, epsilon, only))
            for name in asked.data.split(","):
                draw, count = DATA[name]
                cells = cells_of(draw(count, np.random.default_rng([0, 3])), grid)
                users = np.bincount(cells, minlength=side**2).reshape(side, side)
                blindly = wasserstein2(users / count, even) * side
                print(
                    f"{name}, d = {side}, epsilon {float(epsilon):g}: an even map "
                    f"{blindly:.3f}, an answer that tells nothing {blind(away):.2f}",
                    flush=True,
                )
                for way in ways:
                    print(scored(way, users, asked.runs), flush=True)


if __name__ == "__main__":
    main()
