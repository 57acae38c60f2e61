"""What unequal sensors cost together: exact, and against the losses themselves."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from recovery.compose import at_most, price


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


def test_each_devices_own_counter_bounds_the_whole_fleet() -> None:
    """So no device needs to know what the others have said."""
    for changes, variances, readings in fleets():
        bound = at_most(price([changes], variances), readings)

        assert brute(changes, variances, readings) <= bound


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
