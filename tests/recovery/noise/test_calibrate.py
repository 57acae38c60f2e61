"""Noise for a deployment: published numbers, the exact law of whole-number noise, refusals."""

import math
from dataclasses import replace
from fractions import Fraction

import dp_accounting
import numpy as np
import pytest

from edge.core.records import Grid
from physics.kernel import forward
from physics.places import cell_places, sensor_places
from recovery.noise import Ratio, check_ratio, parse_ratio
from recovery.noise.calibrate import calibrate, delta_of_variance, epsilon_of
from recovery.noise.gaussian import gaussian_delta, gaussian_epsilon, zcdp_epsilon
from recovery.thermal import plan
from recovery.thermal.noise import calibrate_query
from recovery.thermal.query import Query

LINE = Grid((100, 1), 0)
ROOM = forward(cell_places(LINE), sensor_places((50,), LINE), 0.05)
CUSTOMARY: tuple[Ratio, Ratio] = ((1, 1), (1, 100000))


def line(cells: int = 1, epsilon: Ratio = (1, 1), delta: Ratio = (1, 100000), **more):
    return calibrate(ROOM, (100, 1), cells, epsilon, delta, **more)


@pytest.mark.parametrize("epsilon", [(1, 2), (1, 1), (4, 1), (10, 1), (142, 1), (1000, 1)])
@pytest.mark.parametrize("step", [None, Fraction(1, 16), Fraction(1, 100)])
def test_the_noise_grants_what_was_asked_and_hardly_more(
    epsilon: Ratio, step: Fraction | None
) -> None:
    """By another accountant, on the whole numbers; a variance one smaller would not do."""
    made = line(epsilon=epsilon, step=step)
    sigma = math.sqrt(made.variance / made.sensitivity_squared)

    assert dp_accounting.get_epsilon_gaussian(sigma, 1e-5) <= epsilon[0] / epsilon[1]
    assert made.epsilon <= epsilon[0] / epsilon[1]
    # Rounded up to a whole variance and to a billionth of rho: one less of either breaks it.
    less = Fraction(made.sensitivity_squared, 2 * (made.variance - 1))
    rho = max(less, Fraction(math.ceil(10**9 * Fraction(*made.rho)) + 2, 10**9))
    assert gaussian_epsilon(math.sqrt(0.5 / rho) / 1.001, 1e-5) > epsilon[0] / epsilon[1]


@pytest.mark.parametrize("readings", [1, 2, 24])
def test_no_less_delta_is_told_than_so_many_readings_give(readings: int) -> None:
    """By the curve of one Gaussian as wide as all of them together: the least there is."""
    least = gaussian_delta(1.0, math.sqrt(8 / readings))

    told = delta_of_variance(2, 16, readings, 1.0)

    assert least <= told <= (1.02 if readings == 1 else 4) * least


def test_a_devices_ledger_lasts_as_long_as_the_promise() -> None:
    """It counts in billionths and rounds up: so many answers must still be within epsilon."""
    for epsilon, readings in [((1, 1), 1), ((1, 100), 1), ((8, 1), 24), ((1, 10), 1000)]:
        made = line(epsilon=epsilon, readings=readings)
        spent = Fraction(math.ceil(10**9 * Fraction(*made.rho)), 10**9) * readings
        one, wide = readings == 1, math.sqrt(1 / (2 * spent))

        asked = epsilon[0] / epsilon[1]
        assert (
            gaussian_epsilon(wide / 1.001, 1e-5) if one else zcdp_epsilon(spent, 1e-5)
        ) <= asked
    with pytest.raises(ValueError, match="could never answer"):
        line(epsilon=(1, 1000), readings=1000)


@pytest.mark.parametrize("epsilon", [(1, 10), (1, 1), (10, 1), (142, 1)])
def test_the_noise_is_never_narrower_than_a_hundred_grains(epsilon: Ratio) -> None:
    """Below that the discrete Gaussian leaves the curve it is calibrated by."""
    assert line(epsilon=epsilon).variance >= 100**2


def test_several_readings_are_paid_for_together() -> None:
    """The zCDP price of all of them, exactly in whole numbers, is within the promise."""
    made = line(readings=24)
    rho = Fraction(*made.rho) * 24

    assert zcdp_epsilon(float(rho), 1e-5) <= 1
    assert zcdp_epsilon(float(rho) * (1 + 1e-6), 1e-5) > 1
    assert made.sigma / line().sigma == pytest.approx(math.sqrt(24) * 4.045 / 3.731, rel=2e-3)


# The converter makes noise this many times wider, with one person's warmth after one minute
# and after twenty in a corridor of 10 m; peaks of .09 K and 2 K.
@pytest.mark.parametrize(
    ("peak_kelvin", "step", "times"),
    [
        (0.09, Fraction(1, 128), 5.4),
        (0.09, Fraction(1, 16), 44),
        (0.09, Fraction(1, 4), 174),
        (2.0, Fraction(1, 128), 1.1),
        (2.0, Fraction(1, 16), 2.1),
        (2.0, Fraction(1, 4), 8.4),
    ],
)
def test_a_coarse_converter_costs_what_was_found(
    peak_kelvin: float, step: Fraction, times: float
) -> None:
    """Steps of 1/16 K can flip on all sensors at once, however little a person moves."""
    kelvin = peak_kelvin / ROOM.max()
    coarse = line(intensity_max=kelvin, step=step)

    assert coarse.sigma / line(intensity_max=kelvin).sigma == pytest.approx(times, rel=0.15)


def test_a_longer_distance_covers_every_shorter_one() -> None:
    """An operator whose far columns are alike must still hide the step between."""
    operator = np.tile([[1.0, 0.0]], (3, 4))
    near = calibrate(operator, (8, 1), 1, *CUSTOMARY)
    far = calibrate(operator, (8, 1), 2, *CUSTOMARY)

    assert far.sensitivity == near.sensitivity == pytest.approx(math.sqrt(3))
    assert far.variance == near.variance


def test_in_a_plane_oblique_moves_count() -> None:
    """A source that moves two cells along each axis is within three cells."""
    plane = Grid((8, 8), 0)
    operator = forward(cell_places(plane), sensor_places((4, 4), plane), 0.02)
    oblique = max(np.linalg.norm(operator[:, 9 * i] - operator[:, 9 * (i + 2)]) for i in range(6))

    assert calibrate(operator, (8, 8), 3, *CUSTOMARY).sensitivity >= oblique


def test_the_printed_formula_says_what_it_really_gives() -> None:
    """Sigma .6865 at the paper's own point, which is (0, 1/10)-private already."""
    made = line(delta=(1, 10), method="paper")

    assert made.sigma == pytest.approx(0.6865, abs=1e-4)
    assert made.epsilon == 0.0
    assert gaussian_delta(
        1.0, math.sqrt(made.variance), math.sqrt(made.sensitivity_squared)
    ) == pytest.approx(1.3e-8, rel=0.25)


def test_the_printed_formula_is_refused_where_it_is_not_private() -> None:
    """Beyond epsilon 39 at delta 1/10, and behind a coarse converter much earlier."""
    with pytest.raises(ValueError, match="is not private"):
        line(epsilon=(45, 1), delta=(1, 10), method="paper")
    with pytest.raises(ValueError, match="is not private"):
        line(delta=(1, 10), method="paper", step=Fraction(1, 1))
    with pytest.raises(ValueError, match="accepted up to"):
        line(delta=(1, 5), method="paper")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"epsilon": 0.5}, "epsilon is 0.5"),
        ({"delta": 1e-5}, "delta is 1e-05"),
        ({"delta": (1, 1)}, "delta is 1"),
        ({"cells": 0}, "cells is 0"),
        ({"readings": 0}, "readings 0"),
        ({"step": Fraction(-1, 16)}, "step -1/16"),
        ({"intensity_max": 0.0}, "intensity_max 0"),
        ({"intensity_max": math.nan}, "intensity_max nan"),
    ],
)
def test_bad_parameters_are_refused(change: dict, why: str) -> None:
    """Each would otherwise become too little noise, or none."""
    with pytest.raises(ValueError, match=why):
        line(**change)


# Noise that is stated: its width is kept, and what it promises is found, not assumed.

PLANNED = Query(grid=Grid((100, 1), 0), sensors=(50,), spread_m2=0.05, epsilon=(1, 1))


def test_stating_the_noise_that_an_epsilon_needs_gives_that_epsilon_back() -> None:
    """Both ways round the same law holds, so neither can promise more than the other."""
    wished = calibrate_query(PLANNED)
    sigma = Fraction(wished.sigma).limit_denominator(10**6)
    asked = replace(PLANNED, sigma=(sigma.numerator, sigma.denominator), epsilon=(99, 1))

    assert calibrate_query(asked).epsilon == pytest.approx(1, rel=2e-3)
    promise = plan(asked, []).guarantee
    assert 1 <= Fraction(*promise.epsilon) <= Fraction(1003, 1000)


def test_a_promise_is_never_rounded_down() -> None:
    """An epsilon printed too small would be a lie, however little."""
    made = calibrate_query(replace(PLANNED, sigma=(1, 10)))

    assert made.epsilon <= Fraction(*epsilon_of(made)) <= made.epsilon + 0.001


# Ratios of whole numbers, as they are typed.


@pytest.mark.parametrize(
    ("text", "ratio"),
    [
        ("1/2", (1, 2)),
        ("10/4", (5, 2)),
        (" 4/1 ", (4, 1)),
        ("8 / 1", (8, 1)),
        ("3", (3, 1)),
        ("1/100000", (1, 100000)),
    ],
)
def test_a_ratio_is_read_in_lowest_terms(text: str, ratio: tuple[int, int]) -> None:
    """Equal requests must be equal bytes on every device."""
    assert parse_ratio(text) == ratio


@pytest.mark.parametrize(
    "text", ["0.5", "1e-5", "", "/", "1/", "/2", "0/1", "1/0", "-1/2", "1/2/3", "½", "²/3", "a/b"]
)
def test_anything_else_is_refused_with_the_way_out(text: str) -> None:
    """Above all a decimal fraction, which has no one value on every device."""
    with pytest.raises(ValueError, match=r"write \d+/\d+( for one in .*)?, so") as refusal:
        parse_ratio(text, "delta")

    assert repr(text) in str(refusal.value)
    assert str(refusal.value).startswith("delta")


@pytest.mark.parametrize("text", ["9223372036854775808/1", f"1/1{20 * '0'}"])
def test_a_ratio_of_too_long_numbers_is_called_one(text: str) -> None:
    """It is a ratio, and to be told that it is none helps nobody."""
    with pytest.raises(ValueError, match=r"^delta .* 2\*\*63 "):
        parse_ratio(text, "delta")


@pytest.mark.parametrize(
    "ratio", [0.5, 1, "1/2", (1,), (1.0, 2), (0, 1), (1, -2), (True, 1), [1, 2], (1, 2**63)]
)
def test_a_ratio_in_the_program_is_two_positive_whole_numbers(ratio: object) -> None:
    """A float slipped in by a caller is refused as one typed by an operator is."""
    with pytest.raises(ValueError, match="must be a pair"):
        check_ratio(ratio, "epsilon")


@pytest.mark.parametrize(
    ("text", "meant"), [("0.001", "1/1000"), (" 2.5 ", "5/2"), ("1e-5", "1/100000")]
)
def test_a_decimal_is_answered_with_the_ratio_it_means(text: str, meant: str) -> None:
    """Whoever reads it can copy it, be it in a flag or in a deployment file."""
    with pytest.raises(ValueError, match=f"write {meant}, so"):
        parse_ratio(text)
