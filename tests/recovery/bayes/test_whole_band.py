"""The band of whole curves: it holds what it says, in the posterior and in the world."""

import numpy as np
import pytest

from physics.kernel import forward
from recovery.bayes.exact import Exact, Scores, exact_posterior, listed, scores
from recovery.bayes.line import (
    band_of_draws,
    median,
    possible_curves,
    quantile,
    shares,
    whole_band,
)

CELLS = 30
PLACES = np.arange(1, CELLS + 1) / CELLS
OPERATOR = forward(PLACES, np.arange(1, 16) / 15, 0.05)


def seen(
    trial: int, number: int, sigma: float, fewest: int, most: int
) -> tuple[Scores, Exact, np.ndarray]:
    """What decides, the posterior and the true cumulative share of one scene."""
    world = np.random.default_rng([trial, number])
    heat = np.zeros(CELLS)
    heat[world.choice(CELLS, number, replace=False)] = 1
    readings = OPERATOR @ heat + sigma * world.normal(size=15)
    found = scores(OPERATOR, readings, sigma, 1.0)
    return found, exact_posterior(found, fewest, most), np.cumsum(heat) / number


def chance_within(found: Scores, low: np.ndarray, high: np.ndarray, most: int) -> float:
    """The posterior's chance that the whole curve is in the band, set by set."""
    every = listed(found, 1, most)
    heat = np.zeros((len(every.sets), CELLS + 1))
    np.put_along_axis(heat, every.sets, 1.0, axis=1)
    heat = heat[:, :CELLS]
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
        made = whole_band(shares(exact), possible_curves(found, exact), level)
        chances.append(chance_within(found, made.low, made.high, 4))
        assert (made.low <= median(shares(exact)) + 1e-9).all()
        assert (median(shares(exact)) <= made.high + 1e-9).all()

    assert np.mean(chances) == pytest.approx(level, abs=0.035)
    assert np.ptp(chances) < 0.15


def test_points_by_themselves_have_another_chance() -> None:
    """The comparison can fail: the band of single points lets more curves out."""
    chances = []
    for trial in range(5):
        found, exact, _ = seen(trial, 2, 2.0, 1, 4)
        low, high = (quantile(shares(exact), level) for level in (0.05, 0.95))
        chances.append(chance_within(found, low, high, 4))

    assert np.mean(chances) < 0.85


@pytest.mark.long
@pytest.mark.parametrize("sigma", [0.7, 0.1])
def test_the_world_is_within_as_often(sigma: float) -> None:
    """Five hundred scenes of the prior, heavy noise and light: 90 % within a few."""
    within = []
    for trial in range(500):
        found, exact, truth = seen(trial, 1 + trial % 3, sigma, 1, 3)
        made = whole_band(shares(exact), possible_curves(found, exact), 0.9)
        within.append(((made.low <= truth + 1e-9) & (truth <= made.high + 1e-9)).all())

    assert np.mean(within) == pytest.approx(0.9, abs=0.03)


@pytest.mark.parametrize("number", [1, 2, 3, 4])
@pytest.mark.parametrize("sigma", [2.0, 0.1])
def test_the_curves_stand_for_the_posterior(number: int, sigma: float) -> None:
    """Their cells are as likely as the posterior's, and so is whether two come together."""
    found, exact, _ = seen(1, number, sigma, number, number)

    curves = possible_curves(found, exact)

    steps = np.diff(curves, axis=1, prepend=0) * number
    assert steps.sum(axis=1) == pytest.approx(np.full(len(curves), number))
    assert np.abs(np.cumsum(steps.mean(axis=0) - exact.present)).max() < 0.05 * number
    if number > 1:
        every = listed(found, number, number)
        first_and_last = every.chances @ (every.sets[:, -1] - every.sets[:, 0])
        there = np.array([np.flatnonzero(step > 0.5)[[0, -1]] for step in steps])
        assert (there[:, 1] - there[:, 0]).mean() == pytest.approx(first_and_last, abs=0.7)


def test_furniture_stays_empty() -> None:
    """No curve rises in a closed cell."""
    allowed = np.arange(CELLS) % 3 > 0
    found, _, _ = seen(2, 3, 0.5, 1, 4)
    exact = exact_posterior(found, 1, 4, allowed)

    curves = possible_curves(found, exact, allowed)

    assert np.diff(curves, axis=1, prepend=0)[:, ~allowed].max() == 0


def depths(curves: np.ndarray, inside: np.ndarray) -> np.ndarray:
    """How many of these are as low, or as high, at the worst cell; by counting one by one."""
    lower = [[np.sum(curves[:, c] <= v + 1e-9) for c, v in enumerate(one)] for one in inside]
    upper = [[np.sum(curves[:, c] >= v - 1e-9) for c, v in enumerate(one)] for one in inside]
    return np.minimum(lower, upper).min(axis=1)


@pytest.mark.parametrize("level", [0.5, 0.9])
@pytest.mark.parametrize("ties", [True, False])
def test_draws_that_are_deep_are_within_and_the_band_is_no_wider(level: float, ties: bool) -> None:
    """Counting by hand: every draw of the level's share, and one draw more on either side."""
    world = np.random.default_rng(5)
    steps = world.dirichlet(np.full(12, 0.3), 200)
    if ties:
        steps = world.multinomial(3, np.full(12, 1 / 12), 200) / 3
    curves = np.minimum(np.cumsum(steps, axis=1), 1)
    curves[:, -1] = 1

    made = band_of_draws(curves, level)

    found = depths(curves, curves)
    shares = {d: np.mean(found >= d) for d in np.unique(found)}
    nearest = min(shares, key=lambda d: (abs(shares[d] - level), d))
    within = ((made.low - 1e-9 <= curves) & (curves <= made.high + 1e-9)).all(axis=1)
    assert within[found >= nearest].all()
    for bound in (made.low, made.high):
        assert depths(curves, bound[None]).min() >= max(nearest - 1, 1)
    ranked = np.sort(curves, axis=0)
    assert made.low == pytest.approx(ranked[max(nearest - 1, 1) - 1])
    assert made.high == pytest.approx(ranked[len(ranked) - max(nearest - 1, 1)])


@pytest.mark.long
def test_a_fresh_curve_is_within_as_often_as_draws_are_few() -> None:
    """Fifty draws of a law that anybody can draw from, and one more: nine in ten, not eight."""
    world = np.random.default_rng(6)
    within, bare = [], []
    for _ in range(1500):
        steps = world.dirichlet(np.full(6, 0.5), 101)
        curves = np.minimum(np.cumsum(steps, axis=1), 1)
        curves[:, -1] = 1
        made = band_of_draws(curves[1:], 0.9)
        within.append(((made.low <= curves[0]) & (curves[0] <= made.high)).all())
        most = np.sort(depths(curves[1:], curves[1:]))[10] if len(bare) < 300 else None
        if most is not None:
            ranked = np.sort(curves[1:], axis=0)
            low, high = ranked[most - 1], ranked[len(ranked) - most]
            bare.append(((low <= curves[0]) & (curves[0] <= high)).all())

    assert np.mean(within) == pytest.approx(0.9, abs=0.03)
    # Negative control: who counts the draws alone is out more often.
    assert np.mean(bare) < 0.87


@pytest.mark.parametrize("level", [0.1, 0.4, 0.9])
def test_draws_that_agree_have_a_band_without_width(level: float) -> None:
    """Whatever the level: a band of one curve is that curve, not everything."""
    truth = np.array([0, 0.5, 0.5, 1.0])

    made = band_of_draws(np.tile(truth, (40, 1)), level)

    assert made.low == pytest.approx(truth)
    assert made.high == pytest.approx(truth)


@pytest.mark.parametrize("level", [0.1, 0.4, 0.9])
def test_one_certain_curve_has_a_band_without_width(level: float) -> None:
    """Where only one set is possible, it is the band."""
    found, exact, truth = seen(0, 2, 0.001, 2, 2)

    made = whole_band(shares(exact), possible_curves(found, exact), level)

    assert made.low == pytest.approx(truth)
    assert made.high == pytest.approx(truth)


def test_few_curves_of_many_posteriors_stand_for_all_of_them() -> None:
    """Three curves each, begun elsewhere each: together they have the tails that one has not."""
    found, exact, _ = seen(1, 3, 2.0, 3, 3)
    begins = np.arange(1, 101) * (5**0.5 - 1) / 2 % 1

    curves = np.vstack([possible_curves(found, exact, None, 3, begin) for begin in begins])
    same = np.vstack([possible_curves(found, exact, None, 3) for _ in begins])

    upto = np.cumsum(exact.present) / 3
    assert np.abs(curves.mean(axis=0) - upto).max() < 0.02
    spread = [np.cumsum(exact.orders[3][r]) for r in range(3)]
    for r, chance in enumerate(spread):
        reached = (curves > (r + 0.5) / 3).mean(axis=0)
        assert np.abs(reached - chance).max() < 0.05
    # Negative control: all begun alike they know no tails.
    assert len(np.unique(same, axis=0)) < 0.2 * len(np.unique(curves, axis=0))
