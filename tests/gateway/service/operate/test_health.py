"""Chores, vitals and metrics: what a gateway says of itself, and to whom."""

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
from urllib.request import urlopen

import pytest
import structlog.testing
from prometheus_client.parser import text_string_to_metric_families

from gateway.service.intake.outcomes import KINDS
from gateway.service.operate import supervision
from gateway.service.operate.health import (
    PARTS,
    WORK_OF,
    Chore,
    Chores,
    Health,
    Vitals,
    make_health_event,
)
from gateway.service.operate.metrics import EventCounter, Metrics
from gateway.service.operate.supervision import Supervised, find_watchdog_s, notify_service_manager
from gateway.web.server import Page
from tests import processes, sites
from tests.processes import find_free_port
from tests.waiting import eventually

# Chores are done at their own pace, one failing stops no other, and none outlives its gateway.


def test_one_that_fails_is_told_of_and_tried_again_beside_the_others() -> None:
    """Forgetting old readings must not stop the taking of new ones; and it is never silent."""
    tries, others, enough = [], [], threading.Event()

    def failing() -> None:
        tries.append(1)
        raise RuntimeError("a path that holds a secret")

    def other() -> None:
        others.append(1)
        if len(others) == 3:
            enough.set()

    both = Chore(0.02, failing), Chore(0.02, other)
    with structlog.testing.capture_logs() as logs, Chores(*both) as chores:
        assert enough.wait(60)
        assert chores._thread.is_alive()

    assert len(tries) >= 2
    assert "housekeeping" in logs[0]["event"]
    assert (logs[0]["chore"], logs[0]["why"]) == ("failing", "RuntimeError")
    assert "secret" not in str(logs)


def test_each_is_done_at_once_and_then_at_its_own_pace() -> None:
    """A quick one is not slowed by a slow one, nor the slow one done too often."""
    quick, slow, enough, began_s = list[float](), list[int](), threading.Event(), time.monotonic()

    def often() -> None:
        quick.append(time.monotonic())
        if len(quick) == 4:
            enough.set()

    with Chores(Chore(0.05, often), Chore(3600, lambda: slow.append(1))):
        assert enough.wait(60)

    assert slow == [1]
    assert all(at_s - began_s >= 0.05 * times for times, at_s in enumerate(quick))


def test_the_end_waits_for_the_chore_under_way_and_begins_no_other() -> None:
    """A store is closed after this: nobody may still be writing to it."""
    begun, done = threading.Event(), []

    def long() -> None:
        begun.set()
        time.sleep(0.2)
        done.append("long")

    chores = Chores(Chore(3600, long), Chore(3600, lambda: done.append("next")))
    with chores:
        assert begun.wait(60)

    assert done == ["long"]
    assert not chores._thread.is_alive()


# A part whose thread has died is said not to work, and what changes is told once.


@pytest.fixture
def told() -> list[dict[str, Any]]:
    """Return what is told."""
    return []


@pytest.fixture
def vitals(told: list[dict[str, Any]]) -> Vitals:
    """Return the vitals of a service all of whose parts work."""
    vitals = Vitals(Health(*PARTS), told.append)
    for part in PARTS:
        vitals.set_part(part, True)
    return vitals


def test_health_tells_what_is_news() -> None:
    """Said twice it is no news; another reason is."""
    health = Health("store", "broker")
    begun = make_health_event(health)["ready"], health.list_parts()["store"].why
    said = [("store", True, ""), ("store", True, ""), ("broker", False, "a")]
    said += [("broker", False, "b"), ("broker", False, "b")]

    assert begun == (False, "it has not started yet")
    assert [health.set_part(*one) for one in said] == [True, False, True, True, False]
    assert not make_health_event(health)["ready"]
    assert health.set_part("broker", True)
    assert make_health_event(health)["ready"]


@pytest.mark.parametrize("name", WORK_OF)
def test_a_thread_that_has_ended_is_a_part_that_does_not_work(
    vitals: Vitals, told: list[dict[str, Any]], name: str
) -> None:
    """Nobody is left to say so: nothing would be stored, and everything look well."""
    over = threading.Event()
    thread = threading.Thread(target=over.wait, name=name, daemon=True)
    thread.start()
    vitals.watch_threads()
    vitals.check_threads()
    assert make_health_event(vitals.health)["ready"]
    over.set()
    thread.join()
    before = len(told)
    vitals.check_threads()
    vitals.check_threads()

    assert not make_health_event(vitals.health)["ready"]
    part = vitals.health.list_parts()[WORK_OF[name]]
    assert (part.ok, f"its thread {name} has ended" in part.why) == (False, True)
    assert len(told) == before + 1
    assert told[-1]["ready"] is False


def test_less_room_than_is_kept_free_hinders_rounds_until_there_is_more(vitals: Vitals) -> None:
    """A round that opens then is paid for, and its answers are not taken."""
    assert vitals.set_free_bytes(64_000_000, 64)
    assert vitals.set_free_bytes(None, 64)  # where it cannot be known
    assert vitals.list_hindering_parts() == []
    assert not vitals.set_free_bytes(63_999_999, 64)
    assert "less than 64 MB" in vitals.health.list_parts()["disk"].why
    assert vitals.list_hindering_parts() == ["disk"]
    assert vitals.set_free_bytes(64_000_000, 64)
    assert vitals.list_hindering_parts() == []


# The series of a gateway: Prometheus can read them, and no device is among them.

DEVICE = "room-214-north"
# What others call: a series that is renamed empties a dashboard and silences an alert.
NAMES = {
    "alarms", "batch_seconds", "batches", "broker_connected", "broker_connections",
    "budget_epsilon", "budget_left_rho", "budget_spent_epsilon", "budget_spent_rho",
    "disk_free_bytes", "duplicates", "gather_seconds",
    "inbox_messages", "messages", "outbox_messages", "quarantined_devices", "ready", "receipts",
    "refused", "reports", "round_enrolled", "round_reports", "rounds", "rounds_left",
    "solve_seconds", "store_retries", "viewers",
}  # fmt: skip
EVENTS: list[dict[str, Any]] = [
    {"kind": "ready", "site": "lab", "enrolled": 4},
    {"kind": "health", "ready": True, "parts": {"broker": {"ok": True, "why": ""}}},
    {"kind": "round", "number": 1, "name": "00", "enrolled": 4, "gather_s": 30},
    {
        "kind": "reports",
        "number": 1,
        "came": 3,
        "enrolled": 4,
        "refused_since_start": 0,
        "late": 0,
    },
    {"kind": "release", "number": 1, "reports": 3, "values": [1, None, 2, 3]},
    {"kind": "map", "number": 1, "seconds": 0.7},
    {
        "kind": "budget",
        "left": 0.25,
        "spent": 0.75,
        "epsilon": 8.0,
        "epsilon_spent": 6.5,
        "rounds_left": 2,
    },
    {"kind": "health", "ready": False, "parts": {"broker": {"ok": False, "why": DEVICE}}},
    {"kind": "health", "ready": True, "parts": {"broker": {"ok": True, "why": ""}}},
    {"kind": "alarm", "alarms": [{"device": DEVICE, "why": DEVICE, "times": 1}]},
    {"kind": "quarantine", "devices": [{"device": DEVICE, "why": DEVICE, "since_s": 1.0}]},
]


def _read(text: str) -> dict[str, float]:
    """Return every sample by its name and labels, read as Prometheus reads it."""
    return {
        "".join([sample.name.removeprefix("heatveil_"), *sample.labels.values()]): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def _scraped(page: Page) -> tuple[str, str]:
    """Return the kind and the text of /metrics."""
    with urlopen(f"{page.url}metrics", timeout=30) as answer:
        return answer.headers["content-type"], answer.read().decode()


def test_events_are_counted() -> None:
    """A round of three of four, a broker that was lost once, a budget three quarters spent."""
    metrics, times = Metrics(), iter([100.0, 107.0])
    counted = EventCounter(metrics, lambda: next(times))
    for event in EVENTS:
        counted.take_event(event)
    found = _read(metrics.render_fresh().decode())

    assert (found["round_reports"], found["round_enrolled"]) == (3, 4)
    assert found["rounds_totalclosed"] == 1
    assert (found["gather_seconds_sum"], found["gather_seconds_count"]) == (7, 1)
    assert found["solve_seconds_sum"] == 0.7
    assert (found["budget_left_rho"], found["budget_spent_rho"], found["rounds_left"]) == (
        0.25,
        0.75,
        2,
    )
    assert (found["budget_epsilon"], found["budget_spent_epsilon"]) == (8.0, 6.5)
    assert (found["broker_connected"], found["broker_connections_total"]) == (1, 2)
    assert found["quarantined_devices"] == 1


def test_the_text_holds_all_series_and_no_device() -> None:
    """Over the wire, after everything that names a device was told."""
    health, metrics = Health("broker"), Metrics()
    with Page("127.0.0.1", 0, health=health, metrics=metrics) as page:
        for event in EVENTS:
            page.feed.put_event(event)
        waiting = _read(_scraped(page)[1])["ready"]
        health.set_part("broker", True)
        kind, text = _scraped(page)
    families = list(text_string_to_metric_families(text))

    assert kind.startswith("text/plain; version=1.0.0")
    assert DEVICE not in text
    assert {one.name.removeprefix("heatveil_") for one in families} >= NAMES
    labels = {key for one in families for sample in one.samples for key in sample.labels}
    assert labels <= {"kind", "outcome", "step", "le"}
    assert (waiting, _read(text)["ready"]) == (0, 1)


def test_every_label_begins_at_nought() -> None:
    """The first forged message of a year is a rise from nought to one, which an alert can see."""
    found = _read(Metrics().render_fresh().decode())

    assert {found[f"refused_total{kind}"] for kind in KINDS} == {0}
    assert (found["rounds_totalsilent"], found["rounds_totalclosed"]) == (0, 0)


# A service manager learns when we are ready, how we are, and when we are dead but for a shell.


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
    notify, still = Told(watchdog_s=0.01), list[int]()  # how much had been said at each look
    with notify:
        assert eventually(lambda: "WATCHDOG=1" in notify.said)
        notify.moving = lambda: still.append(len(notify.said)) is not None
        assert eventually(lambda: len(still) >= 5)

    assert len({*still}) == 1


def test_a_reload_ends_with_ready_and_only_where_it_was() -> None:
    """`systemctl reload` waits for the second."""
    supervised = told = Told()
    supervised.notify_reloading()
    supervised.notify_reloaded()
    assert told.said == ["RELOADING=1"]
    supervised.take_event(health(True))
    supervised.notify_reloading()
    supervised.notify_reloaded()

    assert told.said[-2:] == ["RELOADING=1", "READY=1"]


def test_signs_of_life_come_until_a_vital_thread_dies(vital: Any) -> None:
    """A gateway whose writer has died looks well from outside, and takes nothing more."""
    told, end = Told(0.02), vital()
    with structlog.testing.capture_logs() as logged, told:
        told.take_event(health(True))
        assert eventually(lambda: told.said.count("WATCHDOG=1") >= 3)
        end.set()
        assert eventually(lambda: logged)
        told.said.clear()
        assert eventually(lambda: len(logged) >= 5)

    assert "WATCHDOG=1" not in told.said


@contextmanager
def manager(address: str) -> Iterator[socket.socket]:
    """Listen as systemd does, on a path or on an abstract name."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(address.replace("@", "\0", 1))
        listener.settimeout(60)
        yield listener


@pytest.fixture(params=["path", "abstract"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return NOTIFY_SOCKET of both kinds."""
    return str(tmp_path / "notify") if request.param == "path" else f"@heatveil-{os.getpid()}"


def test_the_manager_hears_every_state(address: str) -> None:
    """The words are the protocol's: a typing error leaves a service "activating" for ever."""
    with manager(address) as listener:
        with Supervised({"NOTIFY_SOCKET": address}) as supervised:
            supervised.take_event(health(False, "one\nREADY=0"))
            supervised.take_event(health(True))  # not before the broker has us, and once
            supervised.take_event(health(True))
        heard = [listener.recv(1000) for _ in range(5)]

    status = b"STATUS=broker: one READY=0", b"STATUS=all parts work"
    assert heard == [status[0], status[1], b"READY=1", status[1], b"STOPPING=1"]


def test_a_manager_that_does_not_read_holds_nobody_up(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full queue would otherwise stop the thread that says we are alive, and so kill us."""
    monkeypatch.setattr(supervision, "PATIENCE_S", 0.05)

    def fill() -> None:
        # The kernel holds some ten or some hundreds
        while notify_service_manager(address, "WATCHDOG=1"):
            pass

    with manager(address):
        filling = threading.Thread(target=fill, daemon=True)
        filling.start()
        filling.join(60)

        assert not filling.is_alive()


def test_a_reload_carries_the_time_of_the_clock_that_only_goes_forward(address: str) -> None:
    """Without MONOTONIC_USEC a Type=notify-reload service fails to reload (systemd.service(5))."""
    with manager(address) as listener:
        before_us = time.monotonic_ns() // 1000
        Supervised({"NOTIFY_SOCKET": address}).notify_reloading()
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
    assert find_watchdog_s({"NOTIFY_SOCKET": "/run/x", **words}) == expected
    assert find_watchdog_s(words) is None  # nobody would hear it


@pytest.mark.parametrize("given", ["", "@", "/", "vsock:2:1234", "relative", "/nobody/here"])
def test_without_a_manager_nothing_is_said_and_nothing_fails(given: str) -> None:
    """On a terminal, in Docker, under another supervisor."""
    assert notify_service_manager(given, "READY=1") is False


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
        manager.settimeout(processes.PATIENCE_S)

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
        assert serve.wait() == 0

    assert said.count("READY=1") == said.count("STOPPING=1") == 1
