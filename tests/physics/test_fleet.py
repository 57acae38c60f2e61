"""Virtual devices run edge's own code, in a world that the veil never draws from."""

from collections.abc import Callable
from fractions import Fraction
from math import sqrt
from typing import Any, NamedTuple

import numpy as np
import pytest

from edge.core import wire
from edge.core.budget import Budget, Limits
from edge.core.entropy import keyed
from edge.core.records import Grid, Guarantee, Round
from edge.host import post, rootkeys
from edge.host.enrol import Ram, provision
from edge.mechanisms import thermal
from physics.fleet import Fleet, make_seeded_keys
from physics.places import sensor_places
from physics.scenes import Scene
from physics.sensors import PointSensors, grains

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
    made.show(SCENE.temperatures(sensors.places_m, 0.05))
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

    expected = grains(SCENE.temperatures(sensor_places((10,), GRID), 0.05), 10)
    assert tuple(found) == expected


def test_what_leaves_is_veiled() -> None:
    """The negative control of the test above: without the key the reading is not in the frame."""
    devices = owned(10)
    _, asked = message(devices)
    virtual = fleet(devices)
    sent = np.array([opened(one, virtual.answer(one.name, asked))[1] for one in devices])
    noise = sent - grains(SCENE.temperatures(sensor_places((10,), GRID), 0.05), 10)

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


def test_the_converter_counts_before_the_veil_is_drawn() -> None:
    """A step of 1/16 K is 64 grains of 1/1024 K: under the noise only whole steps lie."""
    who = owned(10)
    plan, asked = message(who, step=64)
    virtual = fleet(who, PointSensors(sensor_places((10,), GRID), 0.02, Fraction(1, 16)))
    frame = virtual.answer("node-4", asked)

    assert seen(who[4], plan, frame)[0] % 64 == 0


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
    assert ("this device's step" in virtual.refusal("node-2")) == (not answered)
    left = virtual.node("node-2").meta()["limits"]["left"]
    assert (left == LIMITS.budget) == (not answered)


def test_a_fleet_that_does_not_fit_the_room_is_refused() -> None:
    """A sensor that is not there, a name twice, a truth that no sensor can see."""
    devices = started(owned(3))
    sensors, world = PointSensors(np.array([0.1, 0.5])), np.random.default_rng(0)

    with pytest.raises(ValueError, match="device 'node-2' with sensors 2 to 2 is there twice or"):
        Fleet(devices, sensors, world)
    with pytest.raises(ValueError, match="device 'node-0' with sensors 0 to 0 is there twice or"):
        Fleet([devices[0], devices[0]], sensors, world)
    with pytest.raises(ValueError, match="sensor 1 reads nan"):
        Fleet(devices[:2], sensors, world).show([0.1, float("nan")])


def test_a_room_can_be_empty_for_so_many_readings_of_each_device() -> None:
    """Whoever learns the room's own warmth from them must not learn somebody."""
    who, sensors = owned(2, each=5), PointSensors(sensor_places((10,), GRID))
    made = Fleet(started(who), sensors, np.random.default_rng(1), alone=2)
    made.show(SCENE.temperatures(sensors.places_m, 0.05))
    params = thermal.Params(*message(who)[0].params)
    seen = [max(made.read("node-0", params)) for _ in range(3)]

    assert seen[:2] == [0, 0]
    assert seen[2] == max(fleet(who).read("node-0", params)) > 0
    assert made.read("node-1", params) == (0,) * 5
