"""Messages that never came are seen where an operator looks: which they are, and how many."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog.testing

from edge.core import wire
from edge.net.device import frame_numbers, read_receipt
from gateway.devices.fleet.spool import Counts, Shelf, Spool
from gateway.service.intake import writer
from gateway.service.intake.door import Arrival, authenticate
from gateway.service.intake.judge import judge, read_known
from gateway.service.mqtt.connection import Message
from gateway.service.rounds import OpenRound
from gateway.store.reader import Gap, Reader
from gateway.store.store import Store

SITE, NAME = "testsite", "node-1"


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

    def gaps(self) -> list[Gap]:
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

    assert gateway.gaps() == [Gap(1, 5, 7), Gap(1, 2, 3)]
    assert gateway.missing == 5


def test_a_spool_that_ran_over_is_seen_on_both_sides(home: Any, gateway: Gateway) -> None:
    """The device says how many it lost, and the gateway says which."""
    node, spool, counts = home.nodes[NAME], Spool(3), Counts()
    shelf = Shelf(spool, NAME, counts)

    def answer(number: int) -> None:
        asked = home.message(home.round(number))
        shelf.put(node.answer(asked, lambda params: (1000,), now_ms=1000 * number))

    def deliver(number: int) -> None:
        """Let all that the device has arrive, one after the other, each freed by its receipt."""
        while frame := shelf.oldest():
            (receipt,) = gateway.take([frame], number)
            assert read_receipt(receipt, node.identity)[:2] == frame_numbers(frame)
            shelf.free(frame)

    answer(1)
    deliver(1)
    with structlog.testing.capture_logs() as logged:
        for number in range(2, 8):  # nobody answers: the gateway is away
            answer(number)
    kept = spool.frames()
    deliver(7)

    assert spool.overwritten == 3
    assert counts.lost == 3
    assert sum("made room" in entry["event"] for entry in logged) == 3
    assert len(kept) == 3
    assert spool.oldest is None
    assert gateway.gaps() == [Gap(1, 2, 4)]
    assert gateway.missing == 3
    assert [frame for _, frame in gateway.store.answers(wire.name_of(home.round(7)))] == kept[2:]
