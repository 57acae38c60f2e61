"""Whole numbers that two bounds are known of: held against all that there are."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from recovery.filled import Change, most_sent


def tried(change: Change, exponent: int, step: Fraction) -> int:
    """Return the most that steps of a converter add up to, as grains squared, among all."""
    ratio, most = step * Fraction(2) ** exponent, 0
    tops = np.ceil(change.each / float(step)).astype(int)
    for counts in product(*(range(top + 1) for top in tops)):
        # Just over one step less than it shows is enough for a sensor to show so many.
        needed = sum((max(count, 1) - 1) ** 2 for count in counts) * float(step) ** 2
        if needed < change.joint**2:
            most = max(most, sum(math.ceil(count * ratio) ** 2 for count in counts))
    return most


@pytest.mark.parametrize("exponent", [3, 4, 5])
@pytest.mark.parametrize("joint", [0.05, 0.11, 0.25, 0.31])
def test_steps_that_are_no_whole_grains_round_up_on_every_sensor(
    exponent: int, joint: float
) -> None:
    """A step of 1/10 K is 1.6 grains of 1/16 K: one shows as two, and on all sensors at once."""
    change = Change(joint, np.array([0.28, 0.24, 0.33, 0.21]))
    most = tried(change, exponent, Fraction(1, 10))
    found = most_sent(change, exponent, Fraction(1, 10))

    assert most <= found
    assert found <= (most**0.5 + 2 * 4**0.5 + 2) ** 2


def test_what_cannot_be_squared_exactly_is_refused() -> None:
    """Beyond 2**53 a float is no whole number any more, and a promise would rest on it."""
    with pytest.raises(ValueError, match="squared exactly.*Lower intensity_max"):
        most_sent(Change(1e8, np.array([1e8])), 0, None)
    assert most_sent(Change(9e7, np.array([9e7])), 0, None) == 81 * 10**14
