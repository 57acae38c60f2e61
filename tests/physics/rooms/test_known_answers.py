"""The sample office, against cells of 25 mm by another solver, and laws that no grid may break."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import splu

from physics.diffusion.medium import Drive, make_still_drive
from physics.diffusion.run import Run, march
from physics.places import Floats
from physics.rooms import model
from physics.rooms.day import Day, Track, check_route, draw_day
from physics.rooms.plan import compute_views, make_plan
from physics.rooms.read import read_room
from physics.rooms.records import Air, Arrivals, Clock, Door, Room, Side, Walker, Wall

# The sample office's day on cells of 25 mm by a solver of its own: what `test_golden` is held to.

FILE = Path(__file__).parent / "office_25mm.csv"
MOMENTS_S = (11.5 * 3600, 14.5 * 3600, 16 * 3600)
CELL_M, FILM = 0.025, 0.13
AIR, WALL, LEAF = 1206.0, (0.25, 9e5), 0.13 / 0.04 * 0.1
# North, south, west and east, and how they pass heat; in the east is a window.
SIDES = (np.s_[0, :], np.s_[-1, :], np.s_[:, 0], np.s_[:, -1])
GLASS = np.where((np.arange(160) >= 24) & (np.arange(160) < 136), 1.4 / 2.7, 0.0)
FILMS = (1.5, 1.5, 1.0, 0.35 + (1.3 - 0.35) * GLASS)


def factors(shut: bool, step_s: float) -> tuple[object, np.ndarray, np.ndarray]:
    """Return what solves half a step, the capacity, and what fresh air takes, of each cell."""
    solid = np.zeros((160, 240), dtype=bool)
    solid[:, 80:84] = True
    solid[102:138, 80:84] = shut
    passes = np.where(solid, WALL[0], AIR * 0.005)
    passes[102:138, 80:84] = LEAF if shut else AIR * 0.005
    takes = np.where(solid, WALL[1], AIR * 12)
    takes[102:138, 80:84] = AIR * 12
    volume, side = CELL_M**2 * 2.7, CELL_M * 2.7
    number = np.arange(solid.size).reshape(solid.shape)
    rows, columns, values = [], [], []
    for one, other in ((np.s_[:, :-1], np.s_[:, 1:]), (np.s_[:-1], np.s_[1:])):
        film = np.where(solid[one] != solid[other], FILM, 0.0)
        flow = side / (CELL_M / 2 / passes[one] + film + CELL_M / 2 / passes[other])
        for a, b in ((one, other), (other, one)):
            rows += [number[a].ravel(), number[a].ravel()]
            columns += [number[a].ravel(), number[b].ravel()]
            values += [flow.ravel(), -flow.ravel()]
    fresh = np.where(solid, 0.0, AIR / 3600 * volume)
    sides = np.zeros(solid.shape)
    half = CELL_M / 2 / passes
    for at, film in zip(SIDES, FILMS, strict=True):
        sides[at] += side / (1 / film + half[at])
    whole = sparse.diags((2 / step_s * takes * volume + sides + fresh).ravel())
    matrix = sparse.csc_matrix(
        (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
    )
    return splu((whole + matrix).tocsc()), takes * volume, fresh


def main() -> None:
    room = replace(read_room(Path(model.__file__).parent / "office.toml"), cell_mm=25)
    today, step_s = draw_day(room, np.random.default_rng(1)), room.day.step_s
    known = {shut: factors(shut, step_s) for shut in (False, True)}
    media = {shut: model.build_medium(room, (not shut,)) for shut in (False, True)}
    field = np.zeros((160 * 240, 2))
    kept, at_s = [], room.day.start_s
    while at_s < MOMENTS_S[-1]:
        shut = not room.doors[0].is_open(at_s + step_s / 2)
        solve, capacity, fresh = known[shut]
        empty = model.make_empty_drive(room, at_s, at_s + step_s)
        people = model.sum_body_heat(room, today, at_s, at_s + step_s)
        given = np.stack([empty.power_w + people, empty.power_w])
        (west, east), (north, south) = empty.outside_k
        half = CELL_M / 2 / media[shut].conductivity
        for at, film, beyond in zip(SIDES, FILMS, (north, south, west, east), strict=True):
            given[:, *at] += beyond * CELL_M * 2.7 / (1 / film + half[at])
        given += fresh * empty.supply_k
        flat = given.reshape(2, -1).T
        for _ in range(2):
            field = solve.solve(flat + (2 / step_s) * capacity.reshape(-1, 1) * field)
        at_s += step_s
        if at_s in MOMENTS_S:
            kept.append(field.T.reshape(2, 160, 240).copy())
    places = 40 * np.array(room.thermometers[0].places_m)  # all on lines between cells
    column, row = np.rint(places).astype(int).T
    corners = [(row - down, column - right) for down in (0, 1) for right in (0, 1)]
    rows = [sum(one[:, y, x] for y, x in corners) / 4 for one in kept]
    rounded = np.rint(1e4 * np.array(rows)).astype(int).reshape(-1, 24)
    np.savetxt(FILE, rounded, fmt="%d", delimiter=",")


if __name__ == "__main__":
    sys.exit(main())


# The sample office, against cells of 25 mm by another solver, and laws that no grid may break.

CALM = ((0.0, 20.0),)


@pytest.fixture(scope="module")
def office() -> Room:
    return read_room(Path(model.__file__).parent / "office.toml")


def looks(room: Room) -> Floats:
    """Return what the thermometers see, (sensors, heat cells)."""
    return compute_views(room, np.array([at for one in room.thermometers for at in one.places_m]))


@pytest.mark.long
def test_the_office_is_as_cells_of_25_mm_have_it(office: Room) -> None:
    """A day with a door that moves: of people 0.01 K at every thermometer, of the room 0.02 K."""
    known = np.loadtxt(FILE, delimiter=",").reshape(len(MOMENTS_S), 2, -1) / 1e4
    today, start_s = draw_day(office, np.random.default_rng(1)), office.day.start_s
    first = model.make_medium(office, start_s)
    run = Run(first, np.zeros((2, *first.shape)), start_s)

    def drives(from_s: float, to_s: float) -> Drive:
        empty = model.make_empty_drive(office, from_s, to_s)
        people = model.sum_body_heat(office, today, from_s, to_s)
        return empty._replace(power_w=np.stack([empty.power_w + people, empty.power_w]))

    for at_s, (there, empty) in zip(MOMENTS_S, known, strict=True):
        for _ in march(run, drives, 60.0, at_s, lambda a, b: model.make_step_medium(office, a, b)):
            pass
        seen = run.field_k.reshape(2, -1) @ looks(office).T
        assert (there - empty).max() > 1.2
        assert np.abs(seen[0] - seen[1] - (there - empty)).max() < 0.01
        assert np.abs(seen - (there, empty)).max() < 0.02


def test_a_step_beside_the_partition_shows_little(office: Room) -> None:
    """31.1 W from (2.15, 2.2) to (2.25, 2.2), for seven hours: 0.031 K."""
    change = np.zeros(24)
    for sign, x in ((1, 2.15), (-1, 2.25)):
        stay = Track("A", np.array([0.0, 7 * 3600.0]), np.full((2, 2), (x, 2.2)), np.full(2, 31.1))
        now = model.build_medium(office, (True,))
        run, calm = Run(now), make_still_drive(now)
        power = model.sum_body_heat(office, Day((stay,)), 0.0, 7 * 3600.0)
        for _ in range(7 * 12):
            run.step(calm._replace(power_w=power), 300.0)
        change += sign * looks(office) @ run.field_k.ravel()

    assert np.linalg.norm(change) == pytest.approx(0.031, abs=0.002)


@pytest.mark.long
def test_who_stands_beside_a_shut_door_warms_one_side(office: Room) -> None:
    """Open, about two fifths are beyond its middle; an hour later, shut, nothing."""
    x = np.tile(
        (make_plan(office).x_m[1:] + make_plan(office).x_m[:-1]) / 2, make_plan(office).shape[0]
    )
    stay = Track("A", np.array([0.0, 1e5]), np.full((2, 2), (2.1, 3.0)), np.full(2, 50.0))
    ajar, shut = (
        model.sum_body_heat(office, Day((stay,)), hour * 3600.0, (hour + 1) * 3600.0).ravel()
        for hour in (17, 18)
    )

    assert ajar[x < 2.05].sum() > 15
    assert shut[x < 2.1].sum() == 0
    assert shut.sum() == pytest.approx(50)


@pytest.fixture(scope="module")
def parted() -> Room:
    """Return a small closed room in two parts, with a door that opens after ten minutes."""
    return Room(
        "parted",
        (2.0, 1.0),
        2.5,
        200,
        Air(0.005, 0.0, 12.0, 20.0, CALM),
        Clock(0.0, 0.5, 60.0),
        {name: Side(0.0, CALM) for name in ("north", "east", "south", "west")},
        (Wall((1.05, 0.0), (1.05, 1.0), 100.0, "brick"),),
        (Door((1.05, 0.5), 0.4, 40.0, ((300.0, 1200.0),)),),
    )


def lived(room: Room, joules: Floats) -> Run:
    """Return the run half an hour after heat came."""
    first = model.make_medium(room, 0.0)
    run = Run(first, joules / (first.capacity * first.volume_m3))
    for nth in range(30):
        now = model.make_step_medium(room, 60.0 * nth, 60.0 * nth + 60)
        run.step(make_still_drive(now), 60.0, now)
    return run


def test_no_heat_is_lost_or_made_when_a_door_moves(parted: Room) -> None:
    """What one medium stored at the start another has at the end: the leaf stores nothing."""
    joules = np.zeros(make_plan(parted).shape)
    joules[2, 1] = 6000.0
    run = lived(parted, joules)
    stored = (
        model.build_medium(parted, (True,)).capacity
        * model.build_medium(parted, (False,)).volume_m3
    )

    assert (stored * run.field_k).sum() == pytest.approx(6000.0, rel=1e-9)
    assert run.field_k[2, -1] > 1e-6  # some went through


def test_a_thermometer_reads_the_air_of_its_own_side(office: Room) -> None:
    """Beside the partition, where the nearest middle is beyond it; linear elsewhere."""
    drawn = make_plan(office)
    x, y = np.meshgrid(*((it[1:] + it[:-1]) / 2 for it in (drawn.x_m, drawn.y_m)))
    seen = compute_views(office, np.array([[2.11, 1.0], [1.99, 1.03], [2.1, 3.0], [4.03, 2.17]]))

    assert (seen[[0, 2]] @ (x < 2.1).ravel() == 0).all()
    assert (seen[1] @ (x > 2.0).ravel() == 0).all()
    assert seen.sum(axis=1) == pytest.approx(1)
    assert seen[3] @ np.stack([x.ravel(), y.ravel()], axis=1) == pytest.approx([4.03, 2.17])
    with pytest.raises(ValueError, match="in air"):
        compute_views(office, np.array([[2.05, 1.0]]))


@pytest.mark.long
def test_visitors_and_recordings_keep_out_of_what_is_shut(office: Room) -> None:
    """Whoever comes goes through the door while it is open, and is never in a wall."""
    shut_s = 8 * 3600.0 + 1800
    room = replace(
        office,
        people=(),
        doors=(office.doors[0]._replace(open_s=((8 * 3600.0, shut_s), (36000.0, 36600.0))),),
        arrivals=Arrivals(
            ((27000.0, 30.0), (34000.0, 0.0)), 20, 40.0, 1.0, (0.3, 3.8), ((3.5, 3.0),)
        ),
        walkers=(
            # From frame to frame through the wall, as recordings from elsewhere may have it.
            Walker("w", 40.0, ((0, ((1.9, 1.0),)), (1, ((2.2, 1.0),))), 1.0, 9.0, 9, (30000.0,)),
        ),
    )
    tracks = draw_day(room, np.random.default_rng(2)).tracks
    visits = [track for track in tracks if track.name.startswith("visitor")]
    walked = [track for track in tracks if track.name.startswith("w ")]

    assert visits
    assert [len(track.at_s) for track in walked] == [6]
    for track in tracks:
        jumps = np.diff(track.at_s) == 0
        assert (check_route(room, track.at_s, track.places_m) | jumps).all()
        assert model.sum_body_heat(
            room, Day((track,)), 0.0, 86400.0
        ).sum() * 86400 == pytest.approx(track.joules)
    for visit in visits:  # who is kept waits for the door
        assert 8 * 3600.0 <= visit.at_s[0] <= shut_s
        assert visit.at_s[-1] <= shut_s or visit.at_s[-1] > 36000.0
    assert any(visit.at_s[-1] > 36000.0 for visit in visits)
