"""The median map: nothing that can be written down is nearer on average."""

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog

from physics.kernel import forward
from recovery.bayes.exact import Exact, exact_posterior, scores
from recovery.bayes.line import expected_distance, median, quantile, shares
from recovery.distance import earth_movers

CELLS = 9
PLACES = np.cumsum([0.1, 0.3, 0.1, 0.1, 0.2, 0.1, 0.1, 0.4, 0.1])


def posterior(sigma: float, fewest: int, most: int) -> tuple[Exact, list[tuple[int, ...]], list]:
    """An exact posterior, and every set with its chance by brute force."""
    world = np.random.default_rng(most)
    operator = forward(PLACES, np.linspace(0.1, 1.4, 6), 0.05)
    readings = operator[:, [2, 6]].sum(axis=1) + sigma * world.normal(size=6)
    sets, chances = [], []
    for number in range(fewest, most + 1):
        of_number = list(itertools.combinations(range(CELLS), number))
        for one in of_number:
            off = readings - operator[:, list(one)].sum(axis=1)
            sets.append(one)
            chances.append(np.exp(-off @ off / (2 * sigma**2)) / len(of_number))
    exact = exact_posterior(scores(operator, readings, sigma, 1.0), fewest, most)
    return exact, sets, list(np.array(chances) / np.sum(chances))


def heat_of(one: tuple[int, ...]) -> np.ndarray:
    """The map of a set of sources, of total one."""
    return np.bincount(one, minlength=CELLS) / len(one)


@pytest.mark.long
@pytest.mark.parametrize(("fewest", "most"), [(1, 1), (2, 2), (3, 3), (1, 3), (1, 4)])
@pytest.mark.parametrize("sigma", [1.0, 0.3, 0.1])
def test_no_map_has_a_smaller_expected_distance(fewest: int, most: int, sigma: float) -> None:
    """The least over all maps, by a linear program, is what the median reaches."""
    exact, sets, chances = posterior(sigma, fewest, most)
    found = shares(exact)
    cumulative = median(found)

    # min sum over sets and gaps of chance * gap * |F - F_set|, F rising from 0 to 1.
    gaps = np.diff(PLACES)
    truths = np.array([np.cumsum(heat_of(one))[:-1] for one in sets])
    points, count = CELLS - 1, len(sets)
    cost = np.concatenate([np.zeros(points), (np.array(chances)[:, None] * gaps).ravel()])
    tall = np.tile(np.eye(points), (count, 1))
    apart = np.vstack([np.hstack([tall, -np.eye(points * count)])])
    apart = np.vstack([apart, np.hstack([-tall, -np.eye(points * count)])])
    limits = np.concatenate([truths.ravel(), -truths.ravel()])
    rising = np.hstack([-np.diff(np.eye(points), axis=0), np.zeros((points - 1, points * count))])
    least = linprog(
        cost,
        A_ub=np.vstack([apart, rising]),
        b_ub=np.append(limits, np.zeros(points - 1)),
        bounds=[(0, 1)] * points + [(0, None)] * (points * count),
    ).fun

    assert expected_distance(found, cumulative, PLACES) == pytest.approx(least, abs=1e-9)
    # And it is what the distance itself comes to, set by set.
    heat = np.diff(cumulative, prepend=0)
    mean = sum(
        chance * earth_movers(heat, heat_of(one), positions=PLACES, normalise=True)
        for one, chance in zip(sets, chances, strict=True)
    )
    assert mean == pytest.approx(least, abs=1e-9)


def test_another_map_is_farther() -> None:
    """The mean measure, a rival, is not as near where the two differ."""
    exact, _, _ = posterior(1.0, 2, 2)
    found = shares(exact)

    rival = expected_distance(found, np.cumsum(exact.mean_measure), PLACES)

    assert rival > expected_distance(found, median(found), PLACES) * 1.02


def test_the_shares_are_those_of_the_sets() -> None:
    """The chance of each share in each cell, counted set by set; without the empty one."""
    exact, sets, chances = posterior(0.3, 0, 4)
    found = shares(exact)
    expected = np.zeros_like(found.chances)
    for one, chance in zip(sets, chances, strict=True):
        if one:
            upto = np.cumsum(heat_of(one))
            places = np.abs(found.values[:, None] - upto).argmin(axis=0)
            expected[places, np.arange(CELLS)] += chance / (1 - chances[0])

    assert found.chances == pytest.approx(expected, abs=1e-10)
    assert found.values == pytest.approx([0, 1 / 4, 1 / 3, 1 / 2, 2 / 3, 3 / 4, 1])


def test_the_band_leaves_as_much_above_as_below() -> None:
    """Neither side of the band has more than half of what it leaves out, cell by cell."""
    exact, _, _ = posterior(0.3, 1, 4)
    found = shares(exact)

    low, high = quantile(found, 0.05), quantile(found, 0.95)

    below = np.where(found.values[:, None] < low - 1e-12, found.chances, 0).sum(axis=0)
    above = np.where(found.values[:, None] > high + 1e-12, found.chances, 0).sum(axis=0)
    assert below.max() <= 0.05 + 1e-9
    assert above.max() <= 0.05 + 1e-9
    assert (low <= median(found)).all()
    assert (median(found) <= high).all()
    # No wider than need be: the next share inwards would leave out too much.
    upto = np.cumsum(found.chances, axis=0)
    for cell in range(CELLS - 1):
        place = np.abs(found.values - high[cell]).argmin()
        assert place == 0 or upto[place - 1, cell] < 0.95


def test_one_share_is_certain_when_one_set_is() -> None:
    """Hardly any noise: the median is the truth, and the band has no width."""
    exact, _, _ = posterior(0.001, 2, 2)
    found = shares(exact)

    truth = np.cumsum(heat_of((2, 6)))
    assert quantile(found, 0.5) == pytest.approx(truth)
    assert quantile(found, 0.005) == pytest.approx(truth)
    assert expected_distance(found, truth, PLACES) == pytest.approx(0, abs=1e-12)


def test_nothing_has_no_shares() -> None:
    """If there is no source for certain, there is no median of its shares."""
    exact = Exact(np.array([1.0]), (np.zeros((0, 3)),), 0.0)
    with pytest.raises(ValueError, match="Allow one source"):
        shares(exact)
