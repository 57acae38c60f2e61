"""The live page, in a real browser: it shows, it follows, and it asks nobody else."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from gateway.web import server

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
]
READY = {
    "kind": "ready",
    "site": "lab",
    "mechanism": "thermal",
    "shape": [80, 1],
    "cell_mm": 250,
    "sensors": [4, 1],
    "enrolled": 4,
}
HOSTILE = "<img src=x onerror=document.title='taken'>"


@pytest.fixture(scope="module")
def browser(need: Callable[[str], str]) -> Iterator[Browser]:
    """Return one headless Chromium for all tests."""
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=need("chromium"), args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def live() -> Iterator[server.Page]:
    """Return a page that has been told of a site."""
    with server.Page("127.0.0.1", 0) as page:
        page.feed.put(READY)
        yield page


@pytest.fixture
def tab(browser: Browser, live: server.Page) -> Iterator[Page]:
    """Return the page in a tab whose complaints and requests are written down."""
    context = browser.new_context(viewport={"width": 400, "height": 800})
    tab = context.new_page()
    tab.said, tab.asked = [], []
    tab.on("console", lambda message: tab.said.append(message.text))
    tab.on("pageerror", lambda fault: tab.said.append(str(fault)))
    tab.on("request", lambda request: tab.asked.append(request.url))
    tab.goto(live.url)
    yield tab
    context.close()


def drawn(number: int, cell: int, total: float = 1.0) -> dict[str, Any]:
    """Return the event of a map with all its heat in one cell."""
    mass = [1.0 if place == cell else 0.0 for place in range(80)]
    return {
        "kind": "map",
        "number": number,
        "status": "solved",
        "mass": [mass],
        "total": total,
        "why": "optimal",
        "seconds": 0.1,
        "guarantee": {},
    }


def until(tab: Page, expression: str) -> None:
    """Wait until an expression holds in the page; its policy forbids the usual way to wait."""
    end_s = time.monotonic() + 5
    while not tab.evaluate(expression):
        if time.monotonic() > end_s:
            pytest.fail(f"never came true: {expression}")
        time.sleep(0.02)


def brightest(tab: Page) -> float:
    """Return where along the map's strip the brightest column is, 0 to 1."""
    return float(
        tab.evaluate(
            """() => {
              const canvas = document.getElementById("map"), pen = canvas.getContext("2d");
              const y = canvas.height - Math.round(40 * canvas.height / canvas.clientHeight);
              const row = pen.getImageData(0, y, canvas.width, 1).data;
              let most = 0, at = 0;
              for (let x = 0; x < canvas.width; x++)
                if (row[4 * x + 1] > most) { most = row[4 * x + 1]; at = x; }
              return at / canvas.width;
            }"""
        )
    )


def test_a_map_appears_and_follows(live: server.Page, tab: Page) -> None:
    """What the gateway tells is on the canvas, where it belongs, and the next one replaces it."""
    live.feed.put(drawn(1, 8))
    until(tab, "document.getElementById('map').dataset.number == '1'")
    first = brightest(tab)
    live.feed.put(drawn(2, 72))
    until(tab, "document.getElementById('map').dataset.number == '2'")

    assert (first, brightest(tab)) == pytest.approx((0.13, 0.87), abs=0.05)
    assert "100 % near 18.1 m" in tab.inner_text("#places")
    assert tab.get_attribute("#map", "aria-label") == "heat map: 100 % near 18.1 m"


def test_it_asks_nobody_else_and_complains_of_nothing(live: server.Page, tab: Page) -> None:
    """A page that fetched a font elsewhere would tell a stranger who looks at which building."""
    live.feed.put(drawn(1, 8))
    until(tab, "document.getElementById('map').dataset.number == '1'")

    assert tab.said == []
    assert [url for url in tab.asked if not url.startswith(live.url)] == []


def test_the_policy_keeps_strange_scripts_out(live: server.Page, tab: Page) -> None:
    """Even where somebody smuggled a tag in, nothing would run: no inline code, no eval."""
    headers = tab.request.get(live.url).headers
    ran = tab.evaluate(
        """() => { const tag = document.createElement("script");
                   tag.textContent = "document.title = 'taken'";
                   document.body.append(tag); return document.title; }"""
    )

    assert headers["content-security-policy"].startswith("default-src 'self'")
    assert ran == "heatveil"
    assert any("Content Security Policy" in line for line in tab.said)


def test_words_from_outside_stay_words(live: server.Page, tab: Page) -> None:
    """A site's name or a reason is text, never markup."""
    live.feed.put({**READY, "site": HOSTILE})
    live.feed.put({"kind": "promise", "sentences": [HOSTILE]})
    until(tab, "document.getElementById('site').textContent.includes('onerror')")

    assert tab.inner_text("#promise") == HOSTILE
    assert tab.locator("img").count() == 0


def test_a_phone_never_scrolls_sideways(live: server.Page, tab: Page) -> None:
    """At 400 pixels, and with all there is to show, nothing is wider than the screen."""
    live.feed.put(drawn(1, 8))
    live.feed.put({"kind": "release", "number": 1, "reports": 4, "values": [1, -2, None, 4]})
    live.feed.put({"kind": "done", "why": "w" * 200})
    until(tab, "document.getElementById('reports-note').textContent.includes('www')")

    assert tab.evaluate("document.documentElement.scrollWidth") == 400


def test_no_map_is_said_in_words(live: server.Page, tab: Page) -> None:
    """An empty canvas alone would look like an empty room."""
    live.feed.put(drawn(1, 8))
    until(tab, "document.getElementById('map').dataset.number == '1'")
    live.feed.put(
        {**drawn(2, 0), "status": "unresolved", "mass": None, "total": None, "why": "it"}
    )
    until(tab, "!document.getElementById('empty').hidden")

    assert tab.inner_text("#empty") == "Round 2: it."
    assert tab.inner_text("#places") == ""


def test_round_and_budget_are_followed(live: server.Page, tab: Page) -> None:
    """Who looks at the page sees how many answered, and how much of the promise is left."""
    live.feed.put({"kind": "reports", "number": 3, "came": 2, "enrolled": 4, "refused": 1})
    live.feed.put(
        {
            "kind": "budget",
            "budget": 1.0,
            "spent": 0.75,
            "left": 0.25,
            "epsilon": 8.0,
            "epsilon_spent": 6.5,
            "delta": 1e-5,
            "rounds_left": 1,
        }
    )
    until(tab, "document.getElementById('left').textContent == '1 round left'")

    assert tab.inner_text("#reports-note") == "2 of 4 sensors answered"
    assert tab.inner_text("#refused") == "1 message refused"
    assert tab.evaluate("document.getElementById('budget').value") == 0.75
    assert tab.inner_text("#budget-note").startswith("75 % of the rounds spent;")
    assert "6.50 of 8.00" in tab.inner_text("#budget-note")


def test_a_device_that_needs_a_new_key_is_seen_at_once(live: server.Page, tab: Page) -> None:
    """The one thing on the page that somebody has to do something about."""
    assert not tab.is_visible("#alarm")
    why = f"north sent message 3.7 after 4.1: {HOSTILE}"
    rows = [{"device": "north", "why": why, "times": 3}, {"device": "x", "why": "y", "times": 1}]
    live.feed.put({"kind": "alarm", "alarms": rows})
    until(tab, "!document.getElementById('alarm').hidden")

    assert tab.inner_text("#alarms").splitlines() == [f"{why} (3 times)", "y"]
    assert tab.get_attribute("#alarm", "role") == "alert"
    assert tab.locator("img").count() == 0


def test_a_link_in_the_clear_is_said_on_the_page(live: server.Page, tab: Page) -> None:
    """Who looks at the page must not take a trial without TLS for a building's installation."""
    live.feed.put({**READY, "site": "open", "insecure": True})
    until(tab, "document.getElementById('site').textContent.includes('open')")
    in_the_clear = tab.is_visible("#clear")
    live.feed.put({**READY, "site": "closed", "insecure": False})
    until(tab, "document.getElementById('site').textContent.includes('closed')")

    assert in_the_clear
    assert not tab.is_visible("#clear")


def test_a_plane_is_drawn_too(live: server.Page, tab: Page) -> None:
    """Two dimensions, and the place is said with both."""
    live.feed.put({**READY, "shape": [4, 2], "cell_mm": 1000})
    rows = [[0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]]
    live.feed.put({**drawn(1, 0), "mass": rows})
    until(tab, "document.getElementById('places').textContent.includes('near')")

    assert tab.inner_text("#places") == "100 % near 2.5 m / 1.5 m"


def test_it_comes_back_after_the_gateway_was_away(browser: Browser) -> None:
    """A tab left open over night shows the morning's map."""
    with server.Page("127.0.0.1", 0) as first:
        tab = browser.new_page()
        tab.goto(first.url)
        until(tab, "document.getElementById('link').dataset.state == 'live'")
        port = int(first.url.rstrip("/").rsplit(":")[-1])
    until(tab, "document.getElementById('link').dataset.state == 'lost'")
    with server.Page("127.0.0.1", port) as second:
        second.feed.put(READY)
        second.feed.put(drawn(7, 8))
        until(tab, "document.getElementById('map').dataset.number == '7'")
    tab.close()
