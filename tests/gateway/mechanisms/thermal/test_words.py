"""Maps in words: the same map must be told the same way in the terminal and on the page."""

import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtr

from edge.core.records import Grid
from gateway.mechanisms.summary import format_place, most_of, places_of_most
from gateway.mechanisms.thermal.words import in_words
from recovery.thermal import Query, plan

# The promise in words: the numbers in it are exact, and nobody is told too much.

LINE = Query(Grid((100, 1), 0), (50,), 0.05, (1, 1))
ROOM = Query(Grid((80, 1), 250), (50,), 4.0, (8, 1), protect_distance_m=0.5, walls="insulated")


def _said(query: Query) -> str:
    return " ".join(in_words(query, plan(query, []).guarantee))


def test_the_chance_is_that_of_the_best_test() -> None:
    """At (1, 1e-5) the noise is 3.7306 sensitivities wide, so the best test wins Phi(1/7.4612)."""
    chance = float(ndtr(1 / (2 * 3.7306)))

    assert f"away {chance:.0%} of the time" in _said(LINE)


def test_distances_have_the_unit_of_the_room() -> None:
    """Half a metre was asked for, and four times as far is told with it."""
    near, far = re.findall(r"from one ([\d.]+ m) away", _said(ROOM))

    assert (near, far) == ("0.5 m", "2 m")


@pytest.mark.parametrize("epsilon", [(1, 10), (1, 1), (8, 1), (50, 1)])
def test_more_epsilon_is_never_told_as_more_hidden(epsilon: tuple[int, int]) -> None:
    """The words must rank promises as the mathematics does, and never say certainty."""
    words = _said(replace(LINE, epsilon=epsilon))
    shares = [int(share) for share in re.findall(r"(\d+)% of the time", words)]

    assert 50 <= shares[0] <= shares[1] <= 99
    assert f"epsilon {'1/10' if epsilon[1] == 10 else epsilon[0]}, delta 1/100000" in words


def test_what_is_not_protected_is_always_said() -> None:
    """The last sentence is the first that a reviewer looks for."""
    assert in_words(LINE, plan(LINE, []).guarantee)[-1].startswith("Not protected: ")


GRID = Grid((80, 1), 250)


def _heat(*given: float) -> np.ndarray:
    """Return a line with these shares: cell, share, cell, share."""
    mass = np.zeros((1, 80))
    mass[0, np.array(given[::2], int)] = given[1::2]
    return mass


def test_neighbouring_cells_are_one_place() -> None:
    """A person whose warmth fell into two cells is not two people."""
    (place,) = places_of_most(_heat(8, 0.5, 9, 0.5), GRID)

    assert place.at == pytest.approx([2.25])
    assert place.share == pytest.approx(1)


# Of a square nobody knows where in it the people are: two peaks of it would be made up.
FLAT = np.full((16, 16), 0.1 / 192)
FLAT[8:, :8] = 0.5 / 64
FLAT[8, 9] += 0.4  # near the square, and takes nothing of it
ONE = np.zeros((2, 4))
ONE[1, 0] = 1


@pytest.mark.parametrize(
    ("mass", "grid", "middles", "said"),
    [
        (_heat(8, 0.3, 60, 0.7), GRID, False, "70% near 15.13 m, 30% near 2.13 m"),
        (_heat(8, 0.98, 60, 0.02), GRID, False, "98% near 2.13 m"),  # a solver leaves dust
        (np.full((1, 1000), 1e-3), Grid((1000, 1), 0), False, "spread out"),
        (ONE, Grid((4, 2), 1000), False, "100% near 0.50 / 1.50 m"),  # x across, y down
        (np.ones((1, 1)), Grid((1, 1), 0), True, "100% near 0.50"),
        (ONE, Grid((4, 2), 0), True, "100% near 0.13 / 0.75"),
        (ONE, Grid((4, 2), 0), False, "100% near 0.25 / 1.00"),  # a point, as the paper's are
        (
            FLAT,
            Grid((16, 16), 1000),
            False,
            "50% evenly in 0.00 to 8.00 / 8.00 to 16.00 m, 40% near 9.50 / 8.50 m",
        ),
    ],
)
def test_places_are_said_with_the_greatest_share_first(
    mass: np.ndarray, grid: Grid, middles: bool, said: str
) -> None:
    """Whoever reads only the first has read the most."""
    assert most_of(mass, grid, middles=middles) == said


def test_a_hair_does_not_change_how_a_place_is_written() -> None:
    """The truth in the middle of a cell and a map's place there are one number on the screen."""
    places = (0.125 - 1e-9, 0.125, 0.125 + 1e-9, 19.875 - 1e-9, 19.875)
    said = [format_place(np.array([place]), GRID) for place in places]

    assert said == ["0.13 m"] * 3 + ["19.88 m"] * 2
