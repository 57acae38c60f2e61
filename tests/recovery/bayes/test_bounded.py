"""A normal law between bounds is what quadrature and scipy say it is, wherever the bounds lie."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import truncnorm

from recovery.bayes.moves import at_share, log_mass, rough_mass

# Inside, on a bound, flat, far out in either tail.
LAWS = [(3.0, 5.0), (0.0, 4.0), (1e-6, 1e-9), (900.0, 500.0), (-300.0, 40.0), (5.0, 1e4)]


def _one(*numbers: float) -> list[np.ndarray]:
    return [np.array([number]) for number in numbers]


@pytest.mark.parametrize(("slope", "precision"), LAWS)
def test_the_integral_is_that_of_quadrature(slope: float, precision: float) -> None:
    """A wrong mass would favour cells that need an impossible power."""
    peak = np.clip(slope / precision, 0.3, 1.0)
    top = slope * peak - precision * peak**2 / 2
    found, _ = quad(
        lambda w: np.exp(slope * w - precision * w**2 / 2 - top), 0.3, 1.0, points=[peak]
    )

    assert log_mass(*_one(slope, precision, 0.3, 1.0))[0] == pytest.approx(top + np.log(found))


@pytest.mark.parametrize(("slope", "precision"), LAWS)
def test_the_rough_integral_is_within_a_half(slope: float, precision: float) -> None:
    """It proposes; the farther it is off, the more proposals are thrown away."""
    peak, width = rough_mass(*_one(slope, precision, 0.3, 1.0))
    off = peak[0] + np.log(width[0]) - log_mass(*_one(slope, precision, 0.3, 1.0))[0]

    assert abs(off) < np.log(2)


@pytest.mark.parametrize(("slope", "precision"), [law for law in LAWS if law[1] > 1e-3])
def test_shares_are_those_of_scipy(slope: float, precision: float) -> None:
    """Even numbers have to become draws of the law itself, in its tails too."""
    shares = np.array([0.001, 0.2, 0.5, 0.9, 0.999])
    middle, deviation = slope / precision, precision**-0.5
    law = truncnorm((0.3 - middle) / deviation, (1 - middle) / deviation, middle, deviation)

    found = at_share(np.full(5, slope), np.full(5, precision), 0.3, 1.0, shares)

    assert found == pytest.approx(law.ppf(shares), rel=1e-6)
