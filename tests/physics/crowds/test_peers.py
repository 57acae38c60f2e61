"""Crowds under optimised unary encoding."""

import math
from itertools import combinations, product
from math import exp

import numpy as np
import pytest
from scipy.stats import chisquare

from physics.crowds.peers import count_oue, report_sem_geo_i, risen
from recovery.peers.frequency_oracles import oue_chances
from recovery.peers.local_privacy import distances
from recovery.peers.sem_geo_i import anchors


def test_the_worst_ratio_is_epsilon() -> None:
    """Over all 16 strings of four bits and both cells: e^epsilon exactly, and reached."""
    epsilon, stays, errs = 1.4, 0.5, risen(1.4)

    def chance(bits: tuple[int, ...], own: int) -> float:
        return math.prod(
            (stays if bit else 1 - stays) if cell == own else (errs if bit else 1 - errs)
            for cell, bit in enumerate(bits)
        )

    strings = list(product((0, 1), repeat=4))
    worst = max(chance(bits, 0) / chance(bits, 1) for bits in strings)

    assert sum(chance(bits, 0) for bits in strings) == pytest.approx(1)
    assert math.log(worst) == pytest.approx(epsilon)
    assert oue_chances(epsilon) == pytest.approx((stays, errs))


def test_counts_have_the_law_of_summed_bits() -> None:
    """Mean and spread of every cell over many crowds, against the binomials' own."""
    histogram = np.array([[500, 0], [0, 1500]])
    world = np.random.default_rng(2)
    cells = np.repeat(np.arange(4), histogram.ravel())

    def bits() -> np.ndarray:
        risen_by_chance = world.random((2000, 4)) < risen(2.0)
        risen_by_chance[np.arange(2000), cells] = world.random(2000) < 0.5
        return risen_by_chance

    summed = np.array([bits().sum(axis=0) for _ in range(600)])
    counted = np.array([count_oue(histogram, 2.0, world).ravel() for _ in range(600)])

    q = risen(2.0)
    users = histogram.ravel()
    mean = users / 2 + (2000 - users) * q
    spread = users / 4 + (2000 - users) * q * (1 - q)
    for drawn in (summed, counted):
        assert np.abs(drawn.mean(axis=0) - mean).max() < 4.5 * math.sqrt(spread.max() / 600)
        assert np.abs(drawn.var(axis=0) / spread - 1).max() < 0.25


# Crowds under the subset exponential mechanism: drawn by an anchor, held against every set.


def law(cell: int, size: int, exponent: float) -> dict[tuple[int, ...], float]:
    """Return the chance of every set as it is defined: the sum over its cells, normalised."""
    away = distances(3, 2)[cell]
    weights = {
        chosen: sum(exp(-exponent * away[x]) for x in chosen)
        for chosen in combinations(range(6), size)
    }
    total = sum(weights.values())
    return {chosen: weight / total for chosen, weight in weights.items()}


def likely(answers: np.ndarray, expected: dict[tuple[int, ...], float]) -> float:
    sets, times = np.unique(answers, axis=0, return_counts=True)
    seen = dict(zip(map(tuple, sets.tolist()), times.tolist(), strict=True))
    assert seen.keys() <= expected.keys()
    observed = [seen.get(chosen, 0) for chosen in expected]
    wanted = [chance * len(answers) for chance in expected.values()]
    return float(chisquare(observed, wanted).pvalue)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 6])
@pytest.mark.parametrize("cell", [0, 4])
def test_an_anchor_gives_the_law_of_all_sets(cell: int, size: int) -> None:
    """The shortcut that makes large sets possible must be the mechanism, not one like it."""
    world = np.random.default_rng(1)
    table = anchors(distances(3, 2), 0.9)

    answers = report_sem_geo_i(table, np.full(100_000, cell), size, world)
    milder = report_sem_geo_i(anchors(distances(3, 2), 0.8), np.full(100_000, cell), size, world)

    assert (np.diff(answers, axis=1) > 0).all()
    if size < 6:  # all sets of six are one
        assert likely(answers, law(cell, size, 0.9)) > 1e-3
        assert likely(milder, law(cell, size, 0.9)) < 1e-3 or size == 5
