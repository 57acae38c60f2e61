"""SEM-Geo-I without its table of sets: held against the table where it can be written."""

import math
from itertools import combinations

import numpy as np
import pytest

from recovery.peers.local_privacy import distances, local_privacy, worst_log_ratio
from recovery.peers.sem_geo_i import (
    anchors,
    em,
    exact,
    exponent_for,
    least,
    sample_privacy,
    strict_exponent,
)
from recovery.peers.sem_geo_i import worst_log_ratio as set_ratio

# SEM-Geo-I at the privacy of another mechanism, where there is such an exponent.

AWAY = distances(3, 2)


def all_sets(away: np.ndarray, size: int, exponent: float) -> tuple[np.ndarray, np.ndarray]:
    """Return every set, and the channel over them by the definition, (sets, cells)."""
    sets = np.array(list(combinations(range(len(away)), size)))
    weights = np.exp(-exponent * away)[:, sets].sum(axis=2).T
    return sets, weights / weights.sum(axis=0)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_sampled_privacy_is_that_of_every_set(size: int) -> None:
    """Three thousand draws of one fixed sequence, against the table of all sets."""
    away = distances(5, 5)
    for exponent in (0.2, 1.0, 3.0):
        whole = local_privacy(all_sets(away, size, exponent)[1], away)

        assert exact(away, exponent, size) == pytest.approx(whole)
        assert sample_privacy(away, exponent, size) == pytest.approx(whole, abs=0.03)

    milder = sample_privacy(away, 0.7, size)
    assert milder != pytest.approx(exact(away, 1.0, size), abs=0.03)


@pytest.mark.parametrize("size", [2, 3, 5])
def test_no_exponent_comes_below_the_least(size: int) -> None:
    """The floor of the module, reached at an exponent where only neighbours matter no more."""
    away = distances(4, 4) if size < 5 else AWAY
    whole = local_privacy(all_sets(away, size, 60.0)[1], away)

    assert whole == pytest.approx(least(away, size))
    assert exponent_for(away, least(away, size) * 0.99, size) is None


def test_calibration_finds_the_exponent_it_began_with() -> None:
    """Over all sets the very number comes back; sampled, one that is as private."""
    away = distances(6, 6)
    target = sample_privacy(away, 0.9, 5)
    found = exponent_for(away, target, 5)

    assert exponent_for(away, exact(away, 0.9, 2), 2) == pytest.approx(0.9, rel=1e-6)
    assert found == pytest.approx(0.9, rel=0.02)
    assert sample_privacy(away, found, 5) == pytest.approx(target, abs=2e-3)


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_em_is_that_of_the_whole_table(size: int) -> None:
    """The dense method over C(n, k) rows, from the same start, to the same digits."""
    sets, channel = all_sets(AWAY, size, 0.7)
    times = np.random.default_rng(size).integers(0, 60, len(sets))
    mass = np.full(6, 1 / 6)
    for _ in range(40):
        law = channel @ mass
        mass = mass * (channel.T @ (times / law)) / times.sum()

    fit = em(np.repeat(sets, times, axis=0), anchors(AWAY, 0.7), gain=-1.0, steps_max=40)

    assert fit.mass == pytest.approx(mass, rel=1e-9)
    assert fit.steps == 40
    assert "still gaining" in fit.status
    constant = times.sum() * math.log(math.comb(5, size - 1))
    before = channel @ (mass / mass.sum())
    assert fit.log_likelihood - constant <= times @ np.log(before) + 1e-6


@pytest.mark.parametrize("size", [1, 2, 3, 5, 6])
@pytest.mark.parametrize("exponent", [0.3, 2.0])
def test_the_worst_ratio_is_that_of_every_set(size: int, exponent: float) -> None:
    """All sets and all pairs of cells, against a search that lists none."""
    _, channel = all_sets(AWAY, size, exponent)

    assert set_ratio(anchors(AWAY, exponent), size) == pytest.approx(worst_log_ratio(channel))


def test_the_exponent_is_exceeded_at_the_border_and_half_of_it_is_not() -> None:
    """One cell apart an exponent of 1 gives more than 1; at half of it, not more."""
    away = distances(9, 9)

    def between_neighbours(exponent: float) -> float:
        table = np.log(anchors(away, exponent))
        return max(float(np.max(table[u] - table[v])) for u, v in np.argwhere(away == 1))

    assert between_neighbours(1.0) > 1.2
    assert between_neighbours(strict_exponent(1.0)) <= 1.0
