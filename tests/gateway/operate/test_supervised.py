"""A service manager learns when we are ready, how we are, and when we are dead but for a shell."""

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from gateway.operate.notify import Notifier
from gateway.operate.supervised import Supervised


class Told(Notifier):
    """Remembers what is told instead of telling it."""

    def __init__(self, watchdog_s: float | None = None) -> None:
        super().__init__({})
        self.watchdog_s = watchdog_s
        self.said: list[str] = []

    def _say(self, *fields: str) -> bool:
        self.said.append(fields[0])
        return True


def health(broker: bool, why: str = "nobody answers") -> dict[str, Any]:
    """Return what the service tells."""
    parts = {
        "store": {"ok": True, "why": ""},
        "broker": {"ok": broker, "why": "" if broker else why},
    }
    return {"kind": "health", "ready": broker, "parts": parts}


@pytest.fixture
def vital() -> Iterator[Any]:
    """Return the starter of a thread that a gateway cannot do without."""
    over = threading.Event()
    threads = []

    def start() -> threading.Event:
        own = threading.Event()
        threads.append(threading.Thread(target=own.wait, name="intake", daemon=True))
        threads[-1].start()
        return own

    yield start
    over.set()


def test_ready_is_told_once_and_not_before_the_broker_has_us() -> None:
    """Zigbee2MQTT shows as active while it is connected to nothing; its users asked why."""
    told = Told()
    supervised = Supervised(told)
    for event in (health(False), {"kind": "round"}, health(True), health(False), health(True)):
        supervised.hear(event)

    assert told.said.count("READY=1") == 1
    assert told.said[0] == "STATUS=broker: nobody answers"
    assert told.said.index("READY=1") == 2


def test_a_reload_ends_with_ready_and_only_where_it_was() -> None:
    """`systemctl reload` waits for the second."""
    told = Told()
    supervised = Supervised(told)
    supervised.reloading()
    supervised.reloaded()
    assert told.said == ["RELOADING=1"]
    supervised.hear(health(True))
    supervised.reloading()
    supervised.reloaded()

    assert told.said[-2:] == ["RELOADING=1", "READY=1"]


def test_signs_of_life_come_until_a_vital_thread_dies(vital: Any) -> None:
    """A gateway whose writer has died looks well from outside, and takes nothing more."""
    told, end = Told(0.02), vital()
    with Supervised(told) as supervised:
        supervised.hear(health(True))
        time.sleep(0.2)
        alive = told.said.count("WATCHDOG=1")
        end.set()
        time.sleep(0.1)
        told.said.clear()
        time.sleep(0.2)
        dead = told.said.count("WATCHDOG=1")

    assert alive >= 3
    assert dead == 0


def test_the_end_is_told_once_and_ends_the_thread() -> None:
    """Then the manager gives us the time that we were promised."""
    told = Told(10)
    with Supervised(told):
        pass

    assert told.said == ["STOPPING=1"]
    assert "watchdog" not in [one.name for one in threading.enumerate()]


def test_without_a_manager_nothing_is_started() -> None:
    """On a terminal there is nobody to tell."""
    with Supervised(Notifier({})) as supervised:
        supervised.hear(health(True))
        names = [one.name for one in threading.enumerate()]

    assert "watchdog" not in names
