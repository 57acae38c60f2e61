"""SEM-Geo-I without its table of sets: held against the table where it can be written."""

import math
from itertools import combinations

import numpy as np
import pytest

from physics.crowds.sem_geo_i import report_many
from recovery.peers.local_privacy import distances, worst_log_ratio
from recovery.peers.sem_geo_i import anchors, em, strict_exponent
from recovery.peers.sem_geo_i import worst_log_ratio as set_ratio

AWAY = distances(3, 2)


def all_sets(away: np.ndarray, size: int, exponent: float) -> tuple[np.ndarray, np.ndarray]:
    """Return every set, and the channel over them by the definition, (sets, cells)."""
    sets = np.array(list(combinations(range(len(away)), size)))
    weights = np.exp(-exponent * away)[:, sets].sum(axis=2).T
    return sets, weights / weights.sum(axis=0)


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


def test_em_gains_and_stops() -> None:
    """The likelihood never falls, and a step that gains too little is the last."""
    table = anchors(distances(5, 4), 0.8)
    cells = np.random.default_rng(1).integers(0, 7, 3000)
    sets = report_many(table, cells, 2, np.random.default_rng(2))

    found = [em(sets, table, gain=gain) for gain in (30.0, 1.0, 1e-2)]

    assert [fit.status for fit in found] == ["optimal"] * 3
    assert found[0].log_likelihood < found[1].log_likelihood < found[2].log_likelihood
    assert found[2].mass[:7].sum() > 0.9


def test_em_finds_where_users_are() -> None:
    """Ten thousand answers in pairs; an even map would be off by half."""
    table = anchors(AWAY, 1.5)
    truth = np.array([0.6, 0.2, 0.0, 0.0, 0.1, 0.1])
    world = np.random.default_rng(3)
    sets = report_many(table, world.choice(6, 20_000, p=truth), 2, world)

    assert np.abs(em(sets, table, gain=1e-3).mass - truth).sum() < 0.08


@pytest.mark.parametrize("size", [1, 2, 3, 5, 6])
@pytest.mark.parametrize("exponent", [0.3, 2.0])
def test_the_worst_ratio_is_that_of_every_set(size: int, exponent: float) -> None:
    """All sets and all pairs of cells, against a search that lists none."""
    _, channel = all_sets(AWAY, size, exponent)

    assert set_ratio(anchors(AWAY, exponent), size) == pytest.approx(worst_log_ratio(channel))


def test_a_ratio_beyond_floats_is_infinite() -> None:
    """Nought over nought would be a warning and no answer."""
    assert set_ratio(anchors(distances(15, 15), 60.0), 2) == math.inf
    assert set_ratio(np.ones((1, 1)), 1) == 0
    with pytest.raises(ValueError, match="1 to 6"):
        set_ratio(anchors(AWAY, 1.0), 7)


def test_the_exponent_is_exceeded_at_the_border_and_half_of_it_is_not() -> None:
    """One cell apart an exponent of 1 gives more than 1; at half of it, not more."""
    away = distances(9, 9)

    def between_neighbours(exponent: float) -> float:
        table = np.log(anchors(away, exponent))
        return max(float(np.max(table[u] - table[v])) for u, v in np.argwhere(away == 1))

    assert between_neighbours(1.0) > 1.2
    assert between_neighbours(strict_exponent(1.0)) <= 1.0


def test_sets_that_are_none_are_refused() -> None:
    """Doubled cells, cells of another grid, no answers."""
    table = anchors(AWAY, 1.0)
    for sets in ([[0, 0]], [[0, 6]], [[-1, 2]], np.zeros((0, 2), int), [0, 1], [[0.0, 1.0]]):
        with pytest.raises(ValueError, match="different whole numbers"):
            em(sets, table)
    with pytest.raises(ValueError, match="nought or more"):
        anchors(AWAY, -1.0)
