"""What feeds the page: every viewer gets the latest, and none can hold anybody up."""

import asyncio
import http.client
import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, aclosing, contextmanager
from typing import Any
from urllib.parse import urlsplit

import pytest

from gateway.web import feed
from gateway.web.feed import EVERY_S, KEPT, Feed
from gateway.web.server import Page


def _taken(
    feed: Feed, puts: list[dict[str, Any]], last_id: str | None = None
) -> list[dict[str, Any] | None]:
    """Return what a viewer gets that slept through these events; None is a sign of life."""

    async def look() -> list[Any]:
        feed.opened()
        got: list[Any] = []
        async with aclosing(feed.watch(last_id)) as watching:
            got += [told.event for told in await anext(watching)]
            for event in puts:
                feed.put(event)
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
    told.put({"kind": "ready"})
    flood = [{"kind": "reports", "came": number} for number in range(1000)]
    got = _taken(told, [{"kind": "map"}, *flood])

    assert got == [{"kind": "ready"}, {"kind": "map"}, {"kind": "reports", "came": 999}, None]


def _ids(told: Feed) -> list[str]:
    """Return the ids of the last event of each kind."""
    frames = [one.frame for one in told._kept.latest()]
    return [frame.split(b"\n")[0].removeprefix(b"id: ").decode() for frame in frames]


@pytest.mark.parametrize("id", ["", "nonsense", "00000000:1", ":", "{start}:-1", "{start}:99"])
def test_an_id_that_means_nothing_here_gets_the_whole_state(id: str) -> None:
    """Of another start, of no event yet, or of nobody: it begins anew, and is told so."""
    told = Feed()
    told.put({"kind": "ready"})
    start = _ids(told)[0].split(":")[0]
    (reset, beat) = _taken(told, [], id.format(start=start))

    assert beat is None
    assert reset is not None
    assert (reset["kind"], reset["events"]) == ("reset", {"ready": {"kind": "ready"}})


def test_what_was_overwritten_is_said() -> None:
    """The ring is bounded: who was away for longer hears that something is gone."""
    got = []
    for reports in (KEPT, KEPT + 1):
        told = Feed()
        told.put({"kind": "map"})
        (last_id,) = _ids(told)
        for number in range(reports):
            told.put({"kind": "reports", "came": number})
        got.append(_taken(told, [], last_id))
    whole, (reset, _) = got

    assert [event and event.get("came") for event in whole] == [*range(KEPT), None]
    assert reset is not None
    assert reset["kind"] == "reset"
    assert reset["events"] == {
        "map": {"kind": "map"},
        "reports": {"kind": "reports", "came": KEPT},
    }


def test_no_more_viewers_come_in_than_there_are_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty that ask in one moment are counted one by one, and not when they begin to listen."""
    monkeypatch.setattr(feed, "MOST", 3)
    one = Feed()

    assert [one.enter() for _ in range(5)] == [True, True, True, False, False]
    one.leave()
    assert [one.enter() for _ in range(2)] == [True, False]


# Server-sent events over a real socket: resumed, bounded, never in anybody's way.

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
    live.feed.put({"kind": "map", "number": 1})
    with listening(live, **{"Last-Event-ID": last_id}) as answer:
        missed = event(answer)[1]
    with listening(live, f"?last_event_id={last_id}") as answer:
        again = event(answer)[1]

    assert first["kind"] == "promise"
    assert missed == again == {"kind": "map", "number": 1}


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
