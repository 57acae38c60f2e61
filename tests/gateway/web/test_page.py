"""The live page, in a real browser: it shows, it follows, and it asks nobody else."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from gateway.mechanisms import find
from gateway.service.telling import vocabulary
from gateway.web import server

READY = {
    "kind": "ready",
    "site": "lab",
    **vocabulary(find("thermal")),
    "shape": [80, 1],
    "cell_mm": 250,
    "sensors": [4, 1],
    "enrolled": 4,
}
Until = Callable[[Page, str], None]
HOSTILE = "<img src=x onerror=document.title='taken'>"


@pytest.fixture
def live() -> Iterator[server.Page]:
    """Return a page that has been told of a site."""
    with server.Page("127.0.0.1", 0) as page:
        page.feed.put(READY)
        yield page


@pytest.fixture
def tab(opened: Callable[..., Page], live: server.Page) -> Page:
    """Return the page in a tab as narrow as a phone."""
    return opened(live.url)


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


def sure(event: dict[str, Any], present: Any, **more: Any) -> dict[str, Any]:
    """Return the event with what a posterior says beside the map."""
    credible = {
        "level": 0.9,
        "present": present,
        "numbers": [0.02, 0.62, 0.3, 0.06],
        "band": None,
        "expected_error": 1.25,
    }
    return {**event, "credible": {**credible, **more}}


def coloured(tab: Page, colour: tuple[int, int, int], part: str) -> bool:
    """Say whether the "left" or the "right" half of the map has a pixel of about this colour."""
    return bool(
        tab.evaluate(
            """([colour, right]) => {
              const canvas = document.getElementById("map"), half = canvas.width / 2;
              const pen = canvas.getContext("2d");
              const seen = pen.getImageData(right ? half : 0, 0, half, canvas.height).data;
              for (let i = 0; i < seen.length; i += 4)
                if (colour.every((c, k) => Math.abs(seen[i + k] - c) < 6)) return true;
              return false;
            }""",
            [list(colour), part == "right"],
        )
    )


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


@pytest.mark.long
def test_a_map_appears_and_follows(live: server.Page, tab: Page, until: Until) -> None:
    """What the gateway tells is on the canvas, where it belongs, and the next one replaces it."""
    live.feed.put(drawn(1, 8))
    until(tab, "document.getElementById('map').dataset.number == '1'")
    first = brightest(tab)
    live.feed.put(drawn(2, 72))
    until(tab, "document.getElementById('map').dataset.number == '2'")

    assert (first, brightest(tab)) == pytest.approx((0.13, 0.87), abs=0.05)
    assert tab.inner_text("#places").split("\t")[:3] == ["18.1 m", "not known", "100 %"]
    assert tab.get_attribute("#map", "aria-label") == "heat map: 100 % near 18.1 m"


def test_it_asks_nobody_else_and_complains_of_nothing(
    live: server.Page, tab: Page, until: Until
) -> None:
    """A page that fetched a font elsewhere would tell a stranger who looks at which building."""
    live.feed.put(drawn(1, 8))
    until(tab, "document.getElementById('map').dataset.number == '1'")

    assert tab.said == []
    assert [url for url in tab.asked if not url.startswith(live.url)] == []


def test_words_from_outside_stay_words(live: server.Page, tab: Page, until: Until) -> None:
    """A site's name or a reason is text, never markup."""
    live.feed.put({**READY, "site": HOSTILE})
    live.feed.put({"kind": "promise", "sentences": [HOSTILE]})
    until(tab, "document.getElementById('site').textContent.includes('onerror')")

    assert tab.inner_text("#promise") == HOSTILE
    assert tab.locator("img").count() == 0


def test_no_map_is_said_in_words(live: server.Page, tab: Page, until: Until) -> None:
    """An empty canvas alone would look like an empty room."""
    live.feed.put(drawn(1, 8))
    until(tab, "document.getElementById('map').dataset.number == '1'")
    live.feed.put(
        {**drawn(2, 0), "status": "unresolved", "mass": None, "total": None, "why": "it"}
    )
    until(tab, "!document.getElementById('empty').hidden")

    assert tab.inner_text("#empty") == "Round 2: it."
    assert tab.inner_text("#places") == ""


def test_round_and_budget_are_followed(live: server.Page, tab: Page, until: Until) -> None:
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


def test_a_device_that_needs_a_new_key_is_seen_at_once(
    live: server.Page, tab: Page, until: Until
) -> None:
    """The one thing on the page that somebody has to do something about."""
    assert not tab.is_visible("#alarm")
    why = f"north sent message 3.7 after 4.1: {HOSTILE}"
    rows = [{"device": "north", "why": why, "times": 3}, {"device": "x", "why": "y", "times": 1}]
    live.feed.put({"kind": "alarm", "alarms": rows})
    until(tab, "!document.getElementById('alarm').hidden")

    assert tab.inner_text("#alarms").splitlines() == [f"{why} (3 times)", "y"]
    assert tab.get_attribute("#alarm", "role") == "alert"
    assert tab.locator("img").count() == 0


def test_a_link_in_the_clear_is_said_on_the_page(
    live: server.Page, tab: Page, until: Until
) -> None:
    """Who looks at the page must not take a trial without TLS for a building's installation."""
    live.feed.put({**READY, "site": "open", "insecure": True})
    until(tab, "document.getElementById('site').textContent.includes('open')")
    in_the_clear = tab.is_visible("#clear")
    live.feed.put({**READY, "site": "closed", "insecure": False})
    until(tab, "document.getElementById('site').textContent.includes('closed')")

    assert in_the_clear
    assert not tab.is_visible("#clear")


VIOLET, RING = (87, 16, 110), (125, 211, 252)


@pytest.fixture(params=[400, 1280])
def wide(request: pytest.FixtureRequest, tab: Page) -> int:
    """Set the tab to a phone's width and to a desktop's."""
    tab.set_viewport_size({"width": request.param, "height": 900})
    return int(request.param)


def test_how_sure_a_map_is_is_said_and_drawn(
    live: server.Page, tab: Page, wide: int, until: Until
) -> None:
    """Between what their number lies, and no more of them than that; hills where chances are."""
    hills = [[0.9 if 60 <= place < 70 else 0.0 for place in range(80)]]
    live.feed.put(sure(drawn(1, 8), hills))
    until(tab, "document.getElementById('map').dataset.number == '1'")

    assert tab.inner_text("#sure") == (
        "1 to 2 warm sources (92 %), most likely 1. "
        "The warmth lies about 1.3 m from where this shows it."
    )
    assert coloured(tab, VIOLET, "right")
    assert not coloured(tab, VIOLET, "left")
    assert tab.evaluate("document.documentElement.scrollWidth") == wide
    assert tab.said == []


def test_nothing_is_said_that_is_not_known(live: server.Page, tab: Page, until: Until) -> None:
    """An estimator without an opinion has no hills, and one without an error no distance."""
    live.feed.put(sure(drawn(1, 8), [[0.1] * 80], numbers=[0.0, 1.0], expected_error=None))
    until(tab, "document.getElementById('map').dataset.number == '1'")
    alone = tab.inner_text("#sure")
    live.feed.put({**drawn(2, 8), "credible": None, "certified": None})
    until(tab, "document.getElementById('map').dataset.number == '2'")

    assert alone == "1 warm source (100 %)."
    assert tab.inner_text("#sure") == ""
    assert not tab.is_visible("#sure")
    assert not coloured(tab, VIOLET, "right")
    assert tab.said == []


def test_a_map_that_contradicts_its_query_says_so(
    live: server.Page, tab: Page, until: Until
) -> None:
    """In its own words where else it says how sure it is; the next map that fits takes it back."""
    verdict = {"level": "assumptions", "why": "the readings contradict the query"}  # an old one's
    live.feed.put({**drawn(1, 8), "credible": None, "certified": None, "verdict": verdict})
    until(tab, "document.getElementById('map').dataset.number == '1'")
    said = tab.inner_text("#sure"), tab.get_attribute("#sure", "data-state")
    colours = "getComputedStyle(document.getElementById('map')).filter"
    pale = tab.evaluate(colours)
    live.feed.put({**sure(drawn(2, 8), [[0.1] * 80]), "verdict": {"level": "fits", "why": ""}})
    until(tab, "document.getElementById('map').dataset.number == '2'")

    assert said == ("Do not trust this map: the readings contradict the query.", "bad")
    assert tab.inner_text("#sure").startswith("1 to 2 warm sources")
    assert tab.get_attribute("#sure", "data-state") == ""
    assert (pale, tab.evaluate(colours)) == ("grayscale(1)", "none")
    assert tab.said == []


@pytest.mark.long
def test_a_plane_shows_chances_and_rings_its_sources(
    live: server.Page, tab: Page, wide: int, until: Until
) -> None:
    """The chances fill the plane, and a ring holds nine tenths of what is nearest to a source."""
    live.feed.put({**READY, "shape": [8, 2], "cell_mm": 1000})
    rows = [[0.0] * 8, [0.0] * 7 + [1.0]]
    live.feed.put(sure({**drawn(1, 0), "mass": rows}, [[0.0] * 8, [0.05, *[0.0] * 5, 0.4, 0.8]]))
    until(tab, "document.getElementById('map').dataset.number == '1'")

    assert coloured(tab, (252, 255, 164), "right")
    assert coloured(tab, RING, "right")
    assert not coloured(tab, RING, "left")
    assert "cross: what the map takes it for" in tab.inner_text("#map-note")
    assert tab.inner_text("#places").split("\t")[:2] == ["7.5 m / 1.5 m", "± 1.5 m"]
    box = tab.locator("#map").bounding_box()
    assert box is not None
    assert box["width"] / box["height"] == pytest.approx(4, rel=0.02)
    assert tab.evaluate("document.documentElement.scrollWidth") == wide
    assert tab.said == []

    live.feed.put({**drawn(2, 0), "mass": rows, "credible": None})
    until(tab, "document.getElementById('map').dataset.number == '2'")

    assert not coloured(tab, RING, "right")  # the map itself is drawn
    assert coloured(tab, (252, 255, 164), "right")
    assert "rings" not in tab.inner_text("#map-note")


@pytest.mark.long
def test_it_comes_back_after_the_gateway_was_away(browser: Browser, until: Until) -> None:
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
