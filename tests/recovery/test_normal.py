"""The tail of the normal distribution, against the same in sixty digits."""

import math
from collections.abc import Callable

import mpmath
import numpy as np
import pytest
from scipy import special

from recovery.normal import crossing, erfcx, ndtr

# Both sides of where one way takes over from the other, and as far as floats reach.
PLACES = [*np.linspace(-26, 30, 801), 3.999999999999, 4.0, *np.geomspace(30, 1e6, 50)]


def lost(tail: Callable[[float], float], places: list[float]) -> float:
    """Return what a function loses of exp(x**2) erfc(x) at worst, relative to it."""
    with mpmath.workdps(60):
        worst = mpmath.mpf(0)
        for x in map(mpmath.mpf, places):
            truth = mpmath.exp(x * x) * mpmath.erfc(x)
            worst = max(worst, abs(tail(float(x)) / truth - 1))
        return float(worst)


def test_the_scaled_tail_is_right_to_the_last_digits() -> None:
    """Differences of two near values are taken of it, so every digit counts."""
    assert lost(erfcx, [float(x) for x in PLACES]) < 1e-15


def test_without_the_split_square_digits_are_lost() -> None:
    """The control: the product of both factors as they are does not pass the same bound."""
    places = [float(x) for x in np.linspace(-20, -5, 101)]

    assert lost(lambda x: math.exp(x * x) * math.erfc(x), places) > 1e-15


def test_the_chance_below_is_that_of_scipy() -> None:
    """Down to where floats end: a tail that is cut off would be a promise that is not kept."""
    x = np.linspace(-37, 9, 2001)

    assert [ndtr(float(one)) for one in x] == pytest.approx(special.ndtr(x), rel=1e-12, abs=0)


@pytest.mark.parametrize("root", [-650.0, -1.0, 0.0, 1e-9, 0.3, 41.5, 699.0])
def test_a_crossing_is_found_to_the_last_digits_and_from_above(root: float) -> None:
    """At nought too, where floats lie endlessly dense and halving alone would go on and on."""
    asked: list[float] = []

    def increasing(x: float) -> float:
        asked.append(x)
        return x - root

    found = crossing(increasing, -700.0, 700.0)

    assert 0 <= found - root <= max(1e-15, 2e-16 * abs(root) * 2)
    assert len(asked) < 80
