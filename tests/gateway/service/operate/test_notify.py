"""systemd hears what its protocol says, and a gateway without systemd is none the worse."""

import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gateway.service.operate.systemd import PATIENCE_S, Notifier


@contextmanager
def manager(address: str) -> Iterator[socket.socket]:
    """Listen as systemd does, on a path or on an abstract name."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(address.replace("@", "\0", 1))
        listener.settimeout(2)
        yield listener


@pytest.fixture(params=["path", "abstract"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return NOTIFY_SOCKET of both kinds."""
    return str(tmp_path / "notify") if request.param == "path" else f"@heatveil-{os.getpid()}"


def test_the_manager_hears_every_state(address: str) -> None:
    """The words are the protocol's: a typing error leaves a service "activating" for ever."""
    with manager(address) as listener:
        notify = Notifier({"NOTIFY_SOCKET": address})
        told = [
            notify.ready(),
            notify.stopping(),
            notify.status("one\nREADY=0"),
            notify.watchdog(),
        ]
        heard = [listener.recv(1000) for _ in told]

    assert told == [True] * 4
    assert heard == [b"READY=1", b"STOPPING=1", b"STATUS=one READY=0", b"WATCHDOG=1"]


def test_a_reload_carries_the_time_of_the_clock_that_only_goes_forward(address: str) -> None:
    """Without MONOTONIC_USEC a Type=notify-reload service fails to reload (systemd.service(5))."""
    with manager(address) as listener:
        before_us = time.monotonic_ns() // 1000
        Notifier({"NOTIFY_SOCKET": address}).reloading()
        said = dict(line.split("=") for line in listener.recv(1000).decode().splitlines())

    assert list(said) == ["RELOADING", "MONOTONIC_USEC"]
    assert said["RELOADING"] == "1"
    assert before_us <= int(said["MONOTONIC_USEC"]) <= time.monotonic_ns() // 1000


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ({"WATCHDOG_USEC": "30000000"}, 15.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": str(os.getpid())}, 15.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "1"}, None),  # of another process
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
        ({}, None),
    ],
)
def test_a_sign_of_life_is_given_twice_in_the_time_allowed(
    words: dict[str, str], expected: float | None
) -> None:
    """sd_watchdog_enabled(3) recommends half of the time, and to heed whose it is."""
    assert Notifier({"NOTIFY_SOCKET": "/run/x", **words}).watchdog_s == expected
    assert Notifier(words).watchdog_s is None  # nobody would hear it


@pytest.mark.parametrize("given", ["", "@", "/", "vsock:2:1234", "relative", "/nobody/here"])
def test_without_a_manager_nothing_is_said_and_nothing_fails(given: str) -> None:
    """On a terminal, in Docker, under another supervisor."""
    notify = Notifier({"NOTIFY_SOCKET": given})

    assert not any([notify.ready(), notify.reloading(), notify.stopping(), notify.watchdog()])
    assert notify.status("well") is False


def test_a_manager_that_does_not_read_holds_nobody_up(address: str) -> None:
    """A full queue would otherwise stop the thread that says we are alive, and so kill us."""
    with manager(address):
        notify, told = Notifier({"NOTIFY_SOCKET": address}), True
        begun_s = time.monotonic()
        while told:  # the kernel holds some ten or some hundreds
            begun_s, told = time.monotonic(), notify.watchdog()

    assert time.monotonic() - begun_s < 2 * PATIENCE_S + 1
