"""The search for what one move changes at most passes no true bound, and every one too small.

It shares nothing with the plan whose bound it is held against. `tests/mutants` plants plans that
calibrate for another world than the one that is asked about.
"""

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from edge.core.entropy import Tape
from edge.mechanisms.thermal import Params
from gateway.audit.arithmetic import readings, sensitivity
from gateway.audit.claim import Effort
from physics.response import Response
from physics.rooms.plan import lattice
from physics.rooms.records import Air, Clock, Door, Furniture, Room, Side, Thermometers, Wall
from physics.rooms.respond import respond, respond_day
from recovery import thermal
from recovery.thermal import cases
from recovery.thermal.search import search

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


# The same with thermometers that lag, and read at short steps.
LAGGING = replace(
    PARTED,
    day=Clock(0.0, 1 / 12, 10.0),
    doors=(),
    thermometers=tuple(one._replace(kind="ds18b20") for one in PARTED.thermometers),
)
# Off a corridor three rooms, whose doors open one after the other.
STAR = Room(
    name="star",
    size_m=(3.0, 2.0),
    height_m=2.5,
    cell_mm=100,
    air=Air(0.013, 0.05, 3.0, 20.0, ((0.0, 20.0),)),
    day=Clock(0.0, 1.5, 120.0),
    sides={name: Side(0.05, ((0.0, 20.0),)) for name in SIDES},
    walls=(
        Wall((0.0, 1.05), (3.0, 1.05), 300.0, "insulation"),
        Wall((1.0, 0.0), (1.0, 0.9), 100.0, "insulation"),
        Wall((2.0, 0.0), (2.0, 0.9), 100.0, "insulation"),
    ),
    doors=tuple(
        Door((0.5 + nth, 1.05), 0.4, 40.0, ((1800.0 * nth, 1800.0 * (nth + 1)),))
        for nth in range(3)
    ),
    furniture=(),
    thermometers=(
        Thermometers(
            "perfect",
            (*tuple((0.25 + nth / 2, 0.2) for nth in range(6)), (0.5, 1.7), (2.5, 1.7)),
        ),
    ),
)


@pytest.fixture(
    scope="module", params=[PARTED, ENDED, LAGGING], ids=["parted", "ended", "lagging"]
)
def case(request: pytest.FixtureRequest) -> tuple[Room, Response]:
    room: Room = request.param
    return room, respond_day(room, 0.2, [room.day.until_s], through_walls=False)


@pytest.mark.long
def test_no_pair_of_paths_passes_the_bound(
    case: tuple[Room, Response], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And some come near it, within the distance and by ways through free air."""
    room, made = case
    found = sensitivity.longest(room, made, room.day.until_s, 2, np.random.default_rng(3))

    assert 0.5 < found.joint <= 1
    assert 0.7 < found.each <= 1
    assert np.linalg.norm(found.here - found.there, axis=1).max() <= 0.2
    for path in (found.here, found.there):
        known = lattice(room, (True,) * len(room.doors))
        assert known.free[known.cells(path)].all()
    again = sensitivity._claim_derived("", room, made, room.day.until_s, found)
    assert again.measured < 0.1
    twice = replace(room, air=room.air._replace(mixing_m2_per_s=2 * room.air.mixing_m2_per_s))
    felt = sensitivity.quanta.trace_warmth
    monkeypatch.setattr(sensitivity.quanta, "trace_warmth", lambda _, *told: felt(twice, *told))
    assert not sensitivity._claim_derived("", room, made, room.day.until_s, found).holds


@pytest.mark.long
def test_a_bound_that_is_too_small_is_passed(case: tuple[Room, Response]) -> None:
    """Half the bound, as if it had been for half of the distance."""
    room, made = case
    half = replace(made, changes=made.changes._replace(joint=made.changes.joint / 2))

    assert sensitivity.longest(room, half, room.day.until_s, 2, np.random.default_rng(3)).joint > 1


@pytest.mark.long
def test_where_doors_move_a_bound_for_doors_that_stand_is_passed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """So the promise of a gateway's round says that none does, and PRIVACY by how much."""
    monkeypatch.setattr(sensitivity, "PAIRS", 600)
    until_s = STAR.day.until_s
    stand = respond(STAR, 0.2, through_walls=False)
    moved = respond_day(STAR, 0.2, [until_s], through_walls=False)
    found = sensitivity.longest(STAR, stand, until_s, 2, np.random.default_rng(1))

    assert stand.doors == "no door moving"
    assert round(found.joint, 2) == 1.10
    assert found.joint * stand.changes.joint[0] <= moved.changes.joint[0]
    monkeypatch.setattr(sensitivity, "read", lambda plan: STAR)
    own: Any = SimpleNamespace(
        plan="star.toml", name="star", query=SimpleNamespace(response=stand)
    )
    *stands, moves = sensitivity.paths_claims(None, Effort(own=own))
    assert all(claim.holds for claim in stands)
    assert not moves.holds
    assert 1.15 < moves.measured < 1.25  # on one sensor


ROOMS = dict(cases.rooms())
CORNER = "sensor in the corner"


def test_what_is_found_is_a_pair_of_neighbours() -> None:
    """In the corner there are four cells and one sensor: the worst can be reckoned by hand."""
    query, plan = ROOMS[CORNER], thermal.plan(ROOMS[CORNER], ())
    assert plan is not None
    found = search(query, plan, Tape(b"corner"), 20)
    near, far = (
        math.exp(-(distance**2) / 0.04) / math.sqrt(0.04 * math.pi) for distance in (0, 0.25)
    )
    grain = 2.0 ** -Params(*plan.params).exponent

    assert found.square == math.ceil((near - far) / grain) ** 2
    assert found.where.startswith("from cell 2 to cell 3")


def test_counts_become_the_grains_that_are_planned_for() -> None:
    """On devices with an array; and another rounding is seen."""
    assert all(claim.holds for claim in readings.counts_claims(None, Effort()))
