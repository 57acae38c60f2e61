"""Maps where spread or drift are not known: the whole way from releases."""

import re
from dataclasses import replace

import numpy as np
import pytest

from edge.core.records import Grid, Release
from edge.mechanisms.thermal import Params
from physics.kernel import forward
from physics.places import cell_places, sensor_places
from recovery.distance import earth_movers
from recovery.maps.heatmap import Heatmap
from recovery.thermal import Query, plan, recover
from recovery.thermal.seen import evenly, make_seen

# Sources are two and equal, so that all scenes can be weighed.
STATED = Query(Grid((60, 1), 0), (40,), 0.02, (10, 1), (1, 10), sources=2, intensity_min=1.0)


def released(query: Query, spread: float, cells: list[int], off: float, seed: int) -> Release:
    """What sensors sent of a room whose heat spread so far, all sensors off by so much."""
    planned = plan(query, [])
    params = Params(*planned.params)
    operator = forward(cell_places(query.grid), sensor_places(query.sensors, query.grid), spread)
    world = np.random.default_rng(seed)
    warmth = (operator[:, cells].sum(axis=1) + off) * 2.0**params.exponent
    values = np.rint(warmth + world.normal(0, params.variance**0.5, len(warmth))).astype(int)
    return Release(planned, values.tolist(), len(values))


def distance(query: Query, release: Release, cells: list[int]) -> float:
    """How far the map is from the truth."""
    found = recover(query, [release])
    assert isinstance(found, Heatmap)
    truth = np.zeros((1, 60))
    truth[0, cells] = 1
    return earth_movers(truth, found.mass, normalise=True)


@pytest.mark.long
def test_a_spread_that_is_only_known_within_a_range_is_found() -> None:
    """Heat that spread twice as far: who believes the stated spread is further off."""
    ranged = replace(STATED, spread_max_m2=0.08)
    world, stated, joint = np.random.default_rng(1), [], []
    for trial in range(12):
        cells = sorted(int(cell) for cell in world.choice(60, 2, replace=False))
        release = released(STATED, 0.04, cells, 0.0, trial)
        stated.append(distance(STATED, release, cells))
        joint.append(distance(ranged, release, cells))

    assert np.mean(joint) < 0.5 * np.mean(stated)


def test_sensors_that_are_all_off_by_as_much_are_seen_through() -> None:
    """A baseline of an hour ago; the control believes it, and sees warmth that is not there."""
    drifting = replace(STATED, drift=1.0)
    release = released(STATED, 0.02, [5, 50], 1.5, 3)

    assert distance(drifting, release, [5, 50]) < 0.02
    (off,) = re.findall(r"sensors \+(\S+) off", recover(drifting, [release]).why)
    assert float(off) == pytest.approx(1.5, abs=0.1)
    blind = recover(STATED, [release])
    assert not isinstance(blind, Heatmap) or distance(STATED, release, [5, 50]) > 0.05


@pytest.mark.parametrize("silent", [[], [3, 4, 5]])
def test_sensors_that_are_silent_are_left_out(silent: list[int]) -> None:
    """Their places leave the operator with them."""
    release = released(STATED, 0.03, [20, 45], 0.0, 7)
    values = [None if sensor in silent else value for sensor, value in enumerate(release.values)]

    assert (
        distance(replace(STATED, spread_max_m2=0.06), release._replace(values=values), [20, 45])
        < 0.03
    )


def test_noise_that_was_raised_stays_raised_without_weights() -> None:
    """What judged the readings may have found more noise; the readings are what they were."""
    release = released(STATED, 0.03, [20, 45], 0.0, 7)
    drifting = replace(STATED, drift=1.0)
    found = make_seen(drifting, [release])
    assert found is not None
    plain, _ = evenly(drifting, [release], found)
    raised, _ = evenly(drifting, [release], replace(found, sigma=2 * found.sigma))

    assert raised.sigma == pytest.approx(2 * plain.sigma)
    assert raised.readings == pytest.approx(plain.readings)
