"""The shapes of warmth between two walls, against the equation they come from."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq

from physics.kernels.modes import mode_rates, modes


@pytest.mark.parametrize("losses", [(0.0, 3.0), (2.0, 2.0), (40.0, 0.7)])
def test_the_rates_solve_the_equation_of_the_slab(losses: tuple[float, float]) -> None:
    """(b**2 - H0 HL) sin b L = b (H0 + HL) cos b L, with somebody else's root finder."""
    (near, far), length = losses, 2.5

    def equation(rate: float) -> float:
        swing = rate * length
        return (rate**2 - near * far) * math.sin(swing) - rate * (near + far) * math.cos(swing)

    for rate in mode_rates(8, near, far, length):
        assert brentq(equation, rate * 0.99, rate * 1.01, xtol=1e-14) == pytest.approx(rate)
        assert abs(equation(rate)) < 1e-9 * (1 + rate) * (near + 1) * (far + 1)


@pytest.mark.parametrize("losses", [(0.0, 0.0), (np.inf, np.inf), (0.0, np.inf), (3.0, 0.2)])
def test_no_two_modes_have_anything_in_common(losses: tuple[float, float]) -> None:
    """Their products add up to one over the line for a mode with itself, to nought for others."""
    nodes, weights = np.polynomial.legendre.leggauss(120)
    places = (nodes + 1) * 1.25
    shapes = modes(places, places, 0.05, *losses, 2.5).at_sensors

    assert (shapes * weights * 1.25) @ shapes.T == pytest.approx(np.eye(len(shapes)), abs=1e-12)
    assert len(shapes) == math.ceil(math.sqrt(46 / 0.05) * 2.5 / math.pi) + 1


@pytest.mark.parametrize("share", [0.5, 1.0])
def test_walls_that_lose_next_to_nothing_are_insulated_and_the_reverse(share: float) -> None:
    """The slowest rate is sqrt((H0 + HL) / L), however small, and no square of a loss is lost."""
    places = np.array([0.1, 0.7, 1.3])
    for loss in (1e-14, 1e-30, 1e-200):
        slowest = mode_rates(3, loss, share * loss, 2.0)[0]
        nearly = modes(places, places, 1.0, loss, share * loss, 2.0).kernel(1.0)

        assert slowest == pytest.approx(math.sqrt((1 + share) * loss / 2.0), rel=1e-12)
        assert nearly == pytest.approx(modes(places, places, 1.0, 0, 0, 2.0).kernel(1.0))
    ice = modes(places, places, 1.0, np.inf, np.inf, 2.0).kernel(1.0)
    assert modes(places, places, 1.0, 1e200, 1e250, 2.0).kernel(1.0) == pytest.approx(ice)
