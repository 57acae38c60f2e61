"""Crowded cells against every cell and every weight that there may be, one by one."""

import math

import numpy as np
import pytest
import scipy.integrate

from edge.records import Grid
from recovery.disk import Query, plan
from recovery.disk.average_map import averaged
from recovery.disk.channel import Channel, channel_of
from recovery.disk.crowded_map import crowded
from recovery.disk.em import em, even, gain_of, log_likelihood


def disk(shape: tuple[int, int], epsilon: tuple[int, int], radius: int | None = 1) -> Channel:
    planned = plan(Query(Grid(shape, 1000), epsilon, radius=radius), [])
    assert planned is not None
    return channel_of(planned)


def answered(law: np.ndarray, reports: int, seed: int) -> np.ndarray:
    drawn = np.random.default_rng(seed).multinomial(reports, (law / law.sum()).ravel())
    return np.asarray(drawn.reshape(law.shape), dtype=np.float64)


def alone(channel: Channel) -> list[np.ndarray]:
    """The law of each cell."""
    shape = channel.rows * channel.columns, channel.rows, channel.columns
    return [channel.forward(one) for one in np.eye(shape[0]).reshape(shape)]


@pytest.mark.parametrize("seed", [1, 2, 7])
def test_one_cell_is_as_sure_as_the_sum_over_all_cells_says(seed: int) -> None:
    """Of few people, who may stand in another: evidence, place, spread, all by quadrature."""
    channel = disk((5, 4), (2, 1))
    ground, each = channel.forward(even(channel)), alone(channel)
    counts = answered((ground + each[7]) / 2, 40, seed)
    found = crowded(channel, counts, even(channel))
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
    channel = disk((5, 4), (2, 1))
    each = [channel.forward(even(channel)), *(alone(channel)[cell] for cell in (7, 13))]
    counts = answered(np.tensordot([0.5, 0.3, 0.2], each, 1), 3_000, 2)
    found = crowded(channel, counts, even(channel))

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
    channel = disk((10, 10), epsilon, None)
    counts = answered(channel.forward(even(channel)), reports, seed)
    most = em(channel, counts, gain=1e-3).log_likelihood
    found = crowded(channel, counts, even(channel))
    sd = averaged(channel, counts, gain_of(epsilon[0] / epsilon[1])).sd

    assert len(set(found.cells)) == len(found.cells)
    assert found.evidence <= most
    assert sd is not None
    assert sd.max() <= 0.5
