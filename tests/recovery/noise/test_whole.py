"""No neighbour can change what is sent by more than the noise was scaled for."""

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from physics.sensors import to_grains
from recovery.noise.worst import (
    Change,
    bound_sent,
    bound_shifts,
    bound_whole_square,
    choose_exponent,
)

# Whole numbers that two bounds are known of: held against all that there are.


def tried(change: Change, exponent: int, step: Fraction, lag: int) -> int:
    """Return the most that steps of a converter add up to, as grains squared, among all.

    Args:
        lag: steps that a converter behind it adds wherever anything changes.
    """
    ratio, most = step * Fraction(2) ** exponent, 0
    tops = np.ceil(change.each / float(step)).astype(int)
    for counts in product(*(range(top + 1) for top in tops)):
        # Just over one step less than it shows is enough for a sensor to show so many.
        needed = sum((max(count, 1) - 1) ** 2 for count in counts) * float(step) ** 2
        if needed < change.joint**2:
            shown = [(count + lag if count else 0) for count in counts]
            most = max(most, sum(math.ceil(steps * ratio) ** 2 for steps in shown))
    return most


@pytest.mark.parametrize("lag", [0, 2])
@pytest.mark.parametrize("exponent", [3, 4, 5])
@pytest.mark.parametrize("joint", [0.05, 0.11, 0.25, 0.31])
def test_steps_that_are_no_whole_grains_round_up_on_every_sensor(
    exponent: int, joint: float, lag: int
) -> None:
    """A step of 1/10 K is 1.6 grains of 1/16 K: one shows as two, and on all sensors at once."""
    change = Change(joint, np.array([0.28, 0.24, 0.33, 0.21]))
    most = tried(change, exponent, Fraction(1, 10), lag)
    found = bound_sent(change, exponent, Fraction(1, 10), Fraction(lag, 10))

    assert most <= found
    assert found <= (most**0.5 + 2 * 4**0.5 + 2) ** 2


def test_what_cannot_be_squared_exactly_is_refused() -> None:
    """Beyond 2**53 a float is no whole number any more, and a promise would rest on it."""
    with pytest.raises(ValueError, match="squared exactly.*Lower intensity_max"):
        bound_sent(Change(1e8, np.array([1e8])), 0, None)
    assert bound_sent(Change(9e7, np.array([9e7])), 0, None) == 81 * 10**14


STEPS = [None, Fraction(1, 16), Fraction(1, 4), Fraction(3, 8), Fraction(1, 100), Fraction(2, 7)]


def bound(operator, shape, cells, exponent, step) -> float:
    """What the calibration uses, for sources of intensity 1."""
    return bound_whole_square(
        bound_shifts(operator, shape, range(1, cells + 1), 1.0), exponent, step
    )


def pairs(shape: tuple[int, int], cells: int) -> Iterator[tuple[int, int]]:
    """Every two cells at most so many cells apart, as the crow flies."""
    places = [(i % shape[0], i // shape[0]) for i in range(shape[0] * shape[1])]
    for i, (x, y) in enumerate(places):
        for j, (u, v) in enumerate(places):
            if 0 < (x - u) ** 2 + (y - v) ** 2 <= cells**2:
                yield i, j


def worst(operator, shape, cells, exponent, step, intensity=1.0) -> int:
    """The greatest squared change of the whole numbers sent, by brute force.

    Before each move a baseline puts every sensor's reading where its rounding flips soonest:
    at the edge of a step, on the side that the move comes from.
    """
    edge = Fraction(2) ** -exponent if step is None else step
    greatest = 0
    for i, j in pairs(shape, cells):
        before = intensity * operator[:, i]
        after = intensity * operator[:, j]
        # The roundings go up at a half: rise from just below it, fall from just on it.
        start = np.where(after > before, float(edge) * (0.5 - 1e-9), float(edge) * 0.5)
        moved = np.subtract(
            to_grains(start + (after - before), exponent, step), to_grains(start, exponent, step)
        )
        greatest = max(greatest, int(np.sum(moved**2)))
    return greatest


def cases(count: int = 60) -> Iterator[tuple]:
    """Random operators on lines and in planes, with fine, coarse and awkward converters."""
    world = np.random.default_rng(11)
    for number in range(count):
        shape = [(5, 1), (9, 1), (3, 3), (4, 2), (1, 4)][number % 5]
        operator = world.gamma(0.5, size=(int(world.integers(1, 5)), shape[0] * shape[1]))
        # Alike columns two apart, so that the furthest move is not always the widest.
        if number % 3 == 0:
            operator[:, 2:] = operator[:, :-2]
        yield operator, shape, 1 + number % 2, int(world.integers(0, 9)), STEPS[number % 6]


def test_no_move_of_a_source_exceeds_the_bound() -> None:
    """The law that the whole guarantee rests on."""
    for case in cases():
        assert worst(*case) <= bound(*case)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.integers(0, 2**32 - 1), st.sampled_from(STEPS), st.integers(0, 12), st.integers(1, 4))
def test_no_neighbour_of_a_random_scene_exceeds_the_bound(
    seed: int, step: Fraction | None, exponent: int, cells: int
) -> None:
    """Whole scenes, with a room's temperature below them: a source moves, or two cells swap."""
    world = np.random.default_rng(seed)
    operator = world.gamma(0.5, size=(5, 8)) * 10 ** world.uniform(-3, 1)
    heat = world.uniform(0, 1, size=8) * (world.random(8) < 0.6)
    i, j = list(pairs((8, 1), cells))[world.integers(len(list(pairs((8, 1), cells))))]
    neighbour = heat.copy()
    neighbour[[i, j]] = heat[[j, i]] if seed % 2 else [0.0, heat[i] + heat[j]]
    room = world.uniform(-1, 1, size=5)

    sent = [
        np.array(to_grains(room + operator @ warmth, exponent, step))
        for warmth in (heat, neighbour)
    ]
    moved = int(np.sum((sent[0] - sent[1]) ** 2))

    assert moved <= bound(operator, (8, 1), cells, exponent, step)


@given(
    st.floats(1e-9, 1e9),
    st.floats(1e-3, 1e9),
    st.integers(1, 1000),
    st.sampled_from([None, Fraction(1, 16), Fraction(1, 128), Fraction(3, 4), Fraction(1, 100)]),
)
@settings(max_examples=100, deadline=None, derandomize=True)
def test_the_grain_is_fine_enough_and_no_finer(
    spread: float, width: float, sensors: int, step: Fraction | None
) -> None:
    """A twice larger grain would break one of the three rules."""
    exponent = choose_exponent(spread, width * spread, sensors, step)
    grain = Fraction(2) ** -exponent
    dyadic = step is not None and step.denominator in {4, 16, 128}

    def keeps(size: Fraction) -> bool:
        return (
            float(size) <= spread / (50 * math.sqrt(sensors))
            and float(size) <= width * spread / 100
            and not (dyadic and (step / size).denominator > 1)
        )

    assert keeps(grain)
    assert not keeps(2 * grain)


@pytest.mark.parametrize("intensity", [5.0, 20.0, 50.0])
def test_a_converter_step_with_long_numbers_is_counted_in_full(intensity: float) -> None:
    """Sixty-four bits would wrap round, and the noise would be eighty times too narrow."""
    step = Fraction(90000000000000007, 9000000000000000001)
    block = intensity * np.array([[0.013, 0.0002], [0.31, 0.0], [0.002, 0.29]])
    for exponent in (0, 7, 12):
        counts = [[math.ceil(Fraction(value) / step) for value in row] for row in block]
        sent = [[math.ceil(count * step * 2**exponent) for count in row] for row in counts]

        assert bound_whole_square([block], exponent, step) == max(
            sum(row[move] ** 2 for row in sent) for move in range(2)
        )


def test_a_grain_far_too_fine_is_refused() -> None:
    """Squares beyond 2**53 would no longer be exact."""
    with pytest.raises(ValueError, match="state a longer spread"):
        bound_whole_square([np.ones((1, 1))], 27, None)
    with pytest.raises(ValueError, match="state a longer spread"):  # 16 of them are 0 in 64 bits
        bound_whole_square([np.full((1, 1), 15.5 * 2**60 / 3)], 0, Fraction(2**60, 3))
