"""The live page of a deployment that asks where people are, in a real browser."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Page

from gateway.mechanisms import find
from gateway.service.telling import vocabulary
from gateway.web import server

COLUMNS, ROWS, REACH = 6, 4, 1
READY = {
    "kind": "ready",
    "site": "square",
    **vocabulary(find("disk")),
    "shape": [COLUMNS, ROWS],
    "cell_mm": 2000,
    "sensors": [40, 1],
    "enrolled": 40,
}
Until = Callable[[Page, str], None]
DRAWN = "document.getElementById('map').dataset.number == '1'"


@pytest.fixture
def live() -> Iterator[server.Page]:
    """Return a page that has been told of a site of people."""
    with server.Page("127.0.0.1", 0) as page:
        page.feed.put(READY)
        yield page


def drawn(columns: int = COLUMNS, rows: int = ROWS, **more: Any) -> dict[str, Any]:
    """Return a map with most people in the last cell of its first row, and who is unsure below."""
    mass = [[0.5 / (columns * rows - 1)] * columns for _ in range(rows)]
    mass[0][-1] = 0.5
    sd = [[0.01] * columns for _ in range(rows)]
    sd[-1][0] = 0.08
    found = {"kind": "map", "number": 1, "status": "solved", "mass": mass, "sd": sd}
    found |= {"total": 40.0, "why": "optimal", "seconds": 0.1, "guarantee": {}}
    return found | {"credible": None, **more}


def released() -> dict[str, Any]:
    """Return the answers of a round, two of them in the corner where nobody can be."""
    outer = COLUMNS + 2 * REACH, ROWS + 2 * REACH
    values = [0] * (outer[0] * outer[1])
    values[0], values[2 * outer[0] - 2] = 2, 38
    beside = {"outer": list(outer), "reach": [REACH, REACH]}
    return {"kind": "release", "number": 1, "reports": 40, "values": values, **beside}


def brightest(tab: Page, canvas: str) -> tuple[float, float]:
    """Return where on a canvas the brightest pixel away from its edge and writing is, 0 to 1."""
    found = tab.evaluate(
        """(id) => {
          const canvas = document.getElementById(id), pen = canvas.getContext("2d");
          const { width, height } = canvas, seen = pen.getImageData(0, 0, width, height).data;
          let most = 0, at = [0, 0];
          for (let y = 0; y < height; y += 3) for (let x = 0; x < width; x += 3) {
            const i = 4 * (y * width + x), bright = seen[i + 1] + seen[i] / 2;
            if (bright > most) { most = bright; at = [x / width, y / height]; }
          }
          return at;
        }""",
        canvas,
    )
    return found[0], found[1]


@pytest.mark.long
@pytest.mark.parametrize("width", [400, 1280])
def test_a_map_of_people_is_shown_in_words_for_people(
    live: server.Page, opened: Callable[..., Page], until: Until, width: int
) -> None:
    """Nobody is warm here: who reads of warmth would take the map for another one."""
    tab = opened(live.url, width)
    live.feed.put(drawn())
    live.feed.put(released())
    until(tab, DRAWN)
    until(tab, "!document.getElementById('wire').hidden")

    for word in ("warm", "blurred reading"):
        assert word not in tab.inner_text("main").lower()
    assert tab.inner_text("#map-title") == "Where people are"
    assert tab.inner_text("#site") == "square, 40 devices"
    first = tab.inner_text("#places tr:first-child").split("\t")
    assert first == ["11.0 m / 1.0 m", "± 1.00 %", "50.0 %", "20"]
    assert "holds 50.0 % of all, give or take 1.00 %" in tab.inner_text("#sure")
    assert "Were all cells alike, each would hold " in tab.inner_text("#sure")
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    assert tab.said == []


@pytest.mark.long
def test_a_phone_shows_what_each_device_has_left(
    known: Any, opened: Callable[..., Page], until: Until
) -> None:
    """What stands beyond the edge of a table is not looked for there."""
    left = {"exact": "1/2", "about": 0.5, "epsilon": "7/4"}
    states = {"last_s": time.time() - 80, "quarantine": None, "alarm": None, "left": left}
    devices = [{"name": f"people-{number}", **states} for number in range(10, 14)]
    found = {"devices": devices, "next": None, "budget": {"exact": "1/1", "about": 1.0}}
    with server.Page("127.0.0.1", 0, reader=known) as page:
        page.feed.put(READY)
        tab = opened(page.url, 390)
        tab.route("**/api/v1/devices**", lambda route: route.fulfill(json=found))
        page.feed.put({"kind": "quarantine", "devices": []})  # makes it ask how all is
        until(tab, "document.querySelectorAll('#devices tr').length == 4")
        table, box = tab.evaluate(
            "[document.getElementById('sensors').scrollWidth,"
            " document.getElementById('sensors').parentElement.clientWidth]"
        )

        told = tab.inner_text("#devices tr:first-child td:last-child")

    assert told == "50 %, epsilon 1.75"
    assert table <= box


@pytest.mark.long
def test_how_sure_is_another_layer_of_the_map(
    live: server.Page, opened: Callable[..., Page], until: Until
) -> None:
    """A share without what it may be off by is taken for more than it is."""
    tab = opened(live.url, 1280)
    live.feed.put(drawn())
    until(tab, DRAWN)
    where = brightest(tab, "map")
    tab.click("#layer-sd")
    unsure = brightest(tab, "map")

    assert where == (pytest.approx(11 / 12, abs=1 / 11), pytest.approx(1 / 8, abs=1 / 7))
    assert unsure == (pytest.approx(1 / 12, abs=1 / 11), pytest.approx(7 / 8, abs=1 / 7))
    assert tab.get_attribute("#layer-sd", "aria-pressed") == "true"
    assert tab.inner_text("#legend-most") == "8.00 %"
    assert "standard deviation" in tab.inner_text("#legend")
    tab.click("#layer-mass")
    assert brightest(tab, "map") == where


@pytest.mark.long
def test_the_answers_are_shown_with_those_from_outside(
    live: server.Page, opened: Callable[..., Page], until: Until
) -> None:
    """They are what is seen of anybody: also those that came from where nobody can be."""
    tab = opened(live.url, 1280)
    live.feed.put(released())
    until(tab, "!document.getElementById('wire').hidden")

    said = tab.get_attribute("#wire", "aria-label")
    assert said == "40 answers over 8 by 6 cells, at most 38 in one"
    across, down = brightest(tab, "wire")
    assert 6 / 8 - 0.01 < across < 7 / 8 + 0.01
    assert 1 / 6 - 0.01 < down < 2 / 6 + 0.01


@pytest.mark.long
def test_an_oblong_map_without_metres_tells_places_as_the_terminal_does(
    opened: Callable[..., Page], until: Until
) -> None:
    """In parts of each side, as the points of a file are given."""
    with server.Page("127.0.0.1", 0) as page:
        page.feed.put({**READY, "cell_mm": 0})
        tab = opened(page.url, 1280)
        found = drawn()
        found["mass"].reverse()
        page.feed.put(found)
        until(tab, DRAWN)

        assert tab.inner_text("#places tr:first-child").split("\t")[0] == "0.92 / 0.88"
