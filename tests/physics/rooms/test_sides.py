"""Sides and fresh air of a room, held against what they must do, one at a time."""

import math
from dataclasses import replace

import numpy as np
import pytest

from physics.diffusion.run import Run
from physics.rooms import model
from physics.rooms.plan import added, plan
from physics.rooms.records import Air, Clock, Heater, Room, Side, Wall, Window

CALM, WARM = ((0.0, 20.0),), ((0.0, 30.0),)
SIDES = ("north", "east", "south", "west")
# Where the cell of each side is warmest whose window is from 0.5 to 1.5 m: (x, y) in metres.
BEFORE = {"north": (1.0, 0.0), "east": (6.0, 1.0), "south": (1.0, 4.0), "west": (0.0, 1.0)}
BARE = Room(
    "bare",
    (6.0, 4.0),
    2.5,
    100,
    Air(0.005, 0.0, 12.0, 20.0, CALM),
    Clock(0.0, 1.0, 60.0),
    {name: Side(0.0, CALM) for name in SIDES},
)


@pytest.mark.parametrize("side", SIDES)
def test_a_window_is_where_it_is(side: str) -> None:
    """Warm weather behind one window warms the air before it, and before no other."""
    room = replace(BARE, windows=(Window(side, 0.5, 1.5, 1.0, 2.0, WARM),))
    medium = model.medium(room, 0.0)
    run = Run(medium, always_damped=True)
    for _ in range(10):
        run.step(model.empty(room, 0.0, 60.0), 60.0, medium)
    row, column = np.unravel_index(np.argmax(run.field_k), run.field_k.shape)
    place = (column + 0.5) / 10, (row + 0.5) / 10  # no wall: heat cells are the map's

    assert math.dist(place, BEFORE[side]) < 0.1
    assert run.field_k.sum() * 0.01 * 2.5 * 1206 * 12 == pytest.approx(-run.balance.out_j)
    assert 2.0 * 1.0 * 1.0 * 10 * 600 * 0.8 < -run.balance.out_j < 2.0 * 1.0 * 1.0 * 10 * 600


def test_fresh_air_takes_away_what_it_carries() -> None:
    """Air that is mixed at once, beside the closed form: an exponential to supply and source.

        F c V dT/dt = P - c V n (T - T_supply)

    Walls and furniture slow it by F and change nothing in the end; the air is 1206 J/(m3 K).
    """
    ach, factor, watts = 2.0, 4.0, 300.0
    air = Air(1e4, ach, factor, 20.0, ((0.0, 17.0),))
    room = replace(BARE, air=air, heaters=(Heater((1, 1, 2, 2), watts, ((0.0, 1e6),)),))
    medium = model.medium(room, 0.0)
    run = Run(medium)
    for step in range(120):
        run.step(model.empty(room, 30.0 * step, 30.0 * step + 30), 30.0, medium)
    carried = 1206 * 6 * 4 * 2.5 * ach / 3600
    settled = -3.0 + watts / carried

    assert run.field_k.mean() == pytest.approx(
        settled * (1 - math.exp(-3600 * ach / 3600 / factor)), rel=1e-4
    )


def test_a_heater_beside_a_wall_warms_no_wall() -> None:
    """Thin walls are drawn thicker than they are built; the heat is for the air beside them."""
    wall = Wall((3.0, 0.0), (3.0, 4.0), 50.0, "glass")
    beside = Heater((2.99, 1.0, 3.23, 2.0), 100.0, ((0.0, 1e6),))
    room = replace(BARE, walls=(wall,), heaters=(beside,))
    power = model.empty(room, 0.0, 60.0).power_w

    assert power[plan(room).walls > 0].sum() == 0
    assert power.sum() == pytest.approx(100.0)
    assert added(room, power)[10:20, 30:33].sum() == pytest.approx(100.0)


def test_a_short_wall_is_drawn_wherever_it_is() -> None:
    """Its end at the far side too: what is built is in the model."""
    room = replace(BARE, walls=(Wall((2.0, 3.97), (2.0, 4.0), 100.0, "brick"),))

    assert plan(room).boxes["wall", 0] == (78, 159, 82, 160)
