"""Two measures of how much an answer tells, that must not be taken for each other."""

import math

import numpy as np
import pytest

from recovery.peers import frequency_oracles
from recovery.peers.local_privacy import (
    blind,
    both,
    distances,
    either,
    local_privacy,
    worst_log_ratio,
)


def some_channel(answers: int, cells: int, seed: int = 0) -> np.ndarray:
    matrix = np.random.default_rng(seed).random((answers, cells)) + 0.01
    return matrix / matrix.sum(axis=0)


def test_distances_are_between_centres() -> None:
    """Cells are counted row by row, x fastest."""
    away = distances(3, 2)

    assert away[0, 2] == 2
    assert away[0, 3] == 1
    assert away[2, 3] == pytest.approx(math.sqrt(5))


def test_it_is_the_mean_error_of_a_guess() -> None:
    """Users, answers and guesses are drawn one by one, as the definition tells it."""
    matrix, away = some_channel(7, 6), distances(3, 2)
    world = np.random.default_rng(1)
    errors = []
    for answer_law in (matrix.T[cell] for cell in world.integers(6, size=1)):
        assert answer_law.sum() == pytest.approx(1)
    cells = world.integers(6, size=60_000)
    for cell in range(6):
        answers = world.choice(7, size=np.count_nonzero(cells == cell), p=matrix[:, cell])
        for answer in range(7):
            odds = matrix[answer] / matrix[answer].sum()
            guesses = world.choice(6, size=np.count_nonzero(answers == answer), p=odds)
            errors.extend(away[cell, guesses])

    drawn = np.array(errors)
    exact = local_privacy(matrix, away)
    assert drawn.mean() == pytest.approx(exact, abs=4 * drawn.std() / math.sqrt(len(drawn)))


def test_saying_nothing_is_the_most_and_saying_all_is_nought() -> None:
    """Between those two lies every mechanism."""
    away = distances(4, 4)

    assert local_privacy(np.full((5, 16), 0.2), away) == pytest.approx(blind(away))
    assert local_privacy(np.eye(16), away) == pytest.approx(0)
    assert 0 < local_privacy(frequency_oracles.matrix(16, 2.0), away) < blind(away)


def test_randomised_response_has_a_closed_form() -> None:
    """By hand: (2 p q + (n - 2) q^2) times the mean distance times n."""
    away, (p, q) = distances(4, 4), frequency_oracles.krr_chances(16, 2.0)
    by_hand = (2 * p * q + 14 * q * q) * away.sum() / 16

    assert local_privacy(frequency_oracles.matrix(16, 2.0), away) == pytest.approx(by_hand)


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

    assert worst_log_ratio(either(one, two)) == pytest.approx(
        max(worst_log_ratio(one), worst_log_ratio(two))
    )
    assert worst_log_ratio(both(one, two)) <= worst_log_ratio(one) + worst_log_ratio(two) + 1e-12
    mean = (local_privacy(one, away) + local_privacy(two, away)) / 2
    assert local_privacy(either(one, two), away) == pytest.approx(mean)
    assert local_privacy(both(one, two), away) < min(
        local_privacy(one, away), local_privacy(two, away)
    )


def test_what_is_no_channel_is_refused() -> None:
    """A transposed matrix has columns that do not add to one."""
    for matrix in (some_channel(7, 6).T, -np.eye(3), np.zeros((0, 0)), np.ones(3)):
        with pytest.raises(ValueError, match="is not one"):
            worst_log_ratio(matrix)
    with pytest.raises(ValueError, match="of the same grid"):
        local_privacy(np.eye(4), distances(3, 1))
