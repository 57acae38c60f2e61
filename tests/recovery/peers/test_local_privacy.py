"""Two measures of how much an answer tells, that must not be taken for each other."""

import math

import numpy as np
import pytest

from edge.core.records import Grid, Guarantee, Round
from physics.crowds.disk import count_many
from recovery.disk.channel import channel_of
from recovery.disk.query import Query
from recovery.disk.round import disk_round
from recovery.peers.local_privacy import (
    both,
    distances,
    either,
    local_privacy,
    worst_log_ratio,
)
from recovery.peers.mdsw import Split, estimate, matrix, queries


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
    for wrong in (some_channel(7, 6).T, -np.eye(3), np.zeros((0, 0)), np.ones(3)):
        with pytest.raises(ValueError, match="is not one"):
            worst_log_ratio(wrong)
    with pytest.raises(ValueError, match="of the same grid"):
        local_privacy(np.eye(4), distances(3, 1))


# The square wave along each axis, as two one-row rounds of the disk.


PROMISE = Guarantee((7, 2), None, (49, 8), "cells", "local", "report", "presence")


def rounds(grid: Grid, epsilon: tuple[int, int], split: Split = "users") -> list[Round]:
    return [disk_round(query, 1, PROMISE) for query in queries(grid, epsilon, split)]


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
    whole = matrix(across, down, split)

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


def test_a_query_along_a_line_reaches_nowhere_else() -> None:
    """Rows are asked as a line too: one way to count, one way to recover."""
    across, down = queries(Grid((15, 10), 20), (7, 2))

    assert (across.grid, down.grid) == (Grid((15, 1), 20), Grid((10, 1), 20))
    assert isinstance(down, Query)
