"""One thread for all: no client's trouble is another's, and none comes back in step."""

import itertools
import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest
import structlog.testing

from gateway.service.mqtt import pump as module
from gateway.service.mqtt.pump import FIRST_WAIT_S, LONGEST_WAIT_S, Pump, Rider


class Client:
    """A client whose broker is away, or that fails at whatever it does."""

    def __init__(self, fault: Exception | None = None) -> None:
        self.fault, self.attempts_s = fault, list[float]()
        self.looked = 0

    def socket(self) -> socket.socket | None:
        return None

    def reconnect(self) -> None:
        self.attempts_s.append(time.monotonic())
        raise self.fault or ConnectionRefusedError("nobody there")

    def loop_misc(self) -> None:
        self.looked += 1

    loop_read = loop_write = loop_misc

    def want_write(self) -> bool:
        return False


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[Pump]:
    """Return a pump that looks after its riders often."""
    monkeypatch.setattr(module, "TICK_S", 0.005)
    with Pump() as pump:
        yield pump


def until(done: Any, patience_s: float = 10.0) -> None:
    end_s = time.monotonic() + patience_s
    while not done():
        assert time.monotonic() < end_s
        time.sleep(0.01)


def test_devices_that_lost_a_broker_together_do_not_come_back_together(quick: Pump) -> None:
    """A thousand in one moment throw it over again; each waits half to one and a half as long."""
    fleet = [Client() for _ in range(60)]
    for client in fleet:
        quick.add(Rider(client, lambda _: None))
    until(lambda: all(len(client.attempts_s) >= 2 for client in fleet))
    waits_s = [client.attempts_s[1] - client.attempts_s[0] for client in fleet]

    assert min(waits_s) >= 0.5 * FIRST_WAIT_S
    assert max(waits_s) - min(waits_s) > 0.4 * FIRST_WAIT_S


def test_who_finds_nobody_asks_less_and_less_often_up_to_a_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On a clock of its own: each wait is twice the one before, times 0.5 to 1.5, to 5 s."""
    client, now_s = Client(), [1000.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now_s[0])
    rider, pump, at_s = Rider(client, lambda _: None), object.__new__(Pump), list[float]()
    while len(at_s) < 12:
        pump._connect(rider)
        if len(client.attempts_s) > len(at_s):
            at_s.append(now_s[0])
        now_s[0] += 0.01
    waits_s = [two - one for one, two in itertools.pairwise(at_s)]
    plain_s = [min(FIRST_WAIT_S * 2**n, LONGEST_WAIT_S) for n in range(len(waits_s))]

    for found_s, right_s in zip(waits_s, plain_s, strict=True):
        assert 0.5 * right_s - 0.02 <= found_s <= 1.5 * right_s + 0.02
    rider.settled()
    assert rider.wait_s == FIRST_WAIT_S


def test_a_client_that_raises_does_not_stop_the_others(quick: Pump) -> None:
    """It is said, and the thread goes on."""
    broken, sound = Client(RuntimeError("a client gone mad")), Client()
    with structlog.testing.capture_logs() as logged:
        quick.add(Rider(broken, lambda _: None))
        quick.add(Rider(sound, lambda _: None))
        until(lambda: len(sound.attempts_s) >= 2 and broken.attempts_s)

    assert "a client on the pump failed" in [entry["event"] for entry in logged]
    assert quick.moving


def test_who_may_not_connect_does_not(quick: Pump) -> None:
    """A standby must not take the name of the gateway that works."""
    may, client = [False], Client()
    quick.add(Rider(client, lambda _: None, lambda: may[0]))
    until(lambda: client.looked > 3)
    assert client.attempts_s == []
    may[0] = True

    until(lambda: client.attempts_s)
