"""Who works when: frames at their ticks, and no noise drawn while one of them waits."""

import threading
import time
from typing import Any

import pytest

from gateway.devices.fleet import crew
from gateway.devices.fleet.crew import Crew
from tests.waiting import eventually


class Device:
    """Takes rounds, whose frames go out some time later; notes who is looked at, and when."""

    def __init__(self, name: str, log: list[tuple[str, str]]) -> None:
        self.name, self.log = name, log
        self.due_ms: int | None = None
        self.waits = False
        self.held = threading.Event()
        self.held.set()
        self.inside = self.most = 0

    def hear(self, leaf: str, payload: bytes, now_ms: int) -> None:
        self.inside += 1
        self.most = max(self.most, self.inside)
        self.held.wait(5)
        self.inside -= 1
        if leaf == "round":
            self.waits, self.due_ms = True, now_ms + int(payload)
        self.log.append((self.name, leaf))

    def look(self, now_ms: int) -> None:
        if not self.waits:
            self.log.append((self.name, "draws"))
        elif self.due_ms is not None and now_ms >= self.due_ms:
            self.waits, self.due_ms = False, None
            self.log.append((self.name, "sends"))

    def resend(self) -> None:
        """Nothing is ever lost here."""


@pytest.fixture
def log() -> list[tuple[str, str]]:
    """Return what was done, in order."""
    return []


def test_no_noise_is_drawn_while_a_frame_waits(log: list[tuple[str, str]]) -> None:
    """A receipt for one device must not make it draw in the moment of the other's frame."""
    devices: dict[str, Any] = {}
    work = Crew(devices, 60)
    devices.update({name: Device(name, log) for name in "ab"})
    work.start()
    ready = eventually(lambda: len(log) == 2)
    work.hear("a", "round", b"150")
    work.hear("b", "receipt", b"")
    over = eventually(lambda: log.count(("b", "draws")) == 2)
    work.stop()
    sent = log.index(("a", "sends"))

    assert ready
    assert over
    assert log.index(("b", "receipt")) < sent
    assert [what for _, what in log[2:sent]].count("draws") == 0
    assert ("a", "draws") in log[sent:]


def test_a_frame_whose_device_is_busy_is_waited_for_without_haste(
    log: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It goes out when the device is done; until then the thread sleeps."""
    devices: dict[str, Any] = {name: Device(name, log) for name in "ab"}
    work, asked, now_ms = Crew(devices, 60), [0], crew._now_ms

    def counted() -> int:
        asked[0] += 1
        return now_ms()

    monkeypatch.setattr(crew, "_now_ms", counted)
    work.start()
    work.hear("a", "round", b"50")
    heard = eventually(lambda: ("a", "round") in log)
    devices["a"].held.clear()
    work.hear("a", "receipt", b"")
    time.sleep(0.2)
    work.hear("b", "receipt", b"")  # the thread wakes, and a's frame is overdue
    eventually(lambda: ("b", "receipt") in log)
    time.sleep(0.05)
    early = list(log)
    devices["a"].held.set()
    sent = eventually(lambda: ("a", "sends") in log)
    work.stop()

    assert heard
    assert ("a", "sends") not in early
    assert sent
    assert asked[0] < 100


def test_a_device_hears_one_message_after_the_other(log: list[tuple[str, str]]) -> None:
    """Two at once would pay for two answers and draw one noise; the others need not wait."""
    devices: dict[str, Any] = {name: Device(name, log) for name in "ab"}
    work = Crew(devices, 60)
    work.start()
    devices["a"].held.clear()
    for number in range(5):
        work.hear("a", f"message {number}", b"")
    work.hear("b", "receipt", b"")
    other = eventually(lambda: ("b", "receipt") in log)
    devices["a"].held.set()
    over = eventually(lambda: ("a", "message 4") in log)
    work.stop()

    assert other
    assert over
    assert devices["a"].most == 1
    assert [leaf for name, leaf in log if name == "a" and leaf != "draws"] == [
        f"message {number}" for number in range(5)
    ]
