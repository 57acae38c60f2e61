"""A room file as one plan: walls and ways through air, and lines of places."""

import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from physics.rooms import model
from physics.rooms.day import draw_day, is_straight, may_stand
from physics.rooms.plan import (
    Lattice,
    Plan,
    average_air,
    compute_views,
    describe_redrawing,
    make_lattice,
    make_plan,
)
from physics.rooms.read import read_room, read_sample
from physics.rooms.records import Air, Clock, Door, Furniture, Room, Wall
from physics.rooms.source import find_lines
from physics.rooms.tables import Document

# The plan of a room: what a body warms, where people may be, and that nothing crosses a wall.

CALM = ((0.0, 20.0),)
BARE = Room("bare", (3.0, 2.0), 2.5, 200, Air(0.005, 0.0, 12.0, 20.0, CALM), Clock(0, 1, 60), {})
PARTED = replace(
    BARE,
    walls=(Wall((1.55, 0.0), (1.55, 2.0), 100.0, "brick"),),
    doors=(Door((1.55, 1.0), 0.8, 40.0, ()),),
)


def middles(drawn: Plan) -> np.ndarray:
    """Return x and y of the middle of each heat cell, (cells, 2)."""
    x, y = ((it[1:] + it[:-1]) / 2 for it in (drawn.x_m, drawn.y_m))
    return np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)


def body(room: Room, opened: tuple[bool, ...], x: float, y: float) -> np.ndarray:
    """Return the share of each heat cell in a body at a place."""
    return make_lattice(room, opened).add_body_heat(np.array([[x, y]]), np.ones(1))


def test_the_office_is_cut_along_its_wall() -> None:
    """The map's 30 by 20 lines, both faces and three between, and both ends of the door."""
    office = read_room(Path(model.__file__).parent / "office.toml")

    assert make_plan(office).shape == (22, 34)
    assert {2.0, 2.025, 2.05, 2.075, 2.1} <= set(make_plan(office).x_m)
    assert {2.55, 3.45} <= set(make_plan(office).y_m)


@pytest.mark.long
def test_nothing_crosses_a_shut_wall() -> None:
    """Nodes of one side give exactly nothing to the other's cells, nor to the wall's."""
    drawn, shut = make_plan(PARTED), make_lattice(PARTED, (False,))
    x = middles(drawn)[:, 0]
    left = shut.nodes_m[:, 0] <= 1.5

    assert shut.side.max() == 1
    assert len(set(shut.side[left])) == len(set(shut.side[~left])) == 1
    assert shut.table[left][:, x > 1.5].max() == 0
    assert shut.table[~left][:, x < 1.6].max() == 0
    assert make_lattice(PARTED, (True,)).side.max() == 0
    assert body(PARTED, (True,), 1.5, 1.0)[x > 1.6].sum() > 0.2
    assert body(PARTED, (True,), 1.5, 0.0)[x > 1.5].sum() == 0
    assert shut.table.sum(axis=1) == pytest.approx(1)


def test_a_cell_that_is_half_a_wall_is_as_warm_as_its_air() -> None:
    """People are in the air: a warm wall is no warmth of theirs."""
    walls = make_plan(PARTED).walls > 0

    assert walls.any()
    assert average_air(PARTED, np.where(walls, 100.0, 1.0)) == pytest.approx(1.0)


def test_a_body_is_as_wide_as_a_person_and_where_it_stands() -> None:
    """Its middle is its place within a millimetre, its deviation 0.15 m within 5 %."""
    room = replace(BARE, cell_mm=25)
    for x, y in ((1.4, 1.1), (1.423, 0.987)):
        share, places = body(room, (), x, y), middles(make_plan(room))
        spread = np.sqrt(share @ np.square(places - (x, y)))
        assert share @ places == pytest.approx([x, y], abs=1e-3)
        assert spread == pytest.approx(0.15, rel=0.05)


@pytest.mark.long
def test_a_body_goes_by_and_by_round_an_end_and_through_a_door() -> None:
    """A step of 5 mm changes it by less than 4 % of itself, wherever it leads through air."""
    free_end = replace(BARE, walls=(Wall((1.55, 0.0), (1.55, 1.0), 100.0, "brick"),))
    for room, opened, y in ((PARTED, (True,), 1.0), (free_end, (), 1.02)):
        ways = [[x, y] for x in np.arange(1.2, 1.9, 0.005)]
        known = make_lattice(room, opened)
        bodies = np.array([known.add_body_heat(np.array([way]), np.ones(1)) for way in ways])
        assert np.abs(np.diff(bodies, axis=0)).sum(axis=1).max() < 0.04


def test_a_room_that_is_turned_is_the_same_room() -> None:
    """A door in a wall that lies is as wide, and a sensor or a body beside it sees as much."""
    upright, lying = (
        replace(
            BARE,
            size_m=size,
            walls=(Wall(since, until, 100.0, "brick"),),
            doors=(Door(door, 0.6, 40.0, ()),),
            furniture=(Furniture(desk, "desk"),),
        )
        for size, since, until, door, desk in (
            ((1.6, 1.0), (0.85, 0.0), (0.85, 1.0), (0.85, 0.5), (0.2, 0.2, 0.6, 0.4)),
            ((1.0, 1.6), (0.0, 0.85), (1.0, 0.85), (0.5, 0.85), (0.2, 0.2, 0.4, 0.6)),
        )
    )
    places = np.array([[0.33, 0.27], [0.77, 0.5], [0.95, 0.1]])
    shape = make_plan(upright).shape
    one, other = make_lattice(upright, (False,)), make_lattice(lying, (False,))

    assert make_plan(upright).doors.any()
    assert (make_plan(lying).doors == make_plan(upright).doors.T).all()
    assert (make_plan(lying).walls == make_plan(upright).walls.T).all()
    assert (
        one.free[one.find_cells(places)] == other.free[other.find_cells(places[:, ::-1])]
    ).all()
    for nth, at in enumerate(places):
        ways = (
            (compute_views(upright, places)[nth], compute_views(lying, places[:, ::-1])[nth]),
            (
                one.add_body_heat(at[None], np.ones(1)),
                other.add_body_heat(at[None, ::-1], np.ones(1)),
            ),
        )
        for here, there in ways:
            assert there.reshape(shape[::-1]).T == pytest.approx(here.reshape(shape), abs=1e-9)


def test_a_sensor_between_two_middles_sees_what_is_between_them() -> None:
    """Of a field that rises evenly it sees its own place, on its own side of the wall."""
    places = np.array([[0.33, 0.47], [1.2, 1.1], [2.1, 0.6], [2.71, 1.53]])
    field = middles(make_plan(PARTED)) @ (3.0, 7.0)

    seen = compute_views(PARTED, places)

    assert seen @ field == pytest.approx(places @ (3.0, 7.0))
    assert seen.min() >= 0  # between, and not beyond


def test_who_stands_where() -> None:
    """In air that is free, over furniture where warmth passes, and not in walls or shut doors."""
    room = replace(PARTED, furniture=(Furniture((0.4, 0.4, 0.82, 0.8), "desk"),))
    ajar, shut = (make_lattice(room, (is_open,)) for is_open in (True, False))

    def may(known: Lattice, x: float, y: float) -> str:
        cell = known.locate(np.array([[x, y]]))[0][0]
        return "wall" if cell < 0 else "free" if known.free[cell] else "thing"

    assert may(ajar, 0.6, 0.6) == "thing"
    assert [may(ajar, x, 0.6) for x in (0.4, 0.825)] == ["free", "free"]  # 0.82 is drawn there
    assert [may(it, 1.55, 1.0) for it in (ajar, shut)] == ["free", "wall"]
    assert [may(ajar, x, 0.3) for x in (1.5, 1.501, 1.599, 1.6)] == ["free", *["wall"] * 2, "free"]
    assert [may(ajar, *it) for it in ((0, 0), (3, 2), (-0.01, 1), (3, 2.01))] == [
        *["free"] * 2,
        *["wall"] * 2,
    ]


def test_where_walls_touch_at_their_corners_nothing_passes() -> None:
    """One point of the plan is two nodes there, each of its own side."""
    room = replace(
        BARE,
        walls=(
            Wall((0.0, 0.95), (1.5, 0.95), 100.0, "brick"),
            Wall((1.5, 1.05), (3.0, 1.05), 100.0, "brick"),
        ),
    )
    known = make_lattice(room, ())
    there = np.flatnonzero((known.nodes_m == (1.5, 1.0)).all(axis=1))
    y = middles(make_plan(room))[:, 1]

    assert not known.are_ways_free(np.array([[1.4, 1.1]]), np.array([[1.6, 0.9]]))[0]
    assert known.are_ways_free(np.array([[0.1, 1.0]]), np.array([[1.4, 1.1]]))[0]
    assert len(there) == 2
    assert set(known.side[there]) == {0, 1}
    assert sorted(known.table[there][:, y < 1.0].sum(axis=1).tolist()) == pytest.approx([0, 1])


def test_a_wall_under_a_quantum_is_drawn_as_one() -> None:
    """Glass of 12 mm takes a quantum, and is four layers of a quarter."""
    room = replace(BARE, walls=(Wall((1.5, 0.0), (1.5, 1.0), 12.0, "glass"),))

    assert make_plan(room).boxes["wall", 0] == (60, 0, 61, 40)
    assert describe_redrawing(room) == ["[[wall]] 1 of 12 mm is drawn 25 mm thick"]
    thick = replace(room, walls=(Wall((1.51, 0.0), (1.51, 1.0), 100.0, "brick"),))
    assert describe_redrawing(thick) == ["[[wall]] 1 has an edge moved by 10.0 mm"]
    assert describe_redrawing(PARTED) == []
    assert np.diff(make_plan(room).x_m)[(make_plan(room).walls[0] > 0)] == pytest.approx(0.00625)


# The rooms that come with the program: each can be read, and its day can be lived.


ROOMS = Path(model.__file__).parent


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(path.stem for path in ROOMS.glob("*.toml")))
def test_a_day_can_be_lived_in_every_sample(name: str) -> None:
    """Nobody ever stands in things or walks through them, and everybody is inside."""
    room = read_room(ROOMS / f"{name}.toml")
    tracks = draw_day(room, np.random.default_rng(1)).tracks

    assert len(tracks) >= 7
    for track in tracks:
        assert (np.diff(track.at_s) >= 0).all()
        assert track.joules > 0
        for start, end in pairwise(track.places_m.tolist()):
            assert is_straight(room, tuple(start), tuple(end))
            assert may_stand(room, tuple(end))
        assert (track.places_m >= 0).all()
        assert (track.places_m <= room.size_m).all()


def test_every_table_is_in_the_sample_and_can_be_taken_from_it(tmp_path: Path) -> None:
    """With the # of its commented lines taken away it is a room that has each table there is."""
    text, lines = re.subn(r"^#(?=\S)", "", read_sample(), flags=re.MULTILINE)
    (tmp_path / "room.toml").write_text(text, encoding="utf-8")
    (tmp_path / "positions.csv").write_text("frame,x_px,y_px\n0,4,6\n1,5,6\n")
    room = read_room(tmp_path / "room.toml")

    assert lines >= 15
    tables = Document.model_fields
    assert all(re.search(rf"^\[+{name}\]", text, re.MULTILINE) for name in tables)
    assert len(room.arrivals.seats_m) == len(room.walkers) == 1


# Where things stand in a TOML text, held against the text itself.

AWKWARD = '''\
# [not.a.table] x = 1
title = "a [[person]] # no comment"

[[person]]   # the first
name = 'one'
path = [ # many lines
    ["08:30", 1, 2],

    ["08:31",
     3, 4], ]
[person.home]
at_m = [1.0,
  2.0]
[[person]]
"na me" = """
two
[[person]]
name = 3"""
dotted.key."with dot.s" = { a = 1, b = [2,
3] }
since = 1979-05-27 07:32:00
[[person.child]]
x = 1
[[person.child]]
x = -0.5e1
'''


def test_an_awkward_text_is_counted_right() -> None:
    """Strings that look like tables, nested and dotted keys: the lines were counted by hand."""
    found = find_lines(AWKWARD)

    assert found["title",] == 2
    assert (found["person", 0], found["person", 1]) == (4, 14)
    assert [found["person", 0, "path", at] for at in (0, 1)] == [7, 9]
    assert found["person", 0, "path", 1, 1] == 10
    assert (found["person", 0, "home"], found["person", 0, "home", "at_m", 1]) == (11, 13)
    assert found["person", 1, "na me"] == 15
    assert found["person", 1, "dotted", "key", "with dot.s", "b", 1] == 20
    assert found["person", 1, "since"] == 21
    assert [found["person", 1, "child", at, "x"] for at in (0, 1)] == [23, 25]
