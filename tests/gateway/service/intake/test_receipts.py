"""Who gets which receipt, and who is told that which message is safe."""

from typing import Any

import pytest

from edge.core import wire
from edge.net.device import read_receipt
from gateway.service.intake import writer
from gateway.service.intake.judge import Verdict
from gateway.service.intake.outcomes import Receipt
from gateway.service.mqtt.connection import Message

SITE = "testsite"


class Bearer:
    """A link that notes what it is told."""

    def __init__(self) -> None:
        self.settled: list[tuple[Any, Any]] = []
        self.published: list[tuple[str, bytes]] = []

    def settle(self, said: Any, messages: Any) -> None:
        self.settled.append((list(said), [one.token for one in messages]))

    def publish(self, topic: str, payload: bytes, *, retain: bool = False) -> None:
        assert not retain
        self.published.append((topic, payload))


def message(packet: int) -> Message:
    return Message("t", b"", (1, packet))


def test_a_receipt_is_what_the_device_takes_for_one_and_no_other_device_does(home: Any) -> None:
    """Its own code reads it: numbers, and a MAC under its own key on its own topic."""
    packer = writer.Packer(home.devices)

    [(topic, payload)] = packer.packed([Receipt("node-1", 7, 300, True)])

    assert topic == wire.topic(SITE, "node-1", "receipt")
    assert read_receipt(payload, home.nodes["node-1"].identity) == (7, 300, True)
    assert read_receipt(payload, home.nodes["node-0"].identity) is None
    for at in range(len(payload)):
        forged = payload[:at] + bytes([payload[at] ^ 1]) + payload[at + 1 :]
        assert read_receipt(forged, home.nodes["node-1"].identity) is None


def test_each_bearer_lets_go_of_its_own_messages_and_receipts_go_out_once(home: Any) -> None:
    """Packet ids belong to a connection: another's would let go of what nobody has seen."""
    one, two = Bearer(), Bearer()
    verdict = Verdict(
        None, receipts=[Receipt("node-0", 1, 1, True), Receipt("node-1", 1, 1, False)]
    )
    batch = [(one, message(1)), (two, message(2)), (one, message(3))]

    writer.settle(batch, verdict, writer.Packer(home.devices))

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

    writer.settle([(one, message(1))], Verdict(None, again=[again]), writer.Packer(home.devices))

    assert [topic for topic, _ in one.published] == [wire.topic(SITE, "node-0", "receipt")]
    assert one.settled == [([], [(1, 1)])]


def test_who_sends_one_report_again_and_again_does_not_fill_our_memory(
    home: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a broker has not acknowledged waits in memory: one of a device, and another later."""
    packer, one = writer.Packer(home.devices), Bearer()
    now_s = [100.0]
    monkeypatch.setattr(writer.time, "monotonic", lambda: now_s[0])
    again = [Receipt("node-0", 1, 4, True)] * 50 + [Receipt("node-1", 1, 9, True)]

    for now_s[0] in (100.0, 105.0, 110.5):
        writer.settle([(one, message(1))], Verdict(None, again=again), packer)

    assert len(one.published) == 2 * 2  # each device at first, and after ten seconds
    assert [len(said) for said, _ in one.settled] == [49, 51, 49]  # and all others plainly


def test_a_device_that_is_enrolled_no_longer_gets_none(home: Any) -> None:
    """It was removed while its message was in the batch: no key is there to sign with."""
    assert writer.Packer(home.devices).packed([Receipt("gone", 1, 1, True)]) == []
