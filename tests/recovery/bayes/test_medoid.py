"""A posterior's map: its middle and digits, how far off it says it is, how often that holds."""

import itertools
from dataclasses import dataclass

import numpy as np
import ot
import pytest
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from physics.kernel import forward
from recovery.bayes.chain import compute_cumulative_shares, estimate_from_draws, sample_posterior
from recovery.bayes.exact import compute_scores, list_sets
from recovery.bayes.medoid import find_medoid, find_plans
from recovery.bayes.moves import compute_log_mass
from recovery.bayes.yardstick import measure_bayes_risk
from recovery.estimators.record import Prior, Seen, raise_sigma
from recovery.estimators.table import estimate

# Plans between small sets, and the set nearest to many, against other solvers and all sets.

SIDE = 6
PLACES = np.stack(np.divmod(np.arange(SIDE * SIDE), SIDE), axis=1)[:, ::-1] / SIDE


def pairs_of(here: int, there: int, equal: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sixty pairs of sets with many equal distances, and shares of 0 among them."""
    world = np.random.default_rng([here, there])
    supply = np.full((60, here), 1 / here)
    demand = np.full((60, there), 1 / there)
    if not equal:
        supply = world.dirichlet(np.ones(here), 60)
        demand = world.dirichlet(np.ones(there), 60)
        supply[:9, 0] = 0
        demand[5:20, -1] = 0
        supply /= supply.sum(axis=1, keepdims=True)
        demand /= demand.sum(axis=1, keepdims=True)
    starts = world.integers(0, SIDE, (60, here, 1, 2))
    ends = world.integers(0, SIDE, (60, 1, there, 2))
    return supply, demand, np.abs(starts - ends).sum(axis=-1) / SIDE


@pytest.mark.parametrize("equal", [True, False])
@pytest.mark.parametrize(("here", "there"), [(1, 1), (2, 2), (3, 3), (4, 4), (2, 5), (8, 7)])
def test_plans_cost_what_pots_public_solver_finds(here: int, there: int, equal: bool) -> None:
    """For equal and unequal shares; and all that leaves arrives."""
    supply, demand, cost = pairs_of(max(here, 2 - equal), max(there, 2 - equal), equal)

    flow, work = find_plans(supply, demand, cost)

    other = [ot.emd2(*pair) for pair in zip(supply, demand, cost, strict=True)]
    assert work == pytest.approx(np.array(other), abs=1e-12)
    assert (flow * cost).sum(axis=(1, 2)) == pytest.approx(np.array(other), abs=1e-12)
    assert flow.min() >= -1e-15
    assert flow.sum(axis=2) == pytest.approx(supply, abs=1e-12)
    assert flow.sum(axis=1) == pytest.approx(demand, abs=1e-12)


def expected(
    cells: np.ndarray, shares: np.ndarray, sets: np.ndarray, chances: np.ndarray
) -> float:
    """The mean distance of one set from all, by another solver."""
    total = 0.0
    for one, chance in zip(sets, chances, strict=True):
        theirs = one[one >= 0]
        cost = cdist(PLACES[cells], PLACES[theirs], "cityblock")
        total += chance * ot.emd2(shares, np.full(len(theirs), 1 / len(theirs)), cost)
    return total


def possible(sigma: float, fewest: int, most: int) -> tuple[np.ndarray, np.ndarray]:
    """The likeliest fifty sets of a posterior in a plane, and their chances."""
    line = forward(np.arange(1, SIDE + 1) / SIDE, np.arange(1, 5) / 4, 0.02)
    operator = np.kron(line, line)
    world = np.random.default_rng(most)
    readings = operator[:, [8, 27]].sum(axis=1) + sigma * world.normal(size=16)
    found = list_sets(compute_scores(operator, readings, sigma, 1.0), fewest, most)
    kept = np.argsort(-found.chances)[:50]
    return found.sets[kept], found.chances[kept] / found.chances[kept].sum()


@pytest.mark.parametrize(("fewest", "most"), [(1, 1), (2, 2), (1, 2)])
@pytest.mark.parametrize("sigma", [3.0, 1.0, 0.3])
def test_no_possible_set_is_nearer(fewest: int, most: int, sigma: float) -> None:
    """Its stated error is its mean distance, and none of all possible sets has a smaller one."""
    sets, chances = possible(sigma, fewest, most)

    nearest = find_medoid(sets, chances, PLACES)

    stated = expected(nearest.cells, nearest.shares, sets, chances)
    assert nearest.expected_error == pytest.approx(stated, abs=1e-9)
    others = [
        expected(one[one >= 0], np.full((one >= 0).sum(), 1 / (one >= 0).sum()), sets, chances)
        for one in sets
    ]
    assert stated <= min(others) + 1e-9


# Extremes: the right answer, or words that say what is wrong; and never a warning.

SPOTS, SENSORS = np.arange(1, 41) / 40, np.arange(1, 26) / 25
SHORT = forward(SPOTS, SENSORS, 0.05)
THERE = [5, 15, 29]


def seen(sigma: float, prior: Prior, factor: float = 1.0) -> Seen:
    """Three sources, as they are read with such noise."""
    noise = np.random.default_rng(0).normal(size=25)
    readings = factor * (SHORT[:, THERE].sum(axis=1) + sigma * noise)
    return Seen(SHORT, readings, sigma, SPOTS[:, None], (1, 40), prior)


@pytest.mark.long
@pytest.mark.parametrize("sigma", [1e-200, 1e-12, 1e-9, 1e-5, 1e-4])
@pytest.mark.parametrize("prior", [Prior(1, 4), Prior(3, 3), Prior(1, 5)])
def test_next_to_no_noise_leaves_the_sources_themselves(sigma: float, prior: Prior) -> None:
    """Exact or sampled: where the digits run out, that is said, and nothing else changes."""
    found = estimate("posterior", seen(sigma, prior))

    assert np.flatnonzero(found.heat).tolist() == THERE
    assert found.credible.numbers[3] == pytest.approx(1)
    assert found.status.startswith("inaccurate: weighed" if sigma < 1e-6 else "optimal")


@pytest.mark.parametrize("factor", [1e20, -1e20, 1e200])
@pytest.mark.parametrize("prior", [Prior(1, 4), Prior(1, 8), Prior(1, 4, 1.0, 0.3)])
def test_readings_out_of_all_proportion_are_refused(factor: float, prior: Prior) -> None:
    """A wrong unit is told from a scene, and by name."""
    with pytest.raises(ValueError, match="Check the unit"):
        estimate("posterior", seen(0.1, prior, factor))


def test_the_noise_that_is_put_in_leaves_squares_their_digits() -> None:
    """By the count of digits: no square above 1e14 / sensors, and none is changed needlessly."""
    made = raise_sigma(seen(1e-30, Prior(1, 4)))

    assert np.abs(made.readings / made.sigma).max() ** 2 <= 1.0001e14 / 25
    assert np.abs(made.operator / made.sigma).max() ** 2 <= 1.0001e14 / 25
    assert made.sigma == pytest.approx(5e-7 * np.abs(made.readings).max())
    assert raise_sigma(seen(1e-3, Prior(1, 4))).sigma == 1e-3


def flat(values: float) -> NDArray[np.float64]:
    """One number as an array."""
    return np.full(1, values)


@pytest.mark.parametrize("slope", [0.0, 3.0, -1e3, 1e6])
@pytest.mark.parametrize("width", [1e-3, 1e-9, 1e-14])
def test_the_mass_between_bounds_that_nearly_touch_is_their_width(
    slope: float, width: float
) -> None:
    """Where the law hardly changes between the bounds, by hand: its height times the width."""
    high = 1e-3 * width if abs(slope) > 1e4 else width
    found = compute_log_mass(flat(slope), flat(2.0), -high, high)

    grid = np.linspace(-high, high, 20001)
    heights = np.exp(slope * grid - grid**2)
    expected = np.log(np.mean((heights[1:] + heights[:-1]) / 2) * 2 * high)
    assert found == pytest.approx(expected, abs=1e-4)


# The least average distance, against what is known of it without any posterior.

ALONG = np.arange(1, 101)[:, None] / 100
PAPER = forward(ALONG[:, 0], np.arange(1, 51) / 50, 0.05)
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
    found = measure_bayes_risk(PAPER, sigma, sources, None, ALONG)

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

    found = measure_bayes_risk(operator, 1e6, 2, 5, places)

    assert found.distance == pytest.approx(guess, abs=1e-4)
    assert found.standard_error < 1e-4


# The sampler is right as often as it says: calibration by simulation, over scenes of its prior.

Floats = NDArray[np.float64]

CELLS, RUNS = 30, 50
WHERE = np.arange(1, CELLS + 1) / CELLS
OPERATOR = forward(WHERE, np.arange(1, 21) / 20, 0.05)


@dataclass(frozen=True)
class Tally:
    """What was said, and what was so: shares below the truth, whole curves in the band, cells."""

    ranks: Floats
    inside: float
    said: Floats
    so: Floats


def _tally(prior: Prior, low: float, sigma: float, told: float) -> Tally:
    """Draw scenes of the prior and sample their posterior with the deviation that is told."""
    world = np.random.default_rng(11)
    ranks, inside, said, so = [], [], [], []
    for run in range(RUNS):
        number = int(world.integers(prior.fewest, prior.most + 1))
        heat = np.zeros(CELLS)
        heat[world.choice(CELLS, number, replace=False)] = world.uniform(low, 1, number)
        readings = OPERATOR @ heat + sigma * world.standard_normal(20)
        seen = Seen(OPERATOR, readings, told, WHERE[:, None], (1, CELLS), prior)
        draws = sample_posterior(seen, scenes=64, last_sweeps=4, stream=run)
        truth = np.cumsum(heat) / heat.sum()
        shares = compute_cumulative_shares(draws.cells, draws.powers, CELLS)
        below = (shares < truth[:, None] - 1e-9).mean(axis=1)
        same = (np.abs(shares - truth[:, None]) <= 1e-9).mean(axis=1)
        # Ties are broken evenly, so that a right posterior has even ranks.
        ranks.append((below + world.uniform() * same)[[7, 14, 22]])
        credible = estimate_from_draws(seen, draws).credible
        assert credible.band is not None
        band = credible.band
        inside.append(((band.low - 1e-9 <= truth) & (truth <= band.high + 1e-9)).all())
        said.append(credible.present.ravel())
        so.append(heat > 0)
    return Tally(np.array(ranks), float(np.mean(inside)), np.ravel(said), np.ravel(so))


@pytest.mark.long
@pytest.mark.parametrize("sigma", [0.6, 0.05])
@pytest.mark.parametrize(("prior", "low"), [(Prior(1, 5), 1.0), (Prior(1, 4, 1.0, 0.3), 0.3)])
def test_it_is_right_as_often_as_it_says(prior: Prior, low: float, sigma: float) -> None:
    """At heavy noise and at low: a sampler that is stuck is sure of what is not so."""
    tally = _tally(prior, low, sigma, told=sigma)
    middle = np.mean((tally.ranks > 0.05) & (tally.ranks < 0.95))
    likely = tally.said > 0.2
    deviation = np.sqrt((tally.said * (1 - tally.said))[likely].sum())

    # Three ranks a run lean on each other: about two deviations of the runs.
    assert middle == pytest.approx(0.9, abs=0.07)
    # Whole curves: of fifty runs two deviations are eight in a hundred.
    assert tally.inside == pytest.approx(0.9, abs=0.09)
    assert abs((tally.said - tally.so)[likely].sum()) < 3 * max(deviation, 1)
