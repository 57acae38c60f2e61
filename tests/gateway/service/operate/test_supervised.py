"""A service manager learns when we are ready, how we are, and when we are dead but for a shell."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from gateway.devices.broker.embedded import find_free_port
from gateway.service.operate.supervision import PATIENCE_S, Supervised, notify, watchdog_of
from tests import processes, sites


class Told(Supervised):
    """Remembers what is told instead of telling it."""

    def __init__(self, watchdog_s: float | None = None) -> None:
        super().__init__({})
        self._watchdog_s, self.said = watchdog_s, list[str]()
        self._say = self._remember  # type: ignore[assignment]

    def _remember(self, *fields: str) -> bool:
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


def test_a_gateway_that_stands_still_is_not_said_to_live() -> None:
    """A thread that hangs is as bad as one that died: the manager starts us anew."""
    notify, moves = Told(watchdog_s=0.01), [True]
    notify.moving = lambda: moves[0]
    with notify:
        until_s = time.monotonic() + 60
        while "WATCHDOG=1" not in notify.said and time.monotonic() < until_s:
            time.sleep(0.01)
        assert "WATCHDOG=1" in notify.said
        moves[0] = False
        time.sleep(0.1)
        before = len(notify.said)
        time.sleep(0.2)
        assert len(notify.said) == before


def test_a_reload_ends_with_ready_and_only_where_it_was() -> None:
    """`systemctl reload` waits for the second."""
    supervised = told = Told()
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
    with told:
        told.hear(health(True))
        time.sleep(0.2)
        alive = told.said.count("WATCHDOG=1")
        end.set()
        time.sleep(0.1)
        told.said.clear()
        time.sleep(0.2)
        dead = told.said.count("WATCHDOG=1")

    assert alive >= 3
    assert dead == 0


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
        with Supervised({"NOTIFY_SOCKET": address}) as supervised:
            supervised.hear(health(False, "one\nREADY=0"))
            supervised.hear(health(True))  # not before the broker has us, and once
            supervised.hear(health(True))
        heard = [listener.recv(1000) for _ in range(5)]

    status = b"STATUS=broker: one READY=0", b"STATUS=all parts work"
    assert heard == [status[0], status[1], b"READY=1", status[1], b"STOPPING=1"]


def test_a_reload_carries_the_time_of_the_clock_that_only_goes_forward(address: str) -> None:
    """Without MONOTONIC_USEC a Type=notify-reload service fails to reload (systemd.service(5))."""
    with manager(address) as listener:
        before_us = time.monotonic_ns() // 1000
        Supervised({"NOTIFY_SOCKET": address}).reloading()
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
    assert watchdog_of({"NOTIFY_SOCKET": "/run/x", **words}) == expected
    assert watchdog_of(words) is None  # nobody would hear it


@pytest.mark.parametrize("given", ["", "@", "/", "vsock:2:1234", "relative", "/nobody/here"])
def test_without_a_manager_nothing_is_said_and_nothing_fails(given: str) -> None:
    """On a terminal, in Docker, under another supervisor."""
    assert notify(given, "READY=1") is False


def test_a_manager_that_does_not_read_holds_nobody_up(address: str) -> None:
    """A full queue would otherwise stop the thread that says we are alive, and so kill us."""
    with manager(address):
        told = True
        begun_s = time.monotonic()
        while told:  # the kernel holds some ten or some hundreds
            begun_s, told = time.monotonic(), notify(address, "WATCHDOG=1")

    assert time.monotonic() - begun_s < 2 * PATIENCE_S + 1


@pytest.mark.long
def test_the_service_tells_systemd_the_truth(
    tmp_path: Path,
    heatveil: Callable[..., Any],
    need: Callable[[str], str],
    answers: Callable[[int], None],
) -> None:
    """`heatveil serve` as a Type=notify unit: started before its broker, alive, stopped."""
    port, site = find_free_port(), tmp_path / "site.toml"
    site.write_text(sites.small("managed", port, find_free_port()))
    assert heatveil("enrol", "--config", site).status == 0
    (tmp_path / "m.conf").write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\n")
    said: list[str] = []
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager, ExitStack() as stack:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(20)

        def hear(until: str) -> None:
            while not said or not said[-1].startswith(until):
                said.append(manager.recv(4096).decode())

        environment = os.environ | {
            "NOTIFY_SOCKET": str(tmp_path / "notify"),
            "WATCHDOG_USEC": "400000",
        }
        serve = processes.Child(
            [Path(sys.executable).with_name("heatveil"), "serve", "--config", site],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        stack.callback(serve.communicate)
        stack.callback(serve.kill)
        hear("STATUS=broker")
        assert "READY=1" not in said
        broker = processes.Child(
            [need("mosquitto"), "-c", tmp_path / "m.conf"], stderr=subprocess.DEVNULL
        )
        stack.callback(broker.wait)
        stack.callback(broker.terminate)
        answers(port)
        hear("READY=1")
        hear("WATCHDOG=1")
        hear("WATCHDOG=1")
        serve.send_signal(signal.SIGTERM)
        hear("STOPPING=1")
        assert serve.wait(30) == 0

    assert said.count("READY=1") == said.count("STOPPING=1") == 1
