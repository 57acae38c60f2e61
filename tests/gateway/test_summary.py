"""Maps in words: the same map must be told the same way in the terminal and on the page."""

import numpy as np
import pytest

from edge.records import Grid
from gateway.commands.summary import most_of, places_of_most, written

LINE = Grid((80, 1), 250)


def _heat(**cells: float) -> np.ndarray:
    mass = np.zeros((1, 80))
    for name, share in cells.items():
        mass[0, int(name.removeprefix("cell_"))] = share
    return mass


def test_neighbouring_cells_are_one_place() -> None:
    """A person whose warmth fell into two cells is not two people."""
    (place,) = places_of_most(_heat(cell_8=0.5, cell_9=0.5), LINE)

    assert place.at == pytest.approx([2.25])
    assert place.share == pytest.approx(1)


def test_places_come_with_the_greatest_share_first() -> None:
    """Whoever reads only the first has read the most."""
    words = most_of(_heat(cell_8=0.3, cell_60=0.7), LINE)

    assert words == "70% near 15.13 m, 30% near 2.13 m"


def test_heat_everywhere_is_no_place() -> None:
    """A uniform map must not be told as many sources."""
    assert most_of(np.full((1, 1000), 1e-3), Grid((1000, 1), 0)) == "spread out"


def test_dust_is_not_mentioned() -> None:
    """A solver leaves a thousandth here and there."""
    words = most_of(_heat(cell_8=0.98, cell_60=0.02), LINE)

    assert words == "98% near 2.13 m"


def test_in_a_plane_a_place_has_two_numbers() -> None:
    """x across, y down, as the map is drawn."""
    mass = np.zeros((3, 4))
    mass[2, 1] = 1

    assert most_of(mass, Grid((4, 3), 1000)) == "100% near 1.50 / 2.50 m"


def test_a_hair_does_not_change_how_a_place_is_written() -> None:
    """The truth in the middle of a cell and a map's place there are one number on the screen."""
    places = (0.125 - 1e-9, 0.125, 0.125 + 1e-9, 19.875 - 1e-9, 19.875)
    said = [written(np.array([place]), LINE) for place in places]

    assert said == ["0.13 m"] * 3 + ["19.88 m"] * 2
