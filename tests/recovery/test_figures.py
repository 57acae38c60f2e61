"""Figures that were computed elsewhere, before this program: each to its last printed digit.

The room is the paper's: 100 cells, 50 sensors, spread 0.05 unless said, epsilon 1 and delta
1/100000. Sigma is the analytic one for a move of one cell, in real numbers; what whole numbers
add to it stands in the last table.
"""

import math

import numpy as np
import pytest

from edge.core.records import Grid
from physics.kernel import forward, sensitivity
from physics.places import cell_places, sensor_places
from recovery.noise.gaussian import (
    gaussian_epsilon,
    gaussian_sigma,
    paper_delivers,
    paper_sigma,
    zcdp_rho,
)
from recovery.noise.worst import shifts, whole_square

DELTA = 1e-5


def prints(value: float, text: str) -> bool:
    """Say whether a value, rounded to as many digits, is the one that was printed."""
    return f"{value:.{len(text.partition('.')[2])}f}" == text


def room(sensors: int = 50, spread: float = 0.05) -> np.ndarray:
    line = Grid((100, 1), 0)
    return forward(cell_places(line), sensor_places((sensors,), line), spread)


MOVE = sensitivity(room())
SIGMA = gaussian_sigma(1.0, DELTA, MOVE)


def gives(change: float, sigma: float = SIGMA) -> float:
    return gaussian_epsilon(sigma, DELTA, change)


def test_a_figure_that_is_one_off_in_its_last_digit_is_seen() -> None:
    """The control of this whole page."""
    assert prints(2.1543, "2.15")
    assert not prints(2.1543, "2.16")
    assert not prints(2.1543 * 1.005, "2.15")


@pytest.mark.parametrize(
    ("epsilon", "delta", "paper", "analytic", "zcdp", "times", "delivered"),
    [
        (1, 1e-5, "23.47", "3.731", "4.045", "6.3", "0.134"),
        (1, 1e-9, "41.89", "5.495", "5.779", "7.6", "0.121"),
        (1, 0.1, "5.05", "1.086", "1.365", "4.7", "0"),
        (10, 1e-5, "2.347", "0.4999", "0.530", "4.7", "1.67"),
    ],
)
def test_the_formulas_beside_each_other(
    epsilon: float,
    delta: float,
    paper: str,
    analytic: str,
    zcdp: str,
    times: str,
    delivered: str,
) -> None:
    """What the printed formula asks for, what is needed, and what the ledger's currency costs."""
    least = gaussian_sigma(epsilon, delta)

    assert prints(paper_sigma(epsilon, delta), paper)
    assert prints(least, analytic)
    assert prints(math.sqrt(0.5 / zcdp_rho(epsilon, delta)), zcdp)
    assert prints(paper_sigma(epsilon, delta) / least, times)
    assert prints(paper_delivers(epsilon, delta)[0], delivered)


@pytest.mark.parametrize(
    ("cells", "ratio", "epsilon"),
    [
        (1, "1", "1"),
        (2, "2.00", "2.15"),
        (5, "4.99", "6.15"),
        (10, "9.9", "14.3"),
        (20, "19.4", "34.9"),
        (50, "40.9", "106"),
        (99, "45.3", "125"),
    ],
)
def test_noise_for_one_cell_hides_little_of_many(cells: int, ratio: str, epsilon: str) -> None:
    """Where the promise is one centimetre of a metre, what becomes of ten."""
    change = sensitivity(room(), cells)

    assert prints(change / MOVE, ratio)
    assert prints(gives(change), epsilon)


@pytest.mark.parametrize(
    ("readings", "epsilon"), [(24, "6.0"), (144, "18.3"), (1440, "94"), (525_600, "19710")]
)
def test_many_readings_of_a_still_scene_add_up(readings: int, epsilon: str) -> None:
    """At noise for one reading: a day of hours, of ten minutes, of minutes; a year of minutes."""
    found = gives(MOVE, SIGMA / math.sqrt(readings))

    # A year's last digit hangs on how many digits of sigma one writes down.
    assert prints(found, epsilon) or (readings > 10**5 and abs(found - 19710) < 1)


@pytest.mark.parametrize(
    ("grain", "inflation", "sigma"),
    [
        (1, "1.67", "44"),
        (0.3, "1.17", "103"),
        (0.1, "1.050", "277"),
        (0.03, "1.013", "891"),
        (0.01, "1.0045", "2650"),
    ],
)
def test_whole_numbers_widen_the_noise(grain: float, inflation: str, sigma: str) -> None:
    """A grain in units of one sensor's share of a move, and what rounding to it costs."""
    size = grain * MOVE / math.sqrt(50)
    whole = math.sqrt(whole_square(shifts(room() / size, (100, 1), [1], 1.0), 0, None))

    assert prints(whole * size / MOVE, inflation)
    assert prints(whole * gaussian_sigma(1.0, DELTA), sigma)
