"""What else would do to the promise: against figures from outside, and the traps behind them."""

import math
from dataclasses import replace

import dp_accounting
import pytest

from edge.core.records import Grid
from recovery.thermal.curve import WhatIf, what_if
from recovery.thermal.noise import calibration
from recovery.thermal.query import Query

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


def test_where_the_printed_formula_is_not_private_no_sigma_is_named() -> None:
    """At epsilon 38 and delta 1/10 it still is; with twice the readings, in zCDP, it is not."""
    query = replace(PAPER, epsilon=(38, 1), delta=(1, 10), calibration="paper")

    found = rows(query)
    assert found["as_planned"].sigma is not None
    assert found["twice_the_cadence"].sigma is None
