"""The API: pages that join, one shape of error, nothing that was not asked for."""

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gateway.service.operate.health import Health
from gateway.web.operations import OPERATIONS
from gateway.web.server import Page
from tests import processes

Ask = Callable[..., Any]
V1 = "/api/v1"


def test_pages_join_without_gap_or_overlap(live: Page, ask: Ask) -> None:
    """Whoever follows `next` sees each round once, newest first."""
    seen, before = [], ""
    while True:
        page = ask(live, f"{V1}/rounds?limit=3{before}").json
        seen += [row["number"] for row in page["rounds"]]
        if page["next"] is None:
            break
        before = f"&before={page['next']}"

    assert seen == [7, 6, 5, 4, 3, 2, 1]


def test_devices_are_listed_by_name_and_hold_no_reading(live: Page, ask: Ask) -> None:
    """What is known of a device is when and how often, never what it felt."""
    first = ask(live, f"{V1}/devices?limit=2").json
    then = ask(live, f"{V1}/devices?limit=2&after={first['next']}").json

    names = [one["name"] for one in first["devices"] + then["devices"]]
    assert names == ["north", "south", "west"]
    assert then["next"] is None
    assert set(first["devices"][0]) == {
        "name", "key_id", "boot", "seq", "reports", "last_s", "late", "refused", "left",
        "alarm", "quarantine",
    }  # fmt: skip
    assert first["devices"][0]["left"]["exact"] == "9/8"
    assert [one["late"] for one in first["devices"]] == [5, 0]
    assert ask(live, f"{V1}/devices/north/gaps").json["gaps"] == [
        {"boot": 3, "first": 4, "last": 6}
    ]


def test_a_map_that_is_known_is_not_sent_again(live: Page, ask: Ask) -> None:
    """Its ETag is of its bytes; a weak one, one of several and a star will do."""
    first = ask(live, f"{V1}/maps/latest")
    tag = first.headers["etag"]
    again = [
        ask(live, f"{V1}/maps/latest", If_None_Match=given)
        for given in (tag, f"W/{tag}", f'"other", {tag}', "*")
    ]
    other = ask(live, f"{V1}/maps/5", If_None_Match=tag)

    assert [answer.status for answer in again] == [304] * 4
    assert {answer.body for answer in again} == {b""}
    assert (other.status, other.json["number"]) == (200, 5)
    assert other.headers["etag"] != tag


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/rounds?limit=0", 400, "parameters"),
        ("/rounds?limit=201", 400, "parameters"),
        ("/rounds?limit=1&limit=1", 400, "parameters"),
        ("/rounds?limit=1e1", 400, "parameters"),
        ("/rounds?before=" + "9" * 40, 400, "parameters"),
        ("/rounds?colour=red", 400, "parameters"),
        ("/rounds?limit=%ff", 400, "parameters"),
        ("/rounds/first", 400, "parameters"),
        ("/rounds/99", 404, "missing"),
        ("/rounds/7/release", 404, "missing"),
        ("/maps/7", 404, "missing"),
        ("/nothing", 404, "address"),
        ("/devices?after=" + "a" * 65, 400, "parameters"),
    ],
)
def test_what_is_wrong_is_said_in_one_shape(
    live: Page, ask: Ask, path: str, status: int, code: str
) -> None:
    """A program reads the code, a person the rest."""
    answer = ask(live, V1 + path)

    assert answer.status == status
    assert list(answer.json) == ["type", "title", "status", "detail", "code", "do"]
    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.json["type"], answer.json["status"]) == ("about:blank", status)
    assert answer.json["code"] == code
    assert answer.json["detail"]
    assert answer.json["do"]


def test_methods_that_change_nothing_are_all_there_are(live: Page, ask: Ask) -> None:
    """HEAD is GET without the body, OPTIONS says which there are, and others are refused."""
    got, head = ask(live, f"{V1}/rounds"), ask(live, f"{V1}/rounds", "HEAD")
    options, post = ask(live, f"{V1}/rounds", "OPTIONS"), ask(live, f"{V1}/rounds", "POST")

    assert (head.status, head.body) == (200, b"")
    assert head.headers["content-length"] == str(len(got.body))
    assert (options.status, options.headers["allow"]) == (204, "GET, HEAD, OPTIONS")
    assert "access-control-allow-origin" not in options.headers
    assert (post.status, post.json["code"]) == (405, "method")
    assert "GET" in post.headers["allow"]


@pytest.mark.parametrize(
    ("accept", "status"),
    [
        ("application/json", 200),
        ("text/html, application/*;q=0.5", 200),
        ("*/*", 200),
        ("text/html", 406),
        ("application/json;q=0", 406),
        (";;,,", 406),
    ],
)
def test_only_json_is_answered(live: Page, ask: Ask, accept: str, status: int) -> None:
    """Who takes no JSON is told so, and not sent it anyway."""
    assert ask(live, f"{V1}/rounds", Accept=accept).status == status


def test_before_the_store_is_open_the_page_says_so(ask: Ask) -> None:
    """The page is up first: what needs the store is 503 until it is attached."""
    with Page("127.0.0.1", 0) as page:
        early = ask(page, f"{V1}/rounds"), ask(page, "/readyz"), ask(page, "/livez")
        health = Health("store")
        page.attach(health=health)
        waiting = ask(page, "/readyz")
        health.say("store", True)
        ready = ask(page, "/readyz")

    assert [answer.status for answer in early] == [503, 503, 200]
    assert early[0].json["code"] == "starting"
    assert waiting.status == 503
    assert waiting.json["why"] == "store: it has not started yet"
    assert (ready.status, ready.json["ready"]) == (200, True)


def test_a_store_that_hangs_holds_nobody_else_up(live: Page, known: Any, ask: Ask) -> None:
    """Two reads wait for it, a few more in line, others are sent away; the rest is answered."""
    free = threading.Event()
    known.rounds = lambda limit, before: free.wait(10) and []
    statuses: list[int] = []

    def wait(limit: int) -> None:
        statuses.append(ask(live, f"{V1}/rounds?limit={limit}").status)

    threads = [threading.Thread(target=wait, args=(number + 1,)) for number in range(50)]
    for thread in threads:
        thread.start()
    end_s = time.monotonic() + 60
    while len(statuses) < 18 and time.monotonic() < end_s:
        time.sleep(0.01)
    began_s = time.monotonic()
    alive, how = ask(live, "/livez"), ask(live, f"{V1}/health")
    took_s = time.monotonic() - began_s
    free.set()
    for thread in threads:
        thread.join()

    assert (alive.status, how.status) == (200, 200)
    assert took_s < 5  # half of what those wait that it would stand behind
    assert sorted(statuses) == [200] * 32 + [503] * 18


def test_who_asks_the_same_at_once_gets_one_answer(live: Page, known: Any, ask: Ask) -> None:
    """Two hundred pages ask when a round has closed: that is one look at the store."""
    looks, free, lock = [], threading.Event(), threading.Lock()
    rounds = known.rounds

    def slow(limit: int, before: int | None) -> Any:
        with lock:
            looks.append(limit)
        free.wait(10)
        return rounds(limit, before)

    known.rounds = slow
    found: list[Any] = []
    threads = [
        threading.Thread(target=lambda: found.append(ask(live, f"{V1}/rounds?limit=5")))
        for _ in range(60)
    ]
    for thread in threads:
        thread.start()
    while not looks:
        time.sleep(0.01)
    time.sleep(0.3)
    free.set()
    for thread in threads:
        thread.join()

    assert {answer.status for answer in found} == {200}
    assert len({answer.body for answer in found}) == 1
    assert len(looks) <= 3  # more than one only where it took longer than a second


# The API over a real store, beside the one that writes it.


def test_every_list_is_of_what_was_written(stored: Page, ask: Ask) -> None:
    """Rounds, maps, charges, devices and dead letters, from the rows themselves."""
    rounds = ask(stored, "/api/v1/rounds").json["rounds"]
    maps = ask(stored, "/api/v1/maps").json["maps"]
    ledger = ask(stored, "/api/v1/ledger").json
    (north,) = ask(stored, "/api/v1/devices").json["devices"]

    assert [(row["number"], row["outcome"]) for row in rounds] == [
        (3, "open"),
        (2, "closed"),
        (1, "closed"),
    ]
    assert [(one["number"], one["status"]) for one in maps] == [(1, "solved")]
    assert [ledger[key]["exact"] for key in ("budget", "spent", "left")] == ["4/7", "3/7", "1/7"]
    assert (north["name"], north["seq"], north["refused"]) == ("north", 3, 1)
    assert (north["left"]["exact"], north["quarantine"]) == ("1/7", "it floods")
    assert ask(stored, "/api/v1/rounds/2/release").json["values"] == [2, None]
    assert ask(stored, "/api/v1/maps/latest").json["mass"] == [[1.0]]
    assert ask(stored, "/api/v1/refused").json["kinds"] == {"garbled": 1}
    (shut,) = ask(stored, "/api/v1/quarantine").json["devices"]
    assert (shut["device"], shut["why"]) == ("north", "it floods")


def test_a_store_that_cannot_be_read_is_said(stored: Page, ask: Ask, tmp_path: Path) -> None:
    """Held by somebody else, or moved away: 503 and when to come again, and the page stays."""
    path = tmp_path / "lab.sqlite"
    before = ask(stored, "/api/v1/rounds").status
    path.rename(tmp_path / "away.sqlite")
    gone, alive = ask(stored, "/api/v1/rounds?limit=9"), ask(stored, "/livez")
    (tmp_path / "away.sqlite").rename(path)
    back = ask(stored, "/api/v1/rounds").status

    assert (before, gone.status, back, alive.status) == (200, 503, 200, 200)
    assert gone.json["code"] == "store"
    assert int(gone.headers["retry-after"]) > 0
    assert str(tmp_path) not in gone.body.decode()  # where it is, is nobody else's business
    assert not path.with_suffix(".sqlite-journal").exists()


def test_no_frame_leaves_by_any_address(stored: Page, ask: Ask) -> None:
    """What a device sent stays in the store, whether it counted or was refused."""
    paths = list(ask(stored, "/api/v1/openapi.json").json["paths"])
    for path in paths:
        if path.endswith("/events"):
            continue
        asked = path.replace("{number}", "1").replace("{name}", "north")
        answer = ask(stored, asked)
        assert answer.status == 200, (path, answer.body)
        assert b"SECRET" not in answer.body
        assert b"U0VDUkVU" not in answer.body  # nor in base 64


# The API against its own description, by a program that looks for what does not hold.

SEED, CASES = "20170601", "12"


def _searched(page: Page, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run schemathesis over a page that listens on loopback: every check, a fixed seed."""
    program = Path(sys.executable).with_name("schemathesis")
    if not program.exists():
        pytest.skip("schemathesis is not here: install the extra `test`")
    words = f"--checks all --seed {SEED} --max-examples {CASES} --workers 1 --no-color"
    words += " --exclude-path /api/v1/events --request-timeout 20"  # events never end
    return processes.run(
        [program, "run", f"{page.url}api/v1/openapi.json", *words.split()],
        capture_output=True,
        text=True,
        timeout=180,
        cwd=folder,
    )


@pytest.mark.long
def test_the_api_is_as_described(stored: Page, tmp_path: Path) -> None:
    """Hundreds of requests, right ones and wrong ones: every answer is as the description says."""
    ran = _searched(stored, tmp_path)

    assert ran.returncode == 0, ran.stdout[-4000:]
    assert "No issues found" in ran.stdout
    assert f"Tested: {len(OPERATIONS)}\n" in ran.stdout
    assert int(ran.stdout.split(" generated, ")[0].split()[-1]) > 300
