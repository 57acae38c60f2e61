"""The search for paths that are seen apart: none passes the bound, and half of it is passed."""

from dataclasses import replace

import numpy as np
import pytest

from gateway.audit import paths
from physics.response import Response
from physics.rooms.plan import lattice
from physics.rooms.records import Air, Clock, Door, Furniture, Room, Side, Thermometers, Wall
from physics.rooms.respond import respond_day

SIDES = {name: Side(1.0, ((0.0, 20.0),)) for name in ("north", "south", "west", "east")}
# A partition drawn beside the lines of the map, a door in it that moves, and a desk.
PARTED = Room(
    name="parted",
    size_m=(2.4, 1.6),
    height_m=2.5,
    cell_mm=200,
    air=Air(0.005, 1.0, 6.0, 20.0, ((0.0, 20.0),)),
    day=Clock(0.0, 0.25, 60.0),
    sides=SIDES,
    walls=(Wall((1.05, 0.0), (1.05, 1.6), 100.0, "plasterboard"),),
    doors=(Door((1.05, 1.1), 0.6, 40.0, ((0.0, 300.0), (600.0, 1e6))),),
    furniture=(Furniture((1.6, 0.2, 2.0, 0.6), "desk"),),
    thermometers=(Thermometers("perfect", ((0.5, 0.8), (0.9, 0.3), (1.3, 0.9), (1.9, 1.1))),),
)
# One that ends freely, and is thinner than a quantum.
ENDED = replace(
    PARTED,
    walls=(
        Wall((1.07, 0.0), (1.07, 0.9), 12.0, "glass"),
        Wall((1.3, 1.2), (2.4, 1.2), 50.0, "brick"),
    ),
    doors=(),
)


@pytest.fixture(scope="module", params=[PARTED, ENDED], ids=["parted", "ended"])
def case(request: pytest.FixtureRequest) -> tuple[Room, Response]:
    room: Room = request.param
    return room, respond_day(room, 0.2, [room.day.until_s], through_walls=False)


@pytest.mark.long
def test_no_pair_of_paths_passes_the_bound(case: tuple[Room, Response]) -> None:
    """And some come near it, within the distance and by ways through free air."""
    room, made = case
    found = paths.longest(room, made, room.day.until_s, 2, np.random.default_rng(3))

    assert 0.5 < found.joint <= 1
    assert 0.7 < found.each <= 1
    assert np.linalg.norm(found.here - found.there, axis=1).max() <= 0.2
    for path in (found.here, found.there):
        known = lattice(room, (True,) * len(room.doors))
        assert known.free[known.cells(path)].all()


@pytest.mark.long
def test_a_bound_that_is_too_small_is_passed(case: tuple[Room, Response]) -> None:
    """Half the bound, as if it had been for half of the distance."""
    room, made = case
    half = replace(made, changes=made.changes._replace(joint=made.changes.joint / 2))

    assert paths.longest(room, half, room.day.until_s, 2, np.random.default_rng(3)).joint > 1


@pytest.mark.long
def test_who_goes_through_the_wall_shows_more_than_is_promised_on_foot() -> None:
    made = respond_day(PARTED, 0.2, [PARTED.day.until_s])
    foot = respond_day(PARTED, 0.2, [PARTED.day.until_s], through_walls=False)
    wide = replace(foot, through_walls=True)
    world = np.random.default_rng(4)

    assert paths.longest(PARTED, made, PARTED.day.until_s, 2, world).joint <= 1
    assert paths.longest(PARTED, wide, PARTED.day.until_s, 2, world).joint > 1.5
