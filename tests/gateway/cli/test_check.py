"""`heatveil check` and `health` find what is wrong or would be, say what to do, change nothing."""

import hashlib
import json
import os
import re
import socket
import subprocess
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from gateway.cli import check_files
from gateway.devices.broker import certificates, dynamic
from gateway.devices.broker.doors import find_broker_folder
from gateway.service.operate.health import Health
from gateway.service.telling import make_quarantine_event
from gateway.settings import config, roomfile
from gateway.store.opening import lock_store
from gateway.store.places import find_place
from gateway.store.reader import Reader
from gateway.store.store import Store
from gateway.web.server import Page
from tests import processes
from tests.processes import find_free_port

Heatveil = Callable[..., Any]


def faults(said: Any) -> list[str]:
    """Return what is at fault, by its subject."""
    lines = said.out.splitlines()
    return [line.split()[1].rstrip(":") for line in lines if line.startswith("FAULT")]


def edited(site: Path, old: str, new: str) -> Path:
    """Change the deployment file."""
    text = site.read_text()
    assert old in text
    site.write_text(text.replace(old, new))
    return site


def test_a_good_deployment_has_no_fault(site: Path, heatveil: Heatveil) -> None:
    """And the file may be named either way."""
    said = heatveil("check", site)

    assert (said.status, faults(said)) == (0, [])
    assert "6 are enrolled, for 6 of 6 sensors" in said.out
    assert said.out == heatveil("check", "--config", site).out
    assert said.out.splitlines()[-1].endswith("heatveil serve can run")


@pytest.mark.parametrize(
    ("old", "new", "subject", "words"),
    [
        ("count = 6", "count = 6\ncolour = 1", "config", "colour"),
        ("every_s = 60", "every_s = 60\nquorum = 7", "rounds", "quorum is 7"),
        ("cells = 40", "cells = 40\n[workers]\npartitions = 2\n[room2]", "config", "room2"),
        ("[rounds]", "[workers]\npartitions = 2\n[rounds]", "config", "postgresql"),
        ("count = 6", "count = 5", "devices", "sensor 5"),
        ("count = 6", "count = 8", "devices", "the file has 8 sensors, and 6 are enrolled"),
        ("readings = 3", "readings = 4", "devices", "readings went from 3 to 4, and node-0"),
        ("every_s = 60", "every_s = 1", "devices", "every_s"),
        ("epsilon", "keyholder = true\nepsilon", "devices", "keyholder"),
        ("[page]", "[page]\ntoken_file = 'none'", "page", "token_file"),
        ("[mqtt]", "[mqtt]\npassword_file = 'none'\nusername = 'x'", "mqtt", "password_file"),
        ("[rounds]", "[store]\nreserve_mb = 1000000\n[rounds]", "store", "reserve_mb"),
    ],
)
def test_each_fault_is_found_and_named(
    site: Path, heatveil: Heatveil, old: str, new: str, subject: str, words: str
) -> None:
    """Before anything is started, and with the exit status that a script looks at."""
    said = heatveil("check", edited(site, old, new))
    program = heatveil("check", site, "--json")
    found = json.loads(program.out)

    assert (said.status, program.status, found["ok"]) == (1, 1, False)
    assert faults(said) == [subject]
    assert [one["subject"] for one in found["findings"] if one["grade"] == "FAULT"] == [subject]
    assert words in said.out
    assert said.err == ""


def test_one_token_for_both_roles_is_found_as_serve_finds_it(
    site: Path, heatveil: Heatveil
) -> None:
    """Whoever looks on would be an operator."""
    files = [site.with_name(name) for name in ("page.token", "viewer.token")]
    for one in files:
        one.write_text("correct-horse-battery\n")
        one.chmod(0o600)
    keys = "[page]\ntoken_file = 'page.token'\nviewer_token_file = 'viewer.token'"
    said = heatveil("check", edited(site, "[page]", keys))

    assert faults(said) == ["page"]
    assert "Make another one" in said.out


@pytest.mark.parametrize("known", [True, False])
def test_a_broker_whose_files_do_not_count_is_no_fault(
    site: Path, heatveil: Heatveil, known: bool
) -> None:
    """It stands on another machine, or lets in whoever comes, whatever an old file says."""
    if known:
        (word := site.with_name("word")).write_text("sesame")
        word.chmod(0o600)
        edited(site, "insecure", 'username = "gateway"\npassword_file = "word"\ninsecure')
    else:
        (
            file := find_broker_folder(config.load_deployment(site).mqtt, site) / dynamic.FILE
        ).parent.mkdir()
        file.write_text("of another time")
    said = heatveil("check", site)

    assert faults(said) == []
    assert "devices: the devices' keys here fit them" in said.out


def test_a_new_deployment_is_told_its_next_command_and_no_more(
    tmp_path: Path, heatveil: Heatveil
) -> None:
    """One thing at a time, in the order in which they are made; what is wrong by itself stays."""
    path = tmp_path / "site.toml"
    text = config.make_sample().replace("port = 8080", f"port = {find_free_port()}")
    path.write_text(text.replace("[page]", "[page]\ntoken_file = 'none'"))
    found = []
    for words in (None, ("enrol", "--config", path), ("broker", "init", "--config", path)):
        made = heatveil(*words) if words else None
        assert made is None or made.status == 0, made.err
        said = heatveil("check", path)
        found.append((faults(said), f"Next: heatveil enrol --config {path}" in said.out,
                      f"Next: heatveil broker init --config {path}" in said.out,
                      "broker's files and the devices' keys here fit" in said.out))  # fmt: skip

    assert found == [
        (["devices", "page"], True, False, False),
        (["mqtt", "page"], False, True, False),
        (["page"], False, False, True),
    ]


def test_a_promise_that_is_wider_than_was_asked_is_noted(site: Path, heatveil: Heatveil) -> None:
    """A distance below a cell is rounded up, which costs noise that somebody may not expect."""
    heatveil("check", edited(site, "epsilon", "protect_distance_m = 0.01\nepsilon"))
    said = heatveil("check", site)

    assert "config" not in faults(said)
    assert [line for line in said.out.splitlines() if line.startswith("note   privacy")]


@pytest.mark.parametrize(
    ("folder", "found"), [("run", []), ("site", ["store"]), ("site/keys", ["store"])]
)
def test_where_the_key_of_a_round_may_not_lie_is_found_before_serve_refuses_it(
    tmp_path: Path,
    heatveil: Heatveil,
    monkeypatch: pytest.MonkeyPatch,
    folder: str,
    found: list[str],
) -> None:
    """The same check as at the start; nothing is made by it, though the page's port is taken."""
    monkeypatch.setenv("HEATVEIL_STORE__ROUND_KEYS", str(tmp_path / folder))
    taken = socket.create_server(("127.0.0.1", 0))
    monkeypatch.setenv("HEATVEIL_PAGE__PORT", str(taken.getsockname()[1]))
    path = tmp_path / "site" / "gateway.toml"
    path.parent.mkdir()
    path.write_text(config.make_sample("ranks"))
    before = sorted(tmp_path.rglob("*"))

    with taken:
        assert [one for one in faults(heatveil("check", path)) if one == "store"] == found
    assert sorted(tmp_path.rglob("*")) == before


def test_a_door_that_moves_is_known_from_one_that_stands(tmp_path: Path) -> None:
    """For the promise is of days on which none does, and `check` says so where one does."""
    office = (files("physics.rooms") / "office.toml").read_text()
    moves, stands = tmp_path / "moves.toml", tmp_path / "stands.toml"
    moves.write_text(office)
    stands.write_text(re.sub(r"(?m)^open = .*$", 'open = [["07:00", "20:00"]]', office))

    assert [roomfile.has_moving_door(path) for path in (moves, stands)] == [True, False]


def test_secrets_that_others_can_read_are_named(site: Path, heatveil: Heatveil) -> None:
    """A copy or a backup loses the rights of a file before anybody notices."""
    (site.parent / "devices.json").chmod(0o644)
    (site.parent / "keyholder.json").write_text("{}")
    said = heatveil("check", site)

    assert f"chmod 600 {site.parent / 'devices.json'}" in said.success
    assert "take the noise off" in said.out


def test_a_port_that_another_program_has_is_a_fault(site: Path, heatveil: Heatveil) -> None:
    """`serve` would end at it; that a gateway runs explains its own port, and not the broker's."""
    deployment = config.load_deployment(site)
    with socket.create_server((deployment.page.host, deployment.page.port)):
        alone = heatveil("check", site)
        edited(site, f"port = {deployment.mqtt.port}", f"port = {deployment.page.port}")
        with lock_store(find_place(deployment)):
            beside = heatveil("check", site)
    assert (alone.status, faults(alone)) == (beside.status, faults(beside)) == (1, ["page"])


def test_page_and_health_are_two_ports(
    site: Path, heatveil: Heatveil, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two that listen at one port the second would end the gateway."""
    port = config.load_deployment(site).page.port
    monkeypatch.setenv("HEATVEIL_PAGE__HEALTH_PORT", str(port))

    assert faults(heatveil("check", site)) == ["config"]


def test_a_gateway_that_runs_has_its_port(site: Path, heatveil: Heatveil) -> None:
    """Beside it the operator is not sent to look for another port."""
    deployment = config.load_deployment(site)
    with (
        socket.create_server((deployment.page.host, deployment.page.port)),
        lock_store(find_place(deployment)),
    ):
        said, twice = heatveil("check", site), heatveil("serve", "--config", site)
        edited(site, "[page]", '[page]\npicture = "none.png"')
        bare = heatveil("serve", "--config", site)
        edited(site, "[page]", '[page]\ntoken_file = "none.token"')
        unread = heatveil("serve", "--config", site)

    assert f"port {deployment.page.port} at 127.0.0.1 is taken, and a gateway of this" in said.out
    assert said.out.splitlines()[-1].endswith("a gateway runs already")
    assert f"a gateway of site {deployment.site.name} runs already" in twice.refusal
    for fault, name in ((bare, "none.png"), (unread, "none.token")):
        assert name in fault.refusal  # two gateways are not what is wrong


@pytest.mark.parametrize(("days", "grade"), [(400, "ok"), (29, "note"), (-1, "FAULT")])
def test_certificates_are_told_before_they_expire(tmp_path: Path, days: float, grade: str) -> None:
    """Made by the very code of `heatveil broker init`, so long ago."""
    made = datetime.now(UTC) - timedelta(days=certificates.SERVER_DAYS - days)
    signer = certificates.make_authority("x", made)
    shown = certificates.make_server(["localhost"], signer, made)
    left = check_files.count_days_left(shown.certificate)

    assert abs(left - days) < 0.01
    assert check_files.judge_certificate("mqtt", "it", left).grade == grade


@pytest.mark.parametrize(
    ("topic", "wrong"), [("1/hall/+/data", True), ("1/{}/+/data", False), ("1/+/+/data", False)]
)
def test_a_broker_that_another_site_was_made_for_is_a_fault(
    site: Path, heatveil: Heatveil, topic: str, wrong: bool
) -> None:
    """A copied [mqtt] finds a broker that answers, and not one message passes it."""
    folder = site.parent / "broker"
    folder.mkdir(exist_ok=True)
    allowed = f"heatveil/{topic.format(config.load_deployment(site).site.name)}"
    (folder / "gateway.password").write_text("word")
    (folder / "dynamic-security.json").write_text(json.dumps({"topic": allowed}))
    named = '[mqtt]\nusername = "gateway"\npassword_file = "broker/gateway.password"'
    edited(site, "[mqtt]", named)

    assert ("of a broker for another site" in heatveil("check", site).out) == wrong


def test_with_connect_the_broker_is_asked_and_its_certificate_looked_at(
    site: Path, heatveil: Heatveil, need: Callable[[str], str], answers: Callable[[int], None]
) -> None:
    """All of `heatveil broker init`, and a mosquitto that runs on it; then a wrong password."""
    text = site.read_text().replace("insecure = true", 'ca_file = "broker/ca.pem"')
    text = text.replace("[mqtt]", '[mqtt]\npassword_file = "broker/gateway.password"')
    site.write_text(text.replace("[mqtt]", '[mqtt]\nusername = "gateway"'))
    assert heatveil("broker", "init", "--config", site).status == 0
    command = [need("mosquitto"), "-c", site.parent / "broker" / "mosquitto.conf"]
    with processes.Child(command, stderr=subprocess.DEVNULL) as child:
        answers(config.load_deployment(site).mqtt.port)
        good = heatveil("check", site, "--connect")
        (site.parent / "broker" / "gateway.password").write_text("wrong")
        bad = heatveil("check", site, "--connect")
        child.terminate()

    assert (good.status, faults(good)) == (0, [])
    assert "the certificate that it shows is good for 109" in good.out
    assert "lets us in" in good.out
    assert (bad.status, faults(bad)) == (1, ["broker"])


def test_a_port_of_the_broker_that_another_program_has_is_a_fault(
    site: Path, heatveil: Heatveil
) -> None:
    """Before mosquitto ends on it; while nobody listens there is nothing to be said."""
    text = site.read_text().replace("insecure = true", 'ca_file = "broker/ca.pem"')
    site.write_text(text.replace("[mqtt]", '[mqtt]\npassword_file = "broker/gateway.password"'))
    assert heatveil("broker", "init", "--config", site).status == 0
    free = heatveil("check", site)
    with socket.create_server(("127.0.0.1", config.load_deployment(site).mqtt.port)) as other:

        def answer() -> None:
            link, _ = other.accept()
            with link:
                link.recv(1)
                link.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        taken = heatveil("check", site)
        thread.join()

    assert faults(free) == []
    assert faults(taken) == ["broker"]
    assert "is another program's" in taken.out


def test_a_smaller_promise_is_told_before_it_is_for_good(kept: Any, heatveil: Heatveil) -> None:
    """What was spent already counts against it; and who looks writes nothing."""
    words, before = "no larger promise is taken on", heatveil("check", kept.path)
    files = sorted(os.listdir(kept.path.parent))
    edited(kept.path, "readings = 3", "readings = 2")
    edited(kept.path, 'epsilon = "8/1"', 'epsilon = "6/1"')
    after = heatveil("check", kept.path)

    assert words not in before.out
    assert before.success.endswith("can run, and would ask nothing: the budget is spent\n")
    assert words in after.out
    assert sorted(os.listdir(kept.path.parent)) == files


def test_what_is_kept_is_said_alone_before_and_after_a_deletion(
    kept: Any, heatveil: Heatveil
) -> None:
    """For who answers for it: one statement, with what lies elsewhere; a check has it, too."""
    alone, whole = heatveil("check", kept.path, "--kept"), heatveil("check", kept.path).out
    heatveil("delete", "--config", kept.path, "--yes")
    after = heatveil("check", kept.path, "--kept", "--json")
    names = "heatveil.sqlite.schema7", "heatveil.sqlite.rescued-2", ".heatveil.sqlite.schema6.0f"
    for name in names:
        kept.path.with_name(name).touch()
    copies = heatveil("check", kept.path, "--kept").out

    assert alone.status == 0
    assert alone.out.count("\n") == 1
    assert alone.out in whole
    assert "Backups, exports, reports of a day and logs" in alone.out
    assert json.loads(after.success) == {"kept": alone.out.rstrip()}
    assert "copies beside" not in whole
    assert all(name in copies for name in names)
    assert all(part in heatveil("check", kept.path).out for part in (*names, alone.out))


# `heatveil health`: an exit status for who watches, and the reason for who reads.


def test_a_gateway_that_works_is_ready(site: Path, heatveil: Heatveil) -> None:
    """Over the real page, on the port of the deployment file."""
    health, page = Health("store", "broker"), config.load_deployment(site).page
    with Page(page.host, page.port, health=health) as running:
        health.set_part("store", True)
        health.set_part("broker", False, "nobody answers there")
        half = heatveil("health", "--config", site)
        health.set_part("broker", True, "nobody is heard by it")
        whole = heatveil("health", "--url", running.url)

    assert half.status == 1
    assert "DOWN  broker: nobody answers there" in half.out
    assert half.out.count("nobody answers there") == 1
    assert "ok    store" in half.out
    assert whole.status == 0
    assert "note  broker: nobody is heard by it" in whole.out  # not "ok": somebody should look
    assert whole.out.splitlines()[-1] == "ready"


def test_who_is_no_gateway_is_told_from_one(heatveil: Heatveil) -> None:
    """Another program on that port may answer JSON, too."""
    with HTTPServer(("127.0.0.1", 0), Stranger) as other:
        threading.Thread(target=other.handle_request, daemon=True).start()
        said = heatveil("health", "--url", f"http://127.0.0.1:{other.server_port}/", "--json")

    assert said.status == 1
    assert "not as a gateway does" in json.loads(said.out)["why"]


class Stranger(BaseHTTPRequestHandler):
    """Answers what a gateway would not."""

    def do_GET(self) -> None:
        """Say something else."""
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"ready": true}')

    def log_message(self, *_: object) -> None:
        """Say nothing of it."""


def test_health_shows_its_token_and_names_one_that_is_missing_or_wrong(
    site: Path, heatveil: Heatveil, tmp_path: Path
) -> None:
    """It comes from a file: on the command line everybody on the machine would see it."""
    for name in ("right", "wrong"):
        (tmp_path / name).write_text(f"the-{name}-token-of-the-page\n")
        (tmp_path / name).chmod(0o600)
    health, page = Health("store"), config.load_deployment(site).page
    health.set_part("store", True)
    token = "the-right-token-of-the-page"
    with Page(page.host, page.port, health=health, token=token) as running:
        said = [
            heatveil("health", "--url", running.url, *words)
            for words in ((), *(("--token-file", tmp_path / name) for name in ("wrong", "right")))
        ]

    assert [one.status for one in said] == [1, 1, 0]
    assert "wants a token: --token-file" in said[0].out
    assert "wants another token" in said[1].out
    assert not any("-token-of-the-page" in one.out + one.err for one in said)


def test_who_is_shut_out_is_told_and_is_no_trouble(site: Path, heatveil: Heatveil) -> None:
    """A gateway works without a device that floods, but somebody should look after it."""
    deployment = config.load_deployment(site)
    store = Store.open_for(deployment)
    reader = Reader(find_place(deployment))
    health, page = Health("store"), deployment.page
    with Page(page.host, page.port, health=health, reader=reader) as running:
        health.set_part("store", True)
        before = heatveil("health", "--config", site)
        running.feed.put_event(make_quarantine_event({"node-3": ("it rings at night", 1.0)}))
        told = heatveil("health", "--config", site)
        as_json = json.loads(heatveil("health", "--config", site, "--json").out)
    reader.close()
    store.close()

    assert "shut out" not in before.out
    assert "note  node-3 is shut out: it rings at night\nready\n" in told.success
    assert as_json["shut_out"] == [{"device": "node-3", "why": "it rings at night"}]


# The commands that look: they change nothing, and leave with a status that a script can trust.

NAMES = "check", "ledger", "show", "health"
LOOKS = [(name, *more) for more in ((), ("--json",)) for name in NAMES]


def contents(folder: Path) -> dict[str, str]:
    """Return a digest of every file."""
    files = [one for one in folder.rglob("*") if one.is_file()]
    return {str(one): hashlib.sha256(one.read_bytes()).hexdigest() for one in files}


@pytest.mark.long
@pytest.mark.parametrize("words", LOOKS, ids=" ".join)
def test_who_looks_changes_nothing(kept: Any, heatveil: Heatveil, words: tuple[str, ...]) -> None:
    """Not one byte, no log of SQLite's, no lock: a look as root must not lock the gateway out."""
    before = contents(kept.path.parent)
    said = heatveil(words[0], "--config", kept.path, *words[1:])

    assert contents(kept.path.parent) == before
    assert said.status == (words[0] == "health")  # nobody serves here
    if "--json" in words:
        assert isinstance(json.loads(said.out), dict)
        assert said.out.count("\n") == 1
