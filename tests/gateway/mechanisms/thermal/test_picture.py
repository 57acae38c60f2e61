"""Pictures of a play: whatever came of it, a PNG comes out, and no window or global state."""

from pathlib import Path

import numpy as np
import pytest

from edge.core.records import Grid
from gateway.mechanisms.thermal.picture import Picture, draw

TITLES = ("truth", "wire", "map")


@pytest.mark.long
@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("mapped", [True, False])
@pytest.mark.parametrize("grid", [Grid((20, 1), 0), Grid((20, 1), 500), Grid((6, 4), 0)])
def test_there_is_a_picture_of_every_outcome(
    tmp_path: Path, grid: Grid, known: bool, mapped: bool
) -> None:
    """With the truth and without, with a map and without, on a line and in a plane."""
    columns, rows = grid.shape
    heat = np.zeros((rows, columns))
    heat[0, 1] = 2.0
    places = np.array([[0.2, 0.3], [0.6, 0.9]]) if rows > 1 else np.array([0.2, 0.6])
    sent = np.array([[0.1, np.nan], [0.3, -0.2]])
    path = tmp_path / "veil.png"
    warmth = np.array([0.2, 0.1])
    mass = heat / 2 if mapped else None
    draw(
        Picture(
            grid, heat if known else None, warmth if known else None, places, sent, mass, TITLES
        ),
        path,
    )

    assert path.read_bytes().startswith(b"\x89PNG")
