"""Curves of error against epsilon, and what another converter or background would do."""

import math
from dataclasses import replace
from fractions import Fraction

import dp_accounting
import numpy as np
import pytest

from edge.core.records import Grid
from physics.places import length_m
from recovery.thermal.curve import (
    BLIND,
    WhatIf,
    bound_presence_epsilon,
    compare_choices,
    compute_curve,
    find_epsilon,
    find_finer_step,
    find_larger_epsilon,
    list_distances,
    measure_converter,
)
from recovery.thermal.noise import calibrate_query, make_operator, make_room
from recovery.thermal.query import Query

# What is said of other distances and of presence is true at every spread, not at one alone.

# When a converter's steps are so coarse that the noise for them hides everything.

CORRIDOR = Query(
    Grid((80, 1), 250), (50,), 4.0, (8, 1), walls="insulated", readings=24, protect_distance_m=0.5
)
FULL = replace(CORRIDOR, step=Fraction(1))


# One person after one minute and after twenty, in a corridor of ten metres: peaks of .09, 2 K.
def test_a_step_of_a_kelvin_leaves_nothing_to_be_seen() -> None:
    """Fifty sensors that may all flip by a kelvin, and a source that warms none by a third."""
    found, made = measure_converter(FULL), calibrate_query(FULL)

    assert found.blinds
    # By hand: the two ends of the room over the noise of 24 readings.
    ends = max(
        math.dist(make_operator(FULL)[:, 0], make_operator(FULL)[:, cell]) for cell in range(80)
    ) * math.sqrt(24)
    right = 0.5 + 0.5 * math.erf(ends / made.sigma / 2 / math.sqrt(2))
    assert 0.5 < right <= found.right < BLIND < 0.99 < found.right_without


def test_what_would_help_helps_and_the_half_of_it_would_not() -> None:
    """A step half as coarse, an epsilon twice as large: the first of each that will do."""
    step, epsilon = find_finer_step(FULL), find_larger_epsilon(FULL)

    assert not measure_converter(replace(FULL, step=step[0], behind=step[1])).blinds
    assert measure_converter(replace(FULL, step=2 * step[0], behind=2 * step[1])).blinds
    assert not measure_converter(replace(FULL, epsilon=epsilon)).blinds
    assert measure_converter(replace(FULL, epsilon=(epsilon[0], 2 * epsilon[1]))).blinds


SPARSE = Query(Grid((20, 1), 500), (10,), 0.01, (1, 1), walls="insulated")
PLANE = Query(Grid((7, 5), 500), (3, 2), 0.02, (2, 1))
COARSE = replace(SPARSE, walls="none", step=Fraction(1, 4), intensity_max=8.0, readings=6)
AWKWARD = replace(PLANE, step=Fraction(1, 10), intensity_max=3.0, protect_distance_m=1.0)
ROOMS = [SPARSE, PLANE, COARSE, AWKWARD]


def rounded(changes: np.ndarray, query: Query, exponent: int) -> np.ndarray:
    """How far whole numbers can move apart: a step at least where anything changes at all."""
    grain = 2.0**-exponent
    if query.step is None:
        return np.ceil(changes / grain)
    counts = np.ceil(changes / float(query.step))
    return np.ceil(counts * float(query.step) / grain - 1e-9)


def worst(query: Query, cells: int | None) -> float:
    """The most sigmas that any pair of cells, or presence, is apart at any of many spreads."""
    made, total = calibrate_query(query), math.prod(query.grid.shape)
    longest = float(np.max(length_m(query.grid)))
    x, y = np.arange(total) % query.grid.shape[0], np.arange(total) // query.grid.shape[0]
    pairs = [
        (i, j)
        for i in range(total)
        for j in range(i)
        if (x[i] - x[j]) ** 2 + (y[i] - y[j]) ** 2 <= (cells or 0) ** 2
    ]
    greatest = 0.0
    for spread in np.geomspace(query.spread_m2, 4 * longest**2, 250):
        heat = query.intensity_max * make_room(query).operator(spread)
        changes = (
            heat if cells is None else np.array([heat[:, i] - heat[:, j] for i, j in pairs]).T
        )
        whole = rounded(np.abs(changes), query, made.exponent)
        greatest = max(greatest, float(np.square(whole).sum(axis=0).max()))
    return math.sqrt(greatest * query.readings / made.variance)


def truly(query: Query, cells: int | None) -> float:
    """The epsilon of that, by another accountant."""
    return dp_accounting.get_epsilon_gaussian(1 / worst(query, cells), 1e-5)


@pytest.mark.long
@pytest.mark.parametrize("query", ROOMS)
def test_no_row_of_the_curve_is_below_the_truth(query: Query) -> None:
    """Every pair of cells within the distance, at two hundred and fifty spreads."""
    rows = compute_curve(query)

    assert [row.cells for row in rows] == list(list_distances(query))
    for row in rows:
        assert truly(query, row.cells) <= row.epsilon <= 1.01 * truly(query, row.cells) + 0.01
        assert row.right >= dp_accounting_right(worst(query, row.cells)) - 1e-12


def dp_accounting_right(apart: float) -> float:
    """The best test's chance between two bells so many sigmas apart."""
    return (1 + math.erf(apart / 2 / math.sqrt(2))) / 2


@pytest.mark.parametrize("query", ROOMS)
def test_presence_is_not_below_the_truth(query: Query) -> None:
    """It is the first number that is printed, and must not flatter."""
    true = truly(query, None)

    assert true <= bound_presence_epsilon(query) <= 1.01 * true + 0.01


@pytest.mark.parametrize("query", ROOMS)
def test_at_the_protected_distance_it_is_what_was_promised(query: Query) -> None:
    """The curve and the calibration count the same whole numbers."""
    own = round((query.protect_distance_m or 0.5) / 0.5)
    (row,) = compute_curve(query, (own,))

    assert find_epsilon(query, calibrate_query(query)) == pytest.approx(
        calibrate_query(query).epsilon, rel=1e-9
    )
    assert row.epsilon <= calibrate_query(query).epsilon * (1 + 1e-9)


# What else would do to the promise: against figures from outside, and the traps behind them.

PAPER = Query(Grid((100, 1), 0), (50,), 0.05, (1, 1))
DAY = replace(PAPER, readings=24)


def rows(query: Query) -> dict[str, WhatIf]:
    return {row.name: row for row in compare_choices(query)}


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
            made = calibrate_query(row.query)

            assert row.sigma == made.sigma
            assert made.epsilon <= 1.0
    assert rows(DAY)["twice_the_cadence"].sigma == pytest.approx(
        math.sqrt(2) * calibrate_query(DAY).sigma, rel=0.02
    )


def test_where_the_printed_formula_is_not_private_no_sigma_is_named() -> None:
    """At epsilon 38 and delta 1/10 it still is; with twice the readings, in zCDP, it is not."""
    query = replace(PAPER, epsilon=(38, 1), delta=(1, 10), calibration="paper")

    found = rows(query)
    assert found["as_planned"].sigma is not None
    assert found["twice_the_cadence"].sigma is None
