"""How badly a map fits: the chi-square of every outcome that there may be, by its chance."""

import itertools
import math

import numpy as np
import pytest

from edge.records import Grid
from recovery.disk import Query, plan
from recovery.disk.average_map import misfit
from recovery.disk.channel import Channel, channel_of


def line(cells: int, epsilon: tuple[int, int]) -> Channel:
    """As many answers as cells."""
    planned = plan(Query(Grid((cells, 1), 0), epsilon, scheme="krr"), [])
    assert planned is not None
    return channel_of(planned)


@pytest.mark.parametrize("reports", [1, 2, 5])
@pytest.mark.parametrize("cells", [2, 4])
def test_its_mean_is_nought_and_its_variance_one(cells: int, reports: int) -> None:
    """However few the answers are: enumerated, with the multinomial's chances."""
    channel = line(cells, (2, 1))
    mass = np.arange(1.0, cells + 1)[None, :] ** 2
    mass /= mass.sum()
    law = channel.forward(mass).ravel()
    first = second = whole = 0.0
    for found in itertools.product(range(reports + 1), repeat=cells):
        if sum(found) != reports:
            continue
        ways = math.factorial(reports) / math.prod(math.factorial(one) for one in found)
        chance = ways * float(np.prod(law ** np.array(found)))
        off = misfit(channel, np.array(found, dtype=float)[None, :], mass)
        first, second, whole = first + chance * off, second + chance * off**2, whole + chance

    assert whole == pytest.approx(1)
    assert first == pytest.approx(0, abs=1e-9)
    assert second == pytest.approx(1)


def test_one_answer_to_an_even_law_says_nothing() -> None:
    """Its chi-square is the same wherever it fell; and so with one place, or with no answers."""
    channel = line(5, (1, 1))
    even = np.full((1, 5), 0.2)

    assert misfit(channel, np.eye(5)[2:3], even) == 0
    assert misfit(channel, 0.4 * np.eye(5)[2:3], even) == 0
    assert misfit(channel, np.zeros((1, 5)), even) == 0
    assert misfit(line(1, (1, 1)), np.full((1, 1), 9), np.ones((1, 1))) == 0
    assert misfit(channel, 100 * np.eye(5)[2:3], even) > 10
