"""Noise that is stated: its width is kept, and what it promises is found, not assumed."""

import math
from dataclasses import replace
from fractions import Fraction

import pytest

from edge.records import Grid
from edge.thermal import Params
from recovery.stated import epsilon_of
from recovery.thermal import Query, calibration, plan

LINE = Query(grid=Grid((100, 1), 0), sensors=(50,), spread_m2=0.05, epsilon=(1, 1))


@pytest.mark.parametrize("sigma", [(1, 10), (1, 2), (686, 1000)])
def test_the_noise_is_as_wide_as_was_said(sigma: tuple[int, int]) -> None:
    """The paper's figures 1 and 2 fix sigma; a device must draw just that."""
    params = Params(*plan(replace(LINE, sigma=sigma), []).params)

    variance = params.variance * Fraction(4) ** -params.exponent
    assert Fraction(*sigma) ** 2 <= variance <= Fraction(*sigma) ** 2 * Fraction(10001, 10000)
    assert math.isqrt(params.variance) >= 100


def test_stating_the_noise_that_an_epsilon_needs_gives_that_epsilon_back() -> None:
    """Both ways round the same law holds, so neither can promise more than the other."""
    wished = calibration(LINE)
    sigma = Fraction(wished.sigma).limit_denominator(10**6)
    asked = replace(LINE, sigma=(sigma.numerator, sigma.denominator), epsilon=(99, 1))

    assert calibration(asked).epsilon == pytest.approx(1, rel=2e-3)
    promise = plan(asked, []).guarantee
    assert 1 <= Fraction(*promise.epsilon) <= Fraction(1003, 1000)


def test_a_promise_is_never_rounded_down() -> None:
    """An epsilon printed too small would be a lie, however little."""
    made = calibration(replace(LINE, sigma=(1, 10)))

    assert made.epsilon <= Fraction(*epsilon_of(made)) <= made.epsilon + 0.001


def test_less_noise_promises_less() -> None:
    """A negative control: the epsilon is not the one asked for, whatever the noise."""
    quiet, loud = (calibration(replace(LINE, sigma=sigma)) for sigma in [(1, 10), (2, 1)])

    assert quiet.epsilon > 5 > 1 > loud.epsilon
