"""The median map: nothing that can be written down is nearer on average."""

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog

from physics.kernel import forward
from recovery.bayes.exact import Exact, Scores, compute_exact_posterior, compute_scores, list_sets
from recovery.bayes.line import (
    compute_expected_distance,
    compute_median,
    compute_share_posterior,
    draw_curves,
    find_band,
    find_band_of_draws,
)
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
    exact = compute_exact_posterior(compute_scores(operator, readings, sigma, 1.0), fewest, most)
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
    found = compute_share_posterior(exact)
    cumulative = compute_median(found)

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

    assert compute_expected_distance(found, cumulative, PLACES) == pytest.approx(least, abs=1e-9)
    # And it is what the distance itself comes to, set by set.
    heat = np.diff(cumulative, prepend=0)
    mean = sum(
        chance * earth_movers(heat, heat_of(one), positions=PLACES, normalise=True)
        for one, chance in zip(sets, chances, strict=True)
    )
    assert mean == pytest.approx(least, abs=1e-9)


def test_the_shares_are_those_of_the_sets() -> None:
    """The chance of each share in each cell, counted set by set; without the empty one."""
    exact, sets, chances = posterior(0.3, 0, 4)
    found = compute_share_posterior(exact)
    expected = np.zeros_like(found.chances)
    for one, chance in zip(sets, chances, strict=True):
        if one:
            upto = np.cumsum(heat_of(one))
            places = np.abs(found.values[:, None] - upto).argmin(axis=0)
            expected[places, np.arange(CELLS)] += chance / (1 - chances[0])

    assert found.chances == pytest.approx(expected, abs=1e-10)
    assert found.values == pytest.approx([0, 1 / 4, 1 / 3, 1 / 2, 2 / 3, 3 / 4, 1])


# The band of whole curves: it holds what it says, in the posterior and in the world.


MANY = 30
ALONG = np.arange(1, MANY + 1) / MANY
OPERATOR = forward(ALONG, np.arange(1, 16) / 15, 0.05)


def seen(
    trial: int, number: int, sigma: float, fewest: int, most: int
) -> tuple[Scores, Exact, np.ndarray]:
    """What decides, the posterior and the true cumulative share of one scene."""
    world = np.random.default_rng([trial, number])
    heat = np.zeros(MANY)
    heat[world.choice(MANY, number, replace=False)] = 1
    readings = OPERATOR @ heat + sigma * world.normal(size=15)
    found = compute_scores(OPERATOR, readings, sigma, 1.0)
    return found, compute_exact_posterior(found, fewest, most), np.cumsum(heat) / number


def chance_within(found: Scores, low: np.ndarray, high: np.ndarray, most: int) -> float:
    """The posterior's chance that the whole curve is in the band, set by set."""
    every = list_sets(found, 1, most)
    heat = np.zeros((len(every.sets), MANY + 1))
    np.put_along_axis(heat, every.sets, 1.0, axis=1)
    heat = heat[:, :MANY]
    curves = np.cumsum(heat, axis=1) / heat.sum(axis=1, keepdims=True)
    within = ((low - 1e-9 <= curves) & (curves <= high + 1e-9)).all(axis=1)
    return float(every.chances[within].sum())


@pytest.mark.parametrize("sigma", [2.0, 0.7, 0.3])
@pytest.mark.parametrize("level", [0.5, 0.9])
def test_the_posterior_has_that_chance(sigma: float, level: float) -> None:
    """By weighing every set by itself: the chance that is stated, on average over scenes."""
    chances = []
    for trial in range(8):
        found, exact, _ = seen(trial, 2, sigma, 1, 4)
        made = find_band(compute_share_posterior(exact), draw_curves(found, exact), level)
        chances.append(chance_within(found, made.low, made.high, 4))
        assert (made.low <= compute_median(compute_share_posterior(exact)) + 1e-9).all()
        assert (compute_median(compute_share_posterior(exact)) <= made.high + 1e-9).all()

    assert np.mean(chances) == pytest.approx(level, abs=0.035)
    assert np.ptp(chances) < 0.15


@pytest.mark.parametrize("number", [1, 2, 3, 4])
@pytest.mark.parametrize("sigma", [2.0, 0.1])
def test_the_curves_stand_for_the_posterior(number: int, sigma: float) -> None:
    """Their cells are as likely as the posterior's, and so is whether two come together."""
    found, exact, _ = seen(1, number, sigma, number, number)

    curves = draw_curves(found, exact)

    steps = np.diff(curves, axis=1, prepend=0) * number
    assert steps.sum(axis=1) == pytest.approx(np.full(len(curves), number))
    assert np.abs(np.cumsum(steps.mean(axis=0) - exact.present)).max() < 0.05 * number
    if number > 1:
        every = list_sets(found, number, number)
        first_and_last = every.chances @ (every.sets[:, -1] - every.sets[:, 0])
        there = np.array([np.flatnonzero(step > 0.5)[[0, -1]] for step in steps])
        assert (there[:, 1] - there[:, 0]).mean() == pytest.approx(first_and_last, abs=0.7)


def depths(curves: np.ndarray, inside: np.ndarray) -> np.ndarray:
    """How many of these are as low, or as high, at the worst cell; by counting one by one."""
    lower = [[np.sum(curves[:, c] <= v + 1e-9) for c, v in enumerate(one)] for one in inside]
    upper = [[np.sum(curves[:, c] >= v - 1e-9) for c, v in enumerate(one)] for one in inside]
    return np.minimum(lower, upper).min(axis=1)


@pytest.mark.parametrize("level", [0.5, 0.9])
@pytest.mark.parametrize("ties", [True, False])
def test_draws_that_are_deep_are_within_and_the_band_is_no_wider(level: float, ties: bool) -> None:
    """Counting by hand: as many others, but copies of itself, on either side of each draw."""
    world = np.random.default_rng(5)
    steps = world.dirichlet(np.full(12, 0.3), 200)
    if ties:
        steps = world.multinomial(3, np.full(12, 1 / 12), 200) / 3
    curves = np.minimum(np.cumsum(steps, axis=1), 1)
    curves[:, -1] = 1

    made = find_band_of_draws(curves, level)

    copies = np.array([(np.abs(curves - one) < 1e-9).all(axis=1).sum() for one in curves])
    found = depths(curves, curves) - copies
    shares = {d: np.mean(found >= d) for d in np.unique(found)}
    nearest = min(shares, key=lambda d: (abs(shares[d] - level), d))
    within = ((made.low - 1e-9 <= curves) & (curves <= made.high + 1e-9)).all(axis=1)
    assert within[found >= nearest].all()
    depth = max(nearest, 1)
    for bound in (made.low, made.high):
        assert depths(curves, bound[None]).min() >= depth
    ranked = np.sort(curves, axis=0)
    assert made.low == pytest.approx(ranked[depth - 1])
    assert made.high == pytest.approx(ranked[len(ranked) - depth])


def test_copies_of_a_draw_are_no_others() -> None:
    """Draws that are all there five times tell no more than they do once."""
    steps = np.random.default_rng(7).dirichlet(np.full(12, 0.3), 60)
    curves = np.minimum(np.cumsum(steps, axis=1), 1)

    once, often = (find_band_of_draws(np.repeat(curves, times, axis=0), 0.7) for times in (1, 5))

    assert often.low == pytest.approx(once.low)
    assert often.high == pytest.approx(once.high)
