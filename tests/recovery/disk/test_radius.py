"""The radius that tells most: the formula against the bound itself, and the known values."""

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from recovery.disk.footprint import (
    best_radius,
    footprint_ratio,
    radius_cells,
)


def bound(radius: float, epsilon: float, around: float, within: float, line: bool) -> float:
    """Return the bound on the mutual information, in nats: Equation (11) of the paper."""
    disk = 2 * radius if line else math.pi * radius**2
    rest = around * radius + within
    all_in = disk * math.exp(epsilon) + rest
    return math.log((disk + rest) / all_in) + epsilon * disk * math.exp(epsilon) / all_in


@pytest.mark.parametrize("epsilon", [0.1, 0.4999, 0.5001, 1.0, 3.5, 10.0])
@pytest.mark.parametrize("sides", [(1.0, 1.0), (15.0, 15.0), (20.0, 5.0), (40.0, 1.0)])
def test_the_formula_is_where_the_bound_is_greatest(
    epsilon: float, sides: tuple[float, float]
) -> None:
    """On squares, oblongs and lines, by maximising the bound itself."""
    line = sides == (40.0, 1.0)
    around, within = (0.0, 40.0) if line else (2 * sum(sides), sides[0] * sides[1])
    # A logarithm for its argument: radii go from a thousandth of a side to many sides.
    found = minimize_scalar(
        lambda log: -bound(math.exp(log), epsilon, around, within, line),
        bounds=(math.log(max(sides) * 1e-4), math.log(max(sides) * 10)),
        method="bounded",
        options={"xatol": 1e-10},
    )

    assert best_radius(epsilon, *sides) == pytest.approx(math.exp(found.x), rel=1e-5)


def test_the_radii_at_fifteen_cells_are_the_known_ones() -> None:
    """As they were found by an independent implementation."""
    epsilons = (0.5, 0.7, 1.4, 2.1, 2.8, 3.5, 5, 7)

    assert [radius_cells(e, (15, 15)) for e in epsilons] == [16, 14, 10, 7, 4, 3, 1, 0]
    assert radius_cells(0.7, (20, 20)) == 19


def test_the_radius_shrinks_to_its_limit_and_to_nought() -> None:
    """(2 + sqrt(4 + pi)) / pi sides where nothing is told, as the paper says; 0 in the end."""
    grid = np.linspace(1e-6, 30, 4000)
    radii = [best_radius(float(epsilon), 1.0, 1.0) for epsilon in grid]

    assert (np.diff(radii) < 0).all()
    assert best_radius(1e-12, 1.0, 1.0) == pytest.approx((2 + math.sqrt(4 + math.pi)) / math.pi)
    assert radii[-1] < 1e-5
    assert best_radius(900.0, 1.0, 1.0) < 1e-100  # where exp overflows


@pytest.mark.parametrize("epsilon", ["1e-12", "1e-8", "1e-3", "0.499", "0.5", "2", "40"])
def test_no_digit_is_lost_to_cancellation(epsilon: str) -> None:
    """m1 and m2 are second order: as printed nothing of them is left at 1e-8."""
    with localcontext(prec=80):
        e = Decimal(epsilon)
        power = e.exp()
        exact = float((1 - power + e * power) / (power * (power - 1 - e)))

    assert footprint_ratio(float(epsilon)) == pytest.approx(exact, rel=1e-12)
    if epsilon == "1e-8":
        assert math.exp(1e-8) - 1 - 1e-8 <= 0  # the printed m1, which is 5e-17


def test_a_line_has_the_square_waves_radius() -> None:
    """floor(((eps e^eps - e^eps + 1) / (2 e^eps (e^eps - 1 - eps))) d), whichever way it lies."""
    for epsilon in (0.3, 1.4, 3.5):
        power = math.exp(epsilon)
        half = (epsilon * power - power + 1) / (2 * power * (power - 1 - epsilon))

        assert radius_cells(epsilon, (50, 1)) == math.floor(half * 50)
        assert radius_cells(epsilon, (1, 50)) == math.floor(half * 50)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.inf, math.nan])
def test_without_a_budget_there_is_no_radius(epsilon: float) -> None:
    """Rather than a radius of nought, which would be a promise of its own."""
    with pytest.raises(ValueError, match="epsilon is"):
        best_radius(epsilon, 1.0, 1.0)
