"""The quick reader of frames against the slow one: whatever bytes come, they say the same."""

import hmac
import random
from typing import Any

import pytest

from edge import cbor, receipts, wire
from edge.host import post
from edge.records import Report
from gateway.service.intake import genuine
from gateway.service.intake.genuine import Arrival, authenticate
from gateway.service.mqtt.connection import Message

TOPIC = wire.topic("testsite", "node-0", "data")
KEY = bytes(range(32))
HEADS = (0, 1, 23, 24, 255, 256, 65_535, 65_536, (1 << 32) - 1, 1 << 32, (1 << 48) - 1, 1 << 48)


def signed(body: bytes) -> bytes:
    """Return a body with the MAC that belongs to it."""
    return bytes(wire.signed(body, KEY, TOPIC))


def slow(frame: bytes) -> Any:
    """Return what `edge.wire` says: a Report, or None for a refusal."""
    try:
        return post.unpack_report(frame, KEY, TOPIC, "node-0")
    except ValueError:
        return None


def agree(body: bytes) -> bool:
    """Hold both readers to one answer; return whether the quick one had one."""
    frame = signed(body)
    quick, said = genuine.read_report(frame, "node-0"), slow(frame)
    assert genuine.genuine(frame, KEY, genuine.prefix(TOPIC))
    if quick is not None:
        assert quick == said, frame.hex()
        assert [type(part) for part in quick] == [type(part) for part in said]
        assert {type(value) for value in quick.payload} == {int}
    return quick is not None


def test_every_report_that_a_device_can_write_is_read_quickly_and_alike() -> None:
    """Random reports over all widths of counters, and arrays of all lengths there are."""
    world = random.Random(3)
    for _ in range(2000):
        bits = world.choice((16, 32))
        count = world.choice((1, 2, 11, 12, 64, 127, 128, 700))
        half = 1 << (bits - 1)
        payload = [world.choice(HEADS[:-1]), *(world.randrange(-half, half) for _ in range(count))]
        seq, epoch = world.choice(HEADS[:-1]), world.choice(HEADS[:-1])
        report = Report(world.randbytes(4), "node-0", epoch, seq, payload)
        frame = bytes(wire.pack_report(report, KEY, TOPIC, bits))

        assert genuine.read_report(frame, "node-0") == slow(frame) == report


@pytest.mark.long
def test_mutated_frames_are_taken_and_refused_alike() -> None:
    """Signed anew, so that it is the reading that is held, and not the MAC."""
    world = random.Random(4)
    seeds = []
    for bits in (16, 32):
        report = Report(b"name", "node-0", 300, 70_000, [9, -1, 2, 30_000])
        seeds.append(bytes(wire.pack_report(report, KEY, TOPIC, bits))[: -wire.MAC_BYTES])
    taken = 0
    for _ in range(30_000):
        body = bytearray(world.choice(seeds))
        for _ in range(world.randrange(1, 4)):
            kind, at = world.randrange(4), world.randrange(len(body))
            if kind == 0:
                body[at] = world.randrange(256)
            elif kind == 1:
                del body[at]
            elif kind == 2:
                body.insert(at, world.randrange(256))
            else:
                body[at:] = body[at : at + world.randrange(8)]
            if not body:
                body = bytearray(b"\xa6")
        taken += agree(bytes(body))

    assert taken > 1000  # else nothing was compared


ADVERSE = {
    "long heads": b"\xa6\x00\x01\x01\x1b" + bytes(7) + b"\x05\x02\x19\x00\x01\x03\x44nameX",
    "counter of 2**48": b"\xa6\x00\x01\x01\x1b\x00\x01" + bytes(6) + b"\x02\x01\x03\x44name",
    "array of no readings": b"\xa6\x00\x01\x01\x01\x02\x01\x03\x44name\x04\xd8\x4d\x40\x05\x00",
    "half a reading": b"\xa6\x00\x01\x01\x01\x02\x01\x03\x44name\x04\xd8\x4d\x43abc\x05\x00",
    "size beyond the end": b"\xa6\x00\x01\x01\x01\x02\x01\x03\x44name\x04\xd8\x4d\x5b"
    + b"\xff" * 9,
    "size into the MAC": b"\xa6\x00\x01\x01\x01\x02\x01\x03\x44name\x04\xd8\x4d\x4cab",
    "sensor in the MAC": b"\xa6\x00\x01\x01\x01\x02\x01\x03\x44name\x04\xd8\x4d\x42ab\x05\x1a\x01",
    "indefinite lengths": b"\xbf\x00\x01\xff",
    "tags in tags": b"\xd8\x4d" * 200,
    "a float": b"\xa1\x00\xf9\x3c\x00",
    "a bignum": b"\xa1\x00\xc2\x49" + b"\xff" * 9,
    "deep nesting": b"\x81" * 400,
    "bad UTF-8": b"\xa1\x00\x62\xff\xfe",
    "a list": b"\x83\x01\x02\x03",
    "nothing": b"\xa0",
    "a key twice": b"\xa6\x00\x01\x01\x01\x01\x01\x03\x44name\x04\xd8\x4d\x42ab\x05\x00",
}


@pytest.mark.parametrize("name", ADVERSE)
def test_what_is_built_to_mislead_is_read_alike(name: str) -> None:
    """Long forms, lengths that lie, and everything that CBOR has and we do not."""
    agree(ADVERSE[name])


def test_readings_as_a_plain_array_are_left_to_the_slow_reader() -> None:
    """No device of ours writes so; the quick reader need not know, and the report counts."""
    body = cbor.encode({0: 1, 1: 1, 2: 1, 3: b"name", 4: [1, 2], 5: 0})

    assert genuine.read_report(signed(body), "node-0") is None
    assert slow(signed(body)).payload == [0, 1, 2]


def test_receipts_are_those_of_the_wire() -> None:
    """A device reads them with edge's own code."""
    topic = wire.topic("testsite", "node-0", "receipt")
    for epoch in HEADS[:-1]:
        for seq in HEADS[:-1]:
            for taken in (True, False):
                packed = genuine.make_receipt(epoch, seq, taken, KEY, genuine.prefix(topic))

                assert packed == bytes(post.pack_receipt(epoch, seq, taken, KEY, topic))
                assert receipts.unpack(packed, KEY, topic) == (epoch, seq, taken)


def test_a_mac_that_differs_in_one_bit_does_not_hold() -> None:
    """Of the frame, the MAC, the topic or the key."""
    frame, before = signed(b"\xa0"), genuine.prefix(TOPIC)
    for at in range(8 * len(frame)):
        other = bytearray(frame)
        other[at // 8] ^= 1 << at % 8
        assert not genuine.genuine(bytes(other), KEY, before)
    assert not genuine.genuine(frame, KEY[::-1], before)
    assert not genuine.genuine(frame, KEY, genuine.prefix(TOPIC + "x"))
    assert frame[-16:] == hmac.digest(KEY, before + b"\xa0", "sha256")[:16]


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (lambda frame: frame[:10], "garbled"),
        (lambda frame: b"", "garbled"),
        (lambda frame: frame + b"\0", "forged"),
        (lambda frame: frame * 600, "oversized"),
    ],
)
def test_a_frame_that_is_none_has_a_kind_and_a_sentence(home: Any, change: Any, kind: str) -> None:
    """An operator counts by the one and reads the other."""
    frame = change(home.answer("node-0", home.round()))

    found = authenticate(Message(TOPIC, frame, (1, 1)), home.devices)

    assert not isinstance(found, Arrival)
    assert found.kind == kind
    assert found.why.startswith("it is not a frame of node-0: ")


@pytest.mark.parametrize(
    ("body", "kind"),
    [({0: 2, 1: 1}, "version"), ({1: 1}, "version"), ({0: 1}, "garbled"), ([1], "garbled")],
)
def test_a_signed_frame_of_another_version_is_told_from_garbage(
    home: Any, body: Any, kind: str
) -> None:
    """The one asks for an update, the other for a look at the device."""
    key = home.devices.by_name["node-0"].mac_key
    frame = bytes(wire.signed(cbor.encode(body), key, TOPIC))

    found = authenticate(Message(TOPIC, frame, (1, 1)), home.devices)

    assert not isinstance(found, Arrival)
    assert found.kind == kind
