"""The live page, in a real browser: it shows, it follows, and it asks nobody else."""

import gzip
import re
import time
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.image import imsave
from playwright.sync_api import Page as Tab

from gateway import web
from gateway.faults import OperatorFault
from gateway.mechanisms import find_mechanism
from gateway.service.telling import make_vocabulary_event
from gateway.settings.roomfile import read_floor_lines
from gateway.web.server import Page

READY = {
    "kind": "ready",
    "site": "lab",
    **make_vocabulary_event(find_mechanism("thermal")),
    "shape": [80, 1],
    "cell_mm": 250,
    "sensors": [4, 1],
    "enrolled": 4,
    "every_s": 3600,
    "gather_s": 30,
    "due_s": 9030,
}
COLUMNS, ROWS, REACH = 6, 4, 1
PEOPLE = {
    **READY,
    **make_vocabulary_event(find_mechanism("disk")),
    "shape": [COLUMNS, ROWS],
    "cell_mm": 2000,
    "sensors": [40, 1],
    "enrolled": 40,
}
OFFICE = Path(str(files("physics.rooms") / "office.toml"))
BUDGET = {
    "kind": "budget",
    "budget": 1.0,
    "spent": 0.75,
    "left": 0.25,
    "epsilon": 8.0,
    "epsilon_spent": 6.5,
    "delta": 1e-5,
    "rounds_left": 48,
}
Opened = Callable[..., Tab]
Until = Callable[[Tab, str], None]
HOSTILE = "<img src=x onerror=document.title='taken'>"
BRIGHT, VIOLET, RING, WALL = (252, 255, 164), (87, 16, 110), (125, 211, 252), (217, 210, 234)


@pytest.fixture
def live() -> Iterator[Page]:
    """Return a page that has been told of a site."""
    with Page("127.0.0.1", 0) as page:
        page.feed.put_event(READY)
        yield page


@pytest.fixture
def tab(opened: Opened, live: Page) -> Tab:
    """Return the page in a tab as narrow as a phone."""
    return opened(live.url)


def drawn(number: int, cell: int, **more: Any) -> dict[str, Any]:
    """Return the event of a map with all its heat in one cell."""
    found = {"kind": "map", "number": number, "status": "solved", "total": 1.0, "why": "optimal"}
    found |= {"seconds": 0.1, "guarantee": {}, "credible": None}
    found["mass"] = [[1.0 if place == cell else 0.0 for place in range(80)]]
    found["sources"] = [{"x": (cell + 0.5) / 4, "y": None, "share": 1.0, "within": None}]
    return found | more


def sure(**more: Any) -> dict[str, Any]:
    """Return what a posterior says beside a map: hills on the right."""
    present = [[0.9 if 60 <= place < 70 else 0.0 for place in range(80)]]
    return {
        "level": 0.9,
        "present": present,
        "numbers": [0.02, 0.62, 0.3, 0.06],
        "expected_error": 1.25,
        "says": "Number of sources: 1 to 2 (92 %).",
        "count": {"low": 1, "high": 2, "chance": 0.92, "median": 1, "several": 0, "empty": 0},
        **more,
    }


def people(**more: Any) -> dict[str, Any]:
    """Return a map with most people in the last cell of its first row, and who is unsure below."""
    mass = [[0.5 / (COLUMNS * ROWS - 1)] * COLUMNS for _ in range(ROWS)]
    mass[0][-1] = 0.5
    sd = [[0.01] * COLUMNS for _ in range(ROWS)]
    sd[-1][0] = 0.08
    return drawn(1, 0, mass=mass, sd=sd, total=40.0) | more


def read(tab: Tab, selector: str) -> str:
    """Return the text of an element, with plain blanks."""
    return tab.inner_text(selector).replace("\u00a0", " ")


def press(tab: Tab, *ways: str) -> None:
    """Move the pointer of the map with the arrow keys."""
    for way in ways:
        tab.press("#map", f"Arrow{way}")


def shown(number: int) -> str:
    """Return what holds once the map of a round is shown."""
    return f"document.getElementById('map').dataset.number == '{number}'"


def coloured(tab: Tab, colour: tuple[int, int, int], part: str = "", canvas: str = "map") -> bool:
    """Return whether a canvas, or its "left" or "right" half, has a pixel of about this colour."""
    return bool(
        tab.evaluate(
            """([id, colour, part]) => {
              const canvas = document.getElementById(id), half = canvas.width / 2;
              const wide = part ? half : canvas.width, from = part === "right" ? half : 0;
              const seen = canvas.getContext("2d").getImageData(from, 0, wide, canvas.height).data;
              for (let i = 0; i < seen.length; i += 4)
                if (colour.every((c, k) => Math.abs(seen[i + k] - c) < 6)) return true;
              return false;
            }""",
            [canvas, list(colour), part],
        )
    )


def test_a_map_appears_and_follows(live: Page, tab: Tab, until: Until) -> None:
    """What the gateway tells is on the canvas, where it belongs; nobody else is asked."""
    live.feed.put_event(drawn(1, 8))
    until(tab, shown(1))
    first = [coloured(tab, BRIGHT, half) for half in ("left", "right")]
    live.feed.put_event(drawn(2, 72))
    until(tab, shown(2))

    assert (first, coloured(tab, BRIGHT, "right")) == ([True, False], True)
    assert not coloured(tab, BRIGHT, "left")
    assert read(tab, "#places").split("\t")[:3] == ["18.1 m", "not known", "100 %"]
    assert "18.1" in (tab.get_attribute("#map", "aria-label") or "")
    assert tab.said == []
    assert [url for url in tab.asked if not url.startswith(live.url)] == []


def test_words_from_outside_stay_words(live: Page, tab: Tab, until: Until) -> None:
    """A site's name or a reason is text, never markup."""
    live.feed.put_event({**READY, "site": HOSTILE})
    live.feed.put_event({"kind": "promise", "sentences": [HOSTILE]})
    rows = [{"device": "south", "why": HOSTILE, "since_s": time.time() - 7200}]
    live.feed.put_event({"kind": "quarantine", "devices": rows})
    until(tab, "!document.getElementById('trouble').hidden")

    assert tab.text_content("#site").startswith(HOSTILE)
    assert tab.text_content("#promise") == HOSTILE
    assert tab.text_content("#troubles") == f"south: {HOSTILE} (2 h ago)"
    assert tab.locator("img").count() == 0


def test_fifty_alarms_are_one_line(live: Page, tab: Tab, until: Until) -> None:
    """The map is not pushed off the screen; who wants to know opens the line."""
    why = "its counter went back"
    alarms = [{"device": f"s{i}", "why": why, "times": 1 + (i == 1)} for i in range(50)]
    live.feed.put_event({"kind": "alarm", "alarms": alarms})
    until(tab, "!document.getElementById('trouble').hidden")
    box = tab.locator("#trouble").bounding_box()
    line, role = read(tab, "#trouble-line"), tab.get_attribute("#trouble", "role")
    tab.click("#trouble-line")

    assert line.startswith("50 sensors may need a new digital key")
    assert role == "alert"
    assert box["height"] < 80
    assert tab.locator("#troubles li").count() == 50
    assert read(tab, "#troubles li:nth-child(2)") == "its counter went back (2 times)"


def test_no_map_is_said_in_words(live: Page, tab: Tab, until: Until) -> None:
    """An empty canvas alone would look like an empty room."""
    live.feed.put_event(drawn(1, 8))
    until(tab, shown(1))
    live.feed.put_event(drawn(2, 0, status="unresolved", mass=None, total=None, why="it"))
    until(tab, "!document.getElementById('empty').hidden")

    assert read(tab, "#empty") == "Round 2: it."
    assert read(tab, "#places") == ""
    assert tab.said == []


def test_round_and_budget_are_followed(live: Page, tab: Tab, until: Until) -> None:
    """How many answered, how much of the promise is left, and on which day it runs out."""
    came = {"kind": "reports", "number": 3, "came": 2, "enrolled": 4, "refused_since_start": 1}
    live.feed.put_event(came)
    live.feed.put_event(BUDGET)
    until(tab, "document.getElementById('left').textContent == '48 rounds left'")
    out = time.localtime(time.time() + 2 * 86_400)

    assert read(tab, "#reports-note") == "2 of 4 sensors answered"
    assert read(tab, "#refused").startswith("The gateway has turned away 1 message")
    assert tab.evaluate("document.getElementById('budget').value") == 0.75
    said = read(tab, "#budget-note")
    assert said.startswith("Lasts until ")
    assert re.search(rf"\b{out.tm_mday}\b", said)
    assert "epsilon 6.50 of 8.00" in said
    assert "the share counts rho" in said
    live.feed.put_event(BUDGET | {"spent": 0.0417})  # a device has 95.83 % left, told as 95 %
    until(tab, "document.getElementById('budget').value == 0.0417")
    assert "; 5 % is used up" in read(tab, "#budget-note")
    live.feed.put_event(BUDGET | {"window_h": 24, "rounds_left": 0})  # a promise that renews
    until(tab, "document.getElementById('left').textContent == '0 rounds left'")
    assert read(tab, "#budget-note").startswith("Paused, as intended")


def test_a_budget_ends_with_its_last_round(live: Page, tab: Tab, until: Until) -> None:
    """Before the end the hour is said where a day is no news; a round may still give a map."""

    def noted(start: str) -> str:
        return f"document.getElementById('budget-note').textContent.startsWith('{start}')"

    live.feed.put_event(READY | {"every_s": 0.001})
    live.feed.put_event(BUDGET | {"rounds_left": 2})
    until(tab, noted("Lasts until "))
    end = re.match(r"Lasts until .*, (\d\d):(\d\d)\. ", read(tab, "#budget-note"))
    live.feed.put_event({"kind": "round", "number": 3, "enrolled": 4})
    live.feed.put_event(BUDGET | {"rounds_left": 0})
    until(tab, noted("The last round is under way."))
    live.feed.put_event({"kind": "done", "why": "over"})
    until(tab, noted("Used up"))

    assert end


def test_a_link_in_the_clear_is_said_on_the_page(live: Page, tab: Tab, until: Until) -> None:
    """Who looks at the page must not take a trial without TLS for a building's installation."""
    live.feed.put_event({**READY, "site": "open", "insecure": True})
    until(tab, "document.getElementById('site').textContent.includes('open')")
    in_the_clear = tab.is_visible("#clear")
    live.feed.put_event({**READY, "site": "closed", "insecure": False})
    until(tab, "document.getElementById('site').textContent.includes('closed')")

    assert in_the_clear
    assert not tab.is_visible("#clear")


def test_how_sure_a_map_is_is_said_and_drawn(live: Page, tab: Tab, until: Until) -> None:
    """Hills where chances are, how far off map and guess are; a doubted map has no colours."""
    live.feed.put_event(drawn(1, 8, credible=sure(blind_error=4.5)))
    until(tab, shown(1))
    sentence, hills = read(tab, "#sure"), coloured(tab, VIOLET, "right")
    verdict = {"level": "assumptions", "why": "they contradict", "says": "Do not trust it."}
    live.feed.put_event(drawn(2, 8, verdict=verdict))
    until(tab, shown(2))

    assert sentence == (
        "There are 1 to 2 sources of warmth, people or things (92 % sure), about 1. A place "
        "on this map is on average about 1.3 m away from the true one. (Without sensors, a guess "
        "would be about 4.5 m away.)"
    )
    assert hills
    assert read(tab, "#sure") == ""
    assert read(tab, "#doubt").startswith("Do not trust this map: the readings do not fit")
    assert read(tab, "#note") == "For experts: they contradict."
    assert read(tab, "#places") == ""  # no place is named of what is not to be trusted
    assert not coloured(tab, BRIGHT)
    assert not coloured(tab, VIOLET)


@pytest.mark.parametrize("width", [360, 2560])
def test_a_room_is_a_floor_with_its_lines_and_sensors(
    live: Page, opened: Opened, until: Until, width: int
) -> None:
    """Walls, doors and desks of the file; a ring round a source; who did not answer is hollow."""
    tab = opened(live.url, width)
    floor = read_floor_lines(OFFICE)
    grid = {"shape": [30, 20], "cell_mm": 200, "sensors": [len(floor["sensors"]), 1]}
    mass = [[float((x, y) == (25, 10)) for x in range(30)] for y in range(20)]
    where = [{"x": 5.1, "y": 2.1, "share": 1.0, "within": 0.5}]
    live.feed.put_event({**READY, **grid, "floor": floor, "strength_unit": "W"})
    live.feed.put_event({"kind": "release", "number": 1, "reports": 1, "values": [None, 3, 4]})
    live.feed.put_event(
        drawn(1, 0, mass=mass, sources=where, credible=sure(present=mass), total=70.0)
    )
    until(tab, shown(1))

    assert coloured(tab, WALL, "left")
    assert coloured(tab, RING, "right")
    keys = read(tab, "#keys")
    assert "sensor that did not answer" in keys
    assert "walls, doors and furniture" in keys
    assert read(tab, "#places").split("\t") == ["5.1 / 2.1 m", "0.5 m", "100 %", "70 W"]
    assert tab.evaluate("document.documentElement.scrollWidth") == width
    press(tab, *["Right"] * 8, *["Up"] * 4)
    assert "desk" in read(tab, "#readout")
    assert tab.said == []


@pytest.mark.long
@pytest.mark.parametrize("width", [390, 1280])
def test_people_are_shown_in_words_for_people(
    live: Page, opened: Opened, until: Until, width: int
) -> None:
    """Nobody is warm here; how sure it is is another layer; a phone clips no column."""
    tab = opened(live.url, width)
    outer = COLUMNS + 2 * REACH, ROWS + 2 * REACH
    values = [0] * (outer[0] * outer[1])
    values[0], values[2 * outer[0] - 2] = 2, 38
    wire = {"kind": "release", "number": 1, "reports": 40, "values": values}
    live.feed.put_event(PEOPLE)
    live.feed.put_event(people())
    live.feed.put_event(wire | {"outer": list(outer), "reach": [REACH, REACH]})
    until(tab, shown(1))
    until(tab, "!document.getElementById('wire').hidden")

    for word in ("warm", "blurred reading"):
        assert word not in read(tab, "main").lower()
    assert read(tab, "#map-title") == "Where people are"
    assert read(tab, "#site") == "lab · 40 devices"
    first = read(tab, "#places tr:first-child").split("\t")
    assert first == ["11.0 / 1.0 m", "1.00 %", "50 %", "20"]
    assert "50 % of the counted people; in about two of three cases that is wrong by" in read(
        tab, "#sure"
    )
    said = tab.get_attribute("#wire", "aria-label")
    assert (
        said
        == "40 answers, over a grid of 8 by 6 squares; 38 of these answers named the same square"
    )
    bright = [coloured(tab, BRIGHT, half) for half in ("left", "right")]
    tab.click("[data-layer=sd]")
    assert (bright, coloured(tab, BRIGHT)) == ([False, True], False)
    assert read(tab, "#legend-most") == "8.00 %"
    assert tab.get_attribute("[data-layer=sd]", "aria-pressed") == "true"
    table, box = tab.evaluate(
        "[document.getElementById('sources').scrollWidth,"
        " document.getElementById('sources').parentElement.clientWidth]"
    )
    assert table <= box
    assert tab.evaluate("document.documentElement.scrollWidth") == width
    assert tab.said == []


@pytest.mark.long
def test_what_people_are_not_told_apart_in_is_hatched_and_not_named(
    live: Page, opened: Opened, until: Until
) -> None:
    """A solid block has its interval; noise is hatched over, in no table, and never bright."""
    rows = [[0, 0, 4, 5, 0.2, 0.0, 0.6, 1], [0, 5, 1, 1, 0.5, 0.41, 0.62, 2]]
    rows.append([1, 5, 3, 1, 0.0, 0.0, 0.01, 0])
    wild = people()["mass"]
    wild[3][0] = 0.9  # which the answers do not bear out
    tab = opened(live.url, 390)
    live.feed.put_event(PEOPLE)
    live.feed.put_event(people(mass=wild, blocks={"level": 0.9, "rows": rows, "claims": [1]}))
    until(tab, shown(1))

    assert read(tab, "#places").split("\t") == ["11.0 / 1.0 m", "41 – 62 %", "50 %", "20"]
    assert (
        "41 – 62 % of the counted people are in the square at 11.0 / 1.0 m (90 % sure)."
        in read(tab, "#sure")
    )
    assert "striped: cannot tell" in read(tab, "#keys")
    assert read(tab, "#within") == "Between"
    assert [coloured(tab, BRIGHT, half) for half in ("left", "right")] == [False, True]
    press(tab, "Left", "Right")
    assert "the block of 5 × 4 squares" in read(tab, "#readout")
    wrong = {"level": "assumptions", "why": "x", "says": "Do not trust this map: x."}
    live.feed.put_event(people(number=2, verdict=wrong))
    until(tab, shown(2))
    assert read(tab, "#doubt").startswith("Do not trust this map: the devices' answers fit no way")
    assert not coloured(tab, BRIGHT)
    weak = {"level": "weak", "why": "x", "says": "It is hardly nearer than a guess."}
    live.feed.put_event(people(number=3, verdict=weak, blocks={"level": 0.9, "rows": rows[:1]}))
    until(tab, shown(3))
    assert tab.evaluate("document.getElementById('doubt').hidden")
    assert "cannot be told whether any place is fuller" in read(tab, "#sources-note")
    tab.evaluate("window.kept = 'yes'")
    tab.focus(".skip")
    tab.keyboard.press("Enter")
    tab.wait_for_timeout(500)
    assert tab.evaluate("window.kept") == "yes"  # it was not loaded anew
    assert tab.said == []


@pytest.mark.long
def test_a_place_on_the_earth_is_north_up(opened: Opened, until: Until) -> None:
    """Where rows go to the west, the corner is on the right; every cell has its coordinates."""
    corner = {"corner": [52.5, 13.4], "bearing": 180.0}
    with Page("127.0.0.1", 0) as page:
        page.feed.put_event({**PEOPLE, "earth": corner})
        page.feed.put_event(people())
        tab = opened(page.url, 1280)
        until(tab, shown(1))
        press(tab, *["Right"] * 12, *["Down"] * 12)

        # The last column of the first row: 11 m to the south, 1 m to the west.
        assert "latitude 52.49990°, longitude 13.39999°" in read(tab, "#readout")
        assert read(tab, "#readout").startswith("11.0 / 1.0 m: about 50.00 %")
        assert tab.said == []


@pytest.mark.long
def test_a_map_is_kept_as_a_picture(live: Page, opened: Opened, until: Until) -> None:
    """Both kinds are whole, and say what the map is not."""
    tab = opened(live.url, 1280)
    live.feed.put_event(drawn(7, 8))
    until(tab, shown(7))
    made = {}
    for kind in ("svg", "png"):
        with tab.expect_download() as waiting:
            tab.click(f"#keep-{kind}")
        assert waiting.value.suggested_filename == f"heatveil-7.{kind}"
        made[kind] = Path(waiting.value.path()).read_bytes()

    assert made["png"].startswith(b"\x89PNG")
    assert b"Round 7" in made["svg"]
    assert b"not a picture of people" in made["svg"]
    assert tab.said == []


@pytest.mark.long
def test_it_is_grey_while_the_gateway_is_away_and_comes_back(opened: Opened, until: Until) -> None:
    """A map that stays as if it were fresh would be believed; later there is a new one."""
    with Page("127.0.0.1", 0) as first:
        first.feed.put_event(READY)
        first.feed.put_event(drawn(1, 8, closed_s=time.time()))
        tab = opened(first.url)
        until(tab, shown(1))
        port = int(first.url.rstrip("/").rsplit(":")[-1])
    until(tab, "!document.getElementById('aged').hidden")
    said, faint = (read(tab, "#aged"), "getComputedStyle(document.getElementById('map')).filter")
    grey = tab.evaluate(faint)
    aloud = tab.inner_text("#aged [role=status]")  # again each time that it changes
    with Page("127.0.0.1", port) as second:
        second.feed.put_event(READY)
        second.feed.put_event(drawn(7, 8))
        until(tab, shown(7))
        until(tab, "document.getElementById('aged').hidden")

    assert re.match(r"No connection to the gateway since .* by itself\. This map is \d+ s", said)
    assert " old" not in aloud
    assert "grayscale" in grey


def test_a_picture_of_the_floor_lies_under_the_map(
    opened: Opened, until: Until, tmp_path: Path
) -> None:
    """The operator's own, from nowhere else; what is none is refused, a damaged one is said."""
    picture, other, half = (tmp_path / name for name in ("floor.png", "floor.txt", "half.png"))
    imsave(picture, np.full((4, 6, 3), (0.2, 0.9, 0.4)))
    other.write_text("a floor")
    half.write_bytes(picture.read_bytes()[:60])
    for wrong in (other, half):
        with pytest.raises(OperatorFault, match="is not a complete PNG, JPEG or WebP"):
            Page("127.0.0.1", 0, picture=wrong)
    with pytest.raises(OperatorFault, match="cannot be read"):
        Page("127.0.0.1", 0, picture=tmp_path / "none.png")
    with Page("127.0.0.1", 0, picture=picture) as page:
        page.feed.put_event({**PEOPLE, "picture": True})
        page.feed.put_event(people())
        tab = opened(page.url, 1280)
        until(tab, shown(1))
        until(tab, "performance.getEntriesByName(location.origin + '/floor').length == 1")
        tab.wait_for_timeout(300)

        seen = coloured(tab, (97, 230, 120))  # green, under a little of pale yellow
        assert tab.said == []
    assert seen
    half.write_bytes(picture.read_bytes()[:8] + picture.read_bytes()[-8:])
    with Page("127.0.0.1", 0, picture=half) as page:
        page.feed.put_event({**PEOPLE, "picture": True})
        page.feed.put_event(people())
        tab = opened(page.url, 1280)
        until(tab, "document.getElementById('notice').textContent != ''")
        until(tab, shown(1))

        assert read(tab, "#notice").startswith("The picture of the floor cannot be shown, so")


def test_a_browser_without_events_is_told(opened: Opened, live: Page, until: Until) -> None:
    """In a sentence that stands alone: nothing else on the page would ever become true."""
    tab = opened("about:blank")
    tab.add_init_script("delete window.EventSource")
    tab.goto(live.url)
    until(tab, "document.getElementById('main').dataset.old !== undefined")

    assert "Open this page in another browser" in read(tab, "#main")
    assert "yet" not in read(tab, "#main")
    assert read(tab, "#link") == "browser too old"


def test_all_words_are_in_both_languages_and_the_page_is_small() -> None:
    """One table; what is looked up is there, and all of it goes over a slow link."""
    folder = Path(web.__file__).parent / "page"
    sources = {path.name: path.read_text("utf-8") for path in folder.glob("*.[jh][st]*")}
    table = dict(re.findall(r'^  "([\w .²]+)": \[(.*)\],$', sources["words.js"], re.MULTILINE))
    look_up = re.compile(r'(?:\bt\(|data-(?:t|label)=)"([^"]+)"')
    asked = {key for text in sources.values() for key in look_up.findall(text)}
    texts = re.compile(r'"(?:[^"\\]|\\.)*"')

    assert asked - set(table) == set()
    assert {key for key, both in table.items() if len(texts.findall(both)) != 2} == set()
    assert len(asked) > 80
    assert sum(len(gzip.compress(text.encode())) for text in sources.values()) < 60_000
