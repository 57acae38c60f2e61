"""What a device takes off before it answers, and what a map is held against."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edge.mechanisms import thermal
from gateway.lab.thermal_days.day import Thermometers, lately
from gateway.lab.thermal_days.rooms import room_of
from physics.rooms.day import day

QUIET = ('"8/1"', '"10000000/1"')


def sent(played: Any, number: int) -> Any:
    """Return what was sent in a round, in kelvin."""
    release = played.releases[number]
    exponent = thermal.Params(*release.round.params).exponent
    return np.ldexp(np.array(release.values, float), -exponent)


@pytest.mark.long
def test_a_level_moves_by_its_slew_with_every_answer(lived: Callable[..., Any]) -> None:
    """The second answer is the reading less one step of the slew towards the first."""
    played = lived(QUIET, ('"recorded"', '"following"'))
    slew = float(played.query.slew)
    steps = [played.lived.step_of(moment.at_s) for moment in played.moments]
    level = np.clip(played.read.above_k(steps[0]), -slew, slew)

    assert np.abs(level).max() > 0.1
    assert np.abs(sent(played, 1) - (played.read.above_k(steps[1]) - level)).max() < 0.02


@pytest.mark.long
def test_where_the_gateway_learns_the_levels_devices_take_off_the_baseline_alone(
    lived: Callable[..., Any],
) -> None:
    """20 degrees for every sensor, whatever its own offset was before the day."""
    played = lived(QUIET, ('"recorded"', '"gateway"'))
    step = played.lived.step_of(played.moments[0].at_s)
    baseline = np.rint(20.0 / played.read.step_k)
    above = (np.array(played.read.counts[step], float) - baseline) * played.read.step_k

    assert np.abs(sent(played, 0) - above).max() < 0.02
    assert np.abs(sent(played, 0) - played.read.above_k(step)).max() > 0.05


@pytest.mark.parametrize(("at_h", "share"), [(9.0, 0.0), (10.5, 1 / 3), (11.0, 5 / 6), (13.5, 1)])
def test_a_map_is_held_against_the_heat_of_the_hour_before(
    written: Callable[..., Path], at_h: float, share: float
) -> None:
    """Ada comes at ten past ten: of an hour's heat, the share of it that she was there."""
    room = room_of(written())
    lived = day(room, np.random.default_rng(1))
    there = lately(room, lived, 3600 * at_h, 3600.0).sum()
    whole = lately(room, lived, 3600 * 12.0, 3600.0).sum()

    assert whole > 10
    assert there == pytest.approx(share * whole, rel=1e-6, abs=1e-9)


def test_a_level_is_the_middle_of_half_an_hour_of_looks(written: Callable[..., Path]) -> None:
    """One look a minute, the last of them at the moment itself."""
    looks: list[float] = []

    class Watched(Thermometers):
        def see(self, temperatures_k: Any, at_s: float) -> Any:
            looks.append(at_s)
            return super().see(temperatures_k, at_s)

    thermometers = Watched(room_of(written()), np.random.default_rng(1))
    thermometers.level(np.zeros(12), 7200.0)

    assert looks == [7200.0 - 60 * minute for minute in range(30, -1, -1)]
