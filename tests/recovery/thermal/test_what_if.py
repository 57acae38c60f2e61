"""What else would do to the promise: against figures from outside, and the traps behind them."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product

import dp_accounting
import numpy as np
import pytest

from edge.records import Grid
from physics.kernel import forward
from physics.places import cell_places, sensor_places
from recovery.noise.calibrate import worth
from recovery.thermal.noise import calibration, room
from recovery.thermal.query import Query
from recovery.thermal.what_if import WhatIf, mixed_epsilon, price, what_if

# What unequal sensors cost together: exact, and against the losses themselves.


def fleets(count: int = 200):
    """Random changes, variances and readings, small enough for a search by hand."""
    world = np.random.default_rng(5)
    for _ in range(count):
        sensors, moves = world.integers(1, 5), world.integers(1, 6)
        yield (
            world.integers(0, 9, size=(sensors, moves)).astype(float),
            world.integers(1, 40, size=sensors).tolist(),
            world.integers(0, 7, size=sensors).tolist(),
        )


def brute(changes: np.ndarray, variances: list[int], readings: list[int]) -> Fraction:
    """The greatest loss over all moves, each reading of each sensor by itself."""
    greatest = Fraction(0)
    for move in changes.T:
        loss = Fraction(0)
        for change, variance, times in zip(move, variances, readings, strict=True):
            for _ in range(times):
                loss += Fraction(int(change) ** 2, 2 * variance)
        greatest = max(greatest, loss)
    return greatest


def test_the_price_is_that_of_the_worst_move_to_the_last_digit() -> None:
    """Fractions add up for ever; a float would lose the end of a long ledger."""
    for changes, variances, readings in fleets():
        assert price([changes], variances, readings) == brute(changes, variances, readings)
        # However the moves come in blocks, it is the worst of all that counts.
        apart = [changes[:, move : move + 1] for move in range(changes.shape[1])]
        assert price(apart, variances) == brute(changes, variances, [1] * len(variances))


def test_moves_that_floats_cannot_tell_apart_are_weighed_exactly() -> None:
    """Two prices one part in 10**17 apart: the dearer one is the price."""
    changes = np.array([[1.0, 0.0], [0.0, 1.0]])
    large = 10**17

    assert price([changes], [large + 1, large]) == Fraction(1, 2 * large)
    assert price([changes], [large, large + 1]) == Fraction(1, 2 * large)


@pytest.mark.parametrize("wrong", [lambda n: min(n), lambda n: Fraction(sum(n), len(n))])
def test_neither_the_quietest_nor_the_mean_device_bounds_it(wrong) -> None:
    """The control: a bound that any search would let pass proves nothing."""
    assert any(
        brute(changes, variances, readings) > wrong(readings) * price([changes], variances)
        for changes, variances, readings in fleets()
    )


def renyi(order: float, changes: list[int], variances: list[int]) -> float:
    """The divergence of independent discrete Gaussians and their shifts, summed over what is.

    Source: Bun and Steinke 2016, Definition 1.1; nothing of heatveil's formulas is in it.
    """
    total = 0.0
    for change, variance in zip(changes, variances, strict=True):
        reach = 14 * (math.isqrt(variance) + 1) + math.ceil(order) * abs(change)
        z = np.arange(-reach, reach + 1.0)
        here = -np.square(z) / (2 * variance)
        there = -np.square(z - change) / (2 * variance)
        here -= np.log(np.exp(here).sum())
        there -= np.log(np.exp(there).sum())
        total += math.log(np.exp(order * here + (1 - order) * there).sum()) / (order - 1)
    return total


def test_the_price_bounds_the_divergence_at_every_order() -> None:
    """The definition of zCDP itself: at order alpha no more than alpha rho."""
    for changes, variances in product([(3, 1), (5, 5), (0, 7)], [(9, 16), (30, 200), (150, 400)]):
        rho = price([np.array([changes], dtype=float).T], variances)
        found = [renyi(order, list(changes), list(variances)) for order in (1.1, 2, 5, 20)]

        assert found == pytest.approx([float(rho) * order for order in (1.1, 2, 5, 20)], rel=1e-6)
        # The control: the wider noise for both sensors is not the price.
        wrong = price([np.array([changes], dtype=float).T], [max(variances)] * 2)
        assert changes[0] == 0 or found[1] > 2.001 * float(wrong)


def test_equal_sensors_cost_what_their_joint_sensitivity_says() -> None:
    """The usual case, which the calibration has: one variance for all."""
    world = np.random.default_rng(8)
    changes = world.integers(0, 500, size=(6, 40)).astype(float)

    square = int(np.square(changes).sum(axis=0).max())
    assert price([changes], [10_000] * 6) == Fraction(square, 20_000)


def test_a_sensor_without_noise_is_refused() -> None:
    """It would have no price at all, and the error says so instead of dividing by nought."""
    with pytest.raises(ValueError, match="needs noise"):
        price([np.ones((2, 3))], [4, 0])
    with pytest.raises(ValueError, match="needs noise"):
        price([np.ones((2, 3))], [4])


PAPER = Query(Grid((100, 1), 0), (50,), 0.05, (1, 1))
DAY = replace(PAPER, readings=24)


def rows(query: Query) -> dict[str, WhatIf]:
    return {row.name: row for row in what_if(query)}


@pytest.mark.parametrize(
    ("name", "epsilon"),
    [
        ("as_planned", 1.0),
        ("twice_the_sensors", 1.47),
        ("shorter_spread", 4.3),  # 0.01 for 0.05
        ("warmer_source", 2.16),
    ],
)
def test_the_noise_as_it_is_gives_what_was_found_elsewhere(name: str, epsilon: float) -> None:
    """Whole numbers add up to two per cent to the noise, and so take a little off."""
    assert rows(PAPER)[name].epsilon == pytest.approx(epsilon, rel=0.02)


# Sensitivities between walls and without, with four digits, computed elsewhere.
@pytest.mark.parametrize(("spread", "free", "shut"), [(0.05, 0.136, 0.193), (0.1, 0.064, 0.117)])
def test_noise_for_the_wrong_walls_is_told_both_ways(
    spread: float, free: float, shut: float
) -> None:
    """Between walls heat comes back: noise for the open air is too little there."""
    query = replace(PAPER, spread_m2=spread)
    worse = dp_accounting.get_epsilon_gaussian(3.7306 * free / shut, 1e-5)
    better = dp_accounting.get_epsilon_gaussian(3.7306 * shut / free, 1e-5)

    open_air, room = rows(query), rows(replace(query, walls="insulated"))
    assert open_air["other_walls"].epsilon == pytest.approx(worse, rel=0.03)
    assert open_air["noise_for_other_walls"].epsilon == pytest.approx(better, rel=0.03)
    assert room["other_walls"].epsilon == pytest.approx(better, rel=0.03)
    assert room["noise_for_other_walls"].epsilon == pytest.approx(worse, rel=0.03)


def test_readings_cost_what_many_readings_cost() -> None:
    """By another accountant's curve, below the price in zCDP that adds up."""
    found, sigma = rows(DAY), calibration(DAY)
    mu = math.sqrt(sigma.sensitivity_squared / sigma.variance)
    for name, readings in [("half_the_cadence", 12), ("twice_the_cadence", 48)]:
        exact = dp_accounting.get_epsilon_gaussian(1 / (mu * math.sqrt(readings)), 1e-5)

        assert found[name].query.readings == readings
        assert exact <= found[name].epsilon <= 1.1 * exact


def test_the_new_noise_keeps_the_promise() -> None:
    """The second half of each answer: with it the same epsilon holds in that world."""
    for row in rows(DAY).values():
        if row.name != "noise_for_other_walls":
            made = calibration(row.query)

            assert row.sigma == made.sigma
            assert made.epsilon <= 1.0
    assert rows(DAY)["twice_the_cadence"].sigma == pytest.approx(
        math.sqrt(2) * calibration(DAY).sigma, rel=0.02
    )


def test_half_a_fleet_at_the_old_noise_gives_something_between() -> None:
    """By hand, in real numbers: each sensor's change over its own noise."""
    more, old = replace(PAPER, sensors=(100,)), calibration(PAPER)
    line = Grid((100, 1), 0)
    operator = forward(cell_places(line), sensor_places((100,), line), 0.05)
    sigmas = np.where(np.arange(100) % 2, old.sigma, calibration(more).sigma)
    change = np.diff(operator, axis=1) / sigmas[:, None]
    apart = float(np.linalg.norm(change, axis=0).max())

    assert mixed_epsilon(more, old) == pytest.approx(
        dp_accounting.get_epsilon_gaussian(1 / apart, 1e-5), rel=0.02
    )
    found = rows(PAPER)
    assert 1.0 < found["half_renewed"].epsilon < found["twice_the_sensors"].epsilon


@pytest.mark.parametrize(
    "query",
    [
        Query(Grid((3, 1), 0), (5,), 0.02, (1, 1)),
        Query(Grid((2, 1), 0), (5,), 0.02, (4, 1), walls="insulated"),
        Query(Grid((5, 1), 500), (2,), 0.05, (4, 1), step=Fraction(24, 65)),
        Query(Grid((12, 1), 500), (3,), 0.004, (4, 1)),
        Query(Grid((12, 1), 250), (8,), 0.01, (8, 1), walls="insulated", step=Fraction(1, 100)),
    ],
)
def test_whichever_half_is_old_it_costs_no_more(query: Query) -> None:
    """Every move, at six hundred spreads, with the even sensors old and with the odd ones."""
    more, old = replace(query, sensors=(2 * query.sensors[0],)), calibration(query)
    new, here, found = calibration(more), room(more), mixed_epsilon(more, old)
    fine = max(old.exponent, new.exponent)
    variances = np.array([4.0 ** (fine - made.exponent) * made.variance for made in (old, new)])
    worst = 0.0
    for spread in np.geomspace(query.spread_m2, 20.0, 600):
        change = np.abs(np.diff(here.operator(float(spread)), axis=1))
        if query.step is not None:
            change = np.ceil(change / float(query.step)) * float(query.step)
        whole = np.ceil(np.ldexp(change, fine) * (1 - 1e-12))
        for first in range(2):
            noise = variances[(np.arange(len(whole)) + first) % 2]
            worst = max(worst, float((np.square(whole) / noise[:, None] / 2).sum(axis=0).max()))
    truth = worth(Fraction(worst), 1, 1e-5)

    assert truth <= found * (1 + 1e-12) <= 1.01 * truth


def test_one_reading_has_no_half() -> None:
    """A row that means nothing is left out, and not made up."""
    assert "half_the_cadence" not in rows(PAPER)
    assert rows(replace(PAPER, readings=3))["half_the_cadence"].query.readings == 1


def test_where_the_printed_formula_is_not_private_no_sigma_is_named() -> None:
    """At epsilon 38 and delta 1/10 it still is; with twice the readings, in zCDP, it is not."""
    query = replace(PAPER, epsilon=(38, 1), delta=(1, 10), calibration="paper")

    found = rows(query)
    assert found["as_planned"].sigma is not None
    assert found["twice_the_cadence"].sigma is None
