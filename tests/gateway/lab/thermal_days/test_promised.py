"""The model that is lived through is the one that noise is scaled to, pulse by pulse."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gateway.lab.thermal_days.day import Living
from gateway.lab.thermal_days.rooms import modelled, room_of, rounds_s
from physics.rooms import model
from physics.rooms.day import day
from physics.rooms.plan import plan
from physics.rooms.records import Door, Room, Wall
from physics.rooms.respond import Stretch, history, pulses


@pytest.fixture
def parted(written: Callable[..., Path]) -> Room:
    """Return the small room with a partition, and a door that is shut for a while."""
    opened = ((0.0, 10.4 * 3600), (11.2 * 3600, 1e6))
    return replace(
        room_of(written()),
        walls=(Wall((1.5, 0.0), (1.5, 3.0), 100.0, "plasterboard"),),
        doors=(Door((1.5, 2.0), 1.0, 40.0, opened),),
    )


@pytest.mark.long
@pytest.mark.parametrize("until_h", [10.5, 12.0, 14.0])
def test_a_lived_day_is_the_sum_of_its_pulses(parted: Room, until_h: float) -> None:
    """To round-off, soon after somebody came and late, before the door has moved and after."""
    made, today = modelled(parted), day(parted, np.random.default_rng(1))
    living = Living(parted, today, made.views)
    living.go(3600 * until_h)
    there, empty = living.seen_k
    step_s, views = parted.day.step_s, made.views.reshape(-1, *plan(parted).shape)
    stretches = [
        Stretch(model.standing(parted, since.opened), since.steps)
        for since in history(parted, 3600 * until_h)
    ]
    felt, end = np.zeros(len(views)), 3600 * until_h
    for field in pulses(views, stretches, step_s):
        heat = model.heat(parted, today, end - step_s, end)
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
        modelled(replace(parted, privacy=parted.privacy._replace(through_walls=way))).query
        for way in (True, False)
    ]
    responses = [query.response for query in asked if query is not None]
    assert len(responses) == 2
    wide, foot = (one for one in responses if one is not None)
    nth = wide.within(2)

    assert len(rounds_s(parted, 3, 110.0)) == 3
    assert "each of 3 readings" in wide.doors
    assert foot.changes.joint[nth] < 0.97 * wide.changes.joint[nth]
    assert not foot.through_walls
