"""A room's own response: reciprocity, closed forms, and paths that change no more than it says."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from edge.core.records import Grid
from physics.diffusion.medium import Medium, make_still_drive
from physics.diffusion.run import Run
from physics.instruments.chain import respond_to_ramp
from physics.kernel import forward
from physics.places import Floats, cell_places
from physics.response import Response, pick_worst
from physics.rooms.model import make_grid, make_medium
from physics.rooms.plan import compute_views as views_of
from physics.rooms.plan import make_lattice, make_plan
from physics.rooms.records import Air, Clock, Door, Furniture, Room, Side, Thermometers, Wall
from physics.rooms.respond import (
    Since,
    Stretch,
    compute_day_response,
    compute_pulses,
    compute_response,
    keep_longest,
    trace_doors,
)

POWER_W = 80.0
APART_M = 0.5


@cache
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
    return compute_response(room, APART_M)


def views(room: Room) -> Floats:
    places = np.array([place for one in room.thermometers for place in one.places_m])
    return views_of(room, places).reshape(len(places), *make_plan(room).shape)


def spread(room: Room, places_m: Floats, joules: Floats) -> Floats:
    """Return what bodies at places warm, (rows, columns) of heat cells, with all doors open."""
    known = make_lattice(room, (True,) * len(room.doors))
    return known.add_body_heat(places_m, joules).reshape(make_plan(room).shape)


def test_a_pulse_at_a_sensor_is_its_response_to_a_pulse_anywhere(room: Room) -> None:
    """Heat goes from here to there as from there to here: one run stands for one for each cell."""
    made = list(compute_pulses(views(room), [Stretch(make_medium(room, 0.0), 12)], 30.0))
    cells = [(0, 0), (3, 6), (7, 6), (9, 18), (2, 12)]
    power = np.zeros((len(cells), *make_plan(room).shape))
    for nth, cell in enumerate(cells):
        power[nth, *cell] = 1.0
    run, calm = (
        Run(make_medium(room, 0.0), np.zeros_like(power)),
        make_still_drive(make_medium(room, 0.0)),
    )
    for lag, field in enumerate(made):
        run.step(calm._replace(power_w=power) if lag == 0 else calm, 30.0)
        seen = np.einsum("syx,cyx->sc", views(room), run.field_k)
        there = np.array([field[:, *cell] for cell in cells]).T

        assert there == pytest.approx(seen, rel=1e-9, abs=1e-15)


def test_doors_are_gone_through_backwards(room: Room) -> None:
    """A door that was shut until ten minutes ago is open first, seen from the reading."""
    shut, opened = (make_medium(small(open_s=spans), 0.0) for spans in ((), ((0, 1e6),)))
    stretches = [Stretch(opened, 60), Stretch(shut, 60)]
    right, wrong = (
        list(compute_pulses(views(room), order, 10.0)) for order in (stretches, stretches[::-1])
    )
    lag, cell = 80, (7, 12)
    power = np.zeros(make_plan(room).shape)
    power[cell] = 1.0
    run, calm = Run(shut, np.zeros(shut.shape)), make_still_drive(shut)
    run.step(calm._replace(power_w=power), 10.0)
    for step in range(1, lag + 1):
        run.step(calm, 10.0, shut if step <= lag - 60 else opened)
    seen = np.einsum("syx,yx->s", views(room), run.field_k)

    assert right[lag][:, *cell] == pytest.approx(seen, rel=1e-9)
    assert abs(wrong[lag][:, *cell] / seen - 1).max() > 0.05


def test_doors_are_counted_back_from_the_reading_by_whole_steps() -> None:
    """A door stands in a step as it did in its middle; none is left out, nor counted twice."""
    door = small(open_s=((60.0, 150.0),))

    shut, ajar = (False,), (True,)
    assert trace_doors(door, 210.0) == (Since(shut, 2), Since(ajar, 3), Since(shut, 2))


def test_an_even_insulated_room_answers_as_the_insulated_kernel() -> None:
    """Where a kernel fits, the response is that kernel, in watts and kelvin."""
    capacity, mixing, height = 1200.0, 0.01, 2.5
    even = np.ones((40, 60))
    air = Medium(
        (0.1, 0.1), capacity * mixing * even, capacity * even, 0 * even, ((0, 0),) * 2, height
    )
    here = make_grid(replace(small(), size_m=(6.0, 4.0), cell_mm=100))
    places = np.array([[1.55, 1.05], [4.05, 3.55], [3.05, 2.05]])
    seen = np.zeros((3, 40, 60))
    seen[[0, 1, 2], [10, 35, 20], [15, 40, 30]] = 1
    *_, coarse = compute_pulses(seen, [Stretch(air, 150)], 1.0)
    *_, fine = compute_pulses(seen, [Stretch(air, 300)], 0.5)
    # A joule 150 seconds ago: of first order in the step, so that this is of second.
    field = 2 * fine / 0.5 - coarse
    kernel = forward(cell_places(here), places, mixing * 150, "insulated", (6.0, 4.0))

    assert field.reshape(3, -1) * capacity * height == pytest.approx(
        kernel, abs=1e-3 * kernel.max()
    )


def forward_change(room: Room, here: Floats, there: Floats) -> Floats:
    """Return how the readings differ, (sensors,), by runs of both paths, (steps, 2) each."""
    power = np.zeros((2, *make_plan(room).shape))
    run = Run(make_medium(room, 0.0), np.zeros_like(power))
    calm = make_still_drive(make_medium(room, 0.0))
    for pair in zip(here, there, strict=True):
        for nth, place in enumerate(pair):
            power[nth] = spread(room, place[None], np.array([POWER_W]))
        run.step(calm._replace(power_w=power), room.day.step_s)
    one, other = run.field_k
    return np.asarray(np.einsum("syx,yx->s", views(room), one - other))


@pytest.mark.long
def test_no_path_displaced_by_so_little_changes_more(room: Room, response: Response) -> None:
    """People who walk and sit anywhere, not in the middles of cells alone, simulated forward."""
    world, known = np.random.default_rng(5), make_lattice(room, (True,))
    nth = response.find_distance(3)
    steps_of_day = round(response.lasts_s / room.day.step_s)

    def stands(place: Floats) -> bool:
        return bool(np.append(known.free, False)[known.find_cells(place[None])[0]])

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


@pytest.mark.long
def test_a_thermometer_that_lags_is_bounded_too(response: Response) -> None:
    """Its readings are means of what was before; its operator is what it shows."""
    lagging = small("tmp117")
    lag_s, step_s = 20.0, 30.0
    slow = compute_response(lagging, APART_M, hold_s=600.0)
    cell = 4 * 15 + 3
    power = np.zeros(make_plan(lagging).shape)
    power += spread(lagging, cell_places(make_grid(lagging))[cell][None], np.ones(1))
    run, calm = Run(make_medium(lagging, 0.0)), make_still_drive(make_medium(lagging, 0.0))
    shown = np.zeros(6)
    for _ in range(20):
        run.step(calm._replace(power_w=power), step_s)
        seen = np.einsum("syx,yx->s", views(lagging), run.field_k)
        shown = respond_to_ramp(shown, seen, seen, step_s, lag_s)

    assert slow.operator[:, cell] == pytest.approx(shown, abs=1e-2 * shown.max())
    assert abs(response.operator[:, cell] - shown).max() > 0.05 * shown.max()
    # Nothing is felt before it is shown, so the last seconds before the reading count for less.
    assert (slow.changes.presence_each < response.changes.presence_each).all()
    assert slow.changes.presence_each == pytest.approx(response.changes.presence_each, rel=0.05)


def test_it_knows_of_those_who_stood_longer_or_less_long(room: Room) -> None:
    """What the others are of is what the operator of such a time is; none is of a longer day."""
    made, longer = (compute_response(room, APART_M, hold_s=hold_s) for hold_s in (600.0, 1500.0))

    np.testing.assert_allclose(made.others[1], longer.operator)
    np.testing.assert_allclose(made.others[-1], longer.others[-1])  # the whole day, for both
    assert (made.others[0] < made.operator + 1e-15).all()
    assert made.digest == replace(made, others=None).digest  # no promise is of them


@pytest.mark.long
def test_the_worst_of_several_is_enough_for_each() -> None:
    """Doors open and shut: noise for both."""
    states = [
        compute_response(small(open_s=spans), APART_M, through_walls=False)
        for spans in ((), ((0, 1e6),))
    ]
    both = compute_response(small(open_s=((0.0, 1000.0),)), APART_M, through_walls=False)

    assert both.changes.joint == pytest.approx(pick_worst(states).changes.joint, rel=1e-3)
    assert all((one.changes.joint <= both.changes.joint * (1 + 1e-12)).all() for one in states)
    assert len({one.digest for one in states}) == 2
    with pytest.raises(ValueError, match="one grid"):
        pick_worst([states[0], replace(states[1], grid=Grid((15, 10), 100))])


def test_what_has_no_meaning_is_refused(room: Room, response: Response) -> None:
    with pytest.raises(ValueError, match="thermometers"):
        compute_response(replace(room, thermometers=()), APART_M)
    with pytest.raises(ValueError, match="within the day"):
        compute_day_response(room, APART_M, [1e6])
    with pytest.raises(ValueError, match="shorter distance"):
        response.find_distance(100)
    with pytest.raises(ValueError, match="operator has shape"):
        replace(response, operator=response.operator[:, 1:])
    with pytest.raises(ValueError, match="must be finite"):
        replace(response, operator=np.where(response.operator > 0.01, np.nan, response.operator))
    with pytest.raises(ValueError, match="the others growing"):
        replace(response, far_cells=response.far_cells[::-1])
    with pytest.raises(ValueError, match="no reading"):
        compute_day_response(room, APART_M, [])


class Shelf(dict[str, bytes]):
    """Certificates in memory, which counts those that are put there."""

    puts = 0

    def keep(self, digest: str, raw: bytes) -> None:
        """Keep one."""
        self[digest] = raw
        self.puts += 1


def test_a_certificate_is_kept_and_held_to_its_room_again(room: Room) -> None:
    """Found once, then taken from its bytes: the same noise to the last digit."""
    shelf = Shelf()
    first = compute_response(room, APART_M, through_walls=False, kept=shelf)
    again = compute_response(room, APART_M, through_walls=False, kept=shelf)
    nth = first.find_distance(3)

    assert (first.changes.joint == again.changes.joint).all()
    assert (list(shelf), shelf.puts) == ([first.digest], 1)
    shelf[first.digest] = shelf[first.digest][:-8]
    spoilt = compute_response(room, APART_M, through_walls=False, kept=shelf)
    assert spoilt.changes.joint[nth] > 1.05 * first.changes.joint[nth]
    assert "each lag at its worst" in spoilt.proof
    assert first.proof == again.proof != spoilt.proof
    # The promise is the same, whatever was proved of it.
    assert spoilt.digest == first.digest


def moving() -> Room:
    """Return the small room with a door that is shut for the second third of its day."""
    return small(open_s=((0.0, 900.0), (1800.0, 1e6)))


def test_whoever_stands_beside_a_shut_door_warms_one_side() -> None:
    """Beyond it one feels hardly more of her than of who stands a step away from the door."""
    room = small(open_s=())
    made = compute_response(room, APART_M, through_walls=False)
    beside, away = (made.operator[4, 7 * 15 + column] for column in (4, 3))

    assert away < beside < 1.3 * away


@pytest.mark.long
def test_a_day_of_readings_is_the_worst_of_them() -> None:
    """Whoever reads while the door is shut, or just after: each with its own past."""
    room, moments = moving(), [600.0, 1500.0, 2700.0]
    alone = [compute_day_response(room, APART_M, [at_s], through_walls=False) for at_s in moments]
    day = compute_day_response(room, APART_M, moments[::-1], through_walls=False)
    nth = day.find_distance(3)

    assert day.changes.joint[nth] == pytest.approx(pick_worst(alone).changes.joint[nth], rel=0.02)
    assert any((day.operator == one.operator).all() for one in alone)
    assert "each of 3 readings from 00:10 to 00:45" in day.doors
    assert day.lasts_s == 2700
    assert len({one.digest for one in (*alone, day)}) == 4
    with pytest.raises(ValueError, match="all through walls or none"):
        pick_worst([alone[0], compute_day_response(room, APART_M, [600.0])])


@pytest.mark.long
def test_who_is_beyond_a_wall_shows_more_than_who_is_beside_it() -> None:
    """So that it hides in which room somebody is, noise is wider where it counts walls as none."""
    foot, through = (
        compute_day_response(moving(), APART_M, [2700.0], through_walls=way).changes
        for way in (False, True)
    )

    assert through.joint[0] > 1.2 * foot.joint[0]
    assert through.presence == pytest.approx(foot.presence, rel=5e-3)


def test_a_past_is_left_out_only_where_another_goes_on_from_it() -> None:
    """Doors that moved in between, or moved sooner, make another past."""
    opened, shut = (True,), (False,)
    short, long = (Since(opened, 3),), (Since(opened, 5),)
    moved = (Since(shut, 2), Since(opened, 5))
    sooner = (Since(shut, 2), Since(opened, 4))
    other = (Since(shut, 1), Since(opened, 9))

    assert keep_longest([short, long, moved, sooner, other, moved]) == [long, moved, other]
    assert keep_longest([short, moved]) == [short, moved]
    for end in (4, 3):
        further = (Since(opened, end), Since(shut, 9))
        assert keep_longest([long if end == 4 else short, further]) == (
            [long, further] if end == 4 else [further]
        )
