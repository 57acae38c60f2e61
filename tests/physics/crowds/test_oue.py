"""Crowds under optimised unary encoding."""

import math
from itertools import product

import numpy as np
import pytest

from physics.crowds.peers import count_oue, risen
from recovery.peers.frequency_oracles import oue_chances


def test_the_worst_ratio_is_epsilon() -> None:
    """Over all 16 strings of four bits and both cells: e^epsilon exactly, and reached."""
    epsilon, stays, errs = 1.4, 0.5, risen(1.4)

    def chance(bits: tuple[int, ...], own: int) -> float:
        return math.prod(
            (stays if bit else 1 - stays) if cell == own else (errs if bit else 1 - errs)
            for cell, bit in enumerate(bits)
        )

    strings = list(product((0, 1), repeat=4))
    worst = max(chance(bits, 0) / chance(bits, 1) for bits in strings)

    assert sum(chance(bits, 0) for bits in strings) == pytest.approx(1)
    assert math.log(worst) == pytest.approx(epsilon)
    assert oue_chances(epsilon) == pytest.approx((stays, errs))


def test_counts_have_the_law_of_summed_bits() -> None:
    """Mean and spread of every cell over many crowds, against the binomials' own."""
    histogram = np.array([[500, 0], [0, 1500]])
    world = np.random.default_rng(2)
    cells = np.repeat(np.arange(4), histogram.ravel())

    def bits() -> np.ndarray:
        risen_by_chance = world.random((2000, 4)) < risen(2.0)
        risen_by_chance[np.arange(2000), cells] = world.random(2000) < 0.5
        return risen_by_chance

    summed = np.array([bits().sum(axis=0) for _ in range(600)])
    counted = np.array([count_oue(histogram, 2.0, world).ravel() for _ in range(600)])

    q = risen(2.0)
    users = histogram.ravel()
    mean = users / 2 + (2000 - users) * q
    spread = users / 4 + (2000 - users) * q * (1 - q)
    for drawn in (summed, counted):
        assert np.abs(drawn.mean(axis=0) - mean).max() < 4.5 * math.sqrt(spread.max() / 600)
        assert np.abs(drawn.var(axis=0) / spread - 1).max() < 0.25


@pytest.mark.parametrize("epsilon", [0, -1.0, math.inf, math.nan])
def test_no_epsilon_is_none(epsilon: float) -> None:
    """A wrong sign would send the truth's complement."""
    with pytest.raises(ValueError, match="positive and finite"):
        count_oue([[1]], epsilon, np.random.default_rng(3))


def test_what_is_no_crowd_is_refused() -> None:
    """Half a user."""
    world = np.random.default_rng(4)

    with pytest.raises(ValueError, match="from 0 on"):
        count_oue([0.5, 1], 1.0, world)
