"""When a converter's steps are so coarse that the noise for them hides everything."""

import math
from dataclasses import replace
from fractions import Fraction

import pytest

from edge.records import Grid
from recovery.thermal_converter import BLIND, Converter, converter, finer_step, larger_epsilon
from recovery.thermal_noise import calibration, operator
from recovery.thermal_query import Query

CORRIDOR = Query(
    Grid((80, 1), 250), (50,), 4.0, (8, 1), walls="insulated", readings=24, protect_distance_m=0.5
)
FULL = replace(CORRIDOR, step=Fraction(1))
# One person after one minute and after twenty, in a corridor of ten metres: peaks of .09, 2 K.
PERSON = Query(Grid((100, 1), 0), (50,), 0.05, (1, 1))


@pytest.mark.parametrize("peak_kelvin", [0.09, 2.0])
@pytest.mark.parametrize("step", [Fraction(1, 128), Fraction(1, 16), Fraction(1, 4)])
def test_the_step_widens_the_noise_by_what_is_said(peak_kelvin: float, step: Fraction) -> None:
    """What it says of a converter is the noise with it over the noise without."""
    fine = replace(PERSON, intensity_max=peak_kelvin / operator(PERSON).max())
    coarse = replace(fine, step=step)
    times = calibration(coarse).sigma / calibration(fine).sigma

    assert converter(coarse).inflation == pytest.approx(times, rel=0.01)


def test_a_step_of_a_kelvin_leaves_nothing_to_be_seen() -> None:
    """Fifty sensors that may all flip by a kelvin, and a source that warms none by a third."""
    found, made = converter(FULL), calibration(FULL)

    assert found.blinds
    # By hand: the two ends of the room over the noise of 24 readings.
    ends = max(
        math.dist(operator(FULL)[:, 0], operator(FULL)[:, cell]) for cell in range(80)
    ) * math.sqrt(24)
    right = 0.5 + 0.5 * math.erf(ends / made.sigma / 2 / math.sqrt(2))
    assert 0.5 < right <= found.right < BLIND < 0.99 < found.right_without


def test_a_fine_converter_blinds_nobody() -> None:
    """Neither one that costs a third more noise, nor one that makes it twenty times wider."""
    for step, least, most in [(Fraction(1, 128), 1.2, 1.4), (Fraction(1, 4), 20, 30)]:
        found = converter(replace(CORRIDOR, step=step))

        assert not found.blinds
        assert least < found.inflation < most
    assert converter(CORRIDOR).inflation == 1.0


def test_what_would_help_helps_and_the_half_of_it_would_not() -> None:
    """A step half as coarse, an epsilon twice as large: the first of each that will do."""
    step, epsilon = finer_step(FULL), larger_epsilon(FULL)

    assert step is not None
    assert epsilon is not None
    assert not converter(replace(FULL, step=step)).blinds
    assert converter(replace(FULL, step=2 * step)).blinds
    assert not converter(replace(FULL, epsilon=epsilon)).blinds
    assert converter(replace(FULL, epsilon=(epsilon[0], 2 * epsilon[1]))).blinds


def test_more_readings_would_not_help() -> None:
    """They share the promise, so each is blurred more: what all of them tell stays the same."""
    assert converter(replace(FULL, readings=24 * 50)).right == pytest.approx(
        converter(FULL).right, abs=1e-3
    )


def test_a_promise_that_hides_everything_is_not_laid_to_the_converter() -> None:
    """A small epsilon over the whole room is blind with every sensor, and that is meant."""
    meant = replace(CORRIDOR, epsilon=(1, 10), protect_distance_m=20.0, step=Fraction(1, 128))

    found = converter(meant)
    assert found.right < BLIND
    assert found.right_without < BLIND
    assert not found.blinds


@pytest.mark.parametrize(
    ("inflation", "right", "without", "blamed"),
    [(3.0, 0.54, 0.56, True), (1.9, 0.54, 0.56, False), (30.0, 0.51, 0.54, False)],
)
def test_a_step_is_to_blame_where_it_alone_takes_the_sight(
    inflation: float, right: float, without: float, blamed: bool
) -> None:
    """Twice the noise, from something to be seen to nothing: either alone is no ground."""
    assert Converter(inflation, right, without).blinds is blamed
