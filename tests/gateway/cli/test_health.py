"""`heatveil health`: an exit status for who watches, and the reason for who reads."""

import hashlib
import http.server
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gateway.service.operate.health import Health
from gateway.service.telling import shut_out
from gateway.settings import config
from gateway.store.places import place_of
from gateway.store.reader import Reader
from gateway.store.store import Store
from gateway.web.server import Page

Heatveil = Callable[..., Any]


def test_a_gateway_that_works_is_ready(site: Path, heatveil: Heatveil) -> None:
    """Over the real page, on the port of the deployment file."""
    health, page = Health("store", "broker"), config.load(site).page
    with Page(page.host, page.port, health=health) as running:
        health.say("store", True)
        health.say("broker", False, "nobody answers there")
        half = heatveil("health", "--config", site)
        health.say("broker", True)
        whole = heatveil("health", "--url", running.url)

    assert half.status == 1
    assert "DOWN  broker: nobody answers there" in half.out
    assert "ok    store" in half.out
    assert whole.status == 0
    assert whole.out.splitlines()[-1] == "ready"


@pytest.fixture
def stranger() -> Iterator[Callable[[int, bytes], tuple[str, list[str]]]]:
    """Return the starter of another web server, that answers always the same."""
    servers = []

    def start(status: int, body: bytes) -> tuple[str, list[str]]:
        asked: list[str] = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked.append(f"{self.path} {self.headers.get('authorization')}")
                self.send_response(status)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}/", asked

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def test_the_token_is_shown_and_a_wrong_one_is_named(
    stranger: Any, heatveil: Heatveil, tmp_path: Path
) -> None:
    """It comes from a file: on the command line everybody on the machine would see it."""
    (tmp_path / "token").write_text("abcdefghijklmnop\n")
    body = json.dumps({"ready": True, "why": "", "parts": {}}).encode()
    url, asked = stranger(200, body)
    right = heatveil("health", "--url", url, "--token-file", tmp_path / "token")
    wrong_url, _ = stranger(401, b"")
    none = heatveil("health", "--url", wrong_url)
    wrong = heatveil("health", "--url", wrong_url, "--token-file", tmp_path / "token")

    assert right.status == 0
    assert asked == ["/readyz Bearer abcdefghijklmnop"]
    assert "abcdefghijklmnop" not in right.out
    assert (none.status, wrong.status) == (1, 1)
    assert "wants a token: --token-file" in none.out
    assert "wants another token" in wrong.out


def test_who_is_shut_out_is_told_and_is_no_trouble(site: Path, heatveil: Heatveil) -> None:
    """A gateway works without a device that floods, but somebody should look after it."""
    deployment = config.load(site)
    store = Store.of(deployment)
    reader = Reader(place_of(deployment))
    health, page = Health("store"), deployment.page
    with Page(page.host, page.port, health=health, reader=reader) as running:
        health.say("store", True)
        before = heatveil("health", "--config", site)
        running.feed.put(shut_out({"node-3": ("it rings at night", 1.0)}))
        told = heatveil("health", "--config", site)
        as_json = json.loads(heatveil("health", "--config", site, "--json").out)
    reader.close()
    store.close()

    assert "shut out" not in before.out
    assert told.status == 0
    assert "note  node-3 is shut out: it rings at night\nready\n" in told.out
    assert as_json["shut_out"] == [{"device": "node-3", "why": "it rings at night"}]


# The commands that look: they change nothing, and leave with a status that a script can trust.

LOOKS = [
    ("check",),
    ("ledger",),
    ("show",),
    ("health",),
    ("check", "--json"),
    ("ledger", "--json"),
    ("show", "--json"),
    ("health", "--json"),
]


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


@pytest.mark.parametrize("name", ["check", "ledger", "show", "health"])
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = [", "must be TOML"),
        ("", "[room] is missing"),
        ("\x00", "must be TOML"),
        ("[room]\ncells = 1", "[privacy] is missing"),
        ("[room]\ncells = 1\n[privacy]\nepsilon = '1/1'", "[heat] is missing"),
        (None, "No such file"),
    ],
)
def test_a_wrong_file_is_one_line_whatever_looks_at_it(
    tmp_path: Path, heatveil: Heatveil, name: str, text: str | None, words: str
) -> None:
    """On standard error, or as the one finding of a check; never a traceback."""
    path = tmp_path / "gateway.toml"
    if text is not None:
        path.write_text(text)
    said = heatveil(name, "--config", path)

    assert said.status == 1
    assert words in (said.out if name == "check" else said.err)
    assert (said.out + said.err).count("\n") == (2 if name == "check" else 1)
