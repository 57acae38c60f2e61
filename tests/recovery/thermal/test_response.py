"""Noise for a room's own response, held against paths that were simulated, and maps of it."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from edge.core.records import Release
from edge.mechanisms.thermal import Params
from physics.diffusion.medium import make_still_drive
from physics.diffusion.run import Run
from physics.places import Floats, cell_places
from physics.response import Response
from physics.rooms.model import find_free_cells, make_grid, make_medium
from physics.rooms.plan import compute_bodies, make_lattice, make_plan
from physics.rooms.plan import compute_views as views_of
from physics.rooms.records import Air, Clock, Door, Room, Side, Thermometers, Wall
from physics.rooms.respond import Stretch, compute_pulses, compute_response
from recovery.estimators.table import estimate
from recovery.maps.heatmap import Heatmap
from recovery.thermal import Query, calibrate_query, plan, recover
from recovery.thermal.noise import make_room as kernel_room
from recovery.thermal.seen import add_up, make_seen

STEP_S = 30.0


def partitioned(counts: tuple[int, int], size_m: tuple[float, float] = (3.0, 2.0)) -> Room:
    """Return a room with a partition, a door in it, and so many thermometers."""
    places = tuple(
        (size_m[0] * (x + 0.5) / counts[0], size_m[1] * (y + 0.5) / counts[1])
        for y in range(counts[1])
        for x in range(counts[0])
    )
    wall = size_m[0] / 2 + 0.1
    return Room(
        name="parted",
        size_m=size_m,
        height_m=2.5,
        cell_mm=200,
        air=Air(0.005, 1.0, 6.0, 20.0, ((0.0, 20.0),)),
        day=Clock(0.0, 1.0, STEP_S),
        sides={name: Side(1.0, ((0.0, 20.0),)) for name in ("north", "south", "west", "east")},
        walls=(Wall((wall, 0.0), (wall, size_m[1]), 100.0, "plasterboard"),),
        doors=(Door((wall, size_m[1] - 0.5), 0.6, 40.0, ()),),
        thermometers=(Thermometers("perfect", places),),
    )


def asking(response: Response, **others: object) -> Query:
    asked = {
        "grid": response.grid,
        "sensors": (len(response.places_m),),
        "spread_m2": math.inf,
        "epsilon": (8, 1),
        "protect_distance_m": 0.4,
        "intensity_max": 80.0,
        "sources_max": 2,
        "response": response,
    }
    return Query(**(asked | others))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def room() -> Room:
    return partitioned((3, 2))


@pytest.fixture(scope="module")
def response(room: Room) -> Response:
    return compute_response(room, 0.4, through_walls=False)


def views(room: Room) -> Floats:
    places = np.array(room.thermometers[0].places_m)
    return views_of(room, places).reshape(len(places), *make_plan(room).shape)


def shape(room: Room) -> tuple[int, int]:
    """Return the rows and columns of the map."""
    return make_grid(room).shape[::-1]


def spread(room: Room, places_m: Floats, joules: Floats) -> Floats:
    """Return what bodies at places warm, (rows, columns) of heat cells; the door is shut."""
    known = make_lattice(room, (False,))
    return known.add_body_heat(places_m, joules).reshape(make_plan(room).shape)


def simulated(room: Room, path: Floats, power_w: float) -> Floats:
    """Return the temperatures at the end of somebody's path, (steps, 2), run forward."""
    run, calm = Run(make_medium(room, 0.0)), make_still_drive(make_medium(room, 0.0))
    for place in path:
        power = spread(room, place[None], np.array([power_w]))
        run.step(calm._replace(power_w=power), STEP_S)
    return np.asarray(np.einsum("syx,yx->s", views(room), run.field_k))


def made_to_be_seen(room: Room, far: int, through: bool = True) -> tuple[Floats, Floats]:
    """Return two paths, (steps, 2), that at each lag are where they are felt to differ most.

    Args:
        through: through the partition too; else on one side of it, and not in its door.
    """
    steps = round(3600 * room.day.duration_h / STEP_S)
    known, middles = make_lattice(room, (False,)), cell_places(make_grid(room))
    standing = find_free_cells(room) & (known.find_cells(middles) >= 0)
    fields = compute_pulses(views(room), [Stretch(make_medium(room, 0.0), steps)], STEP_S)
    body, middles = compute_bodies(room, (False,))[standing], middles[standing]
    felt = np.array([(body @ field.reshape(len(field), -1).T).T for field in fields])
    apart = np.linalg.norm(middles[:, None] - middles, axis=2)
    near = (apart > 0) & (apart <= far * 0.2 + 1e-9)
    if not through:
        side = np.append(known.side[known.corners[:, 0]], -1)[known.find_cells(middles)]
        near &= (side[:, None] == side) & (side >= 0)
    here, there = np.nonzero(near)
    change = felt[:, :, here] - felt[:, :, there]
    best = change.sum(axis=0)[:, np.linalg.norm(change.sum(axis=0), axis=0).argmax()]
    for _ in range(10):
        taken = np.einsum("s,lsp->lp", best, change).argmax(axis=1)
        best = change[np.arange(steps), :, taken].sum(axis=0)
    return middles[here[taken]][::-1], middles[there[taken]][::-1]


@pytest.mark.long
@pytest.mark.parametrize("step", [None, Fraction(1, 16), Fraction(1, 10)])
def test_what_is_sent_never_changes_by_more_than_was_planned(
    room: Room, response: Response, step: Fraction | None
) -> None:
    """Somebody walks to be seen, and another path at each moment: run forward, then rounded."""
    made = calibrate_query(asking(response, step=step))
    before, after = (simulated(room, path, 80.0) for path in made_to_be_seen(room, 2, False))
    change = np.abs(after - before)
    unit = 2.0**-made.exponent if step is None else float(step)
    counts = np.ceil(change / unit)  # whoever knows the room puts it just below a step
    grains = counts if step is None else np.ceil(counts * unit * 2.0**made.exponent - 1e-9)

    assert float(grains @ grains) <= made.sensitivity_squared
    assert float(grains @ grains) > 0.45 * made.sensitivity_squared


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("spread_m2", 0.5),
        ("walls", "insulated"),
        ("sensors", (3, 2)),
        ("furniture", ((0, 0, 1, 1),)),
        ("calibration", "paper"),
        ("spread_max_m2", 2.0),
        ("drift", 0.1),
    ],
)
def test_two_rooms_at_once_are_refused(response: Response, name: str, value: object) -> None:
    """What speaks of a kernel beside a response would be used by somebody who did not look."""
    with pytest.raises(ValueError, match=name):
        asking(response, **{name: value})
    with pytest.raises(ValueError, match="response of its own"):
        kernel_room(asking(response))
    with pytest.raises(ValueError, match="spread_m2"):
        replace(asking(response), response=None, sensors=(3, 2))


@pytest.mark.long
def test_who_sat_for_an_hour_is_most_likely_one(room: Room) -> None:
    """Heat of one who stood for longer than the operator says looks like that of more people."""
    made = compute_response(room, 0.4, hold_s=600.0, through_walls=False)
    assert made.others is not None
    cell = int(np.flatnonzero(made.open_cells)[40])
    told = {}
    for name in ("posterior", "auto"):
        asked = asking(made, estimator=name, epsilon=(40, 1), sources_max=3, intensity_min=60.0)
        planned = plan(asked, [])
        params = Params(*planned.params)
        warmth = 80.0 * made.others[-1][:, cell] * 2.0**params.exponent
        counts = []
        for trial in range(5):
            noise = params.variance**0.5 * np.random.default_rng(trial).normal(size=len(warmth))
            values = np.rint(warmth + noise).astype(int).tolist()
            found = recover(asked, [Release(planned, values, len(values))])
            assert isinstance(found, Heatmap)
            assert found.credible is not None
            counts.append(int(found.credible.numbers.argmax()))
        told[name] = counts

    # One and two are nearly as likely: of 20 readings 12 say one, and the same 12 with four times
    # the scenes, so it is not the sampler's doing.
    assert told["auto"].count(1) >= 3
    assert max(told["auto"]) <= 2
    assert set(told["posterior"]) == {3}  # the control


@pytest.mark.parametrize(("off", "named"), [(-12.0, [4]), (0.0, [])])
def test_a_lying_sensor_is_named_where_one_could_stand_beside_any(
    response: Response, off: float, named: list[int]
) -> None:
    """No combination of six readings is silent, but nobody is so cold."""
    asked = asking(response, epsilon=(40, 1))
    planned = plan(asked, [])
    params = Params(*planned.params)
    cell = int(np.flatnonzero(response.open_cells)[40])
    warmth = 80.0 * response.operator[:, cell] * 2.0**params.exponent
    values = warmth + params.variance**0.5 * np.random.default_rng(1).normal(size=6)
    values[4] += off * params.variance**0.5
    release = Release(planned, np.rint(values).astype(int).tolist(), 6)
    seen = make_seen(asked, add_up(asked, [release]))
    assert seen is not None

    for found in (recover(asked, [release]), estimate("auto", seen)):
        assert [sensor for sensor, _ in found.verdict.dropped] == named
