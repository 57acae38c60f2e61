"""The writer's order (commit, receipt, acknowledge), and what it does when the disk will not."""

import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.exc import DatabaseError, IntegrityError, OperationalError

from edge.core import wire
from edge.host import post
from gateway.service.intake import writer
from gateway.service.intake.judge import Verdict
from gateway.service.intake.outcomes import Alarm, CountedReport, DeadLetter, Receipt
from gateway.service.intake.writer import BATCH, Inbox, Intake, IntakeCounts
from gateway.service.mqtt.connection import Message
from gateway.service.operate.health import Health
from gateway.service.operate.metrics import Metrics
from gateway.service.rounds import OpenRound
from gateway.store import places
from gateway.store.store import Store
from tests.waiting import eventually

SITE = "testsite"


class Diary:
    """Stands for link and store: writes down who did what, in order."""

    def __init__(self) -> None:
        self.entries: list[tuple[str, Any]] = []

    def acknowledge_batch(self, receipts: Any, messages: Any) -> None:
        self.entries += [("receipt", receipt) for receipt in receipts]
        self.entries += [("ack", message.token[1]) for message in messages]

    def publish(self, topic: str, payload: bytes, *, retain: bool = False) -> None:
        self.entries.append(("receipt", (topic, payload)))

    def wait(self, kind: str, count: int) -> None:
        """Return once there are so many entries of a kind."""
        came = lambda: sum(entry[0] == kind for entry in self.entries) >= count  # noqa: E731
        assert eventually(came), self.entries  # a loaded machine flushes slowly


class Desk:
    """An intake over a real store, with a diary for a link, and a round that is open."""

    def __init__(self, home: Any, path: Path) -> None:
        self.home, self.diary = home, Diary()
        self.store = Store(path, SITE)
        self.plan = home.round()
        self.alarms: list[Any] = []
        self.came: list[int] = []  # how many had answered, each time that it was told
        self.begin()

    def begin(self) -> None:
        """Start an intake, or start it again."""
        self.intake = Intake(self.store, self.home.devices, self.progress, self.alarms.extend)

    def progress(self, round: OpenRound | None, _refused: int) -> None:
        self.came += [] if round is None else [len(round.reports)]

    def open(self) -> None:
        places = {name: device.place for name, device in self.home.devices.by_name.items()}
        name = wire.name_of(self.plan)
        self.intake.open_round(OpenRound(self.plan, name, time.monotonic() + 60, places))

    def bring(self, name: str, frame: bytes, packet: int = 1) -> None:
        message = Message(wire.topic(SITE, name, "data"), frame, (1, packet))
        self.intake.take_message(self.diary, message)

    def receipt(self, name: str, taken: bool) -> tuple[str, bytes]:
        """Return where and with which bytes a device's first message is receipted."""
        topic, key = wire.topic(SITE, name, "receipt"), self.home.devices.by_name[name].config_key
        return topic, bytes(post.pack_receipt(1, 1, taken, key, topic))

    def answers(self) -> list[str]:
        return [device for device, _ in self.store.list_answers(wire.name_of(self.plan))]


@pytest.fixture
def desk(home: Any, tmp_path: Path) -> Iterator[Desk]:
    """Return a desk, cleared away afterwards."""
    desk = Desk(home, tmp_path / "heatveil.sqlite")
    yield desk
    desk.intake.stop()
    desk.store.close()


def watched(desk: Desk, monkeypatch: pytest.MonkeyPatch, before: Callable[[Any], None]) -> None:
    """Let `before` see every batch, then keep it and write that down."""
    keep = desk.store.keep_batch

    def seen(kept: Any, *rest: Any) -> None:
        before(kept)
        keep(kept, *rest)
        desk.diary.entries.append(("commit", len(kept)))

    monkeypatch.setattr(desk.store, "keep_batch", seen)


def test_a_message_is_receipted_after_its_commit_and_let_go_after_that(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In any other order a kill between two steps would lose a reading."""
    watched(desk, monkeypatch, lambda _: None)
    desk.open()
    desk.bring("node-0", desk.home.answer("node-0", desk.plan))
    desk.diary.wait("ack", 1)

    assert desk.diary.entries == [
        ("commit", 1),
        ("receipt", desk.receipt("node-0", taken=True)),
        ("ack", 1),
    ]


def test_all_who_answered_are_told_before_the_round_is_closed(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The release follows at once, and whoever reads the log would miss the last of them."""
    receipted = threading.Event()

    def settle(*_: Any) -> None:  # a broker that is slow, for whose receipts no round waits
        if desk.intake.wait_complete(0):
            receipted.wait(30)

    monkeypatch.setattr(desk.diary, "acknowledge_batch", settle)
    desk.open()
    for name in desk.home.nodes:
        desk.bring(name, desk.home.answer(name, desk.plan))
    complete = desk.intake.wait_complete(30)
    desk.intake.close_round()
    came = list(desk.came)
    receipted.set()

    assert complete
    assert came[-1:] == [len(desk.home.nodes)]


def test_poison_among_good_messages_stops_none_of_them(desk: Desk) -> None:
    """Forged, foreign and random bytes are refused with a reason, and are let go of too."""
    desk.open()
    good = {name: desk.home.answer(name, desk.plan) for name in desk.home.nodes}
    for packet, (name, frame) in enumerate(good.items()):
        desk.bring(name, frame[:-1] + bytes([frame[-1] ^ 1]), packet)
        desk.bring("stranger", b"\xff" * 300, 10 + packet)
        desk.bring(name, b"", 20 + packet)
        desk.bring(name, frame, 30 + packet)
    desk.diary.wait("ack", 16)

    assert desk.answers() == sorted(good)
    assert len(desk.store.list_refused()) == 12
    assert all(letter.why for letter in desk.store.list_refused())
    assert desk.intake.wait_complete(0)


@pytest.mark.parametrize(
    "fault",
    [
        OperationalError("INSERT", {}, sqlite3.OperationalError("database is locked")),
        DatabaseError("INSERT", {}, sqlite3.DatabaseError("disk image is malformed")),
    ],
)
def test_a_store_that_will_not_is_tried_again_until_it_takes_the_batch(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    """A backup holds the file, the disk is full or broken: it is no message's fault."""
    monkeypatch.setattr(places, "AGAIN_S", 0.02)
    tries = []
    left = [3]

    def failing(kept: Any) -> None:
        tries.append(len(kept))
        if left[0]:
            left[0] -= 1
            raise fault

    watched(desk, monkeypatch, failing)
    desk.open()
    desk.bring("node-1", desk.home.answer("node-1", desk.plan))
    desk.diary.wait("ack", 1)

    assert tries == [1, 1, 1, 1]
    assert desk.answers() == ["node-1"]
    assert desk.store.list_refused() == []


def test_nobody_waits_for_a_locked_store_but_its_batch(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Meanwhile a round must close, and a gateway must stop, without waiting for the disk."""
    monkeypatch.setattr(places, "AGAIN_S", 600.0)
    tried = threading.Event()

    def locked(kept: Any) -> None:
        tried.set()
        raise OperationalError("INSERT", {}, sqlite3.OperationalError("database is locked"))

    watched(desk, monkeypatch, locked)
    desk.open()
    desk.bring("node-1", desk.home.answer("node-1", desk.plan))
    assert tried.wait(30)
    closed: list[Any] = []
    closer = threading.Thread(target=lambda: closed.append(desk.intake.close_round()))
    closer.start()
    closer.join(PATIENCE_S)
    in_time = list(closed)
    began_s = time.monotonic()
    desk.intake.stop()
    closer.join()

    assert len(in_time) == 1
    assert not in_time[0].reports
    assert time.monotonic() - began_s < 300  # of the six hundred between two tries
    assert desk.diary.entries == []  # not acknowledged: the broker keeps it


def test_what_numbers_were_used_is_known_after_a_restart(desk: Desk) -> None:
    """Forgotten with the process, a device that was set back would be taken at its word."""
    desk.open()
    frame = desk.home.fresh("node-0", epoch=2).answer(
        desk.home.message(desk.plan), lambda _: [1000]
    )
    desk.bring("node-0", bytes(frame))
    desk.diary.wait("ack", 1)
    desk.intake.stop()
    desk.begin()
    plan = desk.home.round(2)
    back = desk.home.fresh("node-0", epoch=1).answer(desk.home.message(plan), lambda _: [1000])
    desk.plan = plan
    desk.open()
    desk.bring("node-0", bytes(back))
    desk.diary.wait("ack", 2)
    desk.intake.stop()  # what comes after the acknowledgement has been done by then

    assert desk.answers() == []
    assert [(alarm.device, "set back" in alarm.why) for alarm in desk.alarms] == [("node-0", True)]


@pytest.mark.long
def test_one_message_that_cannot_be_stored_does_not_take_the_others_with_it(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the database objects to, it is one message's fault; the others count."""

    def poisoned(kept: Any) -> None:
        if any(report.device == "node-2" for report in kept):
            raise OverflowError("Python int too large to convert to SQLite INTEGER")

    watched(desk, monkeypatch, poisoned)
    for packet, name in enumerate(desk.home.nodes):
        desk.bring(name, desk.home.answer(name, desk.plan), packet)
    desk.open()
    desk.diary.wait("ack", 4)

    assert desk.answers() == ["node-0", "node-1", "node-3"]
    assert [letter.why for letter in desk.store.list_refused()] == [
        "it could not be stored: OverflowError"
    ]


def test_what_comes_before_the_round_is_found_waits_for_it(desk: Desk) -> None:
    """After a restart the broker is faster than we are: its answers must not be refused."""
    desk.bring("node-0", desk.home.answer("node-0", desk.plan))
    time.sleep(0.1)
    assert desk.diary.entries == []

    desk.open()
    desk.diary.wait("ack", 1)

    assert desk.answers() == ["node-0"]


def test_stopping_commits_what_has_come(desk: Desk) -> None:
    """A polite end loses no time at the next start."""
    desk.open()
    for packet, name in enumerate(desk.home.nodes):
        desk.bring(name, desk.home.answer(name, desk.plan), packet)

    desk.intake.stop()

    assert len(desk.answers()) == 4


def test_a_closed_round_holds_exactly_what_is_in_the_store(desk: Desk) -> None:
    """What comes while it closes is either in both or late in both."""
    desk.open()
    names = list(desk.home.nodes)
    frames = {name: desk.home.answer(name, desk.plan) for name in names}
    feeder = threading.Thread(target=lambda: [desk.bring(n, frames[n]) for n in names])
    feeder.start()
    closed = desk.intake.close_round()
    feeder.join()
    desk.diary.wait("ack", 4)

    assert sorted(closed.reports) == desk.answers()
    assert len(desk.answers()) + len(desk.store.list_refused()) == 4


@pytest.mark.long
def test_a_store_that_refuses_even_the_dead_letter_does_not_end_the_writer(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its thread would be gone, and the gateway would look alive and take nothing any more."""
    keep, left = desk.store.keep_batch, [3]

    def broken(*rows: Any) -> None:
        if left[0]:
            left[0] -= 1
            raise IntegrityError("INSERT", {}, sqlite3.IntegrityError("constraint failed"))
        keep(*rows)

    monkeypatch.setattr(desk.store, "keep_batch", broken)
    desk.open()
    desk.bring("node-0", desk.home.answer("node-0", desk.plan), 1)
    assert eventually(lambda: not left[0])
    desk.bring("node-1", desk.home.answer("node-1", desk.plan), 2)
    desk.diary.wait("ack", 1)

    assert desk.answers() == ["node-1"]
    assert [what for kind, what in desk.diary.entries if kind == "ack"] == [2]


# What the writer says of itself: what was refused is seen, and a store that balks.


def value(metrics: Metrics, name: str, **labels: str) -> float:
    """Return what a scrape reads."""
    for family in metrics.registry.collect():
        for sample in family.samples:
            if sample.name == name and labels.items() <= sample.labels.items():
                return float(sample.value)
    raise AssertionError(name)


def test_a_verdict_is_counted_once_and_by_kind() -> None:
    """Refused with a row and only counted are one number: what was refused."""
    metrics = Metrics()
    verdict = Verdict(None, missing=4)
    verdict.kept = [CountedReport("a", 1, n, b"name", b"") for n in range(3)]
    verdict.letters = [DeadLetter("t", "why", b"", kind) for kind in ("late", "late", "future")]
    verdict.receipts, verdict.again = [Receipt("a", 1, 1, True)] * 5, [Receipt("a", 1, 1, True)]
    verdict.alarms = [Alarm("a", b"key!", "why")]

    IntakeCounts(metrics, None).count_stored(verdict, Counter({"flood": 7, "late": 1}), 0.01)

    assert value(metrics, "heatveil_reports_total") == 3
    kinds = ("late", "future", "flood", "forged")
    assert [value(metrics, "heatveil_refused_total", kind=one) for one in kinds] == [3, 1, 7, 0]
    assert value(metrics, "heatveil_missing_total") == 4
    assert value(metrics, "heatveil_duplicates_total") == 1
    assert value(metrics, "heatveil_receipts_total") == 6
    assert value(metrics, "heatveil_alarms_total") == 1


LOCKED = "database is locked\nDETAIL: Key (device)=(north) is held by another transaction."


def test_a_store_that_balks_is_told_and_one_that_takes_again_too() -> None:
    """/readyz says why readings do not arrive, and stops saying so when they do.

    But not of whom: PostgreSQL's DETAIL quotes rows, and viewers read this.
    """
    metrics, health = Metrics(), Health("store")
    faults = [OperationalError("INSERT", {}, Exception(LOCKED))] * 2

    def keep() -> str:
        if faults:
            raise faults.pop()
        return "kept"

    watched = IntakeCounts(metrics, health).watch_store(keep)
    for _ in range(2):
        with pytest.raises(OperationalError):
            watched()
        part = health.list_parts()["store"]
        assert not part.ok
        assert "database is locked" in part.why
        assert "north" not in part.why
    assert watched() == "kept"

    assert health.list_parts()["store"].ok
    assert value(metrics, "heatveil_store_retries_total") == 2


# The inbox: nothing waits for ever, nothing is given out that must not be, order is kept.

PATIENCE_S = 60.0


def arrived(number: int) -> Any:
    return None, Message("t", b"%d" % number, (1, number))


def numbers(batch: Any) -> list[int]:
    return [message.token[1] for _, message in batch]


def filled(count: int) -> Inbox:
    inbox = Inbox()
    for number in range(count):
        inbox.put(arrived(number))
    return inbox


def test_whoever_sleeps_is_woken_however_the_two_threads_meet() -> None:
    """A wake-up that is lost would leave a reading until the next one comes."""
    inbox, count, got = Inbox(), 3000, list[int]()

    def take() -> None:
        while len(got) < count:
            got.extend(numbers(inbox.take_batch()[0]))

    taker = threading.Thread(target=take, daemon=True)
    taker.start()
    for number in range(count):
        inbox.put(arrived(number))
        if number % 100 == 0:
            time.sleep(writer.QUIET_S)  # so that it falls asleep between two of them
    taker.join(PATIENCE_S)

    assert got == list(range(count))


def test_nothing_is_given_out_while_held() -> None:
    """Another gateway may have the store: what comes stays the broker's."""
    inbox, got = filled(3), list[int]()
    inbox.set_held(True)
    taker = threading.Thread(
        target=lambda: got.extend(numbers(inbox.take_batch()[0])), daemon=True
    )
    taker.start()
    time.sleep(0.2)
    assert got == []
    inbox.set_held(False)
    taker.join(PATIENCE_S)

    assert got == [0, 1, 2]


def test_the_end_gives_out_what_came_before_it_and_nothing_behind() -> None:
    """What is committed after the goodbye could not be acknowledged."""
    inbox = filled(BATCH + 2)
    inbox.end_after_waiting()
    inbox.put(arrived(99))

    first, second = inbox.take_batch(), inbox.take_batch()

    assert (len(first[0]), first[1]) == (BATCH, False)
    assert (numbers(second[0]), second[1]) == ([BATCH, BATCH + 1], True)


def test_a_mountain_is_left_to_the_broker_at_the_end(monkeypatch: Any) -> None:
    """SIGTERM is obeyed within two seconds, whatever waits."""
    monkeypatch.setattr(writer, "END_S", 0.0)
    inbox = filled(10 * BATCH)
    inbox.end_after_waiting()

    assert inbox.take_batch() == ([], True)


def test_who_is_held_with_a_batch_in_hand_gives_it_to_nobody_at_the_end() -> None:
    """There is no room to write it; the broker keeps it for the next start."""
    inbox, found = filled(BATCH), list[Any]()
    inbox.set_held(True)
    taker = threading.Thread(target=lambda: found.append(inbox.take_batch()), daemon=True)
    taker.start()
    assert eventually(lambda: not inbox.waiting, PATIENCE_S)
    inbox.end_after_waiting()
    taker.join(PATIENCE_S)

    assert found == [([], True)]
