"""Neighbours on foot: ways tried one by one, doors that shut, and paths that were run forward."""

import math
from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import ndimage

from physics.diffusion.medium import still
from physics.diffusion.run import Run
from physics.instruments.views import point_views
from physics.on_foot import met
from physics.pairs import neighbours
from physics.places import Floats, cell_places
from physics.response import Response, worst
from physics.rooms import model
from physics.rooms.footprint import spread
from physics.rooms.histories import Since, longest
from physics.rooms.model import free, grid, media
from physics.rooms.pulses import Stretch, pulses
from physics.rooms.raster import shape
from physics.rooms.records import Air, Clock, Door, Room, Side, Thermometers, Wall
from physics.rooms.respond import respond, respond_day
from physics.rooms.worn import worn

STEP_S, APART_M, FAR = 30.0, 0.4, 2
# Shut in the second third of the day.
MOVES = ((0.0, 900.0), (1800.0, 1e6))


def parted(open_s: tuple[tuple[float, float], ...] = MOVES) -> Room:
    """Return a room of 3 by 2 m in two parts, with a door and four thermometers."""
    places = tuple((x, y) for y in (0.5, 1.5) for x in (0.7, 2.3))
    return Room(
        name="parted",
        size_m=(3.0, 2.0),
        height_m=2.5,
        cell_mm=200,
        air=Air(0.005, 2.0, 6.0, 20.0, ((0.0, 20.0),)),
        day=Clock(0.0, 0.75, STEP_S),
        sides={name: Side(1.0, ((0.0, 20.0),)) for name in ("north", "south", "west", "east")},
        walls=(Wall((1.5, 0.0), (1.5, 2.0), 100.0, "plasterboard"),),
        doors=(Door((1.5, 1.5), 0.6, 40.0, open_s),),
        thermometers=(Thermometers("perfect", places),),
    )


@pytest.fixture(scope="module")
def room() -> Room:
    return parted()


@pytest.fixture(scope="module")
def response(room: Room) -> Response:
    return respond_day(room, APART_M, [room.day.until_s], through_walls=False)


def on_foot(free_now: NDArray[np.bool_], cells: int) -> NDArray[np.bool_]:
    """Return which cells are so near each other on foot, (cells, cells), disc by disc."""
    row, column = np.indices(free_now.shape).reshape(2, -1)
    gap = [np.maximum(abs(part[:, None] - part) - 1, 0) for part in (row, column)]
    disc = gap[0] ** 2 + gap[1] ** 2 < cells**2
    reached = np.zeros_like(disc)
    for cell in np.flatnonzero(free_now):
        about = free_now & disc[cell].reshape(free_now.shape)
        label, _ = ndimage.label(about, np.ones((3, 3)))
        reached[cell] = (label == label.flat[cell]).ravel() & about.ravel()
    return np.asarray(reached & reached.T)


def views(room: Room) -> Floats:
    places = np.array(room.thermometers[0].places_m)
    return point_views(places, grid(room)).reshape(len(places), *shape(room))


@cache
def lags(room: Room) -> tuple[Floats, NDArray[np.bool_]]:
    """Return what is felt of a person in each cell, and where doors let one walk, at each lag."""
    count = round(3600 * room.day.duration_h / STEP_S)
    ends = room.day.until_s - STEP_S * np.arange(count)
    backwards = [media(room, end - STEP_S, end) for end in ends]
    stretches: list[Stretch] = []
    for one in backwards:
        if stretches and stretches[-1].medium is one:
            stretches[-1] = Stretch(one, stretches[-1].steps + 1)
        else:
            stretches.append(Stretch(one, 1))
    fields = np.array([worn(room, field) for field in pulses(views(room), stretches, STEP_S)])
    # The partition is drawn a cell deep, and three cells of it are the door.
    free_now = np.ones((count, 10, 15), dtype=bool)
    free_now[:, :, 7] = False
    opened = [any(since < end <= until for since, until in MOVES) for end in ends]
    free_now[opened, 6:9, 7] = True
    return fields.reshape(count, len(views(room)), -1), free_now


def made_to_be_seen(room: Room, foot: bool) -> tuple[Floats, Floats]:
    """Return two paths, (steps, 2), in middles of cells, that at each lag differ the most."""
    felt, free_now = lags(room)
    middles = cell_places(grid(room))
    close = np.linalg.norm(middles[:, None] - middles, axis=2) <= APART_M + 1e-9
    close &= np.logical_and.outer(free(room), free(room))
    known = {tuple(now.ravel()): close & (on_foot(now, FAR) | (not foot)) for now in free_now}
    allowed = [np.argwhere(known[tuple(now.ravel())]) for now in free_now]
    found, longest = None, 0.0
    for best in (*np.eye(felt.shape[1]), np.array([1.0, -1.0, 1.0, -1.0])):
        for _ in range(6):
            taken = []
            for field, pairs in zip(felt, allowed, strict=True):
                change = best @ field
                taken.append(pairs[np.argmax(change[pairs[:, 0]] - change[pairs[:, 1]])])
            here, there = np.array(taken).T
            steps = np.arange(len(felt))
            best = (felt[steps, :, here] - felt[steps, :, there]).sum(axis=0)
        if np.linalg.norm(best) > longest:
            found, longest = (here, there), float(np.linalg.norm(best))
    assert found is not None
    here, there = found
    return middles[here][::-1], middles[there][::-1]


def simulated(room: Room, path: Floats) -> Floats:
    """Return what the thermometers show after somebody's day, of a watt, run forward."""
    run = Run(model.medium(room, 0.0), always_damped=True)
    for step, place in enumerate(path):
        now = media(room, step * STEP_S, (step + 1) * STEP_S)
        power = spread(room, place[None], np.ones(1))
        run.step(still(now)._replace(power_w=power), STEP_S, now)
    return np.asarray(np.einsum("syx,yx->s", views(room), run.field_k))


@pytest.mark.parametrize("cells", [1, 2, 4])
def test_who_is_met_is_who_is_in_one_piece_of_both_discs(cells: int) -> None:
    """Against each disc by itself; a way beyond the border, or round by far, is none."""
    free_now = np.random.default_rng(cells).uniform(size=(9, 12)) < 0.7
    leads, wanted = met(free_now, cells), on_foot(free_now, cells)
    row, column = np.indices(free_now.shape).reshape(2, -1)
    for one, other in np.argwhere(wanted | wanted.T):
        assert leads(column[other] - column[one], row[other] - row[one]).flat[one]
    total = sum(
        np.count_nonzero(leads(right, down))
        for right in range(-cells, cells + 1)
        for down in range(-cells, cells + 1)
    )
    assert total == np.count_nonzero(wanted)
    near = neighbours(free_now, (1, cells) if cells > 1 else (1,), cells, free_now).near
    assert 2 * sum(len(pair.one) for pair in near) == total - np.count_nonzero(free_now)


def test_who_is_near_but_round_a_corner_belongs_to_the_longer_distance() -> None:
    """Two cells on, behind a long wall: not within two on foot, but within four."""
    free_now = np.ones((9, 12), dtype=bool)
    free_now[:7, 6] = False
    told = neighbours(free_now, (2, 4), 4, free_now).near
    counts = [sum(len(pair.one) for pair in told if pair.distance == nth) for nth in (0, 1)]
    wanted = [np.count_nonzero(on_foot(free_now, cells)) - free_now.sum() for cells in (2, 4)]

    assert [2 * counts[0], 2 * sum(counts)] == wanted


def test_a_past_is_left_out_only_where_another_goes_on_from_it() -> None:
    """Doors that moved in between, or moved sooner, make another past."""
    opened, shut = (True,), (False,)
    short, long = (Since(opened, 3),), (Since(opened, 5),)
    moved = (Since(shut, 2), Since(opened, 5))
    sooner = (Since(shut, 2), Since(opened, 4))
    other = (Since(shut, 1), Since(opened, 9))

    assert longest([short, long, moved, sooner, other, moved]) == [long, moved, other]
    assert longest([short, moved]) == [short, moved]
    assert longest([long, (Since(opened, 4), Since(shut, 9))]) == [
        long,
        (Since(opened, 4), Since(shut, 9)),
    ]
    assert longest([short, (Since(opened, 3), Since(shut, 9))]) == [
        (Since(opened, 3), Since(shut, 9))
    ]


def test_no_way_that_is_so_short_is_left_out() -> None:
    """Walks in straight pieces, from anywhere to anywhere, that keep out of the walls."""
    world, cells = np.random.default_rng(2), 3
    free_now = world.uniform(size=(12, 12)) < 0.75
    wanted = on_foot(free_now, cells)
    walked = set()
    for _ in range(4000):
        way = [world.uniform(0, 12, 2)]
        left = cells * (1 - 1e-9)
        while left > 0.05:
            leg = min(left, world.uniform(0, 2))
            angle = world.uniform(0, 2 * np.pi)
            way.append(way[-1] + leg * np.array([math.cos(angle), math.sin(angle)]))
            left -= leg
        points = np.concatenate(
            [a + np.linspace(0, 1, 80)[:, None] * (b - a) for a, b in pairwise(way)]
        )
        column, row = np.floor(points).astype(int).T
        inside = (column >= 0) & (column < 12) & (row >= 0) & (row < 12)
        if inside.all() and free_now[row, column].all():
            walked.add((12 * row[0] + column[0], 12 * row[-1] + column[-1]))

    assert len(walked) > 300
    assert all(wanted[pair] for pair in walked)


def test_each_stretch_has_its_own_neighbours(room: Room, response: Response) -> None:
    """The sum over all lags of the worst pair that one could walk between just then."""
    felt, free_now = lags(room)
    stand = np.logical_and.outer(free(room), free(room))
    joint, each, crossed = 0.0, np.zeros(felt.shape[1]), 0.0
    known = {tuple(now.ravel()): on_foot(now, FAR) & stand for now in free_now}
    always = on_foot(free_now.any(axis=0), FAR) & stand
    for field, now in zip(felt, free_now, strict=True):
        change = field[:, :, None] - field[:, None, :]
        length = np.sqrt((change**2).sum(axis=0))
        joint += length[known[tuple(now.ravel())]].max()
        crossed += length[always].max()
        each += np.abs(change)[:, known[tuple(now.ravel())]].max(axis=1)
    more = 1 + 0.4 * 0.2**2  # for people who stand anywhere in their cells

    found, nth = response.changes, response.within(FAR)
    assert len(known) == 2
    assert more * joint <= found.joint[nth] * (1 + 1e-12) <= 1.02 * more * joint
    assert (more * each <= found.each[nth] * (1 + 1e-12)).all()
    # Had the door never shut, it would be more.
    assert crossed > 1.05 * found.joint[nth] / more


def test_paths_on_foot_change_no_more_and_paths_through_the_wall_do(
    room: Room, response: Response
) -> None:
    """Run forward, with the door as it moves; for who goes through walls there is more noise."""
    nth = response.within(FAR)
    here, there = made_to_be_seen(room, foot=True)
    change = np.abs(simulated(room, here) - simulated(room, there))
    through = [simulated(room, path) for path in made_to_be_seen(room, foot=False)]
    wide = respond_day(room, APART_M, [room.day.until_s])

    assert 0.75 * response.changes.joint[nth] <= np.linalg.norm(change)
    assert np.linalg.norm(change) <= response.changes.joint[nth]
    assert (change <= response.changes.each[nth]).all()
    assert np.linalg.norm(through[0] - through[1]) > 1.2 * response.changes.joint[nth]
    assert np.linalg.norm(through[0] - through[1]) <= wide.changes.joint[nth]
    # Farther than is protected, walls are gone through; and what comes at all is the same.
    assert response.changes.joint[-1] == pytest.approx(wide.changes.joint[-1])
    assert response.changes.presence == pytest.approx(wide.changes.presence)
    assert response.digest != wide.digest
    assert replace(response, through_walls=True).digest != response.digest


def test_random_paths_on_foot_change_no_more(room: Room, response: Response) -> None:
    """Two who walk about, each moment within reach of each other."""
    world, (_, free_now) = np.random.default_rng(7), lags(room)
    forward = free_now[::-1]
    known = {tuple(now.ravel()): on_foot(now, FAR) for now in forward}
    middles = cell_places(grid(room))
    close = np.linalg.norm(middles[:, None] - middles, axis=2) <= APART_M + 1e-9
    for trial in range(4):
        paths = np.empty((2, len(forward), 2))
        one = other = 0
        for step, now in enumerate(forward):
            pairs = known[tuple(now.ravel())] & close
            if trial % 2 or step % 15 == 0 or not pairs[one, other]:
                one, other = world.choice(np.argwhere(pairs))
            paths[:, step] = middles[[one, other]]
        change = np.abs(simulated(room, paths[0]) - simulated(room, paths[1]))
        nth = response.within(FAR)
        assert np.linalg.norm(change) <= response.changes.joint[nth]
        assert (change <= response.changes.each[nth]).all()


def test_a_day_of_readings_is_the_worst_of_them(room: Room) -> None:
    """Whoever reads while the door is shut, or just after: each with its own past."""
    moments = [600.0, 900.0, 1500.0, 2400.0, 2700.0]
    alone = [respond(room, APART_M, at_s, through_walls=False) for at_s in moments]
    day = respond_day(room, APART_M, moments[::-1], through_walls=False)
    nth = day.within(FAR)

    assert day.changes.joint == pytest.approx(worst(alone).changes.joint, rel=0.01)
    assert all(one.changes.joint[nth] <= 1.01 * day.changes.joint[nth] for one in alone)
    assert any((day.operator == one.operator).all() for one in alone)
    assert "each of 5 readings from 00:10 to 00:45" in day.doors
    assert len({one.digest for one in (*alone, day)}) == 6
    with pytest.raises(ValueError, match="no reading"):
        respond_day(room, APART_M, [])
    with pytest.raises(ValueError, match="all through walls or none"):
        worst([alone[0], respond(room, APART_M, 600.0)])
