"""What a facility manager needs of the page, in a real browser: what is wrong, who, since when."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Page as Tab

from gateway.mechanisms import find
from gateway.service.operate.health import Health, health_event
from gateway.service.telling import vocabulary
from gateway.web.server import Page

Opened = Callable[..., Tab]
Until = Callable[[Tab, str], None]
TOKEN = "correct-horse-battery"
READY = {
    "kind": "ready",
    "site": "lab",
    **vocabulary(find("thermal")),
    "shape": [4, 1],
    "cell_mm": 1000,
    "sensors": [4, 1],
    "enrolled": 4,
}


@pytest.fixture
def health() -> Health:
    """Return how a gateway is whose broker can be lost."""
    health = Health("broker", "disk")
    health.say("broker", True)
    health.say("disk", True)
    return health


@pytest.fixture
def live(known: Any, health: Health) -> Iterator[Page]:
    """Return a page over a known store."""
    with Page("127.0.0.1", 0, reader=known, health=health) as page:
        page.feed.put(READY)
        yield page


def test_a_source_has_a_radius_that_holds_nine_tenths(
    live: Page, opened: Opened, until: Until
) -> None:
    """Two share what chance lies between them; of a map of one source one alone is listed."""
    tab = opened(live.url)
    live.feed.put({**READY, "shape": [40, 1]})
    mass = [0.75 if cell == 10 else 0.25 if cell == 30 else 0.0 for cell in range(40)]
    present = [0.0] * 40
    present[8:13] = [0.05, 0.2, 0.5, 0.2, 0.05]  # 0.9 within one cell
    present[30] = 0.4
    event = {
        "kind": "map", "number": 1, "status": "solved", "mass": [mass], "total": 2.0,
        "why": "optimal", "seconds": 0.1, "guarantee": {},
    }  # fmt: skip
    credible = {"level": 0.9, "present": [present], "band": None, "expected_error": None}
    live.feed.put({**event, "credible": {**credible, "numbers": [0.0, 0.6, 0.4]}})
    until(tab, "document.querySelectorAll('#places tr').length == 2")

    assert tab.inner_text("#places").splitlines() == [
        "10.5 m\t± 1.5 m\t75 %\t1.50",
        "30.5 m\t± 0.5 m\t25 %\t0.50",
    ]
    assert tab.inner_text("#within") == "Within (90 %)"
    live.feed.put({**event, "number": 2, "credible": {**credible, "numbers": [0.0, 1.0]}})
    until(tab, "document.querySelectorAll('#places tr').length == 1")


def test_what_does_not_work_is_on_top_and_goes_when_it_does(
    live: Page, health: Health, opened: Opened, until: Until
) -> None:
    """The part and the reason; a screen reader is told at once."""
    tab = opened(live.url)
    health.say("broker", False, "it does not answer")
    live.feed.put(health_event(health))
    until(tab, "!document.getElementById('health').hidden")
    words, role = tab.inner_text("#faults"), tab.get_attribute("#health", "role")
    health.say("broker", True)
    live.feed.put(health_event(health))
    until(tab, "document.getElementById('health').hidden")

    assert words == "Broker: it does not answer"
    assert role == "alert"


@pytest.mark.long
def test_after_a_start_the_last_round_is_that_of_the_store(
    live: Page, opened: Opened, until: Until
) -> None:
    """Nothing was asked since; how the last one went, and how long ago, is known anyway."""
    tab = opened(live.url)
    until(tab, "document.getElementById('age').textContent != ''")
    before = [tab.inner_text(f"#{name}") for name in ("round-number", "reports-note")]
    live.feed.put({"kind": "round", "number": 7, "name": "00", "enrolled": 4, "gather_s": 30})
    until(tab, "document.getElementById('round-number').textContent == '7'")
    live.feed.put({"kind": "quarantine", "devices": []})  # makes the page look into the store
    tab.wait_for_timeout(1200)

    assert before == ["6", "4 of 4 sensors answered"]
    assert tab.inner_text("#age").startswith("Round 6 closed ")
    assert tab.inner_text("#round-number") == "7"


def test_a_page_opened_late_knows_what_is_wrong(known: Any, opened: Opened, until: Until) -> None:
    """Nothing need happen for it to be told: it asks how the gateway is."""
    health = Health("disk")
    health.say("disk", False, "48 MB are free and 64 are needed")
    with Page("127.0.0.1", 0, reader=known, health=health) as page:
        page.feed.put(READY)
        tab = opened(page.url)
        until(tab, "!document.getElementById('health').hidden")

        assert tab.inner_text("#faults") == "Disk: 48 MB are free and 64 are needed"
        assert tab.said == []


def test_a_device_that_is_shut_out_is_named_with_its_reason(
    live: Page, opened: Opened, until: Until
) -> None:
    """As text, whatever it says, and since when."""
    tab = opened(live.url)
    why = "<img src=x onerror=document.title='taken'>"
    rows = [{"device": "south", "why": why, "since_s": time.time() - 7200}]
    live.feed.put({"kind": "quarantine", "devices": rows})
    until(tab, "!document.getElementById('quarantine').hidden")

    assert tab.inner_text("#quarantined") == f"south: {why} (2 h ago)"
    assert tab.locator("img").count() == 0


@pytest.mark.long
def test_who_is_silent_is_said_first(live: Page, opened: Opened, until: Until) -> None:
    """Last heard before the last closed round began; shut out; or answering."""
    tab = opened(live.url)
    until(tab, "document.querySelectorAll('#devices tr').length == 3")
    rows = [row.split("\t") for row in tab.inner_text("#devices").splitlines()]

    assert [row[0] for row in rows] == ["north", "south", "west"]
    assert [row[2] for row in rows] == ["silent", "shut out", "silent"]
    assert {row[3] for row in rows} == {"56 %"}  # 9/8 of 2
    assert tab.inner_text("#sensors-note").startswith("3 of 3 sensors")


@pytest.mark.long
def test_earlier_maps_are_a_slider_away(live: Page, opened: Opened, until: Until) -> None:
    """By keyboard; the newest first, and the live map stays where it is."""
    tab = opened(live.url)
    until(tab, "document.getElementById('past').dataset.number == '6'")
    tab.focus("#when")
    tab.keyboard.press("ArrowLeft")
    tab.keyboard.press("ArrowLeft")
    until(tab, "document.getElementById('past').dataset.number == '4'")

    shut = time.localtime(1e9 + 4 + 30)
    said = tab.inner_text("#past-note")
    assert said.startswith("Round 4, ")
    assert f"{shut.tm_year}" in said
    assert f":{shut.tm_min:02}" in said
    assert said.endswith("(6 can be looked at)")
    assert said.startswith(tab.get_attribute("#when", "aria-valuetext") or "?")
    assert tab.get_attribute("#past", "aria-label") == "heat map: 75 % near 1.5 m, 25 % near 0.5 m"


@pytest.mark.long
def test_a_phone_opens_it_with_the_token(known: Any, opened: Opened, until: Until) -> None:
    """By the form; a wrong one is said; once in, a new start of the gateway asks no more."""
    with Page("127.0.0.1", 0, token=TOKEN, reader=known) as page:
        port = int(page.url.rstrip("/").rsplit(":")[-1])
        page.feed.put(READY)
        tab = opened(page.url)
        until(tab, "!document.getElementById('login').hidden")
        before = list(tab.said)
        hidden = not tab.is_visible("#map")
        tab.fill("#token", "wrong-horse-battery")
        tab.keyboard.press("Enter")
        until(tab, "document.getElementById('login-note').textContent != ''")
        tab.fill("#token", TOKEN)
        tab.keyboard.press("Enter")
        until(tab, "document.getElementById('link').dataset.state == 'live'")
        until(tab, "document.getElementById('site').textContent.includes('lab')")
        kept = tab.evaluate("[document.cookie, sessionStorage.length, localStorage.length]")
    until(tab, "document.getElementById('link').dataset.state == 'lost'")
    with Page("127.0.0.1", port, token=TOKEN, reader=known) as page:
        page.feed.put({**READY, "site": "again"})
        until(tab, "document.getElementById('site').textContent.includes('again')")

    assert hidden
    assert before == []
    assert kept == ["", 0, 0]  # no script of the page can give the token away
    assert tab.is_visible("#map")


NAMELESS = """() => [...document.querySelectorAll(
    "canvas,progress,input,button,section,[tabindex='0']")]
  .filter((one) => !one.ariaLabel && !one.textContent.trim() && !one.labels?.length
    && !document.getElementById(one.getAttribute("aria-labelledby"))?.textContent)
  .map((one) => one.outerHTML)"""


@pytest.mark.long
def test_it_can_be_used_by_ear_and_by_keyboard(live: Page, opened: Opened, until: Until) -> None:
    """All that can be looked at or moved has a name; Tab goes to the map, tables and slider."""
    tab = opened(live.url, reduced_motion="reduce")
    until(tab, "document.getElementById('past').dataset.number == '6'")
    nameless = tab.evaluate(NAMELESS)
    tab.evaluate("document.body.append(document.createElement('canvas'))")
    planted = tab.evaluate(NAMELESS)
    walked = []
    for _ in range(5):
        tab.keyboard.press("Tab")
        walked.append(
            tab.evaluate(
                "document.activeElement.id || document.activeElement.getAttribute("
                "'aria-labelledby') || document.activeElement.className"
            )
        )

    assert (nameless, planted) == ([], ["<canvas></canvas>"])
    assert walked[:4] == ["skip", "sources-title", "sensors-title", "when"]
    assert tab.evaluate("document.documentElement.lang") == "en"
    assert tab.locator("th:not([scope])").count() == 0
