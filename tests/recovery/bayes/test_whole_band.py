"""The band of whole curves: it holds what it says, in the posterior and in the world."""

import itertools

import numpy as np
import pytest

from physics.kernel import forward
from recovery.bayes.enumerate import Exact, Scores, exact_posterior, scores
from recovery.bayes.listed import listed
from recovery.bayes.median import band, median, shares
from recovery.bayes.whole_band import possible_curves, shares_of, whole_band

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
        made = band(shares(exact), 0.9)
        chances.append(chance_within(found, made.low, made.high, 4))

    assert np.mean(chances) < 0.85


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


def test_curves_have_the_shares_that_are_counted() -> None:
    """Any curves will do: the chances by cell are how often each share occurs."""
    sets = list(itertools.combinations(range(5), 2))
    curves = np.array([np.cumsum(np.bincount(one, minlength=5)) / 2 for one in sets])

    made = shares_of(curves)

    assert made.values == pytest.approx([0, 0.5, 1])
    for place, value in enumerate(made.values):
        assert made.chances[place] == pytest.approx((curves == value).mean(axis=0))


def test_one_certain_curve_has_a_band_without_width() -> None:
    """Where only one set is possible, it is the band."""
    found, exact, truth = seen(0, 2, 0.001, 2, 2)

    made = whole_band(shares(exact), possible_curves(found, exact), 0.9)

    assert made.low == pytest.approx(truth)
    assert made.high == pytest.approx(truth)
