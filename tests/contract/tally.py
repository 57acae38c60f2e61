"""A mechanism of the least that a record may hold: counts of places, with noise at the gateway.

`python -m tests.contract.tally WORDS` runs `heatveil WORDS` where it stands in the table.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from edge.core.noise import dlaplace
from edge.core.records import Grid, Guarantee, Reading, Release, Round
from gateway import mechanisms
from gateway.mechanisms.record import Mechanism
from recovery.fields import describe
from recovery.maps.heatmap import Heatmap, Unresolved
from recovery.noise import Ratio, check_ratio

NAME = "tally"


@dataclass(frozen=True)
class Query:
    """How many devices are in each cell."""

    grid: Grid = field(metadata=describe("Cells, NxM.", flag="cells", example="4x3"))
    epsilon: Ratio = field(metadata=describe("A ratio.", flag="epsilon", example="1/1"))
    readings: int = 1
    floor: int = field(
        default=0, metadata=describe("Counts below it are taken for none.", low=0, map_only=True)
    )

    def __post_init__(self) -> None:
        if check_ratio(self.epsilon, "epsilon") > 64:
            raise ValueError("epsilon is above 64, where nothing is hidden. Take less")


def plan(query: Query, releases: Sequence[Any]) -> Round | None:
    """Return the next Round."""
    one = Fraction(*query.epsilon) / query.readings
    promise = Guarantee(
        epsilon=query.epsilon,
        delta=None,
        rho=(one * one / 2).as_integer_ratio(),
        neighbours="whether one device takes part",
        trust="central: the gateway sees where everybody is",
        unit="one report of a device",
        unprotected="that somebody is there and answers",
    )
    if len(releases) == query.readings:
        return None
    return Round(len(releases) + 1, NAME, query.grid, one.as_integer_ratio(), promise)


def report(round: Round, reading: Reading, rng: Any) -> list[int]:
    """Return the cell as it is: the gateway is trusted."""
    x, y = reading.values
    return [reading.sensor, y * round.grid.shape[0] + x]


def release(round: Round, payloads: Any, rng: Any) -> Release:
    """Return the noised counts."""
    counts = [0] * (round.grid.shape[0] * round.grid.shape[1])
    for _, cell in payloads:
        counts[cell] += 1
    num, den = round.params
    return Release(round, [one + dlaplace(den, num, rng) for one in counts], sum(counts))


def recover(query: Query, releases: Sequence[Release]) -> Heatmap | Unresolved:
    """Return the shares of what is above the floor."""
    counts = np.sum([one.values for one in releases], axis=0)
    kept = np.where(counts > query.floor, counts, 0).reshape(query.grid.shape[::-1])
    promised = releases[0].round.guarantee
    if not kept.sum():
        return Unresolved(query.grid, promised, float("inf"), float("inf"), "nobody answered")
    return Heatmap(query.grid, kept / kept.sum(), promised, float(kept.sum()), "optimal", "counts")


MECHANISM = Mechanism(
    *(NAME, plan, report, release, recover),
    trust="central",
    reads="place",
    query=Query,
    bits=lambda round: 16,
)


def join() -> None:
    """Add it to the table."""
    mechanisms.register_mechanism(MECHANISM, "how many people are in each cell")


if __name__ == "__main__":
    join()
    from gateway.cli import main

    main(sys.argv[1:])
