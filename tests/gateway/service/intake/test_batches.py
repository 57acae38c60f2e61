"""The inbox: nothing waits for ever, nothing is given out that must not be, order is kept."""

import threading
import time
from typing import Any

from gateway.service.intake import writer
from gateway.service.intake.writer import BATCH, Inbox
from gateway.service.mqtt.connection import Message

PATIENCE_S = 10.0


def arrived(number: int) -> Any:
    return None, Message("t", b"%d" % number, (1, number))


def numbers(batch: Any) -> list[int]:
    return [message.token[1] for _, message in batch]


def filled(count: int) -> Inbox:
    inbox = Inbox()
    for number in range(count):
        inbox.put(arrived(number))
    return inbox


def test_batches_are_bounded_and_in_order() -> None:
    """One commit for 500; more at once would hold up who comes after."""
    inbox = filled(2 * BATCH + 3)

    found = [inbox.batch() for _ in range(3)]

    assert [len(batch) for batch, _ in found] == [BATCH, BATCH, 3]
    assert [one for batch, _ in found for one in numbers(batch)] == list(range(2 * BATCH + 3))
    assert not any(last for _, last in found)
    assert inbox.waiting == 0


def test_whoever_sleeps_is_woken_however_the_two_threads_meet() -> None:
    """A wake-up that is lost would leave a reading until the next one comes."""
    inbox, count, got = Inbox(), 3000, list[int]()

    def take() -> None:
        while len(got) < count:
            got.extend(numbers(inbox.batch()[0]))

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
    inbox.hold(True)
    taker = threading.Thread(target=lambda: got.extend(numbers(inbox.batch()[0])), daemon=True)
    taker.start()
    time.sleep(0.2)
    assert got == []
    inbox.hold(False)
    taker.join(PATIENCE_S)

    assert got == [0, 1, 2]


def test_the_end_gives_out_what_came_before_it_and_nothing_behind() -> None:
    """What is committed after the goodbye could not be acknowledged."""
    inbox = filled(BATCH + 2)
    inbox.end()
    inbox.put(arrived(99))

    first, second = inbox.batch(), inbox.batch()

    assert (len(first[0]), first[1]) == (BATCH, False)
    assert (numbers(second[0]), second[1]) == ([BATCH, BATCH + 1], True)


def test_a_mountain_is_left_to_the_broker_at_the_end(monkeypatch: Any) -> None:
    """SIGTERM is obeyed within two seconds, whatever waits."""
    monkeypatch.setattr(writer, "END_S", 0.0)
    inbox = filled(10 * BATCH)
    inbox.end()

    assert inbox.batch() == ([], True)


def test_who_is_held_with_a_batch_in_hand_gives_it_to_nobody_at_the_end() -> None:
    """There is no room to write it; the broker keeps it for the next start."""
    inbox, found = filled(BATCH), list[Any]()
    inbox.hold(True)
    taker = threading.Thread(target=lambda: found.append(inbox.batch()), daemon=True)
    taker.start()
    until_s = time.monotonic() + PATIENCE_S
    while inbox.waiting and time.monotonic() < until_s:
        time.sleep(0.001)
    inbox.end()
    taker.join(PATIENCE_S)

    assert found == [([], True)]
