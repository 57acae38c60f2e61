"""A day lived, veiled and mapped: held against energy, the device's own code, and the truth."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edge.core.entropy import Tape
from edge.core.pixels import subtract_baseline
from edge.core.records import Reading
from edge.mechanisms import thermal
from gateway.lab.thermal_days.day import LivingRoom, average_recent_watts
from gateway.lab.thermal_days.rooms import (
    find_first_visit_s,
    list_round_times_s,
    load_room,
    make_model,
)
from gateway.settings import config
from physics.rooms import model
from physics.rooms.day import draw_day
from physics.rooms.plan import make_plan
from physics.rooms.records import Door, Room, Wall
from physics.rooms.respond import Stretch, compute_pulses, trace_doors
from recovery.thermal import calibrate_query

QUIET = ('"8/1"', '"10000000/1"')
NOISY = ('"8/1"', '"1/1000"')


def test_the_energy_of_a_day_closes_with_people_and_without(written: Callable[..., Path]) -> None:
    """What went in is what is stored, went out, or was blown out; people by their watts."""
    room = load_room(written())
    whole, views = draw_day(room, np.random.default_rng(1)), np.zeros((1, 240))
    living = LivingRoom(room, whole, views)
    living.advance(room.day.until_s)
    stored, powered = living._run.balance.stored_j, living._run.balance.powered_j
    given = sum(track.joules for track in whole.tracks)

    assert living.unbalanced < 1e-12
    assert powered[0] - powered[1] == pytest.approx(given, rel=1e-12)
    capacity = model.make_medium(room, room.day.start_s).capacity * 0.25**2 * room.height_m
    kept = float((capacity * living.warmth_k).sum())
    assert stored[0] - stored[1] == pytest.approx(kept, rel=1e-9)
    assert 0 < kept < given


@pytest.mark.long
def test_what_the_wire_carries_is_the_device_s_own_report_of_the_counts(
    lived: Callable[..., Any],
) -> None:
    """Made again from the tape and the recorded counts, sensor by sensor."""
    played = lived(seed=5)
    rng = Tape(b"simulate 5")
    for moment, release in zip(played.moments, played.releases, strict=True):
        counts = played.read.counts[played.lived.find_step(moment.at_s)]
        exponent = thermal.Params(*release.round.params).exponent
        payloads = [
            thermal.report(
                release.round,
                Reading(sensor, subtract_baseline([count], [level], exponent, (1, 128))),
                rng,
            )
            for sensor, (count, level) in enumerate(zip(counts, played.read.level, strict=True))
        ]
        assert list(thermal.release(release.round, payloads, rng).values) == list(release.values)


@pytest.mark.long
def test_the_noise_is_that_of_the_calibration(lived: Callable[..., Any]) -> None:
    """What is left of a round without its readings has its deviation; 36 draws, four sigmas."""
    played = lived(NOISY, seed=11)
    exponent = thermal.Params(*played.releases[0].round.params).exponent
    sigma_k = calibrate_query(played.query).sigma
    rest = [
        np.ldexp(np.array(release.values, float), -exponent)
        - played.read.subtract_level_k(played.lived.find_step(moment.at_s))
        for moment, release in zip(played.moments, played.releases, strict=True)
    ]
    assert np.std(rest) == pytest.approx(sigma_k, rel=4 / np.sqrt(2 * 36))
    assert played.releases[0].round.params[4] == calibrate_query(played.query).variance


def test_one_promise_whichever_way_it_is_asked(
    written: Callable[..., Path], tmp_path: Path
) -> None:
    """A room's [privacy], and a deployment of that room, which cannot count on when it is read."""
    room = written()
    deployment = tmp_path / "gateway.toml"
    deployment.write_text(
        f'[room]\nplan = "{room.name}"\n[heat]\n[sensors]\n[privacy]\nepsilon = "8/1"\n'
        'delta = "1/100000"\nprotect_distance_m = 0.5\nreadings = 3\n'
    )
    asked = make_model(load_room(room)).query
    assert asked is not None
    always = config.make_query(config.load_deployment(deployment))
    assert 1 <= calibrate_query(always).sensitivity / calibrate_query(asked).sensitivity < 1.02
    same = ("grid", "sensors", "epsilon", "delta", "step", "intensity_max", "sources_max")
    assert all(getattr(always, name) == getattr(asked, name) for name in same)


@pytest.mark.long
def test_a_gateway_learns_its_levels_in_hours_that_the_file_says_are_empty(
    lived: Callable[..., Any],
) -> None:
    """The devices' own offsets come through the veil, and are gone from the maps."""
    played = lived(QUIET, ('"recorded"', '"gateway"'))

    assert played.query.empty_readings == 1
    assert find_first_visit_s(played.room) == 36600
    assert [moment.mass is None for moment in played.moments] == [True, False, False]
    assert "known to be empty" in played.moments[0].status
    assert np.abs(played.moments[0].sent_k).max() > 0.05  # offsets of 0.1 K, still in there
    assert all(one.emd_m < 0.6 * one.guess_m for one in played.scored)


# What a device takes off before it answers, and what a map is held against.


@pytest.mark.parametrize(("at_h", "share"), [(9.0, 0.0), (10.5, 1 / 3), (11.0, 5 / 6), (13.5, 1)])
def test_a_map_is_held_against_the_heat_of_the_hour_before(
    written: Callable[..., Path], at_h: float, share: float
) -> None:
    """Ada comes at ten past ten: of an hour's heat, the share of it that she was there."""
    room = load_room(written())
    lived = draw_day(room, np.random.default_rng(1))
    there = average_recent_watts(room, lived, 3600 * at_h, 3600.0).sum()
    whole = average_recent_watts(room, lived, 3600 * 12.0, 3600.0).sum()

    assert whole > 10
    assert there == pytest.approx(share * whole, rel=1e-6, abs=1e-9)


# The model that is lived through is the one that noise is scaled to, pulse by pulse.


@pytest.fixture
def parted(written: Callable[..., Path]) -> Room:
    """Return the small room with a partition, and a door that is shut for a while."""
    opened = ((0.0, 10.4 * 3600), (11.2 * 3600, 1e6))
    return replace(
        load_room(written()),
        walls=(Wall((1.5, 0.0), (1.5, 3.0), 100.0, "plasterboard"),),
        doors=(Door((1.5, 2.0), 1.0, 40.0, opened),),
    )


@pytest.mark.long
@pytest.mark.parametrize("until_h", [10.5, 12.0, 14.0])
def test_a_lived_day_is_the_sum_of_its_pulses(parted: Room, until_h: float) -> None:
    """To round-off, soon after somebody came and late, before the door has moved and after."""
    made, today = make_model(parted), draw_day(parted, np.random.default_rng(1))
    living = LivingRoom(parted, today, made.views)
    living.advance(3600 * until_h)
    there, empty = living.seen_k
    step_s, views = parted.day.step_s, made.views.reshape(-1, *make_plan(parted).shape)
    stretches = [
        Stretch(model.build_medium(parted, since.opened), since.steps)
        for since in trace_doors(parted, 3600 * until_h)
    ]
    felt, end = np.zeros(len(views)), 3600 * until_h
    for field in compute_pulses(views, stretches, step_s):
        heat = model.sum_body_heat(parted, today, end - step_s, end)
        felt += np.einsum("syx,yx->s", field, heat)
        end -= step_s

    assert end == parted.day.start_s
    assert felt.max() > 0.05
    assert there - empty == pytest.approx(felt, rel=1e-9, abs=1e-9 * felt.max())


@pytest.mark.long
def test_noise_is_for_the_readings_own_doors(parted: Room) -> None:
    """And for the way that the file's [privacy] chose."""
    assert parted.privacy is not None
    asked = [
        make_model(replace(parted, privacy=parted.privacy._replace(through_walls=way))).query
        for way in (True, False)
    ]
    responses = [query.response for query in asked if query is not None]
    assert len(responses) == 2
    wide, foot = (one for one in responses if one is not None)
    nth = wide.find_distance(2)

    assert len(list_round_times_s(parted, 3, 110.0)) == 3
    assert "each of 3 readings" in wide.doors
    assert foot.changes.joint[nth] < 0.97 * wide.changes.joint[nth]
    assert not foot.through_walls
