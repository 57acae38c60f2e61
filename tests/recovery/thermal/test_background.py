"""The room's own warmth, found after the veil: against the truth, in releases of real plans."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from edge.core.entropy import Tape
from edge.core.records import Grid, Reading, Release, Round
from edge.mechanisms import thermal as device
from physics.kernel import forward
from physics.places import cell_places, sensor_places
from physics.sensors import grains
from recovery import thermal
from recovery.maps.heatmap import Heatmap, Unresolved
from recovery.thermal import Query
from recovery.thermal.seen import empty, make_seen

Floats = NDArray[np.float64]

SENSORS, OWN_K = 12, 0.02
ROOM = Query(
    Grid((40, 1), 100),
    (SENSORS,),
    0.05,
    (400, 1),
    readings=40,
    step=Fraction(1, 128),
    sensor_noise=OWN_K,
    background="gateway",
    background_k=4.0,
    empty_readings=20,
    sources=1,
    intensity_min=1.0,
)
PLAN = thermal.plan(ROOM, ())
assert PLAN is not None
SIGMA_K = PLAN.params[4] ** 0.5 * 2.0 ** -PLAN.params[1]
LEVELS_K = np.linspace(-1.5, 2.5, SENSORS)  # a cold window at one end, a heater at the other


def released(rooms_k: Floats, seed: str, plan: Round = PLAN) -> list[Release]:
    """Return a release for each row of what sensors feel, (readings, sensors), in kelvin."""
    tape, world, found = Tape(seed.encode()), np.random.default_rng(len(seed)), []
    for nth, room_k in enumerate(rooms_k):
        felt = room_k + world.normal(0, OWN_K, room_k.shape)
        values = grains(felt, plan.params[1], ROOM.step)
        asked = plan._replace(number=nth + 7)
        payload = device.report(asked, Reading(0, values), tape)
        found.append(device.release(asked, [payload], tape))
    return found


def misses(estimates: list[tuple[Floats, Floats]], truth: Floats) -> Floats:
    """Return by how many of its standard errors each level is off."""
    return np.concatenate([(level - truth) / error for level, error in estimates])


def test_levels_of_empty_hours_are_as_near_as_they_say() -> None:
    """120 levels: their misses have deviation one, but for three and a half of its own."""
    found = []
    for nth in range(10):
        made = empty(released(np.tile(LEVELS_K, (20, 1)), f"empty {nth}"), OWN_K)
        found.append((made.level_k, made.error_k))
    off = misses(found, LEVELS_K)

    assert found[0][1] == pytest.approx(np.hypot(SIGMA_K, OWN_K) / 20**0.5, rel=0.01)
    assert abs(off.mean()) < 3.5 / 120**0.5
    assert abs((off**2).mean() - 1) < 3.5 * (2 / 120) ** 0.5
    # The control: an error that leaves the veil's noise out is refused by the same measure.
    assert ((off * found[0][1][0] / (OWN_K / 20**0.5)) ** 2).mean() > 3


def test_a_drift_is_followed_on_a_line_and_its_error_grows_with_the_time() -> None:
    """Forty readings on, a mean would be off by the whole drift, and would not say so."""
    slope_k = 0.05
    rooms = LEVELS_K + slope_k * np.arange(20)[:, None]
    late, found, means = 7 + 40, [], []
    for nth in range(10):
        releases = released(rooms, f"drift {nth}")
        made, mean = empty(releases, OWN_K, at=late), empty(releases, OWN_K)
        found.append((made.level_k, made.error_k))
        means.append((mean.level_k, mean.error_k))
    then = LEVELS_K + slope_k * 40

    assert abs((misses(found, then) ** 2).mean() - 1) < 3.5 * (2 / 120) ** 0.5
    assert (misses(means, then) ** 2).mean() > 4
    nearer = empty(releases, OWN_K, at=7 + 10)
    assert (nearer.error_k < 0.4 * made.error_k).all()
    # The textbook's variance of a prediction on a line of twenty readings.
    spread = sum((x - 9.5) ** 2 for x in range(20))
    expected = np.hypot(SIGMA_K, OWN_K) * (1 / 20 + (40 - 9.5) ** 2 / spread) ** 0.5
    assert made.error_k == pytest.approx(expected, rel=0.001)


def test_the_map_finds_who_stands_before_a_wall_that_is_not_even() -> None:
    """With levels of the empty room it is as if the wall were even; without them it is lost."""
    operator = forward(
        np.asarray(cell_places(ROOM.grid)),
        np.asarray(sensor_places(ROOM.sensors, ROOM.grid)),
        ROOM.spread_m2,
        "none",
    )
    person = operator[:, 11]
    rooms = np.vstack([np.tile(LEVELS_K, (20, 1)), np.tile(LEVELS_K + person, (20, 1))])
    releases = released(rooms, "map")
    found = thermal.recover(ROOM, releases, certify=False)
    given = thermal.recover(
        replace(ROOM, empty_readings=1), releases[20:], False, empty(releases[:20], OWN_K)
    )
    unaware = thermal.recover(
        replace(ROOM, background="recorded", empty_readings=0), releases[20:], certify=False
    )

    assert isinstance(found, Heatmap)
    assert isinstance(given, Heatmap)
    assert int(np.argmax(found.mass)) == 11
    np.testing.assert_allclose(found.mass, given.mass)
    assert not isinstance(unaware, Heatmap) or int(np.argmax(unaware.mass)) != 11


def test_a_silent_first_reading_does_not_make_a_later_one_empty() -> None:
    """It counts among those that are known to be of nobody; without it somebody is the room."""
    rooms = np.vstack([np.tile(LEVELS_K, (20, 1)), np.tile(LEVELS_K + 3.0, (20, 1))])
    releases = released(rooms, "first")
    deaf = [one._replace(values=[None] * SENSORS, reports=0) for one in releases]
    found = make_seen(ROOM, [*deaf[:1], *releases[1:]])
    wrong = make_seen(ROOM, releases[1:])
    assert found is not None
    assert wrong is not None

    assert abs(found.readings.mean() - 3.0) < 3.5 * found.sigma / SENSORS**0.5
    assert abs(wrong.readings.mean() - 3.0) > 10 * found.sigma / SENSORS**0.5
    unknown = thermal.recover(ROOM, [*deaf[:20], *releases[20:]])
    assert isinstance(unknown, Unresolved)
    assert "both in the empty room and after it" in unknown.why
