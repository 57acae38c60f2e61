"""What changes while a gateway runs: its file read again, and the hours in which rounds open."""

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
from datetime import UTC, datetime, timedelta
from datetime import time as hour
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from gateway.devices.enrol import enrol
from gateway.faults import OperatorFault
from gateway.service import campaign
from gateway.service.campaign import GLANCE_S, Pause
from gateway.service.operate.schedule import LOOK_S, compute_wait_s, parse_hours
from gateway.service.operate.supervision import Reloading, reread_files
from gateway.settings import config
from gateway.settings.deployment import Mqtt, Rounds
from tests import processes, sites
from tests.processes import find_free_port
from tests.waiting import eventually

# SIGHUP: what may change is taken between rounds, the rest refused whole, and nothing let go.

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
        self.port, self.lines = config.load_deployment(site).page.port, list[dict[str, Any]]()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stderr
        for line in self.process.stderr:
            self.lines.append(json.loads(line))

    def logged(self, event: str, times: int = 1) -> dict[str, Any]:
        """Return a line of the log once it has come so often."""

        def found() -> list[dict[str, Any]]:
            return [line for line in list(self.lines) if event in line["event"]]

        assert eventually(lambda: len(found()) >= times, PATIENCE_S), f"{event}: {self.lines[-5:]}"
        return found()[times - 1]

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
        refused = served.logged("the changed deployment was refused")
        assert refused["level"] == "error"
        assert "site.toml" in refused["why"]
        site.write_text(good.replace('epsilon = "8/1"', 'epsilon = "9/1"'))
        served.hup()
        refused = served.logged("the changed deployment was refused", 2)
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
    assert served.process.wait() == 0


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
    deployment = config.load_deployment(site)
    devices = enrol.load_devices(deployment.site.devices, deployment.site.name)
    site.write_text(site.read_text().replace(old, new))

    with pytest.raises(OperatorFault, match=named):
        reread_files(site, deployment, devices)


def test_what_may_change_does(site: Path) -> None:
    """Pauses, patience, quorum, hours, the guard; and a device more keeps the others' keys."""
    deployment = config.load_deployment(site)
    devices = enrol.load_devices(deployment.site.devices, deployment.site.name)
    text = site.read_text().replace(
        "gather_s = 5", 'gather_s = 7\nquorum = 2\nhours = "08:00-18:00"'
    )
    site.write_text(text + "[guard]\nburst = 77\n")
    new, same = reread_files(site, deployment, devices)

    assert (new.rounds.gather_s, new.rounds.quorum, new.guard.burst) == (7, 2, 77)
    assert re.fullmatch("08:00-18:00", new.rounds.hours or "")
    assert same == devices


def test_a_request_while_it_is_done_is_done_again_and_one_after_the_end_is_not() -> None:
    """Two signals at once may be one; one that comes while the file is read must not be lost."""
    begun, go, done = threading.Event(), threading.Event(), []

    def do() -> None:
        begun.set()
        go.wait(60)
        done.append(1)

    with Reloading(do) as reloading:
        reloading.request()
        assert begun.wait(60)
        reloading.request()  # while the first is at it
        go.set()
        assert eventually(lambda: len(done) == 2)
    reloading.request()

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
            reloading.request()
            assert again.wait(30)
            time.sleep(0.05)

    assert done == [0, 1]


# Hours of the day: over midnight, at their edges, and through a clock that is set.

DAY = datetime(2026, 11, 22, tzinfo=UTC)


def _at(text: str, day: datetime = DAY) -> datetime:
    return datetime.combine(day.date(), hour.fromisoformat(text), UTC)


@pytest.mark.parametrize(
    ("hours", "inside", "outside"),
    [
        ("08:00-18:00", ["08:00", "12:00", "17:59:59.999999"], ["07:59:59", "18:00", "00:00"]),
        ("22:00-06:00", ["22:00", "23:59:59", "00:00", "05:59:59"], ["06:00", "12:00", "21:59"]),
        ("00:00-00:01", ["00:00", "00:00:59"], ["00:01", "23:59:59"]),
        ("23:59-00:00", ["23:59", "23:59:59.9"], ["00:00", "23:58:59"]),
    ],
)
def test_hours_have_their_first_minute_and_not_their_last(
    hours: str, inside: list[str], outside: list[str]
) -> None:
    """From 22 to 6 is the night; two spans that share an edge share no moment."""
    assert [at for at in inside if not parse_hours(hours).contains(_at(at))] == []
    assert [at for at in outside if parse_hours(hours).contains(_at(at))] == []


def test_the_pause_comes_first_and_then_the_hours() -> None:
    """What is left of the pause is waited for as it is; hours are looked at when it is over."""
    night = _at("03:00")
    assert compute_wait_s(1234.5, "08:00-18:00", night) == 1234.5
    # Not five hours: the clock may be set
    assert compute_wait_s(0, "08:00-18:00", night) == LOOK_S
    assert compute_wait_s(0, "08:00-18:00", _at("07:59:30")) == 30
    assert compute_wait_s(-5, "08:00-18:00", _at("08:00")) == 0
    assert compute_wait_s(0, "08:00-18:00", _at("18:00")) == LOOK_S  # it opened before, today
    assert compute_wait_s(0, None, night) == 0


@pytest.mark.parametrize("start", ["2026-03-29T00:30+01:00", "2026-10-25T00:30+02:00"])
def test_a_change_of_summer_time_is_waited_through(start: str) -> None:
    """The hour that is left out, or comes twice: the wall is believed, a look at a time."""
    zone, now = ZoneInfo("Europe/Berlin"), datetime.fromisoformat(start)
    opened = None
    for _ in range(6 * 60 * 2):
        left_s = compute_wait_s(0, "03:00-04:00", now.astimezone(zone))
        if left_s == 0:
            opened = now.astimezone(zone)
            break
        assert left_s > 0
        now += timedelta(seconds=left_s)

    assert (opened.hour, opened.minute, opened.second) == (3, 0, 0)


# The pause between rounds goes by a clock that nobody sets; the hours go by the wall's.

NOON, NIGHT = (datetime(2026, 11, 22, hour, tzinfo=UTC) for hour in (12, 23))


@pytest.fixture
def wall(monkeypatch: pytest.MonkeyPatch) -> list[datetime]:
    """Set the clock on the wall; its one entry is what it shows."""
    shown = [NOON]
    monkeypatch.setattr(campaign, "_read_wall_clock", lambda: shown[0])
    return shown


@pytest.fixture
def stopped(wall: list[datetime], monkeypatch: pytest.MonkeyPatch) -> float:
    """Stop all clocks, and return what that of the system shows."""
    now_s = time.time()
    monkeypatch.setattr(time, "time", lambda: now_s)
    monkeypatch.setattr(time, "monotonic", lambda: 1000.0)
    return now_s


@pytest.mark.usefixtures("stopped")
def test_the_pause_counts_from_when_the_broker_had_the_round() -> None:
    """A round that waited an hour for its broker was heard an hour later than it was written."""
    waits = Pause(None)
    waits.start(990.0)

    assert waits.compute_wait_s(Rounds(every_s=9.9)) == 0
    assert waits.compute_wait_s(Rounds(every_s=10.2)) == pytest.approx(0.2)
    # Looked at again, for it may change
    assert waits.compute_wait_s(Rounds(every_s=3600)) == GLANCE_S


@pytest.mark.parametrize(("ago_s", "free"), [(61, True), (59, False), (-86_400, False)])
def test_over_a_start_the_wall_counts_and_never_shortens(
    stopped: float, ago_s: float, free: bool
) -> None:
    """A clock that was set back by a day costs one whole pause, and not a day."""
    waits = Pause(stopped - ago_s)

    assert (waits.compute_wait_s(Rounds(every_s=60)) == 0) is free
    if ago_s < 0:
        assert waits._opened_s is not None
        assert waits._opened_s <= 1000.0


def test_out_of_hours_no_round_opens_and_the_reason_is_told(wall: list[datetime]) -> None:
    """With or without a pause left; and as soon as the hour has come, it may."""
    rounds, waits = Rounds(every_s=0, hours="08:00-18:00"), Pause(None)
    assert (waits.compute_wait_s(rounds), waits.explain_closed_hours(rounds)) == (0, "")
    wall[0] = NIGHT

    assert waits.compute_wait_s(rounds) == GLANCE_S
    assert waits.explain_closed_hours(rounds) == "rounds open from 08:00 to 18:00, and it is 23:00"
