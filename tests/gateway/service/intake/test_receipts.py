"""Who gets which receipt, who is told that a message is safe, and which messages never came."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from edge.core import wire
from gateway.service.intake import writer
from gateway.service.intake.door import Arrival, authenticate
from gateway.service.intake.judge import Verdict, judge, read_known
from gateway.service.intake.outcomes import Receipt
from gateway.service.mqtt.connection import Message
from gateway.service.rounds import OpenRound
from gateway.store.reader import MissingNumbers, Reader
from gateway.store.store import Store

# Who gets which receipt, and who is told that which message is safe.

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


# Messages that never came are seen where an operator looks: which they are, and how many.

NAME = "node-1"


class Gateway:
    """Store and judge; `take` is a batch, `restart` forgets what is not on the disk."""

    def __init__(self, home: Any, place: Path) -> None:
        self.home, self.store, self.place, self.missing = home, Store(place, SITE), place, 0
        self.packer = writer.Packer(home.devices)
        self.restart()

    def restart(self) -> None:
        self.newest = self.store.newest()

    def take(self, frames: list[bytes], number: int) -> list[bytes]:
        """Return the receipts for frames that come while that round is open."""
        plan, topic = self.home.round(number), wire.topic(SITE, NAME, "data")
        places = {name: device.place for name, device in self.home.devices.by_name.items()}
        round = OpenRound(plan, wire.name_of(plan), 100.0, places)
        arrivals = [authenticate(Message(topic, one, (1, 1)), self.home.devices) for one in frames]
        assert all(isinstance(one, Arrival) for one in arrivals)
        known: Any = read_known(self.store, arrivals, round, self.newest, 1.0)  # type: ignore[arg-type]
        verdict = judge(arrivals, round, self.newest, known, 1.0)  # type: ignore[arg-type]
        self.store.keep(
            verdict.kept, verdict.letters, verdict.extra, verdict.heard, verdict.alarms
        )
        verdict.settle(self.newest)
        self.missing += verdict.missing
        said = self.packer.packed([*verdict.receipts, *verdict.again])
        return [payload for _, payload in said]

    def gaps(self) -> list[MissingNumbers]:
        reader = Reader(self.place)
        try:
            return reader.gaps(NAME)
        finally:
            reader.close()


@pytest.fixture
def gateway(home: Any, tmp_path: Path) -> Iterator[Gateway]:
    """Return a gateway with an empty store."""
    gateway = Gateway(home, tmp_path / "store.sqlite")
    yield gateway
    gateway.store.close()


def answers(home: Any, numbers: range) -> dict[int, bytes]:
    return {number: home.answer(NAME, home.round(number)) for number in numbers}


def test_numbers_that_never_came_are_named_and_counted_once(home: Any, gateway: Gateway) -> None:
    """In one batch or in two, over a restart, and whatever comes again meanwhile."""
    frames = answers(home, range(1, 10))
    gateway.take([frames[1], frames[4]], 4)
    gateway.take([frames[4], frames[1]], 4)
    gateway.restart()
    gateway.take([frames[8], frames[4], frames[8]], 8)

    assert gateway.gaps() == [MissingNumbers(1, 5, 7), MissingNumbers(1, 2, 3)]
    assert gateway.missing == 5
