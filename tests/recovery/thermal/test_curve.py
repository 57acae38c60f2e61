"""What is said of other distances and of presence is true at every spread, not at one alone."""

import math
from dataclasses import replace
from fractions import Fraction

import dp_accounting
import numpy as np
import pytest

from edge.records import Grid
from physics.places import length_m
from recovery.noise.calibrate import exact_epsilon
from recovery.noise.whole import shifts, whole_square
from recovery.noise.worst import Room, felt
from recovery.thermal.curve import (
    BLIND,
    Converter,
    converter,
    curve,
    distances,
    finer_step,
    given,
    larger_epsilon,
    presence,
    presence_square,
)
from recovery.thermal.noise import calibration, operator, room
from recovery.thermal.query import Query

# When a converter's steps are so coarse that the noise for them hides everything.

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
    made, total = calibration(query), math.prod(query.grid.shape)
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
        heat = query.intensity_max * room(query).operator(spread)
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
    rows = curve(query)

    assert [row.cells for row in rows] == list(distances(query))
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

    assert true <= presence(query) <= 1.01 * true + 0.01


@pytest.mark.long
def test_a_shut_room_that_still_fills_up_is_followed_to_its_end() -> None:
    """Where heat is nearly even some sensors still rise: whole numbers jump up with them."""
    query = Query(
        Grid((4, 3), 100),
        (3, 2),
        0.18119622275118566,
        (8, 1),
        protect_distance_m=0.4,
        intensity_max=97.05574280670571,
        walls="insulated",
    )
    made, here = calibration(query), room(query)
    later = [
        query.intensity_max * here.operator(float(s))
        for s in np.geomspace(here.spread_m2, 0.6, 200)
    ]

    assert presence_square(query, made) >= whole_square(later, made.exponent, None)


def test_the_spreads_of_the_protected_distance_would_flatter_others() -> None:
    """The control: what stood here before was below the truth where sensors are sparse."""
    made, tried = calibration(SPARSE), felt(room(SPARSE), (1,))
    own = room(SPARSE).operator(float(tried.spreads_m2[tried.moves[:, 0].argmax()]))
    far = [own[:, 5:] - own[:, :-5]], truly(SPARSE, 5)
    there = [own], truly(SPARSE, None)

    for changes, truth in (far, there):
        square = whole_square([np.abs(block) for block in changes], made.exponent, None)
        assert exact_epsilon(square, made.variance, 1, 1e-5) < truth


@pytest.mark.long
def test_a_shorter_move_never_costs_more_than_a_longer_one() -> None:
    """A row is of moves up to a distance; with sparse sensors the longest is not the worst."""
    for query in ROOMS:
        epsilons = [row.epsilon for row in curve(query)]

        assert epsilons == sorted(epsilons)


@pytest.mark.parametrize("query", ROOMS)
def test_at_the_protected_distance_it_is_what_was_promised(query: Query) -> None:
    """The curve and the calibration count the same whole numbers."""
    own = round((query.protect_distance_m or 0.5) / 0.5)
    (row,) = curve(query, (own,))

    assert given(query, calibration(query)) == pytest.approx(calibration(query).epsilon, rel=1e-9)
    assert row.epsilon <= calibration(query).epsilon * (1 + 1e-9)


def test_the_printed_formula_is_judged_at_the_stated_spread_alone() -> None:
    """It promises nothing of longer ones, and says so in the promise."""
    paper = replace(SPARSE, delta=(1, 10), calibration="paper")
    made = calibration(paper)
    square = whole_square(shifts(operator(paper), (20, 1), [1], 1.0), made.exponent, None)

    assert curve(paper, (1,))[0].epsilon == exact_epsilon(square, made.variance, 1, 0.1)


def test_more_than_was_stated_costs_more() -> None:
    """The same noise in a world of warmer sources, fresher heat or more readings."""
    room = Query(Grid((100, 1), 0), (50,), 0.05, (1, 1))
    made = calibration(room)

    assert given(replace(room, intensity_max=2.0), made) == pytest.approx(2.15, rel=0.02)
    assert given(replace(room, spread_m2=0.01), made) == pytest.approx(4.3, rel=0.02)
    assert given(replace(room, sensors=(100,)), made) == pytest.approx(1.47, rel=0.02)
    # Several readings are paid in zCDP, which costs a little more than the curve's 6.02.
    assert 6.0 <= given(replace(room, readings=24), made) <= 6.6


@pytest.mark.long
@pytest.mark.parametrize(("walls", "spread"), [("none", 0.02), ("insulated", 0.003)])
def test_the_search_over_spreads_ends_at_the_peak(walls: str, spread: float) -> None:
    """A part in a million: less is left than any rounding of the noise adds."""
    here, cells = Room(Grid((15, 1), 500), (6,), spread, walls), (1, 2, 5)
    found = felt(here, cells)
    for nth, distance in enumerate(cells):
        most = 0.0
        for each in np.geomspace(spread, 300, 3000):
            operator = here.operator(each)
            for apart in range(1, distance + 1):
                change = operator[:, apart:] - operator[:, :-apart]
                most = max(most, float(np.square(change).sum(axis=0).max()))

        assert found.moves[:, nth].max() >= math.sqrt(most) * (1 - 1e-6)
        assert found.moves[:, nth].max() <= math.sqrt(most) * (1 + 1e-4)
