"""Virtual devices run edge's own code, in a world that the veil never draws from."""

import os
from fractions import Fraction
from itertools import pairwise
from math import sqrt

import numpy as np
import pytest

from edge import thermal, wire
from edge.entropy import keyed
from edge.records import Grid, Guarantee, Round
from physics.fleet import Fleet, Secrets, seeded_keys
from physics.places import sensor_places
from physics.scenes import Scene
from physics.sensors import PointSensors, grains

GRID, SITE = Grid((100, 1), 0), "lab"
SCENE = Scene(np.array([0.3, 0.71]), np.array([1.0, 0.5]))
PROMISE = Guarantee(
    (1, 1), (1, 100000), (1, 2), "one source moves", "local", "a round", "how many"
)


def secrets(devices: int, mode: str = "keyholder", each: int = 1) -> Secrets:
    """A fleet of devices, every one with `each` sensors and keys that the seed repeats."""
    fresh = seeded_keys(b"fleet")
    named = [(f"node-{i}", (i * each, each), mode, fresh(32)) for i in range(devices)]
    return SITE, fresh(32), 1, named


def message(who: Secrets, number: int = 1, **changes: int) -> tuple[Round, bytes]:
    """A signed Round of ten sensors for the fleet, and the Round."""
    _, key, _, devices = who
    keyholder = int(devices[0][2] == "keyholder")
    params = thermal.Params(10, 10, -(1 << 14), 1 << 14, 40_000, 1, keyholder)._replace(**changes)
    plan = Round(number, thermal.NAME, GRID, tuple(params), PROMISE)
    return plan, wire.pack_round(plan, key, wire.round_topic(SITE, thermal.NAME))


def fleet(who: Secrets, sensors: PointSensors | None = None, seed: int = 9) -> Fleet:
    """The fleet, looking at the scene through perfect sensors."""
    sensors = sensors or PointSensors(sensor_places((10,), GRID))
    made = Fleet(who, sensors, np.random.default_rng(seed))
    made.show(SCENE.temperatures(sensors.places_m, 0.05))
    return made


def opened(who: Secrets, name: str, frame: bytes | None) -> list[int]:
    """The payload of a frame, its MAC checked."""
    root = {device[0]: device[3] for device in who[3]}[name]
    topic = wire.topic(SITE, name, "data")
    return list(wire.unpack_report(frame, wire.mac_key(root), topic, name).payload)


@pytest.mark.parametrize("each", [1, 5])
def test_a_key_holder_finds_under_the_noise_exactly_what_the_sensors_saw(each: int) -> None:
    """From the scene to the frame and back: nothing on the way is only nearly right."""
    who = secrets(10 // each, each=each)
    plan, asked = message(who)
    virtual, seen = fleet(who), []
    for name, (first, _), _, root in who[3]:
        payload = opened(who, name, virtual.answer(name, asked))
        reading = thermal.unveil(plan, payload, keyed(root, name, 1, 1, first))
        seen += reading.values

    expected = grains(SCENE.temperatures(sensor_places((10,), GRID), 0.05), 10)
    assert tuple(seen) == expected


def test_what_leaves_is_veiled() -> None:
    """The negative control of the test above: without the key the reading is not in the frame."""
    who = secrets(10)
    _, asked = message(who)
    virtual = fleet(who)
    sent = np.array([opened(who, name, virtual.answer(name, asked))[1] for name in virtual.names])
    noise = sent - grains(SCENE.temperatures(sensor_places((10,), GRID), 0.05), 10)

    assert (noise != 0).all()
    assert 0.4 < sqrt(np.mean(noise.astype(float) ** 2)) / 200 < 1.7


def test_asked_again_a_device_sends_the_same_bytes() -> None:
    """Fresh noise on the same reading could be averaged away."""
    who = secrets(10)
    _, asked = message(who)
    virtual = fleet(who, PointSensors(sensor_places((10,), GRID), noise_sd=0.1))

    assert virtual.answer("node-3", asked) == virtual.answer("node-3", asked)


def test_the_world_decides_what_is_seen_and_not_how_it_is_veiled() -> None:
    """Two worlds, one set of keys: sensor noise differs, and the veil's noise does not."""
    who = secrets(10)
    _, asked = message(who)
    one, other = (
        [opened(who, name, virtual.answer(name, asked))[1] for name in virtual.names]
        for virtual in (fleet(who, seed=1), fleet(who, seed=2))
    )
    noisy = PointSensors(sensor_places((10,), GRID), noise_sd=0.1)
    third = fleet(who, noisy, seed=2)

    assert one == other
    assert [opened(who, name, third.answer(name, asked))[1] for name in third.names] != one


def test_a_sealed_fleet_never_repeats_itself() -> None:
    """The same keys and world again, and other noise: nobody can take it off."""
    who = secrets(10, mode="sealed")
    _, asked = message(who)

    assert fleet(who).answer("node-0", asked) != fleet(who).answer("node-0", asked)


def test_devices_see_the_scene_that_is_shown_last() -> None:
    """A warm room after an empty one: all readings rise with the heat."""
    who = secrets(10)
    virtual = fleet(who)
    warmth = []
    for number, heat in enumerate([0.0, 4.0, 8.0], 1):
        virtual.show(np.full(10, heat))
        _, asked = message(who, number)
        warmth.append(sum(opened(who, n, virtual.answer(n, asked))[1] for n in virtual.names))

    assert all(later > earlier + 20_000 for earlier, later in pairwise(warmth))


def test_the_converter_counts_before_the_veil_is_drawn() -> None:
    """A step of 1/16 K is 64 grains of 1/1024 K: under the noise only whole steps lie."""
    who = secrets(10)
    plan, asked = message(who, step=64)
    virtual = fleet(who, PointSensors(sensor_places((10,), GRID), 0.02, Fraction(1, 16)))
    name, (first, _), _, root = who[3][4]
    payload = opened(who, name, virtual.answer(name, asked))

    assert thermal.unveil(plan, payload, keyed(root, name, 1, 1, first)).values[0] % 64 == 0


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
    who = secrets(10)
    _, asked = message(who, step=planned)
    virtual = fleet(who, PointSensors(sensor_places((10,), GRID), 0.0, step))

    assert (virtual.answer("node-2", asked) is not None) == answered
    assert ("converter" in virtual.refusal("node-2")) == (not answered)


def test_a_round_that_is_forged_or_too_quiet_is_not_answered() -> None:
    """The device's own floor and keys decide, as on a board."""
    who = secrets(10)
    virtual = Fleet(who, PointSensors(np.zeros(10)), np.random.default_rng(0), floor=(1, 100))
    _, quiet = message(who, variance=10)
    _, asked = message(who)

    assert virtual.answer("node-0", quiet) is None
    assert "less noise than this device's floor" in virtual.refusal("node-0")
    assert virtual.answer("node-0", asked[:-1] + bytes([asked[-1] ^ 1])) is None
    assert "MAC" in virtual.refusal("node-0")
    assert virtual.answer("node-0", asked) is not None
    assert virtual.refusal("node-0") == ""


def test_the_fleet_says_who_it_is_and_nothing_of_what_it_sees() -> None:
    """meta is retained on the broker for everybody."""
    who = secrets(2, each=5)
    virtual = fleet(who)

    assert virtual.names == ("node-0", "node-1")
    assert (virtual.meta("node-1")["sensor"], virtual.meta("node-1")["sensors"]) == (5, 5)


def test_a_fleet_that_does_not_fit_the_room_is_refused() -> None:
    """A sensor that is not there, a name twice, a truth that no sensor can see."""
    site, key, epoch, devices = secrets(3)
    sensors, world = PointSensors(np.array([0.1, 0.5])), np.random.default_rng(0)

    with pytest.raises(ValueError, match="device 'node-2' with sensors 2 to 2 is there twice or"):
        Fleet((site, key, epoch, devices), sensors, world)
    with pytest.raises(ValueError, match="device 'node-0' with sensors 0 to 0 is there twice or"):
        Fleet((site, key, epoch, [devices[0], devices[0]]), sensors, world)
    with pytest.raises(ValueError, match="sensor 1 reads nan"):
        Fleet((site, key, epoch, devices[:2]), sensors, world).show([0.1, float("nan")])


def test_keys_from_the_system_are_as_good_as_seeded_ones() -> None:
    """A real fleet's keys come from the system's entropy, whatever makes them."""
    who = (SITE, os.urandom(32), 1, [("attic", (0, 10), "sealed", os.urandom(32))])
    _, asked = message(who)

    assert len(opened(who, "attic", fleet(who).answer("attic", asked))) == 11
