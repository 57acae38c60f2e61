"""Server-sent events over a real socket: resumed, bounded, never in anybody's way."""

import http.client
import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from urllib.parse import urlsplit

import pytest

from gateway.web import feed
from gateway.web.server import Page

Ask = Callable[..., Any]


@contextmanager
def listening(page: Page, query: str = "", **headers: str) -> Iterator[http.client.HTTPResponse]:
    """Give the answer of a viewer that stays for the block."""
    link = http.client.HTTPConnection(*urlsplit(page.url).netloc.split(":"), timeout=5)
    link.request("GET", f"/api/v1/events{query}", headers=headers)
    answer = link.getresponse()
    try:
        yield answer
    finally:
        answer.close()
        link.close()


def event(answer: http.client.HTTPResponse) -> tuple[str, dict[str, Any]]:
    """Return the next event with its id."""
    held: dict[str, str] = {}
    while True:
        line = answer.readline().decode().rstrip("\n")
        key, _, value = line.partition(": ")
        if line:
            held[key] = value
        elif "data" in held:
            return held.get("id", ""), json.loads(held["data"])


def test_a_browser_that_lost_us_goes_on_where_it_was(live: Page) -> None:
    """By the header that EventSource sends, and by the address where there is none."""
    with listening(live) as answer:
        last_id, first = event(answer)
    live.feed.put({"kind": "map", "number": 1})
    with listening(live, **{"Last-Event-ID": last_id}) as answer:
        missed = event(answer)[1]
    with listening(live, f"?last_event_id={last_id}") as answer:
        again = event(answer)[1]

    assert first["kind"] == "promise"
    assert missed == again == {"kind": "map", "number": 1}


def test_another_gateway_says_that_it_is_another(live: Page) -> None:
    """After a restart the numbers begin anew; the viewer gets all there is and its new place."""
    with listening(live, **{"Last-Event-ID": "0badcafe:3"}) as answer:
        place, reset = event(answer)
    live.feed.put({"kind": "map", "number": 2})
    with listening(live, **{"Last-Event-ID": place}) as answer:
        then = event(answer)[1]

    assert list(reset["events"]) == ["promise"]
    assert then == {"kind": "map", "number": 2}


@pytest.mark.long
def test_a_viewer_that_never_reads_holds_nobody_up(live: Page) -> None:
    """Its socket fills and then it is overtaken; others hear every map at once."""
    host, port = urlsplit(live.url).netloc.split(":")
    with socket.create_connection((host, int(port))) as stuck, listening(live) as answer:
        stuck.sendall(b"GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        event(answer)
        late_s = []
        for number in range(40):
            live.feed.put({"kind": "map", "number": number, "mass": [[0.123456789] * 20_000]})
            put_s = time.monotonic()
            assert event(answer)[1]["number"] == number
            late_s.append(time.monotonic() - put_s)

    assert sorted(late_s)[20] < 2


def test_all_viewers_are_let_go_at_once(live: Page) -> None:
    """A gateway that is told to stop does not wait for those who look on."""
    with ExitStack() as stack:
        answers = [stack.enter_context(listening(live)) for _ in range(20)]
        for answer in answers:
            event(answer)
        began_s = time.monotonic()
        live.close()
        took_s = time.monotonic() - began_s
        last = [event(answer)[1] for answer in answers]

    assert took_s < 5  # of the ten seconds between two signs of life
    assert last == [{"kind": "bye"}] * 20


def test_whoever_takes_no_events_is_told_so(live: Page, ask: Ask) -> None:
    """Bounds and kinds are looked at before anything is sent that does not end."""
    assert ask(live, "/api/v1/events", Accept="application/json").status == 406
    assert ask(live, f"/api/v1/events?last_event_id={'1' * 65}").status == 400
    assert ask(live, "/api/v1/events", "HEAD").headers["content-type"].startswith(feed.KIND)
