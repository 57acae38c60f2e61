"""The promise in words: the numbers in it are exact, and nobody is told too much."""

import re
from dataclasses import replace

import pytest
from scipy.special import ndtr

from edge.records import Grid
from gateway.commands.promise import in_words
from recovery.thermal import Query, plan

LINE = Query(Grid((100, 1), 0), (50,), 0.05, (1, 1))
ROOM = Query(Grid((80, 1), 250), (50,), 4.0, (8, 1), protect_distance_m=0.5, walls="insulated")


def _said(query: Query) -> str:
    return " ".join(in_words(query, plan(query, []).guarantee))


def test_the_chance_is_that_of_the_best_test() -> None:
    """At (1, 1e-5) the noise is 3.7306 sensitivities wide, so the best test wins Phi(1/7.4612)."""
    chance = float(ndtr(1 / (2 * 3.7306)))

    assert f"away {chance:.0%} of the time" in _said(LINE)


def test_distances_have_the_unit_of_the_room() -> None:
    """Half a metre was asked for, and four times as far is told with it."""
    near, far = re.findall(r"from one ([\d.]+ m) away", _said(ROOM))

    assert (near, far) == ("0.5 m", "2 m")


@pytest.mark.parametrize("epsilon", [(1, 10), (1, 1), (8, 1), (50, 1)])
def test_more_epsilon_is_never_told_as_more_hidden(epsilon: tuple[int, int]) -> None:
    """The words must rank promises as the mathematics does, and never say certainty."""
    words = _said(replace(LINE, epsilon=epsilon))
    shares = [int(share) for share in re.findall(r"(\d+)% of the time", words)]

    assert 50 <= shares[0] <= shares[1] <= 99
    assert f"epsilon {'1/10' if epsilon[1] == 10 else epsilon[0]}, delta 1/100000" in words


def test_what_is_not_protected_is_always_said() -> None:
    """The last sentence is the first that a reviewer looks for."""
    assert in_words(LINE, plan(LINE, []).guarantee)[-1].startswith("Not protected: ")
