"""Whole numbers jump while heat spreads: no spread between two that were tried may be worse."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import accumulate, product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from edge.core.records import Grid
from edge.host.enrol import shows_more
from physics.kernel import sensitivity
from recovery.noise import worst as worst_module
from recovery.noise.calibrate import calibrate
from recovery.noise.worst import (
    PRESENCE,
    Grains,
    Room,
    bound_behind,
    bound_changes,
    bound_greatest_response,
    bound_shifts,
    bound_whole_square,
    bound_worst_squares,
    count_sent,
    find_least_shown,
    list_distances,
    scan_spreads,
)
from recovery.thermal import Query, plan
from recovery.thermal.noise import calibrate_query, make_operator, make_room
from recovery.thermal.query import count_protected_cells

# The promise holds at the stated spread and at every longer one, wherever sensors stand.

SPARSE = Query(Grid((20, 1), 500), (10,), 0.01, (1, 1), walls="insulated")


def worst(query: Query, exponent: int, spreads: int = 400) -> int:
    """The greatest squared change of the whole numbers sent, over a fine ladder of spreads."""
    length = query.grid.shape[0] * (query.grid.cell_mm / 1000 or 1 / query.grid.shape[0])
    moved = list_distances(query.grid.shape, count_protected_cells(query))
    return max(
        bound_whole_square(
            bound_shifts(
                make_room(query).operator(spread), query.grid.shape, moved, query.intensity_max
            ),
            exponent,
            query.step,
        )
        for spread in np.geomspace(query.spread_m2, 4 * length**2, spreads)
    )


@pytest.mark.parametrize(
    "query",
    [
        SPARSE,
        replace(SPARSE, spread_m2=0.003),
        replace(SPARSE, spread_m2=0.003, protect_distance_m=2.0),
        replace(SPARSE, walls="none", step=Fraction(1, 4), intensity_max=8.0),
        Query(Grid((6, 5), 500), (3, 2), 0.01, (1, 1)),
    ],
)
@pytest.mark.parametrize("sigma", [None, (1, 2)])
def test_heat_that_had_longer_is_hidden_too(query: Query, sigma: tuple[int, int] | None) -> None:
    """Between two sensors fresh heat is hardly felt, and the noise for it was far too little."""
    made = calibrate_query(replace(query, sigma=sigma))
    fresh = calibrate(
        make_operator(query),
        query.grid.shape,
        count_protected_cells(query),
        query.epsilon,
        query.delta,
        intensity_max=query.intensity_max,
        step=query.step,
    )

    assert worst(query, made.exponent) <= made.sensitivity_squared
    # The control: noise for the stated spread alone.
    assert worst(query, fresh.exponent) > 1.2 * fresh.sensitivity_squared


def test_the_printed_formula_is_for_the_stated_spread_and_says_so() -> None:
    """It reproduces figures; what it does not promise stands beside it."""
    query = replace(SPARSE, delta=(1, 10), calibration="paper")

    made = calibrate_query(query)
    same = calibrate(make_operator(query), (20, 1), 1, (1, 1), (1, 10), method="paper")
    assert made == same
    assert "at the stated spread alone" in plan(query, ()).guarantee.unit
    assert "at the stated spread alone" not in plan(SPARSE, ()).guarantee.unit


LINE = Room(Grid((20, 1), 500), (10,), 0.01, "none")
SHUT = Room(Grid((20, 1), 500), (7,), 0.004, "insulated")
PLANE = Room(Grid((4, 7), 500), (2, 3), 0.02, "none")
AT_ENDS = Room(Grid((7, 4), 500), (4, 3), 0.02, "none")  # at its ends nothing is felt of the other
COARSE = Grains(6, Fraction(1, 4), 8.0)
AWKWARD = Grains(3, Fraction(1, 10), 3.0)
FINE = Grains(6, None, 1.0)
CASES = [
    (LINE, (PRESENCE,), COARSE),
    (LINE, (1, 3), COARSE),
    (LINE, (1, 3), FINE),
    (SHUT, (2, 19), AWKWARD),
    (SHUT, (PRESENCE,), FINE),
    (PLANE, (1, 2), AWKWARD),
    (AT_ENDS, (1, 2, 5, 6), AWKWARD),
    (Room(Grid((20, 1), 0), (7,), 0.0004, "insulated"), (1, 3), FINE),  # felt at one end alone
    (Room(Grid((12, 9), 0), (5, 4), 0.002, "none"), (1, 3), FINE),
]


def counted(room: Room, cells: int, grains: Grains, spreads: np.ndarray) -> int:
    """The greatest square at any of these spreads, pair by pair."""
    total = math.prod(room.grid.shape)
    x, y = np.arange(total) % room.grid.shape[0], np.arange(total) // room.grid.shape[0]
    pairs = [
        (i, j)
        for i in range(total)
        for j in range(i)
        if (x[i] - x[j]) ** 2 + (y[i] - y[j]) ** 2 <= cells**2
    ]
    first, second = np.array(pairs, dtype=int).reshape(-1, 2).T
    greatest = 0.0
    for spread in spreads:
        heat = room.operator(float(spread))
        block = heat if cells == PRESENCE else heat[:, first] - heat[:, second]
        whole = count_sent(
            bound_changes(block, grains.intensity_max, 0.0), grains.exponent, grains.step
        )
        greatest = max(greatest, float(np.square(whole).sum(axis=0).max()))
    return int(greatest)


@pytest.mark.parametrize("spreads", [500, pytest.param(1500, marks=pytest.mark.long)])
@pytest.mark.parametrize(("room", "cells", "grains"), CASES)
def test_no_spread_is_worse_than_the_bound(
    room: Room, cells: tuple[int, ...], grains: Grains, spreads: int
) -> None:
    """Many spreads where moves are felt; and the bound is hardly above them."""
    every = np.geomspace(room.spread_m2, 20.0, spreads)
    for distance, bound in zip(cells, bound_worst_squares(room, cells, grains), strict=True):
        truth = counted(room, distance, grains, every)

        assert truth <= bound <= 1.03 * truth


def test_a_source_that_cannot_be_squared_refuses_no_move_that_can() -> None:
    """Late in a warm room a source is felt by every sensor, and a short move hardly at all."""
    room, grains = Room(Grid((40, 1), 500), (20,), 50.0, "none"), Grains(32, None, 1.0)

    with pytest.raises(ValueError, match="grains"):
        bound_worst_squares(room, (PRESENCE,), grains)
    assert bound_worst_squares(room, (1, 2), grains)[1] > 10**13


def test_the_spreads_that_were_tried_are_not_the_worst() -> None:
    """The control: counting there alone would promise too much, behind a coarse converter."""
    every = np.geomspace(LINE.spread_m2, 20.0, 600)
    grains = Grains(6, Fraction(1, 10), 9.0)
    (bound,) = bound_worst_squares(LINE, (PRESENCE,), grains)

    there = counted(LINE, PRESENCE, grains, scan_spreads(LINE, ()).spreads_m2)
    assert there < counted(LINE, PRESENCE, grains, every) <= bound


BEHIND, STEP, WIDEST = 5, 2, 12  # of the two converters and of a change, in one small unit


def shown_by_two(widths: tuple[int, ...], offset: int, temperature: int) -> int:
    """Steps that are seen of a temperature, through counts of these widths, the rest BEHIND."""
    thresholds = [0, *accumulate(widths + (BEHIND,) * 8)]
    return (max(one for one in thresholds if one <= temperature) + offset) // STEP


def test_two_converters_show_no_more_than_is_planned_for() -> None:
    """Every row of three counts, every temperature in the first, every change: the worst of all.

    The control is what one converter alone is bounded by, fine or coarse.
    """
    worst = [0] * (WIDEST + 1)
    for widths in product(range(1, BEHIND + 1), repeat=3):
        for offset, start in product(range(STEP), range(widths[0])):
            before = shown_by_two(widths, offset, start)
            for dy in range(WIDEST + 1):
                worst[dy] = max(worst[dy], shown_by_two(widths, offset, start + dy) - before)
    block = np.arange(1.0, WIDEST + 1)[:, None]

    def steps(changes: np.ndarray, step: int) -> list[int]:
        return (count_sent(changes, 0, Fraction(step)) // STEP).ravel().astype(int).tolist()

    # The least change of a continuous temperature is no whole unit: half a step is its due.
    planned = steps(bound_behind(block, Fraction(BEHIND)), STEP)
    assert worst[0] == 0
    assert all(seen <= most <= seen + 1 for seen, most in zip(worst[1:], planned, strict=True))
    for alone in (STEP, BEHIND):
        assert any(seen > most for seen, most in zip(worst[1:], steps(block, alone), strict=True))


def most_shown(dy: Fraction, step: Fraction, behind: Fraction, exponent: int) -> int:
    """Grains that a change by dy shows at the most, exactly."""
    return math.ceil(math.ceil((dy + behind) / step) * step * 2**exponent)


WIDTHS = st.fractions(Fraction(1, 300), Fraction(1, 4), max_denominator=300)
COUNTS = st.one_of(st.just(Fraction(0)), WIDTHS)


@settings(max_examples=200, deadline=None, derandomize=True)
@example(Fraction(1, 128), Fraction(0), Fraction(128, 100), Fraction(1, 250), 9)
@example(Fraction(1, 128), Fraction(0), Fraction(128, 50), Fraction(0), 8)
@given(WIDTHS, COUNTS, st.fractions(1, 6, max_denominator=2), COUNTS, st.integers(4, 12))
def test_a_driver_that_is_enrolled_shows_no_more_than_is_planned_for(
    step: Fraction, behind: Fraction, times: Fraction, counts: Fraction, exponent: int
) -> None:
    """At no change of a temperature, whatever the grain; just above a count of it is worst."""
    own, planned = (step, behind), (step * times, counts)
    ratios = [[part.as_integer_ratio() for part in both] for both in (own, planned)]
    if shows_more(*ratios[0], ratios[1]):
        return
    for count in range(60):
        dy = max(count * step - behind, Fraction(0)) + Fraction(1, 10**9)
        assert most_shown(dy, *own, exponent) <= most_shown(dy, *planned, exponent)


def test_a_step_that_divides_rounded_grains_may_show_more() -> None:
    """The control: four grains divide eight, or six, and are no part of what those are made of."""
    own, dy = (Fraction(1, 128), Fraction(0)), Fraction(1, 10**9)
    behind = Fraction(1, 100), Fraction(1, 250)

    assert (
        most_shown(Fraction(1, 64) + dy, *own, 9)
        == 12
        > most_shown(Fraction(1, 64) + dy, *behind, 9)
    )
    assert find_least_shown(*behind) * 2**9 <= 6  # which four do not divide


@settings(max_examples=200, deadline=None, derandomize=True)
# 3, where the square of a root of three is less in floats
@example([1e-200] * 3, 0, None, Fraction(0))
@given(
    st.lists(st.floats(0, 40), min_size=1, max_size=12),
    st.integers(-2, 6),
    st.sampled_from([None, Fraction(1, 4), Fraction(1, 10), Fraction(3, 8), Fraction(7, 3)]),
    st.sampled_from([Fraction(0), Fraction(1, 5)]),
)
def test_rounding_never_goes_beyond_what_the_norm_allows(
    changes: list[float], exponent: int, step: Fraction | None, behind: Fraction
) -> None:
    """Stretches are passed over on this bound's word."""
    block = np.array(changes)[:, None]
    whole = count_sent(bound_behind(block, behind), exponent, step)

    grains = Grains(exponent, step, 1.0, behind)
    most = grains.most(np.linalg.norm(block, axis=0), len(changes))
    assert float(np.square(whole).sum()) <= most[0]


WIDE = [
    Room(Grid((60, 1), 0), (30,), 0.05, "none"),
    Room(Grid((60, 1), 500), (2,), 0.01, "none"),  # heat reaches one sensor at a time
    Room(Grid((200, 1), 0), (7,), 0.0005, "none"),
    Room(Grid((60, 1), 0), (240,), 0.005, "none"),  # many sensors, which add up to an integral
    Room(Grid((12, 9), 0), (5, 4), 0.002, "none"),
    Room(Grid((7, 12), 500), (2, 3), 0.02, "insulated"),
]


@pytest.mark.parametrize("room", WIDE)
def test_what_is_felt_is_bounded_without_an_operator(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a large room spreads that cannot be the worst are passed over on this bound's word."""
    every, cells = np.geomspace(room.spread_m2, 20.0, 40), (1, 3, 8)
    small = scan_spreads(room, cells).moves.max(axis=0), bound_worst_squares(room, cells, FINE)
    scan_spreads.cache_clear()
    monkeypatch.setattr(worst_module, "_LARGE", 0)
    for spread in every:
        bound = worst_module._bound_responses(room, float(spread), cells)
        heat = room.operator(float(spread))
        moved = [sensitivity(heat, near, room.grid.shape) for near in range(1, 9)]
        truth = [max(moved[:far]) for far in cells] + [np.linalg.norm(heat, axis=0).max()]

        assert bound is not None
        assert (truth <= bound).all()

    assert (scan_spreads(room, cells).moves.max(axis=0) == small[0]).all()
    assert bound_worst_squares(room, cells, FINE) == small[1]
    scan_spreads.cache_clear()


def test_along_a_line_the_longest_move_is_from_end_to_end() -> None:
    """In a plane a move goes aslant too, so it may be longer than a side."""
    assert list(list_distances((5, 1), 3)) == [1, 2, 3]
    assert list(list_distances((5, 1), 4)) == list(list_distances((5, 1), 9)) == [1, 2, 3, 4]
    assert list(list_distances((5, 5), 6)) == [1, 2, 3, 4, 5, 6]


def test_between_walls_along_a_line_there_is_no_such_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Heat that comes back from a wall would be more than it says."""
    monkeypatch.setattr(worst_module, "_LARGE", 0)

    assert worst_module._bound_responses(SHUT, SHUT.spread_m2, (1,)) is None


@pytest.mark.parametrize("room", [*WIDE, PLANE, SHUT])
def test_the_warmest_sensor_is_the_nearest(room: Room) -> None:
    """Found without an operator where there are no walls; by 0.01 more where that is later."""
    peaks = [float(room.operator(s).max()) for s in scan_spreads(room, ()).spreads_m2]

    assert max(peaks) <= bound_greatest_response(room) <= 1.01 * max(peaks)
