"""Virtual devices run edge's own code, in a world that the veil never draws from."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from math import sqrt
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

from edge.board import drivers
from edge.core import wire
from edge.core.budget import Budget, Limits
from edge.core.entropy import Tape, keyed
from edge.core.pixels import subtract_baseline
from edge.core.records import Grid, Guarantee, Reading, Round
from edge.host import post, rootkeys
from edge.host.enrol import Ram, provision
from edge.mechanisms import thermal
from edge.mechanisms.thermal import Params
from physics.fleet import Fleet, convert_counts, make_seeded_keys
from physics.instruments.chain import Instruments
from physics.instruments.presets import Preset, find_preset
from physics.places import sensor_places
from physics.scenes import Scene
from physics.sensors import PointSensors, to_grains
from recovery.thermal import Query
from recovery.thermal import plan as plan_rounds

GRID, SITE = Grid((100, 1), 0), "lab"
SCENE = Scene(np.array([0.3, 0.71]), np.array([1.0, 0.5]))
PROMISE = Guarantee(
    (1, 1), (1, 100000), (1, 2), "one source moves", "local", "a round", "how many"
)
LIMITS = Limits(1, 10, 400, 40_000, 10**9, 0)


class Owned(NamedTuple):
    """A device and the root that its keys were made from."""

    who: Any
    root: bytes

    @property
    def name(self) -> str:
        return str(self.who.name)


def owned(
    devices: int,
    mode: str = "keyholder",
    each: int = 1,
    fresh: Callable[[int], bytes] | None = None,
) -> list[Owned]:
    """Devices with `each` sensors, and keys that the seed repeats unless others are given."""
    fresh = fresh or make_seeded_keys(b"fleet")
    site_key, made = bytes(range(32)), []
    for i in range(devices):
        root = fresh(32)
        who = rootkeys.identity(SITE, f"node-{i}", root, site_key, i * each, mode, each)
        made.append(Owned(who, root))
    return made


def started(devices: list[Owned], limits: Limits = LIMITS) -> list[tuple[Any, Budget]]:
    """The devices with a new budget each, in their first boot."""
    found = []
    for who, root in devices:
        slots = Ram()
        provision(slots, who.state_key, rootkeys.first_chain(root), limits)
        budget = Budget(slots, who.state_key)
        budget.boot()
        found.append((who, budget))
    return found


def message(devices: list[Owned], number: int = 1, **changes: int) -> tuple[Round, bytes]:
    """A signed Round of ten sensors for the fleet, and the Round."""
    who = devices[0].who
    keyholder = int(who.mode == "keyholder")
    params = thermal.Params(10, 10, -(1 << 14), 1 << 14, 40_000, 1, keyholder)._replace(**changes)
    plan = Round(number, thermal.NAME, GRID, tuple(params), PROMISE)
    return plan, post.pack_round(plan, who.site_key, wire.round_topic(SITE, thermal.NAME))


def fleet(devices: list[Owned], sensors: PointSensors | None = None, seed: int = 9) -> Fleet:
    """The fleet, looking at the scene through perfect sensors."""
    sensors = sensors or PointSensors(sensor_places((10,), GRID))
    made = Fleet(started(devices), sensors, np.random.default_rng(seed))
    made.set_temperatures(SCENE.temperatures(sensors.places_m, 0.05))
    return made


def opened(device: Owned, frame: bytes | None) -> list[int]:
    """The payload of a frame, its MAC checked."""
    topic = wire.topic(SITE, device.name, "data")
    return list(post.unpack_report(frame, device.who.mac_key, topic, device.name).payload)


def seen(device: Owned, plan: Round, frame: bytes | None) -> tuple[int, ...]:
    """The exact readings in a device's first frame, for the holder of its root."""
    chain = rootkeys.chain_at(device.root, 1)
    rng = keyed(chain, device.name, 1, 1, device.who.sensor)
    return tuple(thermal.unveil(plan, opened(device, frame), rng).values)


@pytest.mark.parametrize("each", [1, 5])
def test_a_key_holder_finds_under_the_noise_exactly_what_the_sensors_saw(each: int) -> None:
    """From the scene to the frame and back: nothing on the way is only nearly right."""
    devices = owned(10 // each, each=each)
    plan, asked = message(devices)
    virtual, found = fleet(devices), []
    for device in devices:
        found += seen(device, plan, virtual.answer(device.name, asked))

    expected = to_grains(SCENE.temperatures(sensor_places((10,), GRID), 0.05), 10)
    assert tuple(found) == expected


def test_what_leaves_is_veiled() -> None:
    """The negative control of the test above: without the key the reading is not in the frame."""
    devices = owned(10)
    _, asked = message(devices)
    virtual = fleet(devices)
    sent = np.array([opened(one, virtual.answer(one.name, asked))[1] for one in devices])
    noise = sent - to_grains(SCENE.temperatures(sensor_places((10,), GRID), 0.05), 10)

    assert (noise != 0).all()
    assert 0.4 < sqrt(np.mean(noise.astype(float) ** 2)) / 200 < 1.7


def test_the_world_decides_what_is_seen_and_not_how_it_is_veiled() -> None:
    """Two worlds, one set of keys: sensor noise differs, and the veil's noise does not."""
    who = owned(10)
    _, asked = message(who)
    one, other = (
        [opened(device, virtual.answer(device.name, asked))[1] for device in who]
        for virtual in (fleet(who, seed=1), fleet(who, seed=2))
    )
    noisy = PointSensors(sensor_places((10,), GRID), noise_sd=0.1)
    third = fleet(who, noisy, seed=2)

    assert one == other
    assert [opened(device, third.answer(device.name, asked))[1] for device in who] != one


@pytest.mark.parametrize(
    ("step", "planned", "answered"),
    [
        (Fraction(1, 16), 64, True),
        (Fraction(1, 32), 64, True),
        (Fraction(1, 16), 32, False),
        (Fraction(1, 16), 1, False),
        (Fraction(3, 64), 64, False),
        (Fraction(1, 4096), 1, True),
        (Fraction(1, 100), 11, True),
        (Fraction(1, 100), 1, False),
    ],
)
def test_a_round_for_another_converter_is_not_answered(
    step: Fraction, planned: int, answered: bool
) -> None:
    """A coarse step flips on all sensors at once: noise for a finer one would not hide it."""
    who = owned(10)
    _, asked = message(who, step=planned)
    virtual = fleet(who, PointSensors(sensor_places((10,), GRID), 0.0, step))

    assert (virtual.answer("node-2", asked) is not None) == answered
    assert ("this device's step" in virtual.find_refusal("node-2")) == (not answered)
    left = virtual.find_node("node-2").meta()["limits"]["left"]
    assert (left == LIMITS.budget) == (not answered)


def test_a_fleet_that_does_not_fit_the_room_is_refused() -> None:
    """A sensor that is not there, a name twice, no world, a truth that no sensor can see."""
    devices = started(owned(3))
    sensors, world = PointSensors(np.array([0.1, 0.5])), np.random.default_rng(0)

    with pytest.raises(ValueError, match="device 'node-2' with sensors 2 to 2 is there twice or"):
        Fleet(devices, sensors, world)
    with pytest.raises(ValueError, match="device 'node-0' with sensors 0 to 0 is there twice or"):
        Fleet([devices[0], devices[0]], sensors, world)
    with pytest.raises(ValueError, match="point sensors but no world"):
        Fleet(devices[:2], sensors, None)
    with pytest.raises(ValueError, match="sensor 1 reads nan"):
        Fleet(devices[:2], sensors, world).set_temperatures([0.1, float("nan")])


def test_a_room_can_be_empty_for_so_many_readings_of_each_device() -> None:
    """Whoever learns the room's own warmth from them must not learn somebody."""
    who, sensors = owned(2, each=5), PointSensors(sensor_places((10,), GRID))
    made = Fleet(started(who), sensors, np.random.default_rng(1), alone=2)
    made.set_temperatures(SCENE.temperatures(sensors.places_m, 0.05))
    params = thermal.Params(*message(who)[0].params)
    seen = [max(made.read("node-0", params)) for _ in range(3)]

    assert seen[:2] == [0, 0]
    assert seen[2] == max(fleet(who).read("node-0", params)) > 0
    assert made.read("node-1", params) == (0,) * 5


# Instruments, which have their own noise: the empty room, and readings that do not come.

QUIET, EYE = (replace(find_preset(name), drop_out=0.0) for name in ("ds18b20", "grideye"))


def measured(devices: list[Owned], one: Preset, empty: Any = None) -> tuple[Fleet, Instruments]:
    """The devices on instruments of that kind, of which a twin sees the same."""
    count = sum(one.who.sensors for one in devices)
    made = [Instruments(one, count, np.random.default_rng(7)) for _ in range(2)]
    return Fleet(started(devices), made[0], np.random.default_rng(0), empty), made[1]


def test_an_array_is_one_device_and_its_frame_is_what_its_pixels_counted() -> None:
    """Two arrays and two people: under the noise lie the counts less the empty room, exactly."""
    devices = owned(2, each=64)
    virtual, twin = measured(devices, EYE)
    plan, asked = message(devices, sensors=128, step=256)
    frames = np.zeros((2, 64))
    frames[0, [20, 21]], frames[1, [35, 43]] = 4.5, 3.0
    virtual.set_temperatures(np.concatenate(frames), 60.0)
    empty, counts = twin.record_empty_room(), twin.measure(np.concatenate(frames), 60.0)
    whole = [count for count in counts if count is not None]
    found = [seen(device, plan, virtual.answer(device.name, asked)) for device in devices]

    assert found[0] + found[1] == subtract_baseline(whole, empty, 10, (1, 4))
    assert max(found[0]) > 4 * 1024  # people are there


def test_a_reading_that_does_not_come_makes_no_frame_and_is_paid_for_once() -> None:
    """Asked again when the sensor is back, the device answers the Round that it paid for."""
    devices = owned(1, each=4)
    virtual, _ = measured(devices, replace(QUIET, drop_out=1.0), empty=[320] * 4)
    node = virtual.find_node("node-0")
    _, asked = message(devices, sensors=4, step=64)
    virtual.set_temperatures(np.zeros(4), 10.0)
    before = node.meta()["limits"]["left"]

    assert virtual.answer("node-0", asked) is None
    assert virtual.find_refusal("node-0") == "the sensor did not give 4 whole numbers"
    paid = node.meta()["limits"]["left"]
    assert paid < before
    for again in range(3):
        virtual.set_temperatures(np.zeros(4), 20.0 + again)
        assert virtual.answer("node-0", asked) is None
    assert node.meta()["limits"]["left"] == paid


def test_thermometers_and_an_array_stand_in_one_room() -> None:
    """Each device answers for its own converter, and no device may have two."""
    devices = [owned(1, each=64)[0], *owned(66)[64:]]

    def room() -> list[Instruments]:
        return [
            Instruments(EYE, 64, np.random.default_rng(7)),
            Instruments(QUIET, 2, np.random.default_rng(8)),
        ]

    virtual = Fleet(started(devices), room(), np.random.default_rng(0))
    virtual.set_temperatures(np.full(66, 3.0), 600.0)
    params = thermal.Params(66, 10, -(1 << 14), 1 << 14, 40_000, 256, 1)
    read = [np.array(virtual.read(name, params)) for name in virtual.names]
    _, asked = message(devices, sensors=66, step=64)

    assert [len(part) for part in read] == [64, 1, 1]
    assert all((part % step == 0).all() for part, step in zip(read, (256, 64, 64), strict=True))
    assert abs(np.concatenate(read).mean() / 1024 - 3.0) < 0.3
    assert [virtual.answer(name, asked) is None for name in virtual.names] == [True, False, False]
    with pytest.raises(ValueError, match="sensors 0 to 64 would have grideye and ds18b20"):
        Fleet(started(owned(1, each=65)), room(), np.random.default_rng(0))


# The privacy stage on the device: its order, and that sensors add nothing to the promise.


QUERY = Query(Grid((40, 30), 100), (8, 8), 0.5, (1, 1), step=Fraction(1, 4))
STEP = Fraction(1, 4)


def planned(query: Query) -> Round:
    made = plan_rounds(query, [])
    assert made is not None
    return made


def test_the_empty_room_is_taken_off_before_the_clamp_and_the_clamp_before_the_noise() -> None:
    """With the noise known, every stage can be redone by hand, in this order and no other."""
    made = planned(QUERY)
    params = Params(*made.params)
    empty, counts = [80, 81, 79, 80], [84, 4000, 79, 60]
    noise = thermal.draw(params.variance, 4, Tape(b"stage"))
    reading = Reading(3, convert_counts(counts, empty, params.exponent, STEP))
    sent = list(thermal.report(made, reading, Tape(b"stage")))
    warmth = subtract_baseline(counts, empty, params.exponent, (1, 4))
    clamped = [min(max(value, params.low), params.high) for value in warmth]

    assert clamped[1] == params.high < warmth[1]  # the clamp bites
    assert sent == [3, *(value + z for value, z in zip(clamped, noise, strict=True))]


@pytest.mark.parametrize("name", ["grideye", "perfect"])
def test_the_noise_of_a_sensor_is_never_credited_to_privacy(name: str) -> None:
    """Variance and promise are those of a sensor without any; only the clamp leaves it room."""
    noisy = planned(replace(QUERY, sensor_noise=find_preset(name).noise_sd_k))
    clean = planned(QUERY)
    params = Params(*noisy.params)

    assert noisy.guarantee == clean.guarantee
    assert params.high >= Params(*clean.params).high
    assert params._replace(low=0, high=0) == Params(*clean.params)._replace(low=0, high=0)


def test_a_device_is_held_to_what_both_of_its_converters_show() -> None:
    """As the driver of such a sensor says it; grains are made of its own counts all the same."""
    one = replace(find_preset("mlx90641"), drop_out=0.0)
    made = owned(1, each=192)
    fleet = Fleet(started(made), Instruments(one, 192, np.random.default_rng(1)), None)

    assert fleet.find_member("node-0").step == drivers.least_shown(*drivers.find_steps("mlx90641"))
    fleet.set_temperatures(np.full(192, 2.0))
    read = fleet.read("node-0", SimpleNamespace(exponent=8))
    assert np.mean(read) == pytest.approx(2 * 256, rel=0.1)


def test_a_device_answers_with_all_its_readings_or_not_at_all() -> None:
    """A nought in the place of a reading that did not come would be a cold spot."""
    with pytest.raises(ValueError, match="1 of 3 readings did not come"):
        convert_counts([80, None, 80], [80, 80, 80], 4, STEP)
    with pytest.raises(ValueError, match="not give 3 whole numbers"):
        convert_counts([80, 80], [80, 80, 80], 4, STEP)
    assert convert_counts([84, 79], [80, 80], 4, STEP) == (16, -4)


def test_the_converter_counts_before_the_veil_is_drawn() -> None:
    """A step of 1/16 K is 64 grains of 1/1024 K: under the noise only whole steps lie."""
    who = owned(10)
    plan, asked = message(who, step=64)
    virtual = fleet(who, PointSensors(sensor_places((10,), GRID), 0.02, Fraction(1, 16)))
    frame = virtual.answer("node-4", asked)

    assert seen(who[4], plan, frame)[0] % 64 == 0
