"""Extremes: the right answer, or words that say what is wrong; and never a warning."""

import numpy as np
import pytest
from numpy.typing import NDArray

from physics.kernel import forward
from recovery.bayes.moves import log_mass
from recovery.estimators.record import Prior, Seen, with_digits
from recovery.estimators.table import estimate

CELLS, SENSORS = np.arange(1, 41) / 40, np.arange(1, 26) / 25
OPERATOR = forward(CELLS, SENSORS, 0.05)
THERE = [5, 15, 29]


def seen(sigma: float, prior: Prior, factor: float = 1.0) -> Seen:
    """Three sources, as they are read with such noise."""
    noise = np.random.default_rng(0).normal(size=25)
    readings = factor * (OPERATOR[:, THERE].sum(axis=1) + sigma * noise)
    return Seen(OPERATOR, readings, sigma, CELLS[:, None], (1, 40), prior)


@pytest.mark.long
@pytest.mark.parametrize("sigma", [1e-200, 1e-12, 1e-9, 1e-5, 1e-4])
@pytest.mark.parametrize("prior", [Prior(1, 4), Prior(3, 3), Prior(1, 5)])
def test_next_to_no_noise_leaves_the_sources_themselves(sigma: float, prior: Prior) -> None:
    """Exact or sampled: where the digits run out, that is said, and nothing else changes."""
    found = estimate("posterior", seen(sigma, prior))

    assert np.flatnonzero(found.heat).tolist() == THERE
    assert found.credible is not None
    assert found.credible.numbers[3] == pytest.approx(1)
    assert found.status.startswith("inaccurate: weighed" if sigma < 1e-6 else "optimal")


@pytest.mark.parametrize("factor", [1e20, -1e20, 1e200])
@pytest.mark.parametrize("prior", [Prior(1, 4), Prior(1, 8), Prior(1, 4, 1.0, 0.3)])
def test_readings_out_of_all_proportion_are_refused(factor: float, prior: Prior) -> None:
    """A wrong unit is told from a scene, and by name."""
    with pytest.raises(ValueError, match="Check the unit"):
        estimate("posterior", seen(0.1, prior, factor))


def test_the_noise_that_is_put_in_leaves_squares_their_digits() -> None:
    """By the count of digits: no square above 1e14 / sensors, and none is changed needlessly."""
    made = with_digits(seen(1e-30, Prior(1, 4)))

    assert np.abs(made.readings / made.sigma).max() ** 2 <= 1.0001e14 / 25
    assert np.abs(made.operator / made.sigma).max() ** 2 <= 1.0001e14 / 25
    assert made.sigma == pytest.approx(5e-7 * np.abs(made.readings).max())
    assert with_digits(seen(1e-3, Prior(1, 4))).sigma == 1e-3


def flat(values: float) -> NDArray[np.float64]:
    """One number as an array."""
    return np.full(1, values)


@pytest.mark.parametrize("slope", [0.0, 3.0, -1e3, 1e6])
@pytest.mark.parametrize("width", [1e-3, 1e-9, 1e-14])
def test_the_mass_between_bounds_that_nearly_touch_is_their_width(
    slope: float, width: float
) -> None:
    """Where the law hardly changes between the bounds, by hand: its height times the width."""
    high = 1e-3 * width if abs(slope) > 1e4 else width
    found = log_mass(flat(slope), flat(2.0), -high, high)

    grid = np.linspace(-high, high, 20001)
    heights = np.exp(slope * grid - grid**2)
    expected = np.log(np.mean((heights[1:] + heights[:-1]) / 2) * 2 * high)
    assert found == pytest.approx(expected, abs=1e-4)
