"""The API: pages that join, one shape of error, nothing that was not asked for."""

import asyncio
import http.client
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, aclosing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from gateway.service.drawing import republish_map
from gateway.service.operate.health import Health
from gateway.web import app, feed
from gateway.web.feed import EVERY_S, KEPT, Feed
from gateway.web.maps import read_map
from gateway.web.operations import OPERATIONS
from gateway.web.server import Page
from tests import processes
from tests.waiting import eventually

Ask = Callable[..., Any]
V1 = "/api/v1"


def follow(live: Page, ask: Ask, path: str, key: str) -> list[dict[str, Any]]:
    """Return the rows of all pages of an address, each asked for with `next` of the last."""
    rows, following = [], ""
    while True:
        page = ask(live, f"{V1}/{path}{following}").json
        rows += page[path.partition("?")[0]]
        if page["next"] is None:
            return rows
        following = f"&{key}={page['next']}"


def test_pages_join_without_gap_or_overlap(live: Page, ask: Ask) -> None:
    """Whoever follows `next` sees each round once, newest first."""
    seen = follow(live, ask, "rounds?limit=3", "before")

    assert [row["number"] for row in seen] == [7, 6, 5, 4, 3, 2, 1]


def test_devices_are_listed_by_name_and_hold_no_reading(live: Page, ask: Ask) -> None:
    """What is known of a device is when and how often, never what it felt."""
    found = follow(live, ask, "devices?limit=2", "after")

    assert [one["name"] for one in found] == ["north", "south", "west"]
    assert set(found[0]) == {
        "name", "key_id", "boot", "seq", "reports", "last_s", "late", "refused", "left",
        "alarm", "quarantine", "clock",
    }  # fmt: skip
    assert found[0]["left"]["exact"] == "9/8"
    assert [one["late"] for one in found[:2]] == [5, 0]
    assert ask(live, f"{V1}/devices/north/gaps").json["gaps"] == [
        {"boot": 3, "first": 4, "last": 6}
    ]


def test_who_is_enrolled_is_listed_and_nobody_else(live: Page, ask: Ask) -> None:
    """A device that was taken out would need attention for ever, and a new one be on no page."""
    live.attach(list_keys=lambda: {"south": b"four", "attic": b"five"})
    found = ask(live, f"{V1}/devices").json["devices"]

    assert [one["name"] for one in found] == ["attic", "south"]


def test_no_device_is_lost_where_the_database_has_an_order_of_its_own(
    live: Page, known: Any, ask: Ask
) -> None:
    """PostgreSQL sorts as a language does, small letters beside great ones; `after` does not."""
    one, *_ = known.list_devices()
    names = ["attic", "Barn", "cellar", "Den", "east"]
    known.list_devices = lambda _: [one._replace(name=name) for name in names]
    seen = follow(live, ask, "devices?limit=2", "after")

    assert [row["name"] for row in seen] == sorted(names)


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


def test_a_map_of_before_there_was_a_median_number_is_told_with_its_likeliest() -> None:
    """It goes out in its own bytes, and what reads it here finds about how many there are."""
    count = {"low": 1, "high": 3, "chance": 0.9, "likeliest": 2, "several": False, "empty": False}
    credible = {"level": 0.9, "present": [[0.5]], "numbers": [0.1, 0.3, 0.4, 0.2], "count": count}
    body = json.dumps({"number": 1, "status": "solved", "mass": [[1.0]], "credible": credible})
    again = republish_map("lab", "thermal", body)

    assert again.letter.payload == body.encode()
    assert again.event["credible"]["count"]["median"] == 2
    assert read_map(json.loads(body)).credible.count.median == 2


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
        health.set_part("store", True)
        ready = ask(page, "/readyz")

    assert [answer.status for answer in early] == [503, 503, 200]
    assert early[0].json["code"] == "starting"
    assert waiting.status == 503
    assert waiting.json["why"] == "store: it has not started yet"
    assert (ready.status, ready.json["ready"]) == (200, True)


def test_a_store_that_hangs_holds_nobody_else_up(live: Page, known: Any, ask: Ask) -> None:
    """Two reads wait for it, a few more in line, others are sent away; the rest is answered."""
    free = threading.Event()
    known.list_rounds = lambda limit, before: free.wait(300) and []
    statuses: list[int] = []

    def wait(limit: int) -> None:
        statuses.append(ask(live, f"{V1}/rounds?limit={limit}").status)

    threads = [threading.Thread(target=wait, args=(number + 1,)) for number in range(50)]
    for thread in threads:
        thread.start()
    assert eventually(lambda: len(statuses) >= 18)
    try:
        alive, how = ask(live, "/livez"), ask(live, f"{V1}/health")
    finally:
        free.set()
    for thread in threads:
        thread.join()

    assert (alive.status, how.status) == (200, 200)
    assert sorted(statuses) == [200] * 32 + [503] * 18


def test_who_asks_the_same_at_once_gets_one_answer(
    live: Page, known: Any, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two hundred pages ask when a round has closed: that is one look at the store."""
    monkeypatch.setattr(app, "FRESH_S", 300.0)
    looks, free, lock = [], threading.Event(), threading.Lock()
    rounds = known.list_rounds

    def slow(limit: int, before: int | None) -> Any:
        with lock:
            looks.append(limit)
        free.wait(300)
        return rounds(limit, before)

    known.list_rounds = slow
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
    assert len(looks) == 1

    monkeypatch.setattr(app, "FRESH_S", -1.0)  # each answer is past it as soon as it is there
    for _ in range(2):
        ask(live, f"{V1}/rounds?limit=6")

    assert len(looks) == 3


# The API over a real store, beside the one that writes it.


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


# What feeds the page: every viewer gets the latest, and none can hold anybody up.


def _taken(
    feed: Feed, puts: list[dict[str, Any]], last_id: str | None = None
) -> list[dict[str, Any] | None]:
    """Return what a viewer gets that slept through these events; None is a sign of life."""

    async def look() -> list[Any]:
        feed.start()
        got: list[Any] = []
        async with aclosing(feed.watch_events(last_id)) as watching:
            got += [told.event for told in await anext(watching)]
            for event in puts:
                feed.put_event(event)
            await asyncio.sleep(2 * EVERY_S)  # it is woken by then, and has not looked
            for _ in range(2 if puts else 1):
                got += [told.event for told in await anext(watching)] or [None]
        return got

    return asyncio.run(look())


@pytest.fixture(autouse=True)
def _beats_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give signs of life four times a second."""
    monkeypatch.setattr(feed, "BEAT_S", 0.25)


def test_a_viewer_that_slept_gets_the_latest_of_each_kind() -> None:
    """A thousand reports later there is one report to show, and the map is not lost."""
    told = Feed()
    told.put_event({"kind": "ready"})
    flood = [{"kind": "reports", "came": number} for number in range(1000)]
    got = _taken(told, [{"kind": "map"}, *flood])

    assert got == [{"kind": "ready"}, {"kind": "map"}, {"kind": "reports", "came": 999}, None]


def _ids(told: Feed) -> list[str]:
    """Return the ids of the last event of each kind."""
    frames = [one.frame for one in told._kept.list_latest()]
    return [frame.split(b"\n")[0].removeprefix(b"id: ").decode() for frame in frames]


@pytest.mark.parametrize("id", ["", "nonsense", "00000000:1", ":", "{start}:-1", "{start}:99"])
def test_an_id_that_means_nothing_here_gets_the_whole_state(id: str) -> None:
    """Of another start, of no event yet, or of nobody: it begins anew, and is told so."""
    told = Feed()
    told.put_event({"kind": "ready"})
    start = _ids(told)[0].split(":")[0]
    (reset, beat) = _taken(told, [], id.format(start=start))

    assert beat is None
    assert (reset["kind"], reset["events"]) == ("reset", {"ready": {"kind": "ready"}})


def test_what_was_overwritten_is_said() -> None:
    """The ring is bounded: who was away for longer hears that something is gone."""
    got = []
    for reports in (KEPT, KEPT + 1):
        told = Feed()
        told.put_event({"kind": "map"})
        (last_id,) = _ids(told)
        for number in range(reports):
            told.put_event({"kind": "reports", "came": number})
        got.append(_taken(told, [], last_id))
    whole, (reset, _) = got

    assert [event and event.get("came") for event in whole] == [*range(KEPT), None]
    assert reset["kind"] == "reset"
    assert reset["events"] == {
        "map": {"kind": "map"},
        "reports": {"kind": "reports", "came": KEPT},
    }


def test_no_more_viewers_come_in_than_there_are_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty that ask in one moment are counted one by one, and not when they begin to listen."""
    monkeypatch.setattr(feed, "MOST", 3)
    one = Feed()

    assert [one.take_place() for _ in range(5)] == [True, True, True, False, False]
    one.give_place_back()
    assert [one.take_place() for _ in range(2)] == [True, False]


# Server-sent events over a real socket: resumed, bounded, never in anybody's way.


@contextmanager
def listening(page: Page, query: str = "", **headers: str) -> Iterator[http.client.HTTPResponse]:
    """Give the answer of a viewer that stays for the block."""
    link = http.client.HTTPConnection(*urlsplit(page.url).netloc.split(":"), timeout=60)
    link.request("GET", f"/api/v1/events{query}", headers=headers)
    answer = link.getresponse()
    try:
        yield answer
    finally:
        answer.close()
        link.close()


def event(answer: http.client.HTTPResponse) -> tuple[str, dict[str, Any]]:
    """Return the next event with its id; signs of life are none."""
    held: dict[str, str] = {}
    while True:
        line = answer.readline().decode().rstrip("\n")
        key, _, value = line.partition(": ")
        if line:
            held[key] = value
        elif held.get("event") == "beat":
            held.clear()
        elif "data" in held:
            return held.get("id", ""), json.loads(held["data"])


def test_a_browser_that_lost_us_goes_on_where_it_was(live: Page) -> None:
    """By the header that EventSource sends, and by the address where there is none."""
    with listening(live) as answer:
        last_id, first = event(answer)
    live.feed.put_event({"kind": "map", "number": 1})
    with listening(live, **{"Last-Event-ID": last_id}) as answer:
        missed = event(answer)[1]
    with listening(live, f"?last_event_id={last_id}") as answer:
        again = event(answer)[1]

    assert first["kind"] == "promise"
    assert missed == again == {"kind": "map", "number": 1}


def test_all_viewers_are_let_go_at_once(live: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    """A gateway that is told to stop does not wait for those who look on."""
    monkeypatch.setattr(feed, "BEAT_S", 3600.0)  # for the next sign of life nobody could wait
    with ExitStack() as stack:
        answers = [stack.enter_context(listening(live)) for _ in range(20)]
        for answer in answers:
            event(answer)
        live.close()
        last = [event(answer)[1] for answer in answers]

    assert last == [{"kind": "bye"}] * 20


def test_whoever_takes_no_events_is_told_so(live: Page, ask: Ask) -> None:
    """Bounds and kinds are looked at before anything is sent that does not end."""
    assert ask(live, "/api/v1/events", Accept="application/json").status == 406
    assert ask(live, f"/api/v1/events?last_event_id={'1' * 65}").status == 400
    assert ask(live, "/api/v1/events", "HEAD").headers["content-type"].startswith(feed.KIND)
