"""`heatveil serve` and `heatveil fleet`: two programs, an operator's broker between them."""

import http.client
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from gateway.cli import serve
from gateway.faults import DeletedFault, OperatorFault, ReplacedFault
from gateway.mechanisms import find_mechanism
from gateway.mechanisms.flags import parse_query
from gateway.mechanisms.thermal.deployment import plan_first_round
from gateway.service.serving import Service
from gateway.settings import config
from gateway.settings.deployment import Mqtt
from gateway.web.feed import Feed
from recovery.maps.guarantee import to_json
from tests import processes, sites
from tests.processes import find_free_port

query = partial(parse_query, find_mechanism("thermal"))

PICTURE = b"\x89PNG\r\n\x1a\nIEND\xaeB`\x82"  # a whole one, as far as the gateway looks
PROGRAM = Path(sys.executable).with_name("heatveil")
Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def site(tmp_path: Path, mosquitto: Mqtt) -> Path:
    """Return a deployment file on the tests' broker."""
    path = tmp_path / "site.toml"
    path.write_text(sites.small("hosting", mosquitto.port, find_free_port(), every_s=0.1))
    return path


@pytest.fixture
def start(site: Path) -> Iterator[Start]:
    """Return the starter of a command with this deployment."""
    started = []

    def command(name: str, *words: str) -> subprocess.Popen[str]:
        process = processes.Child(
            [PROGRAM, name, "--config", str(site), *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield command
    for process in started:
        process.kill()
        process.communicate()


def _map(site: Path, number: int) -> Any:
    """Return the map on the page once this round has been drawn."""
    port = config.load_deployment(site).page.port
    end_s = time.monotonic() + 60
    while time.monotonic() < end_s:
        try:
            url = f"http://127.0.0.1:{port}/api/v1/maps/latest"
            with urllib.request.urlopen(url, timeout=2) as answer:
                found = json.loads(answer.read())
            if found["number"] == number:
                return found
        except OSError:  # not up yet, or no map yet
            pass
        time.sleep(0.05)
    pytest.fail(f"round {number} never came to the page")


@pytest.mark.long
def test_the_two_programs_make_maps_together(
    site: Path, start: Start, heatveil: Callable[..., Any]
) -> None:
    """Enrol, run a round, kill the fleet, start it again, run the rest, stop both at once.

    Another room of the floor whose file is wrong keeps ours from nothing.
    """
    floor = '[[page.floor]]\nsettings = "gone.toml"\ncorner_m = [9.0, 0.0]\n'
    site.write_text(f"{site.read_text()}\n{floor}")
    assert heatveil("enrol", "--config", site).status == 0
    fleet = start("fleet", "--sources-random", "1")
    assert fleet.stdout.readline().startswith("6 devices")
    once = start("serve", "--rounds", "1")
    said = once.communicate()[0]
    assert once.returncode == 0
    assert "as were asked for" in said
    fleet.kill()
    fleet = start("fleet", "--sources-random", "1")
    assert fleet.stdout.readline().startswith("6 devices")
    serve = start("serve")
    found = _map(site, 3)
    assert serve.stdout
    told = "".join(serve.stdout.readline() for _ in range(3))  # else it is stopped before the last
    serve.send_signal(signal.SIGTERM)
    fleet.send_signal(signal.SIGINT)

    assert serve.wait() == 0
    assert fleet.wait() == 0
    assert found["guarantee"]["epsilon"] == [8, 1]
    assert "all 3 rounds that the budget is for have been asked" in told
    assert "the page stays up at http://" in told
    (secrets,) = site.parent.glob("secrets.json")
    assert secrets.stat().st_mode & 0o77 == 0
    with closing(sqlite3.connect(site.with_name("heatveil.sqlite"))) as database:
        answers = database.execute("SELECT device, epoch, seq FROM reports").fetchall()
    # After kill -9 another epoch, and neither an answer too few nor one twice.
    expected = {(f"node-{i}", *sent) for i in range(6) for sent in ((1, 1), (2, 1), (2, 2))}
    assert sorted(answers) == sorted(expected)


def test_a_seeded_run_says_so_on_the_page_too() -> None:
    """Whoever looks at the page alone must not believe in noise that can be repeated."""
    asked = query(cells="10", sensors="4", epsilon="8/1")
    guarantee = json.loads(to_json(plan_first_round(asked).guarantee))
    said = {}
    for seeded in (False, True):
        feed = Feed()
        tell = serve.make_page_listener(SimpleNamespace(feed=feed), asked, seeded=seeded)
        tell({"kind": "map", "guarantee": guarantee})
        said[seeded] = {kind: json.dumps(event) for kind, event in feed.list_latest().items()}

    assert "this is not private" not in "".join(said[False].values())
    assert "this is not private" in said[True]["map"]
    assert "this is not private" in said[True]["promise"]
    assert "each device blurs its own" not in said[True]


def test_a_map_from_before_a_tighten_keeps_its_own_curve() -> None:
    """The page shows it until the next is drawn, and its noise was not that of the file now."""
    before, now = (query(cells="10", sensors="4", epsilon=one) for one in ("8/1", "4/1"))
    guarantee = json.loads(to_json(plan_first_round(before).guarantee))
    shown = []
    for asked in (before, now):
        feed = Feed()
        tell = serve.make_page_listener(SimpleNamespace(feed=feed), asked)
        tell({"kind": "map", "guarantee": guarantee})
        promise = feed.list_latest()["promise"]
        shown.append([promise[part] for part in ("sentences", "curve")])

    assert shown[0] == shown[1]


@pytest.mark.parametrize("seeded", [False, True])
def test_the_promise_is_put_into_words_before_the_first_round(
    monkeypatch: pytest.MonkeyPatch, seeded: bool
) -> None:
    """Of thousands of sensors it takes seconds; a round is open when the first map comes."""
    asked, mechanism = query(cells="10", sensors="4", epsilon="8/1"), find_mechanism("thermal")
    promise = Mock(wraps=mechanism.promise)
    told = {name: getattr(mechanism, name) for name in ("plan", "curve", "name")}
    monkeypatch.setattr(
        serve, "find_for_query", lambda _: SimpleNamespace(**told, promise=promise)
    )
    tell = serve.make_page_listener(SimpleNamespace(feed=Feed()), asked, seeded=seeded)
    before = promise.call_count
    tell({"kind": "map", "guarantee": json.loads(to_json(plan_first_round(asked).guarantee))})

    assert before == promise.call_count == 1


def test_under_nohup_a_reload_is_one() -> None:
    """A gateway that somebody left running by nohup takes up a new device when told."""
    asked, before = [], signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with serve.call_on_signals(
        lambda: asked.append("stop"), reload=lambda: asked.append("reload")
    ):
        signal.raise_signal(signal.SIGHUP)
    now = signal.signal(signal.SIGHUP, before)

    assert asked == ["reload"]
    assert now == signal.SIG_IGN


def test_who_is_stopped_as_it_begins_ends_as_later(
    site: Path, heatveil: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A service is on the broker before all else is ready: a stop may come in between."""
    enter = Service.__enter__

    def entered(service: Service) -> Service:
        found = enter(service)
        try:
            signal.raise_signal(signal.SIGTERM)
        except BaseException:
            service.__exit__(None, None, None)  # its process would end, and this one goes on
            raise
        return found

    assert heatveil("enrol", "--config", site).status == 0
    monkeypatch.setattr(Service, "__enter__", entered)
    said = heatveil("serve", "--config", site)

    assert said.status == 0, said.err


def test_the_page_is_for_whom_the_file_says_with_its_picture_and_floor(
    site: Path, heatveil: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A token or a name that is dropped on the way to the page would open it to everybody."""
    room = site.read_text().replace("cells = 40", "cells = [8, 5]")
    room = room.replace("count = 6", "count = [3, 2]")
    (hall := site.with_name("hall")).mkdir()
    (hall / "hall.toml").write_text(room.replace("hosting", "hall"))
    held = {name: f"the-token-of-{name}" for name in ("operators", "viewers")}
    for name, token in held.items():
        site.with_name(name).write_text(token)
        site.with_name(name).chmod(0o600)
    site.with_name("floor.png").write_bytes(PICTURE)
    site.write_text(
        f'{room}hosts = ["maps.example"]\npicture = "floor.png"\ntoken_file = "operators"\n'
        'viewer_token_file = "viewers"\nhealth_port = 0\n'
        '[[page.floor]]\nsettings = "hall/hall.toml"\ncorner_m = [10.0, 0.0]\n'
    )
    port = config.load_deployment(site).page.port
    found: list[tuple[int, bytes]] = []

    def ask(path: str, host: str, token: str) -> None:
        link = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        link.request("GET", path, headers={"Host": host, "Authorization": f"Bearer {token}"})
        answer = link.getresponse()
        found.append((answer.status, answer.read()))
        link.close()

    def entered(service: Service) -> None:
        for host in ("maps.example", "evil.example"):
            for token in ("", *held.values()):
                ask("/api/v1/devices", host, token)
        ask("/floor", "localhost", held["viewers"])
        ask("/api/v1/floor", "localhost", held["viewers"])
        service.__exit__(None, None, None)  # what its process would end with itself
        sys.exit(128 + signal.SIGTERM)

    assert heatveil("enrol", "--config", site).status == 0
    monkeypatch.setattr(Service, "__enter__", entered)
    said = heatveil("serve", "--config", site)

    assert said.status == 0, said.err
    # 503: let in, before there is a store to read.
    assert [status for status, _ in found] == [401, 503, 403, 421, 421, 421, 200, 200]
    assert found[-2][1] == PICTURE
    assert [one["site"] for one in json.loads(found[-1][1])["rooms"]] == ["hall"]


def test_a_stop_as_soon_as_the_page_answers_ends_well(
    site: Path, heatveil: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page answers while it is made, before the service is: whoever saw it may stop us."""

    def made(**_: object) -> None:
        signal.raise_signal(signal.SIGTERM)

    heatveil("enrol", "--config", site)
    monkeypatch.setattr(serve, "Page", made)

    assert heatveil("serve", "--config", site).status == 0


@pytest.mark.parametrize("words", [[], ["--hold"]])
@pytest.mark.parametrize("fault", [ReplacedFault("it is gone"), DeletedFault("heatveil.sqlite")])
def test_a_store_that_is_not_what_it_was_is_no_reason_to_start_again(
    site: Path,
    heatveil: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    fault: OperatorFault,
    words: list[str],
) -> None:
    """systemd is told by the status. Docker starts again whatever it is: there it is not left."""

    def entered(service: Service) -> Service:
        enter(service)
        service.__exit__(None, None, None)  # what its process would end with itself
        monkeypatch.setattr(serve, "exit_cleanly_on_sigterm", stopped)  # in which it waits
        raise fault

    @contextmanager
    def stopped() -> Iterator[None]:
        with end_well():
            threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGTERM)).start()
            yield

    heatveil("enrol", "--config", site)
    enter, end_well = Service.__enter__, serve.exit_cleanly_on_sigterm
    monkeypatch.setattr(Service, "__enter__", entered)
    said = heatveil("serve", "--config", site, *words)

    assert said.status == (0 if words else 4)
    assert str(fault).split(".")[0] in said.err


def test_who_asks_twice_need_not_wait() -> None:
    """The first Ctrl-C is a request, the second one an order."""
    asked = []
    with serve.call_on_signals(lambda: asked.append(1)):
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)

    assert asked == [1]
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_only_a_request_to_stop_ends_well() -> None:
    """A refusal, or a terminal that closes, is one before and after."""
    for code in (1, 128 + signal.SIGHUP):
        with pytest.raises(SystemExit), serve.exit_cleanly_on_sigterm():
            sys.exit(code)
    with serve.exit_cleanly_on_sigterm():
        sys.exit(128 + signal.SIGTERM)


# `heatveil once`: one round, its map on the terminal, and nothing left running.


def _rows(config: Path, wanted: str) -> list[Any]:
    with closing(sqlite3.connect(config.with_name("heatveil.sqlite"))) as database:
        return database.execute(wanted).fetchall()


@pytest.mark.long
@pytest.mark.usefixtures("fleet")
def test_one_round_is_asked_charged_drawn_and_printed(
    living: Path, heatveil: Callable[..., Any]
) -> None:
    """A first try of a site: what came, a picture in letters, one charge, no thread left."""
    before = {thread.name for thread in threading.enumerate()}
    said = heatveil("once", "--config", living)
    lines = said.out.splitlines()

    assert said.status == 0, said.err
    assert lines[0] == "round 1: 6 of 6 devices answered"
    assert lines[1].startswith("map of round 1, in all ")
    (row,) = lines[2:]
    assert re.fullmatch(r"\[.{40}\]", row)
    assert set(row) & {"@", "█"}
    assert _rows(living, "SELECT count(*) FROM charges") == [(1,)]
    assert _rows(living, "SELECT outcome FROM rounds") == [("closed",)]
    assert {thread.name for thread in threading.enumerate()} <= before


def test_a_round_that_nobody_answers_is_no_map_and_says_why(
    living: Path, heatveil: Callable[..., Any]
) -> None:
    """A script that runs it learns that from the exit status, a person from the sentence."""
    living.write_text(living.read_text().replace("gather_s = 5", "gather_s = 0.2"))
    assert heatveil("enrol", "--config", living).status == 0
    said = heatveil("once", "--config", living)

    assert said.status == 1
    assert said.out.startswith("round 1: 0 of 6 devices answered\nno estimate: nobody answered")
