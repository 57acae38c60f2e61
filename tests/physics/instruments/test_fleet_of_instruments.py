"""Virtual devices on instruments: arrays, the empty room, and readings that do not come."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from edge.core import wire
from edge.core.budget import Budget, Limits
from edge.core.entropy import Tape, keyed
from edge.core.pixels import subtract_baseline
from edge.core.records import Grid, Guarantee, Reading, Round
from edge.host import post, rootkeys
from edge.host.enrol import Ram, provision
from edge.mechanisms import thermal
from edge.mechanisms.thermal import Params
from physics.fleet import Fleet, counted_grains, make_seeded_keys
from physics.instruments.chain import Instruments
from physics.instruments.presets import Preset, find
from recovery.thermal import Query, plan

GRID, SITE, SITE_KEY = Grid((60, 40), 100), "lab", bytes(range(32))
PROMISE = Guarantee(
    (1, 1), (1, 100000), (1, 2), "one source moves", "local", "a round", "how many"
)
LIMITS = Limits(1, 10, 400, 40_000, 10**9, 0)
EYE = replace(find("grideye"), drop_out=0.0)


def owned(devices: int, each: int) -> list[tuple[Any, Any, bytes]]:
    """Devices with a new budget each, and the root of its keys."""
    made, fresh = [], make_seeded_keys(b"instruments")
    for i in range(devices):
        root, slots = fresh(32), Ram()
        who = rootkeys.identity(SITE, f"eye-{i}", root, SITE_KEY, i * each, "keyholder", each)
        provision(slots, who.state_key, rootkeys.first_chain(root), LIMITS)
        budget = Budget(slots, who.state_key)
        budget.boot()
        made.append((who, budget, root))
    return made


def fleet(
    devices: list[tuple[Any, Any, bytes]], one: Preset, empty: Any = None
) -> tuple[Fleet, Instruments]:
    """The devices on instruments of that kind, of which a twin sees the same."""
    count = sum(who.sensors for who, _, _ in devices)
    made = [Instruments(one, count, np.random.default_rng(7)) for _ in range(2)]
    there = [(who, budget) for who, budget, _ in devices]
    return Fleet(there, made[0], np.random.default_rng(0), empty), made[1]


def message(sensors: int, number: int = 1, step: int = 256) -> tuple[Round, bytes]:
    """A Round for so many sensors with steps of a quarter of a kelvin, and its bytes."""
    params = thermal.Params(sensors, 10, -(1 << 14), 1 << 14, 40_000, step, 1)
    plan = Round(number, thermal.NAME, GRID, tuple(params), PROMISE)
    return plan, post.pack_round(plan, SITE_KEY, wire.round_topic(SITE, thermal.NAME))


def seen(device: tuple[Any, Any, bytes], plan: Round, frame: bytes, seq: int = 1) -> Any:
    """What is under the noise of a frame, for the holder of the root."""
    who, _, root = device
    topic = wire.topic(SITE, who.name, "data")
    payload = post.unpack_report(frame, who.mac_key, topic, who.name).payload
    rng = keyed(rootkeys.chain_at(root, 1), who.name, 1, seq, who.sensor)
    return thermal.unveil(plan, payload, rng)


def test_an_array_is_one_device_and_its_frame_is_what_its_pixels_counted() -> None:
    """Two arrays and two people: under the noise lie the counts less the empty room, exactly."""
    devices = owned(2, 64)
    virtual, twin = fleet(devices, EYE)
    plan, asked = message(128)
    frames = np.zeros((2, 64))
    frames[0, [20, 21]], frames[1, [35, 43]] = 4.5, 3.0
    virtual.show(np.concatenate(frames), 60.0)
    empty = twin.empty()
    counts = twin.see(np.concatenate(frames), 60.0)
    whole = [count for count in counts if count is not None]
    expected = subtract_baseline(whole, empty, 10, (1, 4))
    found = [seen(device, plan, virtual.answer(device[0].name, asked)) for device in devices]

    assert [reading.sensor for reading in found] == [0, 64]
    assert found[0].values + found[1].values == expected
    assert max(expected) > 4 * 1024  # people are there


def test_a_reading_that_does_not_come_makes_no_frame_and_is_paid_for_once() -> None:
    """Asked again when the sensor is back, the device answers the Round that it paid for."""
    devices = owned(1, 64)
    virtual, _ = fleet(devices, replace(EYE, drop_out=1.0), empty=[80] * 64)
    node = virtual.node("eye-0")
    _, asked = message(64)
    virtual.show(np.zeros(64), 10.0)
    before = node.meta()["limits"]["left"]

    assert virtual.answer("eye-0", asked) is None
    assert virtual.refusal("eye-0") == "the sensor did not give 64 whole numbers"
    paid = node.meta()["limits"]["left"]
    assert paid < before
    for again in range(3):
        virtual.show(np.zeros(64), 20.0 + again)
        assert virtual.answer("eye-0", asked) is None
    assert node.meta()["limits"]["left"] == paid


def test_thermometers_and_an_array_stand_in_one_room() -> None:
    """Each device answers for its own converter, and no device may have two."""
    devices = [owned(1, 64)[0], *(device for device in owned(66, 1)[64:])]
    there = [(who, budget) for who, budget, _ in devices]

    def room() -> list[Instruments]:
        return [
            Instruments(EYE, 64, np.random.default_rng(7)),
            Instruments(replace(find("ds18b20"), drop_out=0.0), 2, np.random.default_rng(8)),
        ]

    virtual = Fleet(there, room(), np.random.default_rng(0))
    virtual.show(np.full(66, 3.0), 600.0)
    params = thermal.Params(66, 10, -(1 << 14), 1 << 14, 40_000, 256, 1)
    read = [np.array(virtual.read(name, params)) for name in virtual.names]
    answers = [virtual.answer(name, message(66, step=64)[1]) for name in virtual.names]

    assert [len(part) for part in read] == [64, 1, 1]
    assert all((part % step == 0).all() for part, step in zip(read, (256, 64, 64), strict=True))
    assert abs(np.concatenate(read).mean() / 1024 - 3.0) < 0.3
    assert [frame is None for frame in answers] == [True, False, False]
    with pytest.raises(ValueError, match="sensors 0 to 64 would have grideye and ds18b20"):
        Fleet([(owned(1, 65)[0][0], owned(1, 65)[0][1])], room(), np.random.default_rng(0))


# The privacy stage on the device: its order, and that sensors add nothing to the promise.


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
    warmth = subtract_baseline(counts, empty, params.exponent, (1, 4))
    clamped = [min(max(value, params.low), params.high) for value in warmth]

    assert clamped[1] == params.high < warmth[1]  # the clamp bites
    assert sent == [3, *(value + z for value, z in zip(clamped, noise, strict=True))]


@pytest.mark.parametrize("name", ["grideye", "perfect"])
def test_the_noise_of_a_sensor_is_never_credited_to_privacy(name: str) -> None:
    """Variance and promise are those of a sensor without any; only the clamp leaves it room."""
    noisy = planned(replace(QUERY, sensor_noise=find(name).noise_sd_k))
    clean = planned(QUERY)
    params = Params(*noisy.params)

    assert noisy.guarantee == clean.guarantee
    assert params.high >= Params(*clean.params).high
    assert params._replace(low=0, high=0) == Params(*clean.params)._replace(low=0, high=0)


def test_a_coarser_converter_is_charged_for() -> None:
    """The negative control of the test above: what does cost privacy changes the Round."""
    finer = planned(replace(QUERY, step=find("tmp117").step))

    assert Params(*finer.params).variance * 4.0 ** -Params(*finer.params).exponent < (
        Params(*planned(QUERY).params).variance * 4.0 ** -Params(*planned(QUERY).params).exponent
    )


def test_sensors_move_no_further_than_the_temperatures_did_and_a_step() -> None:
    """Lag, offsets, drift and noise alike in two worlds: the count follows what it was shown."""
    one = replace(find("grideye"), lag_s=5.0, drop_out=0.0)
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
