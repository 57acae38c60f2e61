"""Crowded cells: that they are found, that their evidence is an integral, their doubt honest."""

import math

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize

from edge.core.records import Grid
from recovery.disk import Query, plan
from recovery.disk.average_map import average
from recovery.disk.channel import Channel, channel_of
from recovery.disk.crowded_map import find_crowded, fit
from recovery.disk.em import em, even, gain_of, log_likelihood


def disk(shape: tuple[int, int], radius: int = 2, epsilon: int = 2) -> Channel:
    planned = plan(Query(Grid(shape, 1000), (epsilon, 1), radius=radius), [])
    assert planned is not None
    return channel_of(planned)


def answered(channel: Channel, mass: np.ndarray, reports: int, seed: int) -> np.ndarray:
    law = channel.forward(mass)
    drawn = np.random.default_rng(seed).multinomial(reports, (law / law.sum()).ravel())
    return np.asarray(drawn.reshape(law.shape), dtype=np.float64)


def crowd(channel: Channel, cells: dict[int, float]) -> np.ndarray:
    """So much in some cells, and the rest even."""
    mass = (1 - sum(cells.values())) * even(channel)
    for cell, share in cells.items():
        mass.flat[cell] += share
    return mass


@pytest.mark.parametrize(
    "cells", [{}, {33: 1.0}, {33: 0.5, 60: 0.5}, {5: 0.3, 6: 0.2, 40: 0.1}, {0: 0.4, 79: 0.1}]
)
def test_it_finds_who_stands_where(cells: dict[int, float]) -> None:
    """Next to each other, in corners, all of the people or some; and nobody where none crowd."""
    channel = disk((10, 8), epsilon=3)
    found = find_crowded(
        channel, answered(channel, crowd(channel, cells), 500_000, 1), even(channel)
    )

    assert set(found.cells) == set(cells)
    assert found.mass == pytest.approx(crowd(channel, cells), abs=0.01)


def test_the_evidence_of_one_cell_is_its_integral() -> None:
    """Over its weight, by quadrature; a cell of N costs ln N, and that there is one ln 4."""
    channel = disk((5, 4), 1)
    counts = answered(channel, crowd(channel, {7: 0.4}), 3_000, 2)
    found = find_crowded(channel, counts, even(channel))
    unit = crowd(channel, {7: 1.0})
    laws = channel.forward(even(channel)), channel.forward(unit)

    def worth(share: float) -> float:
        return log_likelihood(counts, (1 - share) * laws[0] + share * laws[1])

    top = worth(found.weights[1])
    whole, _ = scipy.integrate.quad(lambda share: math.exp(worth(share) - top), 0, 1, points=[0.4])
    assert found.cells == (7,)
    assert found.evidence == pytest.approx(top + math.log(whole / 20 / 4), abs=0.05)


# Crowded cells against every cell and every weight that there may be, one by one.


def small(shape: tuple[int, int], epsilon: tuple[int, int], radius: int | None = 1) -> Channel:
    planned = plan(Query(Grid(shape, 1000), epsilon, radius=radius), [])
    assert planned is not None
    return channel_of(planned)


def counted(law: np.ndarray, reports: int, seed: int) -> np.ndarray:
    drawn = np.random.default_rng(seed).multinomial(reports, (law / law.sum()).ravel())
    return np.asarray(drawn.reshape(law.shape), dtype=np.float64)


def alone(channel: Channel) -> list[np.ndarray]:
    """The law of each cell."""
    shape = channel.rows * channel.columns, channel.rows, channel.columns
    return [channel.forward(one) for one in np.eye(shape[0]).reshape(shape)]


@pytest.mark.parametrize("seed", [1, 2, 7])
def test_one_cell_is_as_sure_as_the_sum_over_all_cells_says(seed: int) -> None:
    """Of few people, who may stand in another: evidence, place, spread, all by quadrature."""
    channel = small((5, 4), (2, 1))
    ground, each = channel.forward(even(channel)), alone(channel)
    counts = counted((ground + each[7]) / 2, 40, seed)
    found = find_crowded(channel, counts, even(channel))
    top = log_likelihood(counts, ground)

    def moment(power: int, law: np.ndarray) -> float:
        """Of the weight of one cell, even beforehand."""

        def worth(weight: float) -> float:
            mixed = log_likelihood(counts, (1 - weight) * ground + weight * law)
            return weight**power * math.exp(mixed - top)

        return float(scipy.integrate.quad(worth, 0, 1)[0])

    zeroth, first, second = (np.array([moment(k, law) for law in each]) for k in range(3))
    whole = zeroth.sum()
    # The share of a cell is (1 - w) / 20 of the ground, and w besides if it is the one.
    mean = (whole - first.sum()) / 20 + first
    square = (whole - 2 * first.sum() + second.sum()) / 400 + (first - second) / 10 + second
    variance = square / whole - (mean / whole) ** 2

    assert len(found.cells) == 1
    assert found.evidence - top == pytest.approx(math.log(whole / 20 / 4), abs=0.1)
    assert found.places[0] == pytest.approx(zeroth / whole, abs=0.1)
    assert found.variances.sum() == pytest.approx(variance.sum(), rel=0.3)


def test_the_evidence_of_two_cells_is_an_integral_over_their_simplex() -> None:
    """Whose even density is two, not one; and which two of twenty costs ln 190."""
    channel = small((5, 4), (2, 1))
    each = [channel.forward(even(channel)), *(alone(channel)[cell] for cell in (7, 13))]
    counts = counted(np.tensordot([0.5, 0.3, 0.2], each, 1), 3_000, 2)
    found = find_crowded(channel, counts, even(channel))

    def worth(one: float, other: float) -> float:
        return log_likelihood(counts, np.tensordot([1 - one - other, one, other], each, 1))

    top = worth(*found.weights[1:])
    whole, _ = scipy.integrate.dblquad(
        lambda other, one: 2 * math.exp(worth(one, other) - top), 0.1, 0.5, 0.05, 0.45, epsrel=1e-3
    )
    assert sorted(found.cells) == [7, 13]
    assert found.evidence == pytest.approx(top + math.log(whole / 190 / 8), abs=0.05)


@pytest.mark.long
@pytest.mark.parametrize("epsilon", [(1, 2), (1, 1)])
@pytest.mark.parametrize("reports", [5, 20])
@pytest.mark.parametrize("seed", range(4))
def test_of_few_answers_there_is_no_more_evidence_than_likelihood(
    epsilon: tuple[int, int], reports: int, seed: int
) -> None:
    """An average over maps is at most their best; a share between nought and one has a sd of half.

    Both hold of whatever there is to know, and a bell wider than the simplex breaks either.
    """
    channel = small((10, 10), epsilon, None)
    counts = counted(channel.forward(even(channel)), reports, seed)
    most = em(channel, counts, gain=1e-3).log_likelihood
    found = find_crowded(channel, counts, even(channel))
    sd = average(channel, counts, gain_of(epsilon[0] / epsilon[1])).sd

    assert len(set(found.cells)) == len(found.cells)
    assert found.evidence <= most
    assert sd is not None
    assert sd.max() <= 0.5


# The likeliest weights of laws: as likely as a slower, other method makes them.


def problem(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Laws that are nearly alike, (answers, laws), and counts drawn of some of them."""
    world = np.random.default_rng(seed)
    laws = world.dirichlet(np.full(40, 3.0), size=count).T + 0.02
    laws /= laws.sum(axis=0)
    weights = np.zeros(count)
    weights[:2] = (0.7, 0.3) if count > 1 else 1.0
    return laws, world.multinomial(5_000, laws @ weights) + 1.0


@pytest.mark.parametrize("count", [1, 2, 5, 9])
@pytest.mark.parametrize("seed", [0, 1])
def test_no_other_weights_are_likelier(count: int, seed: int) -> None:
    """Expectation maximisation, thousands of its steps, gets no higher."""
    laws, counts = problem(count, seed)
    found = fit(laws, counts, np.full(count, 1 / count))
    slow = np.full(count, 1 / count)
    for _ in range(5_000):
        slow *= laws.T @ (counts / (laws @ slow)) / counts.sum()

    def worth(weights: np.ndarray) -> float:
        return float(counts @ np.log(laws @ weights))

    assert found.sum() == pytest.approx(1)
    assert (found >= 0).all()
    assert worth(found) >= worth(slow) - 0.01
    # And what is left out would not be missed: no law has more than its share (Lindsay 1983).
    assert (laws.T @ (counts / (laws @ found)) <= counts.sum() + 0.5).all()
