"""The exact posterior, and what the sampler finds, against looking at every scene."""

import itertools
import math
from dataclasses import dataclass, replace
from itertools import combinations, product
from math import comb

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.stats import truncnorm

from physics.kernel import forward
from recovery.bayes.chain import (
    Draws,
    compute_cumulative_shares,
    estimate_by_chain,
    estimate_from_draws,
    sample_posterior,
)
from recovery.bayes.crowd import Crowd, make_problem
from recovery.bayes.exact import compute_exact_posterior, compute_scores
from recovery.bayes.moves import Share, compute_log_mass, invert_cdf
from recovery.distance import earth_movers
from recovery.estimators.record import Prior, Seen

# The posterior of a few sources by looking at every scene there is: the oracle of samplers.

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Everything:
    """What all scenes together say: chances of numbers and of cells, mean shares, evidence."""

    numbers: Floats
    present: Floats
    mean_share: Floats
    log_evidence: float


def brute_force(seen: Seen, low: float, points: int = 1) -> Everything:
    """Weigh every set of open cells, with powers at the middles of so many even intervals."""
    cells = seen.operator.shape[1]
    found = range(cells) if seen.open is None else np.flatnonzero(seen.open)
    prior = seen.prior
    steps = low + (prior.warmest - low) * (np.arange(points) + 0.5) / points
    logs, shares, present, numbers = [], [], [], []
    for number in range(prior.fewest, prior.most + 1):
        heats = np.array(list(product(steps, repeat=number))).reshape(points**number, number)
        weight = -np.log(prior.most - prior.fewest + 1) - np.log(comb(len(found), number))
        for some in combinations(found, number):
            left = seen.readings - heats @ seen.operator[:, list(some)].T
            fit = -0.5 * np.square(left).sum(axis=1) / seen.sigma**2
            top = fit.max()
            chance = np.exp(fit - top)
            logs.append(top + np.log(chance.mean()) + weight)
            heat = np.zeros(cells)
            if number:
                heat[list(some)] = chance @ (heats / heats.sum(axis=1, keepdims=True))
                heat /= chance.sum()
            shares.append(np.cumsum(heat))
            numbers.append(number)
            present.append(np.isin(np.arange(cells), some))
    weights = np.exp(np.array(logs) - max(logs))
    total = weights.sum()
    weights /= total
    return Everything(
        np.bincount(numbers, weights, prior.most + 1),
        weights @ np.array(present, dtype=float),
        weights @ np.array(shares),
        float(max(logs) + np.log(total)),
    )


# The exact posterior along a line, against every set weighed by itself.

CELLS = 13
SENSORS = np.arange(1, 11) / 10


def scene(
    number: int, sigma: float, spread: float = 0.05, heat: float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    """An operator and its blurred readings of so many sources."""
    world = np.random.default_rng([number, int(1000 * sigma)])
    operator = forward(np.arange(1, CELLS + 1) / CELLS, SENSORS, spread)
    there = world.choice(CELLS, number, replace=False)
    return operator, heat * operator[:, there].sum(axis=1) + sigma * world.normal(size=10)


def brute(
    operator: np.ndarray,
    readings: np.ndarray,
    sigma: float,
    numbers: range,
    heat: float = 1.0,
    open_cells: list[int] | None = None,
) -> tuple[dict[tuple[int, ...], float], float]:
    """The chance of every set by the normal density itself, and the evidence's logarithm."""
    cells = range(operator.shape[1]) if open_cells is None else open_cells
    logs = {}
    for number in numbers:
        sets = list(itertools.combinations(cells, number))
        for one in sets:
            off = readings - heat * operator[:, list(one)].sum(axis=1)
            log = -((off @ off) - readings @ readings) / (2 * sigma**2)
            logs[one] = log - math.log(len(sets)) - math.log(len(numbers))
    highest = max(logs.values())
    total = sum(math.exp(log - highest) for log in logs.values())
    chances = {one: math.exp(log - highest) / total for one, log in logs.items()}
    return chances, highest + math.log(total)


def orders_of(chances: dict[tuple[int, ...], float], number: int) -> np.ndarray:
    """Where the first, second, ... of so many sources is."""
    orders = np.zeros((number, CELLS))
    for one, chance in chances.items():
        if len(one) == number:
            orders[range(number), list(one)] += chance
    return orders / max(orders[:1].sum(), 1e-300)


@pytest.mark.parametrize("sigma", [10, 0.7, 0.17, 0.07, 0.02, 0.002])
@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_every_set_is_weighed(number: int, sigma: float) -> None:
    """In all noise: the sums by products, by tables, and with hopeless sets passed over."""
    operator, readings = scene(number, sigma)
    chances, evidence = brute(operator, readings, sigma, range(number, number + 1))

    exact = compute_exact_posterior(compute_scores(operator, readings, sigma, 1.0), number, number)

    assert exact.orders[number] == pytest.approx(orders_of(chances, number), abs=1e-9)
    assert exact.log_evidence == pytest.approx(evidence, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("sigma", [2.0, 0.3, 0.05])
def test_an_unknown_number_is_weighed_too(sigma: float) -> None:
    """None to four, each as likely as any other before the readings."""
    operator, readings = scene(2, sigma)
    chances, evidence = brute(operator, readings, sigma, range(5))
    numbers = [sum(c for one, c in chances.items() if len(one) == k) for k in range(5)]
    present = [sum(c for one, c in chances.items() if cell in one) for cell in range(CELLS)]

    exact = compute_exact_posterior(compute_scores(operator, readings, sigma, 1.0), 0, 4)

    assert exact.numbers == pytest.approx(numbers, abs=1e-10)
    assert exact.present == pytest.approx(present, abs=1e-10)
    assert exact.log_evidence == pytest.approx(evidence, rel=1e-10)


def test_hopeless_readings_do_not_overflow() -> None:
    """Readings that no scene explains, of sensors that hardly feel one another's cells."""
    operator = forward(np.arange(1, CELLS + 1) / CELLS, SENSORS, 1e-4)
    readings = np.where(np.arange(10) == 4, 400.0, -300.0)
    chances, evidence = brute(operator, readings, 1.0, range(4, 5))

    exact = compute_exact_posterior(compute_scores(operator, readings, 1.0, 1.0), 4, 4)

    assert exact.orders[4] == pytest.approx(orders_of(chances, 4), abs=1e-9)
    assert exact.log_evidence == pytest.approx(evidence, rel=1e-9)


def test_fewer_open_cells_than_sources_leave_fewer_sources() -> None:
    """Two open cells hold no three sources; and where there must be three, that is said."""
    operator, readings = scene(1, 0.3)
    allowed = np.arange(CELLS) < 2

    exact = compute_exact_posterior(compute_scores(operator, readings, 0.3, 1.0), 1, 4, allowed)

    assert len(exact.numbers) == 3
    with pytest.raises(ValueError, match="3 to 2 sources in 2 open cells"):
        compute_exact_posterior(compute_scores(operator, readings, 0.3, 1.0), 3, 4, allowed)


# What the sampler finds is what looking at every scene finds.


def _line(cells: int, heat: dict[int, float], sigma: float, prior: Prior, seed: int) -> Seen:
    places = np.arange(1, cells + 1) / cells
    operator = forward(places, np.arange(1, 51) / 50, 0.05)
    truth = np.zeros(cells)
    truth[list(heat)] = list(heat.values())
    world = np.random.default_rng(seed)
    readings = operator @ truth + sigma * world.standard_normal(50)
    return Seen(operator, readings, sigma, places[:, None], (1, cells), prior)


def _furthest(seen: Seen, draws: Draws, exact: Everything) -> float:
    """Return by how much any chance or mean share is off."""
    cells = seen.operator.shape[1]
    many = len(draws.cells)
    numbers = np.bincount(draws.numbers, minlength=len(exact.numbers)) / many
    present = np.bincount(draws.cells[draws.cells >= 0], minlength=cells) / many
    some = draws.numbers > 0
    share = (
        compute_cumulative_shares(draws.cells[some], draws.powers[some], cells).sum(axis=1) / many
    )
    return float(
        max(
            np.abs(numbers - exact.numbers).max(),
            np.abs(present - exact.present).max(),
            np.abs(share - exact.mean_share).max(),
        )
    )


CASES = [
    (30, {4: 1.0, 11: 1.0}, 0.7, Prior(0, 3), 1),
    (30, {4: 1.0, 11: 1.0}, 0.1, Prior(0, 3), 1),
    (24, {3: 1.0, 8: 1.0, 15: 1.0, 19: 1.0}, 0.05, Prior(4, 4), 1),
    (24, {3: 1.0, 8: 1.0, 15: 1.0, 19: 1.0}, 0.02, Prior(1, 4), 1),
    (10, {2: 0.8, 6: 0.5}, 0.7, Prior(0, 2, 1.0, 0.3), 60),
    (10, {2: 0.8, 6: 0.5}, 0.1, Prior(1, 2, 1.0, 0.3), 100),
    (8, {2: 0.9, 3: 0.4, 6: 0.6}, 0.2, Prior(1, 3, 1.0, 0.3), 20),
]


@pytest.mark.long
@pytest.mark.parametrize(("cells", "heat", "sigma", "prior", "points"), CASES)
def test_every_chance_is_that_of_enumeration(
    cells: int, heat: dict[int, float], sigma: float, prior: Prior, points: int
) -> None:
    """At heavy noise and at low, where one source at a time would stay where it started."""
    seen = _line(cells, heat, sigma, prior, seed=4)
    exact = brute_force(seen, prior.coolest or 0.3, points)

    draws = sample_posterior(seen, scenes=1000, last_sweeps=3)

    assert _furthest(seen, draws, exact) < 0.03
    assert draws.log_evidence == pytest.approx(exact.log_evidence, abs=0.35)


def test_both_models_of_power_get_what_their_evidence_gives() -> None:
    """Where it is not known if sources are equal, readings decide, neither model by default."""
    seen = _line(10, {2: 1.0, 6: 0.8}, 0.5, Prior(1, 2, 1.0, None), seed=7)
    equal = brute_force(replace(seen, prior=Prior(1, 2)), 1.0).log_evidence
    unequal = brute_force(seen, 0.3, 60).log_evidence
    chance = 1 / (1 + np.exp(unequal - equal))

    draws = sample_posterior(seen, scenes=1000, last_sweeps=3)
    known = np.isin(draws.powers, (0.0, 1.0)).all(axis=1)

    assert 0.1 < chance < 0.9
    assert known.mean() == pytest.approx(chance, abs=0.08)


@pytest.mark.long
def test_a_plane_is_sampled_like_a_line() -> None:
    """Nothing in the law knows how cells lie; only the moves do."""
    side = np.arange(1, 7) / 6
    line = forward(side, np.arange(1, 6) / 5, 0.03)
    places = np.stack(np.meshgrid(side, side, indexing="ij"), axis=-1).reshape(-1, 2)
    operator = np.kron(line, line)
    truth = np.zeros(36)
    truth[[8, 27]] = 1.0
    world = np.random.default_rng(2)
    readings = operator @ truth + 0.4 * world.standard_normal(25)
    seen = Seen(operator, readings, 0.4, places, (6, 6), Prior(1, 3))
    exact = brute_force(seen, 1.0)

    draws = sample_posterior(seen, scenes=1000, last_sweeps=3)
    estimate = estimate_by_chain(seen)

    assert _furthest(seen, draws, exact) < 0.03
    assert set(np.flatnonzero(estimate.heat)) <= set(np.flatnonzero(exact.present > 0.05))
    assert estimate.credible.band is None


def test_the_same_readings_give_the_same_draws() -> None:
    """No chance is in a map: who recovers it again has it to the last bit."""
    seen = _line(30, {4: 1.0}, 0.3, Prior(0, 3), seed=4)
    once, again, other = (sample_posterior(seen, scenes=32, stream=s) for s in (1, 1, 2))

    assert np.array_equal(once.cells, again.cells)
    assert not np.array_equal(once.cells, other.cells)


def test_more_scenes_than_have_a_say_in_the_first_step_come_to_an_end() -> None:
    """No step would be short enough for weights worth more scenes than are looked at."""
    seen = _line(8, {1: 1.0}, 0.05, Prior(1, 2), seed=4)

    assert len(sample_posterior(seen, scenes=9000, last_sweeps=1).cells) == 9000


def test_too_many_cells_are_refused_before_the_memory_is_gone() -> None:
    """A number that can be acted on, not a process that is killed."""
    cells = 5000
    seen = Seen(np.ones((2, cells)), np.ones(2), 1.0, np.arange(cells)[:, None] * 1.0, (1, cells))
    with pytest.raises(ValueError, match="5000 cells are open"):
        sample_posterior(seen)


def test_the_expected_error_is_the_mean_distance_to_the_draws() -> None:
    """And no draw is nearer to them on average than the map is."""
    seen = _line(30, {4: 0.5, 11: 1.0}, 0.3, Prior(1, 3, 1.0, 0.3), seed=4)
    draws = sample_posterior(seen, scenes=40, last_sweeps=1)
    estimate = estimate_from_draws(seen, draws)
    possible = np.zeros((len(draws.cells), 30))
    for scene, cells, powers in zip(possible, draws.cells, draws.powers, strict=True):
        scene[cells[cells >= 0]] = powers[cells >= 0]
    places = seen.places[:, 0]

    def mean_distance(heat: Floats) -> float:
        return float(
            np.mean([earth_movers(heat, scene, "l1", places, True) for scene in possible])
        )

    assert estimate.credible.expected_error == pytest.approx(mean_distance(estimate.heat))
    assert all(
        mean_distance(scene) >= mean_distance(estimate.heat) - 1e-9 for scene in possible[:10]
    )


# A normal law between bounds is what quadrature and scipy say it is, wherever the bounds lie.


# Inside, on a bound, flat, far out in either tail.
LAWS = [(3.0, 5.0), (0.0, 4.0), (1e-6, 1e-9), (900.0, 500.0), (-300.0, 40.0), (5.0, 1e4)]


def _one(*numbers: float) -> list[np.ndarray]:
    return [np.array([number]) for number in numbers]


@pytest.mark.parametrize(("slope", "precision"), LAWS)
def test_the_integral_is_that_of_quadrature(slope: float, precision: float) -> None:
    """A wrong mass would favour cells that need an impossible power."""
    peak = np.clip(slope / precision, 0.3, 1.0)
    top = slope * peak - precision * peak**2 / 2
    found, _ = quad(
        lambda w: np.exp(slope * w - precision * w**2 / 2 - top), 0.3, 1.0, points=[peak]
    )

    assert compute_log_mass(*_one(slope, precision, 0.3, 1.0))[0] == pytest.approx(
        top + np.log(found)
    )


def test_heat_that_is_too_little_for_two_has_no_share_of_less_than_nothing() -> None:
    """With a negative range its integral could be infinite, and no weight of a scene a number."""
    places = np.arange(1, 21) / 20
    operator = forward(places, places[::2], 0.05)
    seen = Seen(operator, operator[:, 7], 0.1, places[:, None], (1, 20), Prior(1, 4))
    crowd = Crowd(make_problem(seen, 0.3), 64, 2)
    cells = np.tile(np.arange(5), (64, 1))
    nothing = np.zeros(cells.shape)
    for heat, two in ((0.5, False), (0.7, True), (1.9, True), (2.1, False)):
        law = Share(crowd, crowd.residual, np.full(64, heat), 1.0)
        found, widths = law.approximate_scores(cells, cells, nothing, nothing)

        assert (widths > 0).all()
        assert (np.isfinite(found) if two else np.isneginf(found)).all()


@pytest.mark.parametrize(("slope", "precision"), [law for law in LAWS if law[1] > 1e-3])
def test_shares_are_those_of_scipy(slope: float, precision: float) -> None:
    """Even numbers have to become draws of the law itself, in its tails too."""
    shares = np.array([0.001, 0.2, 0.5, 0.9, 0.999])
    middle, deviation = slope / precision, precision**-0.5
    law = truncnorm((0.3 - middle) / deviation, (1 - middle) / deviation, middle, deviation)

    found = invert_cdf(np.full(5, slope), np.full(5, precision), 0.3, 1.0, shares)

    assert found == pytest.approx(law.ppf(shares), rel=1e-6)
