"""What feeds the page: every viewer gets the latest, and none can hold anybody up."""

import asyncio
import http.client
import json
import time
import urllib.error
import urllib.request
from typing import Any

import pytest

from gateway.faults import OperatorFault
from gateway.web.feed import Feed
from gateway.web.server import Page


def _taken(feed: Feed, puts: list[dict[str, Any]], count: int) -> list[Any]:
    """Return what a viewer gets that slept through these events."""

    async def look() -> list[Any]:
        feed.opened()
        watching = feed.watch(beat_s=0.05)
        got = [await anext(watching)]
        for event in puts:
            feed.put(event)
        await asyncio.sleep(0.01)
        got += [await anext(watching) for _ in range(count)]
        await watching.aclose()
        return got

    return asyncio.run(look())


def test_a_viewer_that_slept_gets_the_latest_of_each_kind() -> None:
    """A thousand reports later there is one report to show, and the map is not lost."""
    feed = Feed()
    feed.put({"kind": "ready"})
    flood = [{"kind": "reports", "came": number} for number in range(1000)]
    got = _taken(feed, [{"kind": "map"}, *flood], count=3)

    assert got == [{"kind": "ready"}, {"kind": "map"}, {"kind": "reports", "came": 999}, None]


def test_who_comes_late_gets_the_state_first() -> None:
    """A page opened between two rounds is not empty until the next."""
    feed = Feed()
    for kind in ("ready", "map", "ready"):
        feed.put({"kind": kind})

    assert _taken(feed, [], count=2) == [{"kind": "map"}, {"kind": "ready"}, None]


def _get(url: str) -> tuple[int, Any]:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as fault:
        with fault:
            return fault.code, fault.read()


def test_the_addresses_answer() -> None:
    """Health, state and map, for programs as well as for the page."""
    with Page("127.0.0.1", 0) as page:
        before = _get(f"{page.url}api/map")
        page.feed.put({"kind": "map", "number": 3})

        assert _get(f"{page.url}livez") == (200, b"ok")
        assert before[0] == 404
        assert json.loads(_get(f"{page.url}api/map")[1])["number"] == 3
        assert list(json.loads(_get(f"{page.url}api/state")[1])) == ["map"]
        assert _get(f"{page.url}../../config.py")[0] == 404
        assert _get(f"{page.url}page.js")[0] == 200


def test_it_closes_at_once_with_a_viewer_connected() -> None:
    """A browser that was left open must not keep the gateway from stopping."""
    with Page("127.0.0.1", 0) as page:
        viewer = http.client.HTTPConnection("127.0.0.1", int(page.url[:-1].rsplit(":")[-1]))
        viewer.request("GET", "/api/events")
        answer = viewer.getresponse()
        assert answer.readline() == b"retry: 500\n"
        began_s = time.monotonic()

    assert time.monotonic() - began_s < 1.5
    answer.close()
    viewer.close()


def test_two_pages_on_one_port_are_refused() -> None:
    """The second says so, instead of showing the first one's map."""
    with (
        Page("127.0.0.1", 0) as page,
        pytest.raises(OperatorFault, match="Address already in use"),
    ):
        Page("127.0.0.1", int(page.url[:-1].rsplit(":")[-1]))
