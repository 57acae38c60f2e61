"""Crowds under optimised unary encoding."""

import math
from itertools import product

import numpy as np
import pytest

from physics.crowds.peers import count_oue, report_oue, risen
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


def test_bits_rise_as_often_as_they_should() -> None:
    """One bit half of the time, the others with 1 / (e^epsilon + 1), independent of each other."""
    bits = report_oue(np.full(100_000, 2), 4, 1.4, np.random.default_rng(1))
    sure = np.array([risen(1.4), risen(1.4), 0.5, risen(1.4)])

    assert np.abs(bits.mean(axis=0) - sure).max() < 4 * 0.5 / math.sqrt(100_000)
    assert abs(np.cov(bits[:, 0], bits[:, 2])[0, 1]) < 0.004


def test_counts_have_the_law_of_summed_bits() -> None:
    """Mean and spread of every cell over many crowds, against the binomials' own."""
    histogram = np.array([[500, 0], [0, 1500]])
    world = np.random.default_rng(2)
    cells = np.repeat(np.arange(4), histogram.ravel())

    summed = np.array([report_oue(cells, 4, 2.0, world).sum(axis=0) for _ in range(600)])
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
    """Cells of another grid, and half a user."""
    world = np.random.default_rng(4)

    with pytest.raises(ValueError, match="from 0 to 3"):
        report_oue([4], 4, 1.0, world)
    with pytest.raises(ValueError, match="from 0 on"):
        count_oue([0.5, 1], 1.0, world)
