"""The paper's own settings, the whole path: noise in whole numbers, and maps as they come.

100 cells, 50 sensors, spread 0.05, delta 1/10, unit sources in random cells, the printed
noise and the printed radius. Where that radius leaves no heat at all (a third of the runs)
the map is of the heat that comes nearest: the rule of the estimator "l1-printed".
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chi2

from edge.entropy import Tape
from edge.records import Grid, Reading
from edge.thermal import Params
from gateway.mechanisms import named, play
from physics.sensors import grains
from recovery.distance import earth_movers
from recovery.thermal import Query, operator

PAPER = Query(
    Grid((100, 1), 0), (50,), 0.05, (1, 1), (1, 10), calibration="paper", estimator="l1-printed"
)
# Mean earth mover's distance for one to four sources, each of 100 other trials elsewhere.
TABLE = {
    1: (0.080, 0.133, 0.136, 0.126),
    4: (0.029, 0.080, 0.090, 0.091),
    10: (0.014, 0.061, 0.074, 0.080),
}
TABLE_TRIALS = 100
TRIALS = 60


def distances(
    query: Query,
    sources: int,
    seen: Callable = lambda mass: mass,
    cells: Sequence[int] | None = None,
) -> np.ndarray:
    """The earth mover's distances of many trials; the same scenes and tapes every time."""
    world = np.random.default_rng(sources)
    found = []
    for trial in range(TRIALS):
        heat = np.zeros(100)
        heat[world.choice(100, sources, replace=False) if cells is None else cells] = 1
        warmth = operator(query) @ heat

        def readings(planned, warmth=warmth):
            values = grains(warmth, Params(*planned.params).exponent)
            return [Reading(sensor, (value,)) for sensor, value in enumerate(values)]

        rng = Tape(b"%d sources, trial %d" % (sources, trial))
        mass = play(named("thermal"), query, readings, rng).mass
        found.append(earth_movers(seen(mass), heat[None], normalise=True))
    return np.array(found)


def agrees(found: dict[tuple[int, int], np.ndarray]) -> bool:
    """Whether all means together lie within the table's and their own joint 95 % interval.

    The sum of squared deviations, each in units of its standard error, is chi-square.
    """
    squares = [
        (trials.mean() - TABLE[epsilon][sources - 1]) ** 2
        / (trials.var() * (1 / TRIALS + 1 / TABLE_TRIALS))
        for (epsilon, sources), trials in found.items()
    ]
    return sum(squares) < chi2.ppf(0.95, len(squares))


@pytest.mark.long
def test_the_papers_distances_are_reproduced() -> None:
    """Three epsilons and one to four sources, all twelve at once."""
    found = {
        (epsilon, sources): distances(replace(PAPER, epsilon=(epsilon, 1)), sources)
        for epsilon in TABLE
        for sources in (1, 2, 3, 4)
    }

    assert agrees(found)


@pytest.mark.parametrize(
    ("spread", "sources", "cells", "distance"),
    [
        (0.05, 1, [49], 0.0624),
        (0.05, 4, None, 0.1229),
        (0.5, 1, [49], 0.1183),
        (0.5, 4, None, 0.1983),
    ],
)
def test_a_longer_spread_is_reproduced_too(
    spread: float, sources: int, cells: list[int] | None, distance: float
) -> None:
    """Epsilon 1, the source in the middle as in the paper's figures, or four anywhere.

    The numbers are means of 400 trials elsewhere, by the same rule of the nearest heat.
    """
    found = distances(replace(PAPER, spread_m2=spread), sources, cells=cells)

    deviation = found.std() * math.sqrt(1 / TRIALS + 1 / 400)
    assert abs(found.mean() - distance) < 2.5 * deviation  # 95 in a hundred for all four


def test_twice_the_noise_would_not_pass_for_the_papers() -> None:
    """The control: half of every epsilon is twice the noise."""
    found = {(epsilon, 1): distances(replace(PAPER, epsilon=(epsilon, 2)), 1) for epsilon in TABLE}

    assert not agrees(found)


def test_a_map_five_cells_off_would_not_pass_for_the_papers() -> None:
    """The control: an operator or a distance that counts cells from elsewhere."""

    def pushed(mass: np.ndarray) -> np.ndarray:
        moved = np.pad(mass, ((0, 0), (5, 0)))
        moved[:, 99] = moved[:, 99:].sum(axis=1)  # what would leave the room stops at its end
        return moved[:, :100]

    found = {(10, 1): distances(replace(PAPER, epsilon=(10, 1)), 1, pushed)}

    assert not agrees(found)
