"""Thermal arrays: one person's blur, maps and counts whatever the room's own warmth."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from edge.core.entropy import Tape
from edge.core.pixels import subtract_baseline
from edge.core.records import Grid, Reading, Release
from edge.mechanisms import thermal
from edge.mechanisms.thermal import Params
from recovery.distance import earth_movers
from recovery.maps.heatmap import Heatmap, Unresolved
from recovery.thermal import Query, plan
from recovery.thermal import recover as recover_still
from recovery.thermal.frames import count_people, fit_blur, recover

Floats = NDArray[np.float64]

SIDE, PIXELS, PEAK_K = 8, 1.3, 6.0
HEAT = 2 * math.pi * (PIXELS / SIDE) ** 2 * PEAK_K
UNIFORM = np.full((SIDE, SIDE), 1 / SIDE**2)
QUERY = Query(
    Grid((SIDE, SIDE), 0),
    (SIDE, SIDE),
    (PIXELS / SIDE) ** 2 / 2,
    (1, 1),
    intensity_max=1.2 * HEAT,
    step=Fraction(1, 4),
    sensor_noise=0.35,
)


def recorded(
    places: list[tuple[float, float]], world: np.random.Generator, drift_k: float = 0.0
) -> Floats:
    """Return what an array counts, in kelvin above a baseline from which the room drifted."""
    y, x = np.mgrid[:SIDE, :SIDE]
    warmth = drift_k + world.normal(0, 0.28, (SIDE, SIDE))
    for column, row in places:
        warmth += PEAK_K * np.exp(-((x - column) ** 2 + (y - row) ** 2) / (2 * PIXELS**2))
    return np.asarray(np.floor(4 * warmth + 0.5) / 4)


def released(frame: Floats, query: Query, rng: Tape) -> Release:
    """Return the frame as one device sends it."""
    round = plan(query, [])
    counts = (4 * frame).astype(int).ravel().tolist()
    grains = subtract_baseline(counts, [0] * SIDE**2, Params(*round.params).exponent, (1, 4))
    return thermal.release(round, [thermal.report(round, Reading(0, grains), rng)], rng)


def truth(places: list[tuple[int, int]]) -> Floats:
    mass = np.zeros((SIDE, SIDE))
    for column, row in places:
        mass[row, column] += 1 / len(places)
    return mass


def test_the_fit_finds_the_blur_of_who_walked_by() -> None:
    """The operator stands on it, and nothing but public frames may say what it is."""
    world = np.random.default_rng(1)
    inside = [recorded([tuple(world.uniform(1, 6, 2))], world, 0.8) for _ in range(60)]
    half_seen = [recorded([(float(world.uniform(1, 6)), -1.0)], world) for _ in range(60)]
    blur = fit_blur(np.array(inside + half_seen))

    assert blur.deviation * SIDE == pytest.approx(PIXELS, rel=0.03)
    assert blur.heat == pytest.approx(HEAT, rel=0.05)
    assert blur.heat < blur.heat_max < 1.2 * HEAT
    assert blur.misfit == pytest.approx(0.29, abs=0.05)


@pytest.mark.long
@pytest.mark.parametrize("where", [[], [(0.0, 3.0)]])
def test_a_clip_in_which_nobody_is_well_seen_gives_no_blur(
    where: list[tuple[float, float]],
) -> None:
    """A blur fitted to noise, or to half a person, would be believed by everything after it."""
    world = np.random.default_rng(2)

    with pytest.raises(ValueError, match="one person"):
        fit_blur(np.array([recorded(where, world) for _ in range(40)]))


@pytest.mark.long
@pytest.mark.parametrize("places", [[], [(2, 3)], [(1, 1), (6, 5)], [(1, 6), (5, 1), (6, 6)]])
def test_with_next_to_no_noise_all_are_counted_and_found(places: list[tuple[int, int]]) -> None:
    """With the veil near nothing, recovery finds the truth, in a room that grew warmer."""
    query, rng = replace(QUERY, epsilon=(1000, 1)), Tape(b"clear")
    frame = recorded([(float(x), float(y)) for x, y in places], np.random.default_rng(3), 1.75)
    release = released(frame, query, rng)
    found = recover(query, [release])

    assert count_people(query, [release], HEAT).sum() == len(places)
    assert isinstance(found, Heatmap)
    if places:
        assert earth_movers(truth(places), found.mass, normalise=True) < 0.06
        assert found.total == pytest.approx(len(places) * HEAT, rel=0.35)
    else:
        assert found.total == 0


def test_the_less_epsilon_the_nearer_the_map_comes_to_a_blind_guess() -> None:
    """A map that stayed good at an epsilon of one would mean that the noise is not there."""
    world, rng = np.random.default_rng(4), Tape(b"fading")
    mean = {}
    for epsilon in (1, 1000):
        # The least heat, for a posterior knows without any data that nobody stands in a corner.
        query, distances = replace(QUERY, epsilon=(epsilon, 1), estimator="l1"), []
        for _ in range(12):
            place = (int(world.integers(1, 7)), int(world.integers(1, 7)))
            frame = recorded([(float(place[0]), float(place[1]))], world)
            found = recover(query, [released(frame, query, rng)])
            assert isinstance(found, Heatmap)
            guess = earth_movers(truth([place]), UNIFORM)
            distances.append(earth_movers(truth([place]), found.mass, normalise=True) / guess)
        mean[epsilon] = np.mean(distances)

    assert mean[1] > 0.85
    assert mean[1000] < 0.15


@pytest.mark.long
def test_the_warmth_of_the_whole_room_changes_nothing() -> None:
    """Rooms drift by kelvins in a day; the plain recovery, as a control, sees a crowd in that."""
    query = replace(QUERY, epsilon=(100, 1))
    release = released(recorded([(2.0, 5.0)], np.random.default_rng(5)), query, Tape(b"drift"))
    grains = 2 * 2 ** Params(*release.round.params).exponent
    warmer = release._replace(values=[value + grains for value in release.values])
    here, there = recover(query, [release]), recover(query, [warmer])
    plain = recover_still(replace(query, estimator="posterior"), [warmer])

    assert isinstance(here, Heatmap)
    assert isinstance(there, Heatmap)
    assert there.mass == pytest.approx(here.mass, abs=1e-5)
    assert np.array_equal(
        count_people(query, [release], HEAT), count_people(query, [warmer], HEAT)
    )
    assert isinstance(plain, Unresolved) or plain.total > 2 * there.total


@pytest.mark.parametrize("epsilon", [1, 10, 40])
def test_hardly_anybody_is_seen_in_an_empty_room(epsilon: int) -> None:
    """A count that noise alone could raise would be worth nothing."""
    query, rng = replace(QUERY, epsilon=(epsilon, 1)), Tape(b"empty")
    world = np.random.default_rng(6)
    seen = [
        count_people(query, [released(recorded([], world), query, rng)], HEAT).sum()
        for _ in range(60)
    ]

    assert np.mean(np.array(seen) > 0) <= 0.1
