"""The privacy stage on the device: its order, and that sensors add nothing to the promise."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from edge import thermal
from edge.entropy import Tape
from edge.pixels import above
from edge.records import Grid, Reading, Round
from edge.thermal import Params
from physics.fleet import counted_grains
from physics.instruments.chain import Instruments
from physics.instruments.presets import preset
from recovery.thermal import Query, plan

QUERY = Query(Grid((40, 30), 100), (8, 8), 0.5, (1, 1), step=Fraction(1, 4))
STEP = Fraction(1, 4)


def planned(query: Query) -> Round:
    made = plan(query, [])
    assert made is not None
    return made


def test_the_empty_room_is_taken_off_before_the_clamp_and_the_clamp_before_the_noise() -> None:
    """With the noise known, every stage can be redone by hand, in this order and no other."""
    made = planned(QUERY)
    params = Params(*made.params)
    empty, counts = [80, 81, 79, 80], [84, 4000, 79, 60]
    noise = thermal.draw(params.variance, 4, Tape(b"stage"))
    reading = Reading(3, counted_grains(counts, empty, params.exponent, STEP))
    sent = list(thermal.report(made, reading, Tape(b"stage")))
    warmth = above(counts, empty, params.exponent, (1, 4))
    clamped = [min(max(value, params.low), params.high) for value in warmth]

    assert clamped[1] == params.high < warmth[1]  # the clamp bites
    assert sent == [3, *(value + z for value, z in zip(clamped, noise, strict=True))]


@pytest.mark.parametrize("name", ["grideye", "perfect"])
def test_the_noise_of_a_sensor_is_never_credited_to_privacy(name: str) -> None:
    """Variance and promise are those of a sensor without any; only the clamp leaves it room."""
    noisy = planned(replace(QUERY, sensor_noise=preset(name).noise_sd_k))
    clean = planned(QUERY)
    params = Params(*noisy.params)

    assert noisy.guarantee == clean.guarantee
    assert params.high >= Params(*clean.params).high
    assert params._replace(low=0, high=0) == Params(*clean.params)._replace(low=0, high=0)


def test_a_coarser_converter_is_charged_for() -> None:
    """The negative control of the test above: what does cost privacy changes the Round."""
    finer = planned(replace(QUERY, step=preset("tmp117").step))

    assert Params(*finer.params).variance * 4.0 ** -Params(*finer.params).exponent < (
        Params(*planned(QUERY).params).variance * 4.0 ** -Params(*planned(QUERY).params).exponent
    )


def test_sensors_move_no_further_than_the_temperatures_did_and_a_step() -> None:
    """Lag, offsets, drift and noise alike in two worlds: the count follows what it was shown."""
    one = replace(preset("grideye"), lag_s=5.0, drop_out=0.0)
    world = np.random.default_rng(11)
    here = world.random((50, 64))
    there = here + world.uniform(-0.6, 0.6, (50, 64))
    times = np.arange(50.0)
    counts = [
        np.array(Instruments(one, 64, np.random.default_rng(2)).record(times, shown))
        for shown in (here, there)
    ]

    assert np.abs(counts[0] - counts[1]).max() <= -(-0.6 // 0.25)


def test_a_device_answers_with_all_its_readings_or_not_at_all() -> None:
    """A nought in the place of a reading that did not come would be a cold spot."""
    with pytest.raises(ValueError, match="1 of 3 readings did not come"):
        counted_grains([80, None, 80], [80, 80, 80], 4, STEP)
    with pytest.raises(ValueError, match="not give 3 whole numbers"):
        counted_grains([80, 80], [80, 80, 80], 4, STEP)
    assert counted_grains([84, 79], [80, 80], 4, STEP) == (16, -4)
