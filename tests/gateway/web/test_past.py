"""A page over a store, in a real browser: the day that was, devices, and what does not work."""

import json
import re
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from gateway.mechanisms import find_mechanism
from gateway.service import campaign
from gateway.service.operate.health import Health, make_health_event
from gateway.service.operate.schedule import explain_closed_hours
from gateway.service.telling import make_vocabulary_event
from gateway.web.server import Page
from tests.waiting import eventually

from .conftest import told
from .test_page import READY as LINE
from .test_page import Opened, Until, coloured, shown

ACCENT = 0x6B, 0x2C, 0x91
TOKEN = "correct-horse-battery"
READY = {
    **LINE,
    **make_vocabulary_event(find_mechanism("thermal")),
    "shape": [4, 1],
    "cell_mm": 1000,
}


@pytest.fixture
def health() -> Health:
    """Return how a gateway is whose broker can be lost."""
    health = Health("broker", "disk")
    health.set_part("broker", True)
    health.set_part("disk", True)
    return health


@pytest.fixture
def live(known: Any, health: Health) -> Iterator[Page]:
    """Return a page over a known store: seven rounds, the last of them open."""
    with Page("127.0.0.1", 0, reader=known, health=health) as page:
        page.feed.put_event(READY)
        page.feed.put_event(told(6))
        yield page


def test_what_does_not_work_is_on_top_and_goes_when_it_does(
    live: Page, health: Health, opened: Opened, until: Until
) -> None:
    """The part and the reason, for who comes late too."""
    health.set_part("broker", False, "it does not answer")
    tab = opened(live.url)
    until(tab, "!document.getElementById('trouble').hidden")
    words = tab.inner_text("#trouble-line")
    health.set_part("broker", True)
    live.feed.put_event(make_health_event(health))
    until(tab, "document.getElementById('trouble').hidden")

    assert words == "Messages: it does not answer"
    assert tab.said == []


def test_rounds_that_nobody_answers_are_on_top_and_a_pause_is_beside_the_round(
    opened: Opened, until: Until
) -> None:
    """Both are of a gateway that works: of silence somebody must hear, of closed hours nobody."""
    health = Health("rounds")
    with Page("127.0.0.1", 0, health=health) as page:
        tab = opened(page.url)
        health.set_part("rounds", True, campaign.UNHEARD(times=3))
        page.feed.put_event(make_health_event(health))
        until(tab, "!document.getElementById('trouble').hidden")
        silent = tab.inner_text("#trouble-line")
        closed = explain_closed_hours("08:00-18:00", datetime(2026, 1, 1, 20, tzinfo=UTC))
        health.set_part("rounds", True, closed)
        page.feed.put_event(make_health_event(health))
        until(tab, "document.getElementById('trouble').hidden")

    assert silent.startswith("Rounds: no device answers, or too few do (asked in vain")
    assert "only between 08:00 and 18:00" in tab.inner_text("#pause")


@pytest.mark.long
def test_who_looks_back_is_left_there(live: Page, opened: Opened, until: Until) -> None:
    """By keyboard; what comes meanwhile is said, and shown when it is asked for."""
    tab = opened(live.url)
    until(tab, "!document.getElementById('time').hidden")
    until(tab, shown(6))
    until(tab, "!document.getElementById('aged').hidden")
    aged = tab.inner_text("#aged")
    tab.focus("#when")
    tab.keyboard.press("ArrowLeft")
    tab.keyboard.press("ArrowLeft")
    until(tab, shown(4))
    said = tab.get_attribute("#when", "aria-valuetext") or ""
    live.feed.put_event(told(7))
    until(tab, "document.getElementById('now').textContent.includes('new map')")
    tab.wait_for_timeout(1200)
    stayed = tab.evaluate(shown(4))
    link = tab.evaluate("location.hash")
    tab.click("#now")
    until(tab, shown(7))

    shut = time.localtime(1e9 + 4 + 30)
    assert re.fullmatch(
        r"A newer map is overdue\. .* This map is \d+ days old\.", aged.replace(",", "")
    )
    assert f"{shut.tm_year}" in said
    assert said.endswith(f":{shut.tm_min:02}, Round 4")
    assert stayed
    assert link == "#round=4"
    assert tab.said == []


@pytest.mark.long
def test_after_a_start_the_newest_map_is_that_of_the_store(
    known: Any, opened: Opened, until: Until
) -> None:
    """Nothing has been told since: neither the map nor what was sent is missed."""
    with Page("127.0.0.1", 0, reader=known, health=Health()) as page:
        page.feed.put_event({**READY, "wire": {"exponent": 2}})
        tab = opened(page.url)
        until(tab, shown(6))
        heard = tab.get_attribute("#wire", "aria-label") or ""

        assert all(end in heard for end in ("-0.75 degrees", "1.00 degrees"))
        assert tab.locator("[data-key=silent]").count() == 1
        assert tab.said == []


@pytest.mark.long
def test_after_a_restart_with_nothing_left_it_says_that_no_round_comes(
    known: Any, opened: Opened, until: Until
) -> None:
    """How the last round went would have who looks wait for another."""
    with Page("127.0.0.1", 0, reader=known, health=Health()) as page:
        page.feed.put_event(READY)
        page.feed.put_event({"kind": "done", "why": "all readings have been taken"})
        tab = opened(page.url)
        until(tab, "document.getElementById('round-number').textContent == '6'")
        said = tab.inner_text("#reports-note")

    assert said.startswith("no more rounds")


@pytest.mark.long
def test_a_round_whose_map_is_being_drawn_is_not_told_to_have_none(
    known: Any, opened: Opened, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rounds may close before the first map; one that a newer map has passed gets none."""
    drawn = list[int]()
    monkeypatch.setattr(known, "read_map", lambda n=None: told(n) if n in drawn else None)
    monkeypatch.setattr(known, "list_maps", lambda *_: [json.dumps(told(n)) for n in drawn])
    with Page("127.0.0.1", 0, reader=known, health=Health()) as page:
        page.feed.put_event(READY)
        tab = opened(page.url)
        until(tab, "document.getElementById('wire').getAttribute('aria-label')")
        until(tab, "!document.getElementById('time').hidden")
        waiting = [tab.inner_text("#empty"), tab.inner_text("#map-when")]
        drawn.append(6)
        passed = opened(f"{page.url}#round=3")
        until(passed, shown(3))
        said = passed.inner_text("#map-when")

    assert "no map" not in " ".join(waiting)
    assert waiting[1] == ""
    assert said.endswith("no map")


@pytest.mark.long
def test_a_map_that_comes_late_colours_its_round(
    known: Any, opened: Opened, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More have closed meanwhile than are asked for again; those of a rehearsal, in seconds."""
    monkeypatch.setattr(known, "read_map", lambda _=None: None)
    monkeypatch.setattr(known, "list_maps", lambda *_: [])
    with Page("127.0.0.1", 0, reader=known, health=Health()) as page:
        page.feed.put_event(READY)
        tab = opened(page.url)
        until(tab, "document.getElementById('moment').textContent != ''")  # the rounds are there
        before = coloured(tab, ACCENT, canvas="strip")
        page.feed.put_event(told(1))
        assert eventually(lambda: coloured(tab, ACCENT, canvas="strip"))

    assert not before


@pytest.mark.long
def test_a_link_opens_the_same_view(live: Page, opened: Opened, until: Until) -> None:
    """Two times side by side, in the language that was chosen; an unknown round is said."""
    tab = opened(f"{live.url}#round=3&with=5&lang=de", 1280)
    until(tab, shown(3))
    until(tab, "!document.getElementById('beside').hidden")
    two = [tab.inner_text("#map-when"), tab.inner_text("#other-when")]
    lost = opened(f"{live.url}#round=99")
    until(lost, "document.getElementById('notice').textContent != ''")
    said = []
    for number in ("nine", "7"):
        other = opened(f"{live.url}#round={number}")
        until(other, "document.getElementById('notice').textContent != ''")
        said.append(other.inner_text("#notice"))
    alone = opened(f"{live.url}#round=3&with=99")
    until(alone, "document.getElementById('notice').textContent != ''")

    assert [words.split(" ·")[0] for words in two] == ["Runde 3", "Runde 5"]
    assert tab.evaluate("document.documentElement.lang") == "de"
    assert tab.inner_text("#map-title") == "Wo die Wärme ist"
    assert lost.inner_text("#notice").startswith("Round 99 is not stored here")
    assert said[0] == "Round nine is not stored here, so you see the newest map."
    assert said[1].startswith("Round 7 has not ended yet")
    assert lost.evaluate(shown(6))
    assert alone.inner_text("#notice").startswith("Round 99 is not stored here")
    assert alone.evaluate("location.hash") == "#round=3"


@pytest.mark.long
def test_a_day_is_played(live: Page, opened: Opened, until: Until) -> None:
    """From its first round to its last; a day without rounds says so."""
    tab = opened(live.url)
    until(tab, "!document.getElementById('time').hidden")
    tab.click("#play")
    until(tab, shown(1))
    until(tab, shown(6))
    until(tab, "document.getElementById('play').textContent == 'Play the day'")
    tab.click("#day-after")
    until(tab, "document.getElementById('time-note').textContent.startsWith('There was no round')")
    tab.click("#day-before")
    tab.click("#day-before")
    until(tab, "document.getElementById('time-note').textContent.startsWith('The first round')")


@pytest.mark.long
def test_devices_are_found_and_those_that_are_silent_come_first(
    live: Page, known: Any, opened: Opened, until: Until
) -> None:
    """Last heard before the last closed round began, or never; shut out; or answering."""
    rows = known.list_devices()
    known.list_devices = lambda _: [*rows[:2], rows[2]._replace(last_s=None)]
    tab = opened(live.url)
    until(tab, "document.querySelectorAll('#devices tr').length == 3")
    rows = [row.split("\t") for row in tab.inner_text("#devices").splitlines()]
    before = [tab.inner_text(f"#{name}") for name in ("round-number", "reports-note", "age")]
    tab.fill("#find", "NOR")
    until(tab, "document.querySelectorAll('#devices tr').length == 1")
    tab.fill("#find", "")
    tab.click("#sensor-head")
    tab.click("#sensor-head")

    assert [row[0] for row in rows] == ["south", "west", "north"]
    assert [row[2] for row in rows] == ["blocked", "no valid answer so far", "no valid answer"]
    assert {row[3] for row in rows} == {"56 %"}  # 9/8 of 2
    assert tab.inner_text("#sensors-note").startswith("Altogether there are 3 sensors; 3 of them")
    assert tab.inner_text("#devices tr:first-child th") == "west"
    assert tab.get_attribute("[data-by=name]", "aria-sort") == "descending"
    # Nothing was asked since the start; how the last round went is known anyway.
    assert before[:2] == ["6", "4 of 4 sensors answered"]
    assert before[2].startswith("Round 6 ended ")
    live.feed.put_event({"kind": "round", "number": 7, "enrolled": 4})
    until(
        tab, "document.getElementById('age').textContent.startsWith('Round 7 has not ended yet')"
    )


@pytest.mark.long
def test_a_phone_opens_it_with_the_token(known: Any, opened: Opened, until: Until) -> None:
    """By the form; a wrong one is said; once in, a new start of the gateway asks no more."""
    with Page("127.0.0.1", 0, token=TOKEN, reader=known) as page:
        port = int(page.url.rstrip("/").rsplit(":")[-1])
        page.feed.put_event(READY)
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
        page.feed.put_event({**READY, "site": "again"})
        until(tab, "document.getElementById('site').textContent.includes('again')")
        tab.evaluate("window.before = true")
        tab.click("#leave")
        until(tab, "!window.before && !document.getElementById('login').hidden")
        gone = not tab.is_visible("#map")

    assert hidden
    assert before == []
    assert kept == ["", 0, 0]  # no script of the page can give the token away
    assert gone


@pytest.mark.long
def test_a_viewer_sees_the_map_and_no_device(known: Any, opened: Opened, until: Until) -> None:
    """Neither its name, nor when it was last heard, nor what is amiss with it."""
    with Page("127.0.0.1", 0, token=TOKEN, viewer_token=TOKEN[::-1], reader=known) as page:
        page.feed.put_event(READY)
        page.feed.put_event(
            {"kind": "quarantine", "devices": [{"device": "south", "why": "it floods"}]}
        )
        tab = opened(f"{page.url}#token={TOKEN[::-1]}")
        until(tab, shown(6))
        until(tab, "!document.getElementById('time').hidden")
        words = tab.inner_text("body")
        asked = [url for url in tab.asked if "/devices" in url]

        assert not tab.is_visible("#devices-box")
        assert not tab.is_visible("#trouble")
        assert "south" not in words
        assert "Sign out (viewer)" in words
        assert (asked, tab.said) == ([], [])


@pytest.mark.long
def test_with_an_operators_session_the_names_leave_the_page(
    known: Any, opened: Opened, until: Until
) -> None:
    """When it is over, and when a viewer signs in over it in another tab."""
    open, own, others = "document.getElementById('login').hidden", TOKEN, TOKEN[::-1]
    named = "document.documentElement.innerHTML.includes('south')"
    words: Any = {"token": own, "viewer_token": others, "reader": known}
    event = {"kind": "quarantine", "devices": [{"device": "south", "why": "it floods"}]}
    with Page("127.0.0.1", 0, **words) as page:
        port = int(page.url.rstrip("/").rsplit(":")[-1])
        page.feed.put_event(READY)
        page.feed.put_event(event)
        tab = opened(f"{page.url}#token={own}")
        until(tab, named)
        tab.evaluate("fetch('/api/v1/session', { method: 'DELETE' })")
        page.feed.put_event({"kind": "done", "why": "over"})
        until(tab, f"!{open}")
        until(tab, f"!{named}")
        tab.fill("#token", own)
        tab.press("#token", "Enter")
        until(tab, named)
        body = (
            f"{{ method: 'POST', headers: {{ 'content-type': 'application/json' }}, "
            f"body: JSON.stringify({{ token: '{others}' }}) }}"
        )
        tab.evaluate(f"fetch('/api/v1/session', {body}).then(() => 0)")
    with Page("127.0.0.1", port, **words) as page:
        page.feed.put_event(READY)
        page.feed.put_event(event)
        until(
            tab, f"{shown(6)} && document.getElementById('leave').textContent.includes('viewer')"
        )

        assert "south" not in tab.content()
        assert not tab.is_visible("#devices-box")


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybody_can_use_it(
    live: Page, opened: Opened, until: Until, axe: str, scheme: str
) -> None:
    """Names, contrast, order and landmarks, as axe-core finds them; a planted fault is found."""
    tab = opened(live.url, 1280, reduced_motion="reduce", color_scheme=scheme)
    until(tab, "document.querySelectorAll('#devices tr').length == 3")
    tab.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")
    tab.evaluate(axe)
    broken = "axe.run().then(({ violations }) => violations.map(({ id }) => id))"
    found = tab.evaluate(broken)
    tab.evaluate("document.getElementById('map').removeAttribute('aria-label')")

    assert found == []
    assert "role-img-alt" in tab.evaluate(broken)


@pytest.mark.long
def test_the_page_opens_without_its_gateway(known: Any, opened: Opened, until: Until) -> None:
    """Installed on a phone, it says what is wrong instead of a browser's fault; no map is kept."""
    with Page("127.0.0.1", 0, reader=known) as page:
        page.feed.put_event(READY)
        tab = opened(page.url)
        until(tab, "navigator.serviceWorker.controller !== null")
        until(tab, "caches.match('/page.js').then(Boolean)")
        kept = tab.evaluate(
            "caches.open('heatveil').then((one) => one.keys())"
            ".then((keys) => keys.filter(({ url }) => url.includes('/api/')).length)"
        )
        url = page.url
    tab.goto(url)
    until(tab, "document.getElementById('link').dataset.state == 'lost'")

    assert kept == 0
    assert tab.inner_text("#link") == "no connection"
