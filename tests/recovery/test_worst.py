"""Whole numbers jump while heat spreads: no spread between two that were tried may be worse."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge.records import Grid
from recovery.spreads import Room, felt
from recovery.whole import bounded, sent
from recovery.worst import PRESENCE, Grains, worst_squares

LINE = Room(Grid((20, 1), 500), (10,), 0.01, "none")
SHUT = Room(Grid((20, 1), 500), (7,), 0.004, "insulated")
PLANE = Room(Grid((6, 5), 500), (3, 2), 0.02, "none")
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
        whole = sent(bounded(block, grains.intensity_max, 0.0), grains.exponent, grains.step)
        greatest = max(greatest, float(np.square(whole).sum(axis=0).max()))
    return int(greatest)


@pytest.mark.parametrize(("room", "cells", "grains"), CASES)
def test_no_spread_is_worse_than_the_bound(
    room: Room, cells: tuple[int, ...], grains: Grains
) -> None:
    """Fifteen hundred spreads where moves are felt; and the bound is hardly above them."""
    every = np.geomspace(room.spread_m2, 20.0, 1500)
    for distance, bound in zip(cells, worst_squares(room, cells, grains), strict=True):
        truth = counted(room, distance, grains, every)

        assert truth <= bound <= 1.03 * truth


def test_the_spreads_that_were_tried_are_not_the_worst() -> None:
    """The control: counting there alone would promise too much, behind a coarse converter."""
    every = np.geomspace(LINE.spread_m2, 20.0, 600)
    grains = Grains(6, Fraction(1, 10), 9.0)
    (bound,) = worst_squares(LINE, (PRESENCE,), grains)

    there = counted(LINE, PRESENCE, grains, felt(LINE, ()).spreads_m2)
    assert there < counted(LINE, PRESENCE, grains, every) <= bound


def test_where_fresh_heat_is_felt_most_the_bound_is_its_own() -> None:
    """With sensors close by, nothing but half a part in a thousand is added."""
    room = Room(Grid((100, 1), 0), (50,), 0.05, "none")
    fresh = counted(room, 1, Grains(12, None, 1.0), np.array([room.spread_m2]))

    (bound,) = worst_squares(room, (1,), Grains(12, None, 1.0))
    assert fresh <= bound <= 1.001 * fresh + 1


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.lists(st.floats(0, 40), min_size=1, max_size=12),
    st.integers(-2, 6),
    st.sampled_from([None, Fraction(1, 4), Fraction(1, 10), Fraction(3, 8), Fraction(7, 3)]),
)
def test_rounding_never_goes_beyond_what_the_norm_allows(
    changes: list[float], exponent: int, step: Fraction | None
) -> None:
    """Stretches are passed over on this bound's word."""
    block = np.array(changes)[:, None]
    whole = sent(block, exponent, step)

    most = Grains(exponent, step, 1.0).most(np.linalg.norm(block, axis=0), len(changes))
    assert float(np.square(whole).sum()) <= most[0]
