"""What is held before any answer: no direction is favoured, and a lattice is where it says."""

import math

import numpy as np
import pytest

from edge.records import Grid
from recovery.disk import Query, plan, smooth_map
from recovery.disk.channel import channel_of
from recovery.disk.crowded_map import in_blocks


@pytest.mark.parametrize("order", smooth_map.ORDERS)
def test_a_wave_is_as_rough_in_every_direction(order: int) -> None:
    """A power of the distance along a line, turned: its derivatives of that order add to one."""
    rough = smooth_map.prior((24, 24), order).rough
    y, x = np.indices((24, 24)) / 24

    def seen(turn: float) -> float:
        wave = ((x * math.cos(turn) + y * math.sin(turn)) ** order).ravel()
        return float(wave @ rough @ wave)

    # But for the differences that the border has no room for, which are a few in a thousand.
    assert [seen(turn) for turn in (0.3, math.pi / 4, 2.0)] == pytest.approx(
        3 * [seen(0)], rel=5e-3
    )


@pytest.mark.parametrize("shape", [(20, 16), (19, 15), (17, 23)])
def test_a_slope_on_a_lattice_is_the_same_slope_in_the_cells(
    monkeypatch: pytest.MonkeyPatch, shape: tuple[int, int]
) -> None:
    """The mean over a place's square of cells is what the place has, the smaller last ones too."""
    monkeypatch.setattr(smooth_map, "_PLACES_MAX", 90)
    planned = plan(Query(Grid(shape, 1000), (2, 1), radius=6), [])
    assert planned is not None
    places = smooth_map.lattice(channel_of(planned))
    slope = np.add.outer(0.7 * np.arange(shape[1]), -0.2 * np.arange(shape[0]))
    cells = in_blocks(np.ones_like(slope), places.step)
    means = in_blocks(slope, places.step) / cells

    assert places.step > 1
    assert places.spread(means.ravel()) == pytest.approx(slope)
