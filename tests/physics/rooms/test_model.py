"""What drives a room, held against what its people and its walls give and take."""

import math
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from physics.diffusion.run import Run
from physics.places import Floats, cell_places
from physics.rooms import model, plan
from physics.rooms.day import Day, Track, draw_day
from physics.rooms.model import MATERIALS
from physics.rooms.read import read_room
from physics.rooms.records import (
    Air,
    Clock,
    Heater,
    Room,
    Side,
    Wall,
    Window,
    average_course,
    compute_covered_share,
)

CALM = ((0.0, 20.0),)
AIR = Air(0.005, 0.0, 12.0, 20.0, CALM)
WEST_EAST = {name: Side(0.0, CALM) for name in ("north", "east", "south", "west")}


def bare(size_m: tuple[float, float] = (6.0, 4.0), **parts: object) -> Room:
    """Return a room with nothing in it but what is given."""
    room = Room("bare", size_m, 2.5, 100, AIR, Clock(0.0, 1.0, 60.0), WEST_EAST)
    return replace(room, **parts)


@pytest.fixture
def world() -> np.random.Generator:
    """Return where chance comes from."""
    return np.random.default_rng(5)


@pytest.fixture(scope="module")
def office() -> Room:
    """Return the room of these tests."""
    return replace(read_room(Path(model.__file__).parent / "office.toml"), cell_mm=100)


def joules(tracks: tuple[Track, ...], since: float, until: float) -> float:
    """Return what people give off between two moments, leg by leg."""
    total = 0.0
    for track in tracks:
        for start, end, power in zip(track.at_s, track.at_s[1:], track.power_w, strict=False):
            total += power * max(0.0, min(end, until) - max(start, since))
    return total


@pytest.mark.long
def test_all_that_people_give_off_is_in_the_drive(
    office: Room, world: np.random.Generator
) -> None:
    """Energy is kept to round-off, in steps that cut across stays and legs."""
    places = np.array([[3.6, 2.2], [4.0, 2.2], [4.0, 2.2]])
    turns = Track("B", np.array([5e3, 5.1e3, 9e3]), places, np.array([10.0, 50.0, 99.0]))
    today = Day((*draw_day(office, world).tracks, turns))
    edges = np.concatenate((np.arange(0.0, 86400, 1733.3), [86400.0]))
    given = [
        model.sum_body_heat(office, today, since, until).sum() * (until - since)
        for since, until in pairwise(edges)
    ]
    told = [joules(today.tracks, since, until) for since, until in pairwise(edges)]

    assert given == pytest.approx(told, rel=1e-12, abs=1e-9)
    assert sum(given) == pytest.approx(sum(track.joules for track in today.tracks), rel=1e-12)
    assert sum(given) > 1e6


def centroid(heat: Floats, room: Room) -> Floats:
    """Return where heat is on average, x and y."""
    places = cell_places(model.make_grid(room))
    return np.asarray(plan.add_heat(room, heat).ravel() @ places / heat.sum())


@pytest.mark.parametrize(("since", "until"), [(0.0, 100.0), (17.0, 23.0), (0.0, 250.0)])
def test_heat_is_where_the_walker_is_on_average(since: float, until: float) -> None:
    """Along a leg with a corner, however the step cuts it, the mean is that of the path.

    Within 2 mm: a body's edge falls within cells, and its heat is at their middles then.
    """
    at_s = np.array([0.0, 100.0, 200.0])
    places = np.array([[1.5, 1.2], [4.5, 2.8], [4.5, 1.3]])
    track = Track("A", at_s, places, np.full(3, 75.0))
    room = bare()
    moments = np.linspace(since, min(until, 200.0), 200_001)
    moments = (moments[1:] + moments[:-1]) / 2
    true = [np.interp(moments, at_s, axis).mean() for axis in places.T]
    heat = model.sum_body_heat(room, Day((track,)), since, until)

    assert centroid(heat, room) == pytest.approx(true, abs=2e-3)
    # Where one would put it who takes the place in the middle of the step:
    middle = track.find_place((since + until) / 2)
    if middle is not None and until - since > 200:
        assert abs(middle - true).max() > 0.1


def test_no_heat_goes_through_a_wall() -> None:
    """Somebody close to a thin wall warms one side of it, and no wall."""
    wall = Wall((3.0, 0.0), (3.0, 4.0), 50.0, "glass")
    room = bare(walls=(wall,))
    stay = Track("A", np.array([0.0, 60.0]), np.full((2, 2), [2.85, 2.0]), np.full(2, 75.0))
    heat = model.sum_body_heat(room, Day((stay,)), 0.0, 60.0)

    assert heat.sum() == pytest.approx(75.0, rel=1e-12)
    beyond = plan.make_plan(room).x_m[1:] > 2.975 + 1e-9
    assert heat[:, beyond].sum() == 0
    assert heat.min() >= 0


def test_door_states_have_one_medium_each(office: Room) -> None:
    """Factors are kept by the medium's identity, so the same doors must be the same object."""
    shut, ajar = model.make_medium(office, 0.0), model.make_medium(office, 9 * 3600)

    assert model.make_medium(office, 23 * 3600) is shut
    assert model.make_step_medium(office, 19 * 3600 - 20, 19 * 3600 + 40) is ajar
    assert shut is not ajar
    doorway = plan.make_plan(office).doors > 0
    assert ((shut.conductivity != ajar.conductivity) == doorway).all()
    assert (ajar.conductivity[doorway] == ajar.conductivity[5, 50]).all()
    assert (shut.capacity == ajar.capacity).all()
    assert (ajar.capacity[doorway] == ajar.capacity[5, 50]).all()
    assert (shut.loss[doorway] == 0).all()


@pytest.mark.parametrize("material", MATERIALS)
@pytest.mark.parametrize("thickness_mm", [12.0, 100.0, 240.0])
def test_a_wall_passes_what_a_wall_passes(material: str, thickness_mm: float) -> None:
    """Drawn in whole cells or not, heat flow is A dT over the resistance from air to air.

    The air's own resistance, that of eddies over half the room on each side, is known and in
    series.
    """
    wall = Wall((2.0, 0.0), (2.0, 0.3), thickness_mm, material)
    sides = WEST_EAST | {"west": Side(1e9, ((0.0, 21.0),)), "east": Side(1e9, CALM)}
    room = bare((4.0, 0.3), walls=(wall,), sides=sides)
    medium = model.make_medium(room, 0.0)
    run = Run(medium)
    for _ in range(30):
        run.step(model.make_empty_drive(room, 0.0, 1e8), 1e8, medium)
    # Through the west half of the first cell, which lies between outside and its middle.
    air = 1206 * 0.005
    flow = (1 - run.field_k[1, 0]) * air / 0.05
    left, _, right, _ = plan.find_rectangle(room, "wall", 0)
    deep_m = right - left
    built = thickness_mm / 1000 / MATERIALS[material].conductivity_w_per_mk + 0.26

    assert deep_m == pytest.approx(max(0.025, thickness_mm / 1000), abs=0.0125)
    assert flow == pytest.approx(1 / ((4.0 - deep_m) / air + built), rel=1e-6)


def test_a_window_passes_area_times_u_times_difference() -> None:
    """In air that is mixed at once, a window and the wall around it add up by area."""
    air = AIR._replace(mixing_m2_per_s=1e4)
    outside = ((0.0, 0.0),)
    side = Side(0.35, ((0.0, 5.0),))
    window = Window("east", 0.55, 3.4, 1.4, 1.3, outside)
    room = bare(air=air, sides=WEST_EAST | {"east": side}, windows=(window,))
    medium = model.make_medium(room, 0.0)
    power = np.full(medium.shape, 100.0 / medium.capacity.size)  # of cells that are all alike
    run = Run(medium)
    for _ in range(40):
        run.step(model.make_empty_drive(room, 0.0, 1e6)._replace(power_w=power), 1e6, medium)
    warmth_c = 20.0 + run.field_k.mean()
    glass_m2 = (3.4 - 0.55) * 1.4
    wall_m2 = 4.0 * 2.5 - glass_m2

    lost_w = 1.3 * glass_m2 * (warmth_c - 0.0) + 0.35 * wall_m2 * (warmth_c - 5.0)
    assert lost_w == pytest.approx(100.0, rel=1e-5)


def test_courses_and_hours_are_means_over_a_step() -> None:
    """The mean of what is linear in between, against a fine sum; outside it stays as it is."""
    course = ((100.0, 1.0), (200.0, 5.0), (250.0, -1.0))
    fine = np.linspace(40.0, 310.0, 2_000_001)
    true = np.interp(fine, [100.0, 200.0, 250.0], [1.0, 5.0, -1.0]).mean()

    assert average_course(course, 40.0, 310.0) == pytest.approx(true, abs=1e-5)
    assert average_course(course, 225.0, 225.0) == 2.0
    assert compute_covered_share(((0.0, 10.0), (20.0, 30.0), (50.0, 60.0)), 5.0, 25.0) == 0.5


@pytest.mark.parametrize("material", ["plasterboard", "brick", "concrete"])
def test_a_wall_takes_up_heat_when_walls_do(material: str) -> None:
    """Half an hour after both sides were warmed, within 7 %: a slab behind films, finely cut."""
    wall = Wall((0.5, 0.0), (0.5, 0.2), 100.0, material)
    room = bare((1.0, 0.2), walls=(wall,), cell_mm=200)
    room = replace(room, air=AIR._replace(mixing_m2_per_s=1e3))
    medium = model.make_medium(room, 0.0)
    solid = plan.make_plan(room).walls[0] > 0
    # Air that is kept at a kelvin: it has the capacity of a lake.
    lake = replace(medium, capacity=np.where(solid, medium.capacity, 1e15))
    run = Run(lake, np.where(solid, 0.0, np.ones(lake.shape)))
    for _ in range(180):
        run.step(model.make_empty_drive(room, 0.0, 10.0), 10.0, lake)
    layer_m = np.diff(plan.make_plan(room).x_m)[solid]
    taken = layer_m @ (run.field_k * medium.capacity)[0, solid]

    made, cuts = MATERIALS[material], 200
    half, film = 0.05 / cuts / made.conductivity_w_per_mk, 0.13
    first = np.r_[1 / (film + half), np.full(cuts - 1, 1 / (2 * half)), 1 / (film + half)]
    flows = np.diag(first[1:] + first[:-1]) - np.diag(first[1:-1], 1) - np.diag(first[1:-1], -1)
    rates, waves = np.linalg.eigh(flows / (made.capacity_j_per_m3k * 0.1 / cuts))
    left = waves @ (np.exp(-1800 * rates) * waves.sum(axis=0))
    true = made.capacity_j_per_m3k * 0.1 * (1 - left.mean())

    assert taken == pytest.approx(true, rel=0.07)
    assert medium.capacity[0, solid] @ layer_m == pytest.approx(made.capacity_j_per_m3k * 0.1)


# Sides and fresh air of a room, held against what they must do, one at a time.


MILD, WARM = ((0.0, 20.0),), ((0.0, 30.0),)
SIDES = ("north", "east", "south", "west")
# Where the cell of each side is warmest whose window is from 0.5 to 1.5 m: (x, y) in metres.
BEFORE = {"north": (1.0, 0.0), "east": (6.0, 1.0), "south": (1.0, 4.0), "west": (0.0, 1.0)}
BARE = Room(
    "bare",
    (6.0, 4.0),
    2.5,
    100,
    Air(0.005, 0.0, 12.0, 20.0, MILD),
    Clock(0.0, 1.0, 60.0),
    {name: Side(0.0, MILD) for name in SIDES},
)


@pytest.mark.parametrize("side", SIDES)
def test_a_window_is_where_it_is(side: str) -> None:
    """Warm weather behind one window warms the air before it, and before no other."""
    room = replace(BARE, windows=(Window(side, 0.5, 1.5, 1.0, 2.0, WARM),))
    medium = model.make_medium(room, 0.0)
    run = Run(medium)
    for _ in range(10):
        run.step(model.make_empty_drive(room, 0.0, 60.0), 60.0, medium)
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
    medium = model.make_medium(room, 0.0)
    run = Run(medium)
    for step in range(120):
        run.step(model.make_empty_drive(room, 30.0 * step, 30.0 * step + 30), 30.0, medium)
    carried = 1206 * 6 * 4 * 2.5 * ach / 3600
    settled = -3.0 + watts / carried

    assert run.field_k.mean() == pytest.approx(
        settled * (1 - math.exp(-3600 * ach / 3600 / factor)), rel=1e-3
    )


def test_a_heater_beside_a_wall_warms_no_wall() -> None:
    """Thin walls are drawn thicker than they are built; the heat is for the air beside them."""
    wall = Wall((3.0, 0.0), (3.0, 4.0), 50.0, "glass")
    beside = Heater((2.99, 1.0, 3.23, 2.0), 100.0, ((0.0, 1e6),))
    room = replace(BARE, walls=(wall,), heaters=(beside,))
    power = model.make_empty_drive(room, 0.0, 60.0).power_w

    assert power[plan.make_plan(room).walls > 0].sum() == 0
    assert power.sum() == pytest.approx(100.0)
    assert plan.add_heat(room, power)[10:20, 30:33].sum() == pytest.approx(100.0)
