"""The converter: exact whole steps, and an error that is spread evenly over one."""

import math
from fractions import Fraction

import numpy as np
import pytest

from physics.instruments.converter import quantise
from physics.sensors import grains

STEPS = [Fraction(1, 4), Fraction(1, 128), Fraction(1, 100), Fraction(175, 65535), Fraction(3)]


def exact(temperature: float, step: Fraction) -> int:
    return math.floor(Fraction(temperature) / step + Fraction(1, 2))


@pytest.mark.parametrize("step", STEPS)
def test_the_nearest_step_is_exact_and_a_tie_goes_up(step: Fraction) -> None:
    """Just below, at and just above every tie, and huge numbers too: floats alone are wrong."""
    ties = [float((n + Fraction(1, 2)) * step) for n in range(-300, 300)]
    near = [math.nextafter(t, way) for t in ties for way in (-math.inf, math.inf)]
    tried = [*ties, *near, 0.49999999999999994, 2.0**60 + 256, -(2.0**53) + 1, 1e-320]

    assert list(quantise(tried, step)) == [exact(t, step) for t in tried]


def test_floats_alone_would_count_one_too_many() -> None:
    """The negative control: the usual floor(x + 0.5) rounds this up, and it is below a half."""
    assert math.floor(0.49999999999999994 + 0.5) == 1
    assert quantise([0.49999999999999994], Fraction(1)) == (0,)


def test_a_converter_counts_as_the_simulator_of_point_sensors_does() -> None:
    """One rule of rounding for all: the promise is proved for it."""
    readings = np.random.default_rng(3).normal(0, 3, 500)
    counted = [count * 64 for count in quantise(readings, Fraction(1, 16))]

    assert tuple(counted) == grains(readings, 10, Fraction(1, 16))


def test_the_error_is_spread_evenly_over_a_step() -> None:
    """Of variance step**2 / 12, in each tenth of the step alike; and not with a coarse input."""
    readings = np.random.default_rng(4).normal(20, 1, 40_000)
    error = readings - 0.25 * np.array(quantise(readings, Fraction(1, 4)))
    tenths = np.histogram(error, 10, (-0.125, 0.125))[0]
    uneven = float((((tenths - 4000) ** 2) / 4000).sum())
    coarse = np.round(readings, 1)
    left = coarse - 0.25 * np.array(quantise(coarse, Fraction(1, 4)))
    lumped = np.histogram(left, 10, (-0.125, 0.125))[0]

    assert error.var() == pytest.approx(0.25**2 / 12, rel=0.02)
    assert uneven < 27.9 < float((((lumped - 4000) ** 2) / 4000).sum())  # chi2, 9, 0.001


def test_what_cannot_be_counted_is_refused() -> None:
    """A step of nothing, and no number."""
    with pytest.raises(ValueError, match="step is 0"):
        quantise([1.0], Fraction(0))
    with pytest.raises(ValueError, match="sensor 1 is at nan"):
        quantise([1.0, math.nan], Fraction(1, 4))
