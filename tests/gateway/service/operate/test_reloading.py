"""SIGHUP: what may change is taken between rounds, the rest refused whole, and nothing let go."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gateway.devices.broker.embedded import find_free_port
from gateway.devices.enrol import enrol
from gateway.faults import OperatorFault
from gateway.service.operate.supervision import Reloading, reread
from gateway.settings import config
from gateway.settings.deployment import Mqtt
from tests import processes, sites

PROGRAM = Path(sys.executable).with_name("heatveil")
PATIENCE_S = 40.0


@pytest.fixture
def site(tmp_path: Path, mosquitto: Mqtt, heatveil: Callable[..., Any]) -> Path:
    """Return the deployment file of an enrolled site on the tests' broker."""
    path, name = tmp_path / "site.toml", f"reload-{uuid.uuid4().hex[:8]}"
    path.write_text(sites.small(name, mosquitto.port, find_free_port(), sensors=3, every_s=0.1))
    assert heatveil("enrol", "--config", path).status == 0
    return path


class Served:
    """`heatveil serve` in a process of its own, what it logs, and what it holds open."""

    def __init__(self, site: Path) -> None:
        command = [PROGRAM, "serve", "--config", site]
        self.process = processes.Child(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
        self.port, self.lines = config.load(site).page.port, list[dict[str, Any]]()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stderr
        for line in self.process.stderr:
            self.lines.append(json.loads(line))

    def logged(self, event: str, times: int = 1) -> dict[str, Any]:
        """Return a line of the log once it has come so often."""
        until_s = time.monotonic() + PATIENCE_S
        while time.monotonic() < until_s:
            found = [line for line in list(self.lines) if line["event"] == event]
            if len(found) >= times:
                return found[times - 1]
            time.sleep(0.05)
        pytest.fail(f"{event!r} was not logged {times} times: {self.lines[-5:]}")

    def sockets(self) -> set[str]:
        """Return the sockets that it holds open: the link, the solver's, the page's."""
        found = set()
        for entry in Path(f"/proc/{self.process.pid}/fd").iterdir():
            try:
                held = os.readlink(entry)
            except OSError:
                continue
            if held.startswith("socket:"):
                found.add(held)
        return found

    def hup(self) -> None:
        """Have the files read again."""
        self.process.send_signal(signal.SIGHUP)

    def ready(self) -> bool:
        """Return whether it says that all parts work."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/readyz", timeout=60) as answer:
            return bool(answer.status == 200)


@pytest.fixture
def served(site: Path) -> Iterator[Served]:
    """Serve the site with an hour between rounds, though its devices would answer at once."""
    site.write_text(site.read_text().replace("every_s = 0.1", "every_s = 3600"))
    one = Served(site)
    yield one
    one.process.kill()
    one.process.wait()
    if one.process.stderr:
        one.process.stderr.close()


@pytest.mark.long
def test_a_gateway_that_runs_takes_a_new_pause_and_keeps_everything_else(
    site: Path, served: Served
) -> None:
    """Others destroyed their buffers by this; here a broken file changes nothing, and says so."""
    good, database = site.read_text(), site.with_name("heatveil.sqlite")
    with processes.Child(
        [PROGRAM, "fleet", "--config", site, "--sources-random", "1"], stdout=subprocess.DEVNULL
    ) as fleet:
        served.logged("map")
        time.sleep(0.3)
        before, held = database.stat().st_ino, served.sockets()

        site.write_text(good.replace("[rounds]", "[rounds"))
        served.hup()
        refused = served.logged("the deployment stays as it was")
        assert refused["level"] == "error"
        assert "site.toml" in refused["why"]
        site.write_text(good.replace('epsilon = "8/1"', 'epsilon = "9/1"'))
        served.hup()
        refused = served.logged("the deployment stays as it was", 2)
        assert "[privacy] epsilon changed in" in refused["why"]
        assert len([line for line in served.lines if line["event"] == "round"]) == 1
        assert served.ready()

        site.write_text(good.replace("every_s = 3600", "every_s = 0.1"))
        served.hup()
        served.logged("map", 3)  # an hour each, but for that
        assert held <= served.sockets(), "a link was let go"
        assert database.stat().st_ino == before
        fleet.kill()
    numbers = [line["number"] for line in served.lines if line["event"] == "round"]
    assert numbers == [1, 2, 3]
    assert [line["reports"] for line in served.lines if line["event"] == "release"] == [3, 3, 3]
    served.process.send_signal(signal.SIGTERM)
    assert served.process.wait(10) == 0


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("readings = 3", "readings = 4", r"\[privacy\] readings"),
        ("cells = 40", "cells = 50", r"\[room\] cells"),
        ("count = 3", "count = 4", r"\[sensors\] count"),
        ("insecure = true", "insecure = false", r"\[mqtt\] insecure"),
        (
            "gather_s = 5",
            'mechanism = "thermal"\ncalibration = "paper"',
            r"\[rounds\] calibration",
        ),
    ],
)
def test_what_rounds_store_and_session_rest_on_cannot_change(
    site: Path, old: str, new: str, named: str
) -> None:
    """A changed promise is another promise: it takes a start, and what is checked then."""
    deployment = config.load(site)
    devices = enrol.load_devices(deployment.site.devices, deployment.site.name)
    site.write_text(site.read_text().replace(old, new))

    with pytest.raises(OperatorFault, match=named):
        reread(site, deployment, devices)


def test_what_may_change_does(site: Path) -> None:
    """Pauses, patience, quorum, hours, the guard; and a device more keeps the others' keys."""
    deployment = config.load(site)
    devices = enrol.load_devices(deployment.site.devices, deployment.site.name)
    text = site.read_text().replace(
        "gather_s = 5", 'gather_s = 7\nquorum = 2\nhours = "08:00-18:00"'
    )
    site.write_text(text + "[guard]\nburst = 77\n")
    new, same = reread(site, deployment, devices)

    assert (new.rounds.gather_s, new.rounds.quorum, new.guard.burst) == (7, 2, 77)
    assert re.fullmatch("08:00-18:00", new.rounds.hours or "")
    assert same == devices


def test_a_request_while_it_is_done_is_done_again_and_one_after_the_end_is_not() -> None:
    """Two signals at once may be one; one that comes while the file is read must not be lost."""
    begun, go, done = threading.Event(), threading.Event(), []

    def do() -> None:
        begun.set()
        go.wait(10)
        done.append(1)

    with Reloading(do) as reloading:
        reloading.ask()
        assert begun.wait(10)
        reloading.ask()  # while the first is at it
        go.set()
        until_s = time.monotonic() + 60
        while len(done) < 2 and time.monotonic() < until_s:
            time.sleep(0.01)
    reloading.ask()

    assert done == [1, 1]


def test_a_request_that_fails_does_not_end_those_after_it() -> None:
    """A thief's key would be believed until the next start, whatever the operator asks for."""
    done: list[int] = []
    again = threading.Event()

    def do() -> None:
        done.append(len(done))
        again.set()
        if len(done) == 1:
            raise RuntimeError("a bug of ours")

    with Reloading(do) as reloading:
        for _ in range(2):
            again.clear()
            reloading.ask()
            assert again.wait(30)
            time.sleep(0.05)

    assert done == [0, 1]
