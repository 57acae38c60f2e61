"""The door: whose frame a message is, and the quick reader of frames."""

import hmac
import random
from itertools import product
from typing import Any

import pytest

from edge.core import wire
from edge.core.records import Report
from edge.host import post
from edge.net.device import unpack_receipt
from gateway.service.intake import door, writer
from gateway.service.intake.door import Door
from gateway.service.intake.judge import Verdict
from gateway.service.intake.outcomes import KINDS, DeadLetter, Receipt
from gateway.service.intake.writer import summarise_refusals
from gateway.service.mqtt.connection import Message

# Who is held to account for a message: the device on whose topic it came, and nobody else.

SITE, NAME = "testsite", "node-1"


class Guard:
    """Notes who is asked about, and lets pass whom it is told to."""

    def __init__(self, shut: str = "") -> None:
        self.asked: list[str] = []
        self.told: list[str] = []
        self.shut = shut

    def may_pass(self, device: str, size: int, now_s: float) -> bool:
        self.asked.append(device)
        return device != self.shut or not self.shut

    def count_forged(self, device: str, now_s: float) -> None:
        self.told.append(device)

    def explain_block(self, device: str) -> str:
        return "it was shut out" if device == self.shut else ""


def message(payload: bytes, topic: str = wire.topic(SITE, NAME, "data")) -> Message:
    return Message(topic, payload, (1, 1))


@pytest.mark.parametrize(
    "topic",
    [
        f"heatveil/1/elsewhere/{NAME}/data",
        f"heatveil/1/{SITE}/{NAME}/state",
        f"heatveil/1/{SITE}/x/{NAME}/data",
        f"/{NAME}/",
        f"heatveil/1/{SITE}/{NAME}\u0000/data",
    ],
)
def test_a_device_is_not_charged_with_what_is_said_where_it_does_not_speak(
    home: Any, topic: str
) -> None:
    """Else who may write anywhere near could have it shut out."""
    guard = Guard()

    found = Door(home.devices, guard).sift_messages([message(b"x" * 60, topic)] * 50, 1.0)

    assert len(found.letters) == 50
    assert {one.kind for one in found.letters} <= {"topic", "unknown"}
    assert NAME not in guard.asked
    assert guard.told == []


def test_what_a_broker_retained_is_no_report(home: Any) -> None:
    """Else it is heard again at each start, for as long as the broker keeps it."""
    good = message(home.answer(NAME, home.round()))
    guard = Guard()

    found = Door(home.devices, guard).sift_messages([good._replace(retained=True), good], 1.0)

    assert [one.kind for one in found.letters] == ["retained"]
    assert [one.message for one in found.arrivals] == [good]
    assert guard.told == []  # whoever may write there may have retained it


def test_what_is_no_frame_of_its_own_is_told_to_the_guard(home: Any) -> None:
    """The control: on its own topic each of these counts against it, and a good one does not."""
    plan, guard = home.round(), Guard()
    good = home.answer(NAME, plan)
    bad = [b"", b"x" * 60, good[:-1], bytes(20_000), good[:-1] + bytes([good[-1] ^ 1])]

    found = Door(home.devices, guard).sift_messages([message(one) for one in [*bad, good]], 1.0)

    assert guard.asked == [NAME] * 6
    assert guard.told == [NAME] * 5
    assert [one.message.payload for one in found.arrivals] == [good]
    kinds = [one.kind for one in found.letters]
    assert kinds == ["garbled", "forged", "forged", "oversized", "forged"]


def test_a_flood_has_one_row_a_minute_and_every_message_of_it_is_counted(home: Any) -> None:
    """Rows for each would be what the flood is for."""
    door, frames = Door(home.devices, Guard(NAME)), [message(b"x" * 60)] * 1000
    first, second = door.sift_messages(frames, 10.0), door.sift_messages(frames, 20.0)
    later = door.sift_messages(frames, 71.0)

    for found, rows in ((first, 1), (second, 0), (later, 1)):
        assert len(found.letters) == rows
        assert found.unheard == {"quarantined": 1000 - rows}
        assert found.arrivals == []
    assert "it was shut out" in first.letters[0].why


# What the log says of refused messages names who sent them, and nobody who made a name up.

NAMES = {f"heatveil/1/lab/node-{n}/data": f"node-{n}" for n in range(30)}


def letter(name: str, kind: str = "late") -> DeadLetter:
    return DeadLetter(f"heatveil/1/lab/{name}/data", "SECRET why", b"SECRET frame", kind)


def whose(topic: str) -> str:
    return NAMES.get(topic, "")


def test_names_that_nobody_enrolled_are_one() -> None:
    """A flood of made-up names is one line, and none of them is in it."""
    lines = summarise_refusals([letter(f"made-up-{n}", "unknown") for n in range(5000)], whose)

    assert lines == [{"device": "unknown", "messages": 5000, "kinds": "unknown 5000"}]


def test_nothing_of_a_message_is_in_it() -> None:
    """Whether it is a frame or a sentence about one, which may quote what came."""
    lines = summarise_refusals([letter("node-1", kind) for kind in KINDS], whose)

    assert "SECRET" not in str(lines)
    assert set(lines[0]) == {"device", "messages", "kinds"}


# The quick reader of frames against the slow one: whatever bytes come, they say the same.

TOPIC = wire.topic("testsite", "node-0", "data")
KEY = bytes(range(32))
HEADS = (0, 1, 23, 24, 255, 256, 65_535, 65_536, (1 << 32) - 1, 1 << 32, (1 << 48) - 1, 1 << 48)


def signed(body: bytes) -> bytes:
    """Return a body with the MAC that belongs to it."""
    return bytes(wire.sign(body, KEY, TOPIC))


def slow(frame: bytes) -> Any:
    """Return what `edge.core.wire` says: a Report, or None for a refusal."""
    try:
        return post.unpack_report(frame, KEY, TOPIC, "node-0")
    except ValueError:
        return None


def agree(body: bytes) -> bool:
    """Hold both readers to one answer; return whether the quick one had one."""
    frame = signed(body)
    quick, said = door.read_report(frame, "node-0"), slow(frame)
    assert door.TopicMac(KEY, TOPIC).holds(frame)
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

        assert door.read_report(frame, "node-0") == slow(frame) == report


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


def test_receipts_are_those_of_the_wire() -> None:
    """A device reads them with edge's own code."""
    topic = wire.topic("testsite", "node-0", "receipt")
    for epoch, seq, taken in product(HEADS[:-1], HEADS[:-1], (True, False)):
        packed = door.make_receipt(epoch, seq, taken, door.TopicMac(KEY, topic))

        assert packed == bytes(post.pack_receipt(epoch, seq, taken, KEY, topic))
        assert unpack_receipt(packed, KEY, topic) == (epoch, seq, taken)


def test_a_mac_that_differs_in_one_bit_does_not_hold() -> None:
    """Of the frame, the MAC, the topic or the key."""
    frame, mac = signed(b"\xa0"), door.TopicMac(KEY, TOPIC)
    for at in range(8 * len(frame)):
        other = bytearray(frame)
        other[at // 8] ^= 1 << at % 8
        assert not mac.holds(bytes(other))
    assert not door.TopicMac(KEY[::-1], TOPIC).holds(frame)
    assert not door.TopicMac(KEY, TOPIC + "x").holds(frame)
    before = len(TOPIC).to_bytes(2, "big") + TOPIC.encode()
    assert frame[-16:] == hmac.digest(KEY, before + b"\xa0", "sha256")[:16]


# Who gets which receipt, who is told that a message is safe, and which messages never came.


class Bearer:
    """A link that notes what it is told."""

    def __init__(self) -> None:
        self.settled: list[tuple[Any, Any]] = []
        self.published: list[tuple[str, bytes]] = []

    def acknowledge_batch(self, said: Any, messages: Any) -> None:
        self.settled.append((list(said), [one.token for one in messages]))

    def publish(self, topic: str, payload: bytes, *, retain: bool = False) -> None:
        assert not retain
        self.published.append((topic, payload))


def numbered(packet: int) -> Message:
    return Message("t", b"", (1, packet))


def test_each_bearer_lets_go_of_its_own_messages_and_receipts_go_out_once(home: Any) -> None:
    """Packet ids belong to a connection: another's would let go of what nobody has seen."""
    one, two = Bearer(), Bearer()
    verdict = Verdict(
        None, receipts=[Receipt("node-0", 1, 1, True), Receipt("node-1", 1, 1, False)]
    )
    batch = [(one, numbered(1)), (two, numbered(2)), (one, numbered(3))]

    writer.acknowledge_verdict(batch, verdict, writer.ReceiptPacker(home.devices))

    said = [pair for bearer in (one, two) for pair in bearer.settled]
    assert [tokens for _, tokens in said] == [[(1, 1), (1, 3)], [(1, 2)]]
    assert sorted(topic for given, _ in said for topic, _ in given) == [
        wire.topic(SITE, "node-0", "receipt"),
        wire.topic(SITE, "node-1", "receipt"),
    ]
    assert one.published == two.published == []


def test_a_receipt_that_was_lost_goes_out_so_that_the_broker_keeps_it(home: Any) -> None:
    """At QoS 1, for the device was away: it sent again because the first never reached it."""
    one, again = Bearer(), Receipt("node-0", 1, 4, True)

    writer.acknowledge_verdict(
        [(one, numbered(1))], Verdict(None, again=[again]), writer.ReceiptPacker(home.devices)
    )

    assert [topic for topic, _ in one.published] == [wire.topic(SITE, "node-0", "receipt")]
    assert one.settled == [([], [(1, 1)])]


def test_who_sends_one_report_again_and_again_does_not_fill_our_memory(
    home: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a broker has not acknowledged waits in memory: one of a device, and another later."""
    packer, one = writer.ReceiptPacker(home.devices), Bearer()
    now_s = [100.0]
    monkeypatch.setattr(writer.time, "monotonic", lambda: now_s[0])
    again = [Receipt("node-0", 1, 4, True)] * 50 + [Receipt("node-1", 1, 9, True)]

    for now_s[0] in (100.0, 105.0, 110.5):
        writer.acknowledge_verdict([(one, numbered(1))], Verdict(None, again=again), packer)

    assert len(one.published) == 2 * 2  # each device at first, and after ten seconds
    assert [len(said) for said, _ in one.settled] == [49, 51, 49]  # and all others plainly


def test_a_device_that_is_enrolled_no_longer_gets_none(home: Any) -> None:
    """It was removed while its message was in the batch: no key is there to sign with."""
    assert writer.ReceiptPacker(home.devices).pack_receipts([Receipt("gone", 1, 1, True)]) == []
