"""Peers that answer locally: frequency oracles, and equal local privacy."""

import math
from itertools import combinations, product

import cvxpy
import numpy as np
import pytest

from edge.core.records import Grid, Guarantee, Round
from physics.crowds.disk import count_many
from recovery.disk.channel import channel_of
from recovery.disk.round import make_round
from recovery.peers import frequency_oracles
from recovery.peers.local_privacy import (
    distances,
    local_privacy,
    mix_channels,
    pair_channels,
    worst_log_ratio,
)
from recovery.peers.mdsw import Split, compute_matrix, estimate, make_queries
from recovery.peers.sem_geo_i import (
    anchors,
    compute_least_privacy,
    find_exponent,
    run_em,
    sample_privacy,
    sum_local_privacy,
)
from recovery.peers.sem_geo_i import worst_log_ratio as set_ratio
from recovery.simplex import project_to_total

# Two measures of how much an answer tells, that must not be taken for each other.


def some_channel(answers: int, cells: int, seed: int = 0) -> np.ndarray:
    matrix = np.random.default_rng(seed).random((answers, cells)) + 0.01
    return matrix / matrix.sum(axis=0)


def test_the_worst_ratio_sees_what_the_mean_does_not() -> None:
    """An answer that one cell alone can give hardly moves the mean; it gives that cell away."""
    matrix, away = np.full((4, 4), 0.25), distances(2, 2)
    told = np.vstack([matrix * (1 - 1e-6), np.full(4, 1e-6)])
    told[:4, 0], told[4, 0] = 0.25, 0.0

    assert local_privacy(told, away) == pytest.approx(local_privacy(matrix, away), rel=1e-4)
    assert worst_log_ratio(matrix) == 0
    assert worst_log_ratio(told) == math.inf


def test_two_answers_tell_more_than_one_of_two() -> None:
    """The ratios of two answers add; of one of two, the larger counts."""
    one, two, away = some_channel(4, 6, 2), some_channel(5, 6, 3), distances(3, 2)

    assert worst_log_ratio(mix_channels(one, two)) == pytest.approx(
        max(worst_log_ratio(one), worst_log_ratio(two))
    )
    assert (
        worst_log_ratio(pair_channels(one, two))
        <= worst_log_ratio(one) + worst_log_ratio(two) + 1e-12
    )
    mean = (local_privacy(one, away) + local_privacy(two, away)) / 2
    assert local_privacy(mix_channels(one, two), away) == pytest.approx(mean)
    assert local_privacy(pair_channels(one, two), away) < min(
        local_privacy(one, away), local_privacy(two, away)
    )


# The square wave along each axis, as two one-row rounds of the disk.


PROMISE = Guarantee((7, 2), None, (49, 8), "cells", "local", "report", "presence")


def rounds(grid: Grid, epsilon: tuple[int, int], split: Split = "users") -> list[Round]:
    return [make_round(query, 1, PROMISE) for query in make_queries(grid, epsilon, split)]


def test_the_chances_are_the_printed_ones() -> None:
    """p = e^epsilon / ((2b + 1) e^epsilon + d - 1) inside, p / e^epsilon outside."""
    across, _ = rounds(Grid((15, 15), 0), (7, 2))
    channel = channel_of(across).matrix()
    b, rise = across.params[0], math.exp(3.5)
    p = rise / ((2 * b + 1) * rise + 14)

    assert channel.max() == pytest.approx(p, rel=1e-8)
    assert channel.min() == pytest.approx(p / rise, rel=1e-8)


@pytest.mark.parametrize("split", ["users", "budget"])
def test_a_user_is_promised_epsilon_whatever_is_split(split: Split) -> None:
    """Both ways keep epsilon over all that a user answers; half of it each, twice, is all."""
    grid, epsilon = Grid((6, 5), 0), (7, 2)
    across, down = (channel_of(round) for round in rounds(grid, epsilon, split))
    whole = compute_matrix(across, down, split)

    assert worst_log_ratio(whole) == pytest.approx(3.5, abs=1e-6)
    assert worst_log_ratio(whole) <= 3.5
    assert local_privacy(whole, distances(6, 5)) < local_privacy(
        np.full((1, 30), 1.0), distances(6, 5)
    )


@pytest.mark.long
@pytest.mark.parametrize("name", ["em", "ems", "auto"])
def test_what_hangs_on_both_axes_is_lost_and_nothing_else(name: str) -> None:
    """A product comes back; a diagonal comes back as the product of its shadows."""
    grid = Grid((5, 4), 0)
    across, down = rounds(grid, (5, 1))
    world = np.random.default_rng(1)
    x, y = np.array([0.1, 0.4, 0.2, 0.2, 0.1]), np.array([0.5, 0.1, 0.2, 0.2])
    product = (np.outer(y, x) * 200_000).round().astype(int)
    diagonal = np.zeros((4, 5), int)
    diagonal[range(4), range(4)] = 50_000

    def seen(users: np.ndarray) -> np.ndarray:
        columns = count_many(across, users.sum(axis=0)[None, :], world)
        rows = count_many(down, users.sum(axis=1)[None, :], world)
        return estimate(channel_of(across), columns, channel_of(down), rows, 5.0, name).mass

    near = 0.5 if name == "ems" else 0.05  # which smooths, on lines of five cells
    assert seen(product).shape == (4, 5)
    assert np.abs(seen(product) - product / product.sum()).sum() < near
    shadows = np.outer(np.full(4, 1 / 4), [1 / 4] * 4 + [0])
    assert np.abs(seen(diagonal) - shadows).sum() < near
    assert np.abs(seen(diagonal) - diagonal / diagonal.sum()).sum() > 1


# k-RR and OUE: unbiased before they are projected, and as private as they say.

TRUTH = np.array([0.5, 0.25, 0.125, 0.0, 0.0625, 0.0625])


def test_krr_gives_the_truth_of_expected_counts() -> None:
    """The channel's own expectation must come back to the last digit."""
    stays, errs = frequency_oracles.krr_chances(6, 1.4)
    counts = (errs + (stays - errs) * TRUTH) * 1000

    assert frequency_oracles.estimate_krr(counts, 1.4) == pytest.approx(TRUTH, abs=1e-12)
    assert np.abs(frequency_oracles.estimate_krr(counts, 1.5) - TRUTH).max() > 0.01


def test_oue_gives_the_truth_of_expected_counts() -> None:
    """Two bits differ between cells; both chances must be taken off."""
    q = 1 / (math.exp(1.4) + 1)
    counts = 1000 * (TRUTH * 0.5 + (1 - TRUTH) * q)

    assert frequency_oracles.estimate_oue(counts, 1000, 1.4) == pytest.approx(TRUTH, abs=1e-12)


@pytest.mark.parametrize(("columns", "rows"), [(3, 2), (1, 1), (4, 1)])
@pytest.mark.parametrize("epsilon", [0.3, 1.4, 5.0])
def test_local_privacy_of_bits_is_that_of_all_strings(
    columns: int, rows: int, epsilon: float
) -> None:
    """One sum over sizes instead of 2^n strings; here all of them are written out."""
    away, cells = distances(columns, rows), columns * rows
    stays, errs = frequency_oracles.oue_chances(epsilon)
    matrix = np.array(
        [
            [
                math.prod(
                    (stays if bit else 1 - stays) if at == own else (errs if bit else 1 - errs)
                    for at, bit in enumerate(bits)
                )
                for own in range(cells)
            ]
            for bits in product((0, 1), repeat=cells)
        ]
    )

    assert frequency_oracles.local_privacy(away, epsilon) == pytest.approx(
        local_privacy(matrix, away)
    )


def norm_sub(values: np.ndarray) -> np.ndarray:
    """The procedure as it is told: zero what is negative, share the surplus, begin again."""
    shares, kept = values.copy(), np.ones(len(values), bool)
    while True:
        shares[kept] -= (shares[kept].sum() - 1) / kept.sum()
        shares[~kept] = 0
        below = kept & (shares < 0)
        if not below.any():
            return shares
        kept &= ~below


@pytest.mark.parametrize("seed", range(5))
def test_it_is_the_nearest_one(seed: int) -> None:
    """Against a solver of quadratic programs, which clipping and dividing does not match."""
    values = np.random.default_rng(seed).normal(0.1, 0.4, 12)
    share = cvxpy.Variable(12, nonneg=True)
    cvxpy.Problem(
        cvxpy.Minimize(cvxpy.sum_squares(share - values)), [cvxpy.sum(share) == 1]
    ).solve(solver=cvxpy.CLARABEL)
    clipped = np.maximum(values, 0)

    assert project_to_total(values) == pytest.approx(share.value, abs=1e-5)
    assert project_to_total(values) == pytest.approx(norm_sub(values), abs=1e-12)
    assert np.abs(clipped / clipped.sum() - project_to_total(values)).max() > 1e-3


# SEM-Geo-I without its table of sets: held against the table where it can be written.

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

        assert sum_local_privacy(away, exponent, size) == pytest.approx(whole)
        assert sample_privacy(away, exponent, size) == pytest.approx(whole, abs=0.03)

    milder = sample_privacy(away, 0.7, size)
    assert milder != pytest.approx(sum_local_privacy(away, 1.0, size), abs=0.03)


@pytest.mark.parametrize("size", [2, 3, 5])
def test_no_exponent_comes_below_the_least(size: int) -> None:
    """The floor of the module, reached at an exponent where only neighbours matter no more."""
    away = distances(4, 4) if size < 5 else AWAY
    whole = local_privacy(all_sets(away, size, 60.0)[1], away)

    assert whole == pytest.approx(compute_least_privacy(away, size))
    assert find_exponent(away, compute_least_privacy(away, size) * 0.99, size) is None


def test_calibration_finds_the_exponent_it_began_with() -> None:
    """Over all sets the very number comes back; sampled, one that is as private."""
    away = distances(6, 6)
    target = sample_privacy(away, 0.9, 5)
    found = find_exponent(away, target, 5)

    assert find_exponent(away, sum_local_privacy(away, 0.9, 2), 2) == pytest.approx(0.9, rel=1e-6)
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

    fit = run_em(np.repeat(sets, times, axis=0), anchors(AWAY, 0.7), gain=-1.0, steps_max=40)

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
    assert between_neighbours(0.5) <= 1.0
