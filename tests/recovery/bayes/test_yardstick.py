"""The least average distance, against what is known of it without any posterior."""

import itertools

import numpy as np
import pytest

from physics.kernel import forward
from recovery.bayes.exact import exact_posterior, scores
from recovery.bayes.line import median, shares
from recovery.bayes.yardstick import bayes_yardstick, regret
from recovery.distance import earth_movers

PLACES = np.arange(1, 101)[:, None] / 100
PAPER = forward(PLACES[:, 0], np.arange(1, 51) / 50, 0.05)
# Found elsewhere with 100 trials, at the noise the paper prints for delta 1/10: by sigma, for
# one to four sources; 95 % half-widths of up to 0.007.
ELSEWHERE = {
    0.686: (0.041, 0.045, 0.053, 0.051),
    0.172: (0.010, 0.015, 0.026, 0.029),
    0.069: (0.003, 0.007, 0.016, 0.021),
}


@pytest.mark.parametrize("sigma", ELSEWHERE)
@pytest.mark.parametrize("sources", [1, 2, 3, 4])
def test_the_yardstick_is_what_was_found_elsewhere(sigma: float, sources: int) -> None:
    """The paper's line, epsilon 1, 4 and 10, in the scenes' own scatter."""
    found = bayes_yardstick(PAPER, sigma, sources, None, PLACES)

    elsewhere = ELSEWHERE[sigma][sources - 1]
    assert found.distance == pytest.approx(elsewhere, abs=0.1 * elsewhere + 0.003)
    assert 0 < found.standard_error < 0.002


def test_readings_of_noise_alone_leave_the_best_guess() -> None:
    """With hopeless noise nothing is known: the median over all pairs, by counting them."""
    pairs = np.array(list(itertools.combinations(range(12), 2)))
    places = np.arange(12.0)[:, None]
    upto = np.array([[np.mean(pair <= cell) for cell in range(11)] for pair in pairs])
    guess = np.abs(upto - np.median(upto, axis=0)).sum(axis=1).mean()
    operator = forward(places[:, 0], places[:, 0], 1.0)

    found = bayes_yardstick(operator, 1e6, 2, 5, places)

    assert found.distance == pytest.approx(guess, abs=1e-4)
    assert found.standard_error < 1e-4


def realised(number: int, sigma: float, by_mean: bool) -> tuple[float, float]:
    """The average distance of the median map, or of the mean measure, over fresh scenes."""
    world = np.random.default_rng(7)
    distances = []
    for _ in range(300):
        heat = np.zeros(100)
        heat[world.choice(100, number, replace=False)] = 1
        readings = PAPER @ heat + sigma * world.normal(size=50)
        exact = exact_posterior(scores(PAPER, readings, sigma, 1.0), number, number)
        share = exact.present / number if by_mean else np.diff(median(shares(exact)), prepend=0)
        distances.append(earth_movers(share, heat, normalise=True))
    return float(np.mean(distances)), float(np.std(distances) / 300**0.5)


@pytest.mark.long
def test_the_median_map_reaches_it_and_the_mean_measure_does_not() -> None:
    """On scenes of another sequence, by the distance itself to what was really there."""
    yardstick = bayes_yardstick(PAPER, 0.686, 2, 300, PLACES)

    mean, error = realised(2, 0.686, by_mean=False)
    rival, rival_error = realised(2, 0.686, by_mean=True)

    assert abs(regret(mean, yardstick)) < 3 * np.hypot(error, yardstick.standard_error)
    assert regret(rival, yardstick) > 3 * np.hypot(rival_error, yardstick.standard_error)


@pytest.mark.parametrize(("sources", "trials"), [(1, 1), (0, 10), ((0, 2), 10)])
def test_no_mean_of_one_and_no_map_of_nothing(sources: int | tuple[int, int], trials: int) -> None:
    """What has no standard error or no distance is refused."""
    with pytest.raises(ValueError, match="at least 2 scenes"):
        bayes_yardstick(PAPER, 1.0, sources, trials, PLACES)
