"""A room's own response: reciprocity, closed forms, and paths that change no more than it says."""

import math
from dataclasses import replace

import numpy as np
import pytest

from physics.diffusion.medium import Medium, still
from physics.diffusion.run import Run
from physics.displaced import displaced
from physics.instruments.lag import held
from physics.instruments.views import point_views
from physics.kernel import forward
from physics.pairs import neighbours, steps
from physics.places import Floats, cell_places
from physics.response import Response, worst
from physics.rooms.footprint import spread
from physics.rooms.model import free, grid, medium
from physics.rooms.pulses import Stretch, pulses
from physics.rooms.raster import layout, shape
from physics.rooms.records import (
    Air,
    Clock,
    Door,
    Furniture,
    Room,
    Side,
    Thermometers,
    Wall,
)
from physics.rooms.respond import respond
from physics.rooms.worn import worn

POWER_W = 80.0
APART_M = 0.5


def small(kind: str = "perfect", open_s: tuple[tuple[float, float], ...] = ((0, 1e6),)) -> Room:
    """Return a room of 3 by 2 m in two parts, with a desk, a door, and six thermometers."""
    places = tuple((x, y) for y in (0.45, 1.5) for x in (0.5, 1.7, 2.6))
    return Room(
        name="small",
        size_m=(3.0, 2.0),
        height_m=2.5,
        cell_mm=200,
        air=Air(0.005, 2.0, 6.0, 20.0, ((0.0, 20.0),)),
        day=Clock(0.0, 0.75, 30.0),
        sides={name: Side(1.0, ((0.0, 20.0),)) for name in ("north", "south", "west", "east")},
        walls=(Wall((1.1, 0.0), (1.1, 2.0), 100.0, "plasterboard"),),
        doors=(Door((1.1, 1.5), 0.6, 40.0, open_s),),
        furniture=(Furniture((2.0, 0.6, 2.6, 1.2), "desk"),),
        thermometers=(Thermometers(kind, places),),
    )


@pytest.fixture(scope="module")
def room() -> Room:
    return small()


@pytest.fixture(scope="module")
def response(room: Room) -> Response:
    return respond(room, APART_M)


def views(room: Room) -> Floats:
    places = np.array([place for one in room.thermometers for place in one.places_m])
    return point_views(places, grid(room)).reshape(len(places), *shape(room))


def every_lag(room: Room) -> Floats:
    """Return (lags, sensors, rows, columns), of a person who stands in the middle of a cell."""
    steps_of_day = round(3600 * room.day.duration_h / room.day.step_s)
    stretch = Stretch(medium(room, 0.0), steps_of_day)
    return np.array([worn(room, field) for field in pulses(views(room), [stretch], 30.0)])


def test_a_pulse_at_a_sensor_is_its_response_to_a_pulse_anywhere(room: Room) -> None:
    """Heat goes from here to there as from there to here: one run stands for one for each cell."""
    made = list(pulses(views(room), [Stretch(medium(room, 0.0), 12)], 30.0))
    cells = [(0, 0), (3, 5), (7, 5), (9, 14), (2, 8)]
    power = np.zeros((len(cells), *shape(room)))
    for nth, cell in enumerate(cells):
        power[nth, *cell] = 1.0
    run, calm = (
        Run(medium(room, 0.0), np.zeros_like(power), always_damped=True),
        still(medium(room, 0.0)),
    )
    for lag, field in enumerate(made):
        run.step(calm._replace(power_w=power) if lag == 0 else calm, 30.0)
        seen = np.einsum("syx,cyx->sc", views(room), run.field_k)
        there = np.array([field[:, *cell] for cell in cells]).T

        assert there == pytest.approx(seen, rel=1e-9, abs=1e-15)


def test_doors_are_gone_through_backwards(room: Room) -> None:
    """A door that was shut until ten minutes ago is open first, seen from the reading."""
    shut, opened = (medium(small(open_s=spans), 0.0) for spans in ((), ((0, 1e6),)))
    stretches = [Stretch(opened, 60), Stretch(shut, 60)]
    right, wrong = (
        list(pulses(views(room), order, 10.0)) for order in (stretches, stretches[::-1])
    )
    lag, cell = 80, (7, 8)
    power = np.zeros(shape(room))
    power[cell] = 1.0
    run, calm = Run(shut, np.zeros(shape(room)), always_damped=True), still(shut)
    run.step(calm._replace(power_w=power), 10.0)
    for step in range(1, lag + 1):
        run.step(calm, 10.0, shut if step <= lag - 60 else opened)
    seen = np.einsum("syx,yx->s", views(room), run.field_k)

    assert right[lag][:, *cell] == pytest.approx(seen, rel=1e-9)
    assert abs(wrong[lag][:, *cell] / seen - 1).max() > 0.05


def test_an_even_insulated_room_answers_as_the_insulated_kernel() -> None:
    """Where a kernel fits, the response is that kernel, in watts and kelvin."""
    capacity, mixing, height = 1200.0, 0.01, 2.5
    even = np.ones((40, 60))
    air = Medium(
        (0.1, 0.1), capacity * mixing * even, capacity * even, 0 * even, ((0, 0),) * 2, height
    )
    here = grid(replace(small(), size_m=(6.0, 4.0), cell_mm=100))
    places = np.array([[1.55, 1.05], [4.05, 3.55], [3.0, 2.0]])
    seen = point_views(places, here).reshape(3, 40, 60)
    *_, coarse = pulses(seen, [Stretch(air, 150)], 1.0)
    *_, fine = pulses(seen, [Stretch(air, 300)], 0.5)
    # A joule 150 seconds ago: of first order in the step, so that this is of second.
    field = 2 * fine / 0.5 - coarse
    kernel = forward(cell_places(here), places, mixing * 150, "insulated", (6.0, 4.0))

    assert field.reshape(3, -1) * capacity * height == pytest.approx(
        kernel, abs=1e-3 * kernel.max()
    )


def test_points_so_far_apart_are_in_cells_that_are_compared() -> None:
    """Whatever corners of their cells two people stand in."""
    world = np.random.default_rng(3)
    for cells in (1, 2, 5):
        found = {(a, b) for x, y in steps(cells) for a, b in ((x, y), (-x, -y))} | {(0, 0)}
        here = world.uniform(0, 1, (20000, 2))
        angle, far = world.uniform(0, 2 * np.pi, 20000), cells * world.uniform(0, 1, 20000) ** 0.1
        there = here + far[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
        moved = {tuple(step) for step in np.floor(there).astype(int).tolist()}

        assert moved <= found
        assert len(found - moved) <= 4 * (cells > 1) * 3  # hardly any that cannot be


def test_what_displaced_paths_change_is_the_sum_over_lags_of_the_worst_pair(room: Room) -> None:
    """Against all pairs of cells at all lags: never less, and hardly more."""
    fields, standing = every_lag(room), free(room).reshape(shape(room))
    row, column = np.nonzero(standing)
    gap = [np.maximum(abs(part[:, None] - part) - 1, 0) for part in (row, column)]
    near = gap[0] ** 2 + gap[1] ** 2 < 3**2
    felt = fields[:, :, standing]
    change = felt[:, :, :, None] - felt[:, :, None, :]
    joint = np.sqrt((change**2).sum(axis=1))[:, near].max(axis=1).sum()
    each = np.abs(change)[:, :, near].max(axis=2).sum(axis=0)
    whole = np.sqrt((change**2).sum(axis=1)).max(axis=(1, 2)).sum()

    found = displaced(fields, standing, neighbours(standing, (3, 18), 3))

    assert joint <= found.joint[0] * (1 + 1e-12) <= 1.01 * joint
    assert (each <= found.each[0] * (1 + 1e-12)).all()
    assert found.each[0].max() <= 1.02 * each.max()
    assert whole <= found.joint[1]


def forward_change(room: Room, here: Floats, there: Floats) -> Floats:
    """Return how the readings differ, (sensors,), by runs of both paths, (steps, 2) each."""
    power = np.zeros((2, *shape(room)))
    run = Run(medium(room, 0.0), np.zeros_like(power), always_damped=True)
    calm = still(medium(room, 0.0))
    for pair in zip(here, there, strict=True):
        for nth, place in enumerate(pair):
            power[nth] = spread(room, place[None], np.array([POWER_W]))
        run.step(calm._replace(power_w=power), room.day.step_s)
    one, other = run.field_k
    return np.asarray(np.einsum("syx,yx->s", views(room), one - other))


def test_no_path_displaced_by_so_little_changes_more(room: Room, response: Response) -> None:
    """People who walk and sit anywhere, not in the middles of cells alone, simulated forward."""
    world, plan = np.random.default_rng(5), layout(room)
    nth = response.within(3)
    steps_of_day = round(response.lasts_s / room.day.step_s)

    def stands(place: Floats) -> bool:
        column, line = np.floor(place / 0.2).astype(int)
        inside = 0 <= line < 10 and 0 <= column < 15
        return inside and not (plan.walls | plan.furniture)[line, column]

    for trial in range(6):
        here, there = np.empty((2, steps_of_day, 2))
        for step in range(steps_of_day):
            # One in four sits for long.
            if step == 0 or trial % 4 or step % 25 == 0:
                while True:
                    one = world.uniform(0, (3.0, 2.0))
                    angle = world.uniform(0, 2 * np.pi)
                    other = one + APART_M * np.array([np.cos(angle), np.sin(angle)])
                    if stands(one) and stands(other):
                        break
            here[step], there[step] = one, other
        change = np.abs(forward_change(room, here, there)) / POWER_W

        assert np.linalg.norm(change) <= response.changes.joint[nth]
        assert (change <= response.changes.each[nth]).all()


@pytest.mark.parametrize(("cell_mm", "far"), [(200, 3), (250, 2), (500, 1)])
def test_people_stand_anywhere_in_their_cells(cell_mm: int, far: int) -> None:
    """At each lag the worst pair of places 5 cm apart from each other, and not of middles."""
    day = Clock(0.0, 0.2, 30.0)
    room = replace(small(), cell_mm=cell_mm, day=day)
    fields = np.array(list(pulses(views(room), [Stretch(medium(room, 0.0), 24)], 30.0)))
    x, y = np.meshgrid(np.arange(0.025, 3, 0.05), np.arange(0.025, 2, 0.05))
    places = np.stack([x.ravel(), y.ravel()], axis=1)
    column, row = (1000 * places / cell_mm).astype(int).T
    places = places[free(room).reshape(shape(room))[row, column]]
    bodies = np.array([spread(room, place[None], np.ones(1)).ravel() for place in places])
    near = np.linalg.norm(places[:, None] - places, axis=2) <= far * cell_mm / 1000 + 1e-9
    total = 0.0
    for felt in fields.reshape(24, 6, -1) @ bodies.T:
        own = np.einsum("sp,sp->p", felt, felt)
        total += math.sqrt((own[:, None] + own - 2 * felt.T @ felt)[near].max())
    response = respond(room, far * cell_mm / 1000)

    assert 0.9 * response.changes.joint[response.within(far)] <= total
    assert total <= response.changes.joint[response.within(far)]


def greedy(fields: Floats, standing: Floats, near: int) -> tuple[Floats, Floats]:
    """Return two paths of cells, (lags,) each, that were made to differ as much as they can."""
    row, column = np.nonzero(standing)
    pairs = np.array(
        [
            (a, b)
            for a in range(len(row))
            for b in range(len(row))
            if math.hypot(row[a] - row[b], column[a] - column[b]) <= near
        ]
    )
    felt = fields[:, :, standing]
    change = felt[:, :, pairs[:, 0]] - felt[:, :, pairs[:, 1]]
    best = change.sum(axis=0)[:, np.linalg.norm(change.sum(axis=0), axis=0).argmax()]
    for _ in range(20):
        taken = np.einsum("s,lsp->lp", best, change).argmax(axis=1)
        best = change[np.arange(len(change)), :, taken].sum(axis=0)
    return pairs[taken].T


def test_a_path_made_to_be_seen_comes_near_the_bound(room: Room, response: Response) -> None:
    """The bound is not idle: at each lag the worst pair of places, simulated forward."""
    fields, standing = every_lag(room), free(room).reshape(shape(room))
    middles = cell_places(grid(room))[standing.ravel()]
    # Middles of cells up to 2.5 sides apart; the bound is of points anywhere in 3 by whole cells.
    here, there = (middles[path[::-1]] for path in greedy(fields, standing, 3))
    change = np.linalg.norm(forward_change(room, here, there)) / POWER_W

    assert 0.85 * response.changes.joint[response.within(3)] <= change
    assert change <= response.changes.joint[response.within(3)]
    # Who stays where he is shows less, and is no bound for who walks.
    assert response.stays[response.within(3)] < 0.97 * change


def test_a_thermometer_that_lags_is_bounded_too(response: Response) -> None:
    """Its readings are means of what was before; its operator is what it shows."""
    lagging = small("tmp117")
    lag_s, step_s = 20.0, 30.0
    slow = respond(lagging, APART_M, hold_s=600.0)
    cell = 4 * 15 + 3
    power = np.zeros(shape(lagging))
    power += spread(lagging, cell_places(grid(lagging))[cell][None], np.ones(1))
    run, calm = Run(medium(lagging, 0.0), always_damped=True), still(medium(lagging, 0.0))
    shown = np.zeros(6)
    for _ in range(20):
        run.step(calm._replace(power_w=power), step_s)
        seen = np.einsum("syx,yx->s", views(lagging), run.field_k)
        shown = held(shown, seen, step_s, lag_s)

    assert slow.operator[:, cell] == pytest.approx(shown, abs=5e-3 * shown.max())
    assert abs(response.operator[:, cell] - shown).max() > 0.05 * shown.max()
    assert slow.changes.joint == pytest.approx(response.changes.joint)


def test_the_worst_of_several_is_enough_for_each() -> None:
    """Doors open and shut: noise for both."""
    states = [respond(small(open_s=spans), APART_M) for spans in ((), ((0, 1e6),))]
    both = respond(small(open_s=((0.0, 1000.0),)), APART_M)

    assert both.changes.joint == pytest.approx(worst(states).changes.joint)
    assert all((one.changes.joint <= both.changes.joint * (1 + 1e-12)).all() for one in states)
    assert len({one.digest for one in states}) == 2
    with pytest.raises(ValueError, match="one grid"):
        worst([states[0], respond(small(), 1.0)])


def test_what_has_no_meaning_is_refused(room: Room, response: Response) -> None:
    with pytest.raises(ValueError, match="thermometers"):
        respond(replace(room, thermometers=()), APART_M)
    with pytest.raises(ValueError, match="within the day"):
        respond(room, APART_M, at_s=1e6)
    with pytest.raises(ValueError, match="shorter distance"):
        response.within(100)
    with pytest.raises(ValueError, match="operator has shape"):
        replace(response, operator=response.operator[:, 1:])
