"""Counts of a thermal array, less the empty room, in grains."""

from fractions import Fraction

import numpy as np
import pytest

from edge.core.pixels import above, baseline
from physics.sensors import grains

EMPTY = [84, 80, 91, 88]


@pytest.mark.parametrize("step", [Fraction(1, 4), Fraction(1, 16), Fraction(1, 10), Fraction(3)])
@pytest.mark.parametrize("exponent", [-2, 0, 2, 9])
def test_a_device_and_the_simulator_make_the_same_grains(step: Fraction, exponent: int) -> None:
    """The promise is proved for the simulator's order of rounding, and the device keeps it."""
    counts = [84, 113, 76, 89]
    warmth = [float((c - e) * step) for c, e in zip(counts, EMPTY, strict=True)]

    assert above(counts, EMPTY, exponent, step.as_integer_ratio()) == grains(
        warmth, exponent, step
    )


def test_taking_the_empty_room_away_changes_no_difference() -> None:
    """Two frames are as far apart after it as before: a constant costs no privacy."""
    one, other = [84, 113, 76, 89], [90, 84, 84, 84]
    apart = np.subtract(above(one, EMPTY, 4, (1, 4)), above(other, EMPTY, 4, (1, 4)))

    assert apart.tolist() == [4 * (a - b) for a, b in zip(one, other, strict=True)]


def test_one_wild_frame_does_not_move_the_empty_room() -> None:
    """Arrays send a broken frame now and then; a mean would carry it for ever."""
    frames = [[84, 80], [85, 80], [84, 81], [0, 255]]

    assert baseline(frames) == [84, 81]


@pytest.mark.parametrize("frames", [[], [[]]])
def test_a_room_that_was_never_recorded_is_refused(frames: list[list[int]]) -> None:
    """Without it every warm wall would be a person."""
    with pytest.raises(ValueError, match="Record some while nobody is there"):
        baseline(frames)


def test_a_frame_of_another_array_is_refused() -> None:
    """zip would quietly drop the pixels that the shorter one has not."""
    with pytest.raises(ValueError, match="not give 4 whole numbers"):
        above([84, 113, 76, 89, 90], EMPTY, 2, (1, 4))
