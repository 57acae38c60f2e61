"""A device answers each Round once, with its own floor in mind and its noise drawn first."""

import dataclasses
from collections.abc import Callable

import pytest

from edge import entropy, thermal, wire
from edge.node import Node
from edge.records import Grid, Guarantee, Round

ROOT, SITE_KEY = bytes(range(32)), bytes(range(32, 64))
TOPIC = wire.round_topic("lab", "thermal")
PROMISE = Guarantee((1, 1), (1, 100000), (1, 2), "n", "local", "u", "p")


@dataclasses.dataclass
class Thermometer:
    """Counts how often it is read."""

    value: int = 2000
    reads: int = 0

    def __call__(self, params: object) -> tuple[int, ...]:
        self.reads += 1
        return (self.value,)


def message(
    number: int = 1, exponent: int = 8, variance: int = 250000, keyholder: int = 0
) -> bytes:
    params = tuple(thermal.Params(50, exponent, 0, 4000, variance, 1, keyholder))
    round = Round(number, "thermal", Grid((100, 1), 0), params, PROMISE)
    return wire.pack_round(round, SITE_KEY, TOPIC)


def node(mode: str = "sealed", floor: tuple[int, int] = (1, 1), sensor: int = 7) -> Node:
    return Node("lab", "n007", ROOT, SITE_KEY, sensor, floor, mode)


def readings(frame: bytes) -> list[int]:
    topic = wire.topic("lab", "n007", "data")
    return wire.unpack_report(frame, wire.mac_key(ROOT), topic, "n007").payload


@pytest.mark.parametrize("mode", ["sealed", "keyholder"])
def test_the_same_round_gets_the_same_bytes_and_one_reading(mode: str) -> None:
    """Fresh noise at each retry would let a listener average it away."""
    device, thermometer = node(mode), Thermometer()
    asked = message(keyholder=int(mode == "keyholder"))
    frames = [device.answer(asked, thermometer) for _ in range(5)]

    assert frames[0] is not None
    assert len(set(frames)) == 1
    assert thermometer.reads == 1


def test_two_rounds_get_two_streams() -> None:
    """The counter goes into the stream, so an unchanged reading shows two different blurs."""
    device = node("keyholder")
    first = device.answer(message(1, keyholder=1), Thermometer())
    second = device.answer(message(2, keyholder=1), Thermometer())

    assert first is not None
    assert second is not None
    assert readings(first)[1] != readings(second)[1]


def test_the_noise_is_drawn_before_the_sensor_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """So the time that the draw takes tells nothing about the reading."""
    order: list[str] = []
    draw = thermal.draw

    def noted(*args: object) -> list[int]:
        order.append("noise")
        return draw(*args)

    def read(params: object) -> tuple[int, ...]:
        order.append("sensor")
        return (5,)

    monkeypatch.setattr(thermal, "draw", noted)
    node().answer(message(), read)

    assert order == ["noise", "sensor"]


@pytest.mark.parametrize(
    ("asked", "device", "words"),
    [
        (message(variance=60000), node(), "less noise than this device's floor of 1/1"),
        (message(exponent=9), node(), "less noise"),
        (message(keyholder=1), node(), "not that of a sealed device"),
        (message(), node("keyholder"), "not that of a keyholder device"),
        (message(), node(sensor=50), "sensor 50 is not in round 1"),
        (message()[:-1], node(), "the MAC is not that of this message"),
        (b"", node(), "0 bytes"),
    ],
)
def test_a_round_that_must_not_be_answered_is_not(asked: bytes, device: Node, words: str) -> None:
    """And the sensor is not even read for it; the device says why, and goes on."""
    thermometer = Thermometer()

    assert device.answer(asked, thermometer) is None
    assert words in device.refusal
    assert thermometer.reads == 0
    assert node().answer(message(), thermometer) is not None


def test_the_floor_is_met_exactly() -> None:
    """250000 grains squared of 2**-8 K are 3.8147 K**2: a floor of just that passes."""
    just, above = (250000, 1 << 16), (250001, 1 << 16)

    assert node(floor=just).answer(message(), Thermometer()) is not None
    assert node(floor=above).answer(message(), Thermometer()) is None


def test_coarse_grains_meet_the_floor_too() -> None:
    """A grain of 4 K (exponent -2) and a variance of 10000 grains**2 make 160,000 K**2."""
    asked = message(exponent=-2, variance=10000)

    assert node(floor=(160000, 1)).answer(asked, Thermometer()) is not None
    assert node(floor=(160001, 1)).answer(asked, Thermometer()) is None


def test_old_rounds_and_second_rounds_of_one_number_are_refused() -> None:
    """A replayed Round would buy a second reading for the price of none."""
    device = node()
    device.answer(message(5), Thermometer())

    for asked in (message(4), message(5, variance=260000)):
        assert device.answer(asked, Thermometer()) is None
        assert "already answered" in device.refusal


def test_the_order_of_rounds_survives_a_refusal() -> None:
    """A refused Round does not use up its number."""
    device = node()
    device.answer(message(5, variance=1), Thermometer())

    assert device.answer(message(5), Thermometer()) is not None


def test_meta_tells_the_mode_and_nothing_that_was_seen() -> None:
    """Anybody may read it; whether somebody holds a key must be plain there."""
    device = node("keyholder")
    before = device.meta()
    thermometer = Thermometer(value=3999)
    device.answer(message(keyholder=1), thermometer)
    after = device.meta()

    assert before["mode"] == "keyholder"
    assert after["variance"] == 250000
    assert 3999 not in after.values()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: node(mode="open"), "sealed"),
        (lambda: node(floor=(0, 1)), "protects nothing"),
        (lambda: Node("lab", "n", b"short", SITE_KEY, 0, (1, 1)), "32"),
    ],
)
def test_a_device_is_not_made_without_protection(make: Callable[[], Node], words: str) -> None:
    """Wrong keys, no floor or an unknown mode end at the start, not in the field."""
    with pytest.raises(ValueError, match=words):
        make()


def test_a_keyholder_s_frame_opens_with_the_root_key() -> None:
    """The whole way: Round in, frame out, exact reading back."""
    frame = node("keyholder").answer(message(keyholder=1), Thermometer(value=1234))

    assert frame is not None
    topic = wire.topic("lab", "n007", "data")
    report = wire.unpack_report(frame, wire.mac_key(ROOT), topic, "n007")
    round = wire.unpack_round(message(keyholder=1), SITE_KEY, TOPIC)
    rng = entropy.keyed(ROOT, "n007", report.epoch, report.seq, report.payload[0])

    assert thermal.unveil(round, report.payload, rng).values == (1234,)


def test_sealed_rounds_differ_even_where_the_system_s_entropy_is_dead(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One stream runs through the whole boot; a stream made anew a round would repeat."""
    monkeypatch.setattr(entropy, "os_entropy", lambda size: bytes(size))
    device = node()
    frames = [device.answer(message(number), Thermometer()) for number in (1, 2, 3)]

    assert len({readings(frame)[1] for frame in frames if frame}) == 3


@pytest.mark.parametrize("value", [None, 1.5, "21", (1, 2)])
def test_a_sensor_that_gives_rubbish_makes_no_frame(value: object) -> None:
    """And what it gave is not in the reason, which goes out unblurred."""
    device = node()
    read = lambda params: value if isinstance(value, tuple) else (value,)  # noqa: E731

    assert device.answer(message(), read) is None
    assert device.refusal == "the sensor did not give 1 whole numbers"
    assert device.answer(message(), Thermometer()) is not None


def test_a_keyholder_with_a_bad_key_is_refused_when_it_is_made() -> None:
    """Not at its first round, in the field."""
    with pytest.raises(ValueError, match="32"):
        Node("lab", "n", b"short", SITE_KEY, 0, (1, 1), "keyholder")
