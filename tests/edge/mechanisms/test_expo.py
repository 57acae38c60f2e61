"""The exponential from below: never above the true one, and not far under it."""

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge.mechanisms.expo import MOST, exp_floor

SCALE = 1 << 32


def short(num: int, den: int, scale: int) -> mpmath.mpf:
    """Return by how much it is below, in units of the scale, with 80 digits."""
    with mpmath.workdps(80):
        return scale * mpmath.exp(mpmath.mpf(num) / den) - exp_floor(num, den, scale)


@given(st.integers(0, 10**6), st.integers(1, 10**6), st.sampled_from([1 << 16, SCALE]))
def test_it_is_never_above_and_at_most_two_units_below(num: int, den: int, scale: int) -> None:
    """Above, a device would accept weights that tell more than epsilon; below, waste it."""
    num = num % (10 * den + 1)

    assert 0 <= short(num, den, scale) < 2


@pytest.mark.parametrize("tenths", [1, 7, 14, 21, 28, 35, 50, 70, 90, 100, 160, 320, 640])
def test_the_epsilons_of_the_paper_and_the_largest_of_all(tenths: int) -> None:
    """The guard bits grow with epsilon, so it is as tight at 64 as at a tenth."""
    assert 0 <= short(tenths, 10, SCALE) < 2


@pytest.mark.parametrize(("num", "den"), [(0, 1), (1, 10**18), (10**19 - 1, 10**19)])
def test_odd_ratios_are_no_exception(num: int, den: int) -> None:
    """No epsilon at all, next to none, and the largest numbers that a message can hold."""
    assert 0 <= short(num, den, SCALE) < 2


@pytest.mark.parametrize(("num", "den", "scale"), [(-1, 1, 8), (1, 0, 8), (1, 1, -1), (65, 1, 8)])
def test_what_is_no_epsilon_is_refused(num: int, den: int, scale: int) -> None:
    """A hostile epsilon must not keep a device busy for ever either."""
    with pytest.raises(ValueError, match=f"0 to {MOST}"):
        exp_floor(num, den, scale)
