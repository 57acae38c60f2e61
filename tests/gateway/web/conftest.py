"""A page over a store that is known, for the tests of what it answers."""

import http.client
import json
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Error, sync_playwright
from playwright.sync_api import Page as Tab

from gateway.service.intake.outcomes import AskedRound, CountedReport, DeadLetter
from gateway.service.ledger import Charge, Ledger, find_stored_unit
from gateway.service.operate.health import Health
from gateway.service.operate.metrics import Metrics
from gateway.store.reader import (
    ChargeRow,
    DeviceRow,
    PromisedUnits,
    Reader,
    RefusedRow,
    RoundRow,
)
from gateway.store.store import Store
from gateway.web.server import Page
from tests.conftest import miss
from tests.waiting import eventually

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
]
RHO = Fraction(1, 8)


def told(number: int) -> dict[str, Any]:
    """Return the body of a map as it is published."""
    return {
        "kind": "map",
        "number": number,
        "status": "solved",
        "mass": [[0.25, 0.75, 0.0, 0.0]],
        "total": 1.5,
        "why": "optimal",
        "seconds": 0.1,
        "guarantee": {"epsilon": [1, 1]},
        "estimator": "posterior",
        "chosen": "few cells",
        "certified": None,
        "credible": {
            "level": 0.9,
            "present": [[0.2, 0.8, 0.0, 0.0]],
            "numbers": [0.0, 0.6, 0.4],
            "band": None,
            "expected_error": None,
        },
    }


class Known:
    """Reads a store of so many rounds; the last of them is open."""

    def __init__(self, rounds: int = 7) -> None:
        self._rounds = rounds

    def list_rounds(self, limit: int = 100, before: int | None = None) -> list[Any]:
        numbers = range(min(before or 10**9, self._rounds + 1) - 1, 0, -1)
        return [self.find_round(number) for number in list(numbers)[:limit]]

    def find_round(self, number: int) -> Any:
        if number > self._rounds:
            return None
        closed = number < self._rounds
        began_s = 1e9 + number
        ended = (began_s + 30, 4) if closed else (None, None)
        outcome = "closed" if closed else "open"
        return RoundRow(number, f"{number:08x}", "thermal", began_s, *ended, 4, RHO, outcome)

    def read_release(self, number: int) -> list[int | None] | None:
        return [1, None, -3, 4] if number < self._rounds else None

    def read_map(self, number: int | None = None) -> dict[str, Any] | None:
        number = self._rounds - 1 if number is None else number
        return told(number) if number < self._rounds else None

    def list_maps(self, limit: int = 100, before: int | None = None) -> list[str]:
        return [
            json.dumps(told(row.number)) for row in self.list_rounds(limit, before) if row.closed_s
        ]

    def list_charges(self, limit: int = 100, before: int | None = None) -> list[Any]:
        return [
            ChargeRow(row.number, row.number, "", RHO, 1e9)
            for row in self.list_rounds(limit, before)
        ]

    def read_ledger(self, budget: Fraction) -> Ledger:
        return Ledger(budget, (Charge(RHO),) * self._rounds)

    def read_units(self) -> PromisedUnits:
        return PromisedUnits((), (), (find_stored_unit("{}"),))

    def read_promise(self) -> tuple[str | None, Fraction | None]:
        return "{}", Fraction(2)

    def list_devices(self, enrolled: Any = None) -> list[Any]:
        shut = {"south": "it spoke too often"}
        return [
            DeviceRow(name, "00ff00ff", 3, 9, 9, 1e9, None, shut.get(name), None)
            for name in enrolled or ("north", "south", "west")
        ]

    def list_refused(self, limit: int = 100, before: int | None = None) -> list[Any]:
        what = "heatveil/1/lab/north/data", "late", "it came when the round was closed", 80
        numbers = range(min(before or 10**9, 6) - 1, 0, -1)
        return [RefusedRow(number, 1e9, *what) for number in numbers][:limit]

    def count_refused_by_topic(self) -> dict[tuple[str, str], int]:
        return {("heatveil/1/lab/north/data", "late"): 5, ("heatveil/1/lab/x", "topic"): 1}

    def list_gaps(self, name: str) -> list[tuple[int, int, int]]:
        return [(3, 4, 6)] if name == "north" else []

    def count_refused_by_kind(self) -> dict[str, int]:
        return {"late": 5}


PRICE = Fraction(1, 7)


def _name(number: int) -> bytes:
    return number.to_bytes(4, "big")


@pytest.fixture
def stored(tmp_path: Path, home: Any) -> Iterator[Page]:
    """Return a page over a store with two rounds that are closed and one that is open."""
    path = tmp_path / "lab.sqlite"
    store = Store(path, "lab")
    for number in (1, 2, 3):
        asked = AskedRound(_name(number), _name(number), home.round(number), b"message", PRICE)
        assert store.open_round(asked, 4 * PRICE, keys=dict.fromkeys("abcd", b"")) == ""
        store.keep_batch(
            [CountedReport("north", 1, number, _name(number), b"SECRET-FRAME", b"key1")]
        )
    for number in (1, 2):
        store.close_round(_name(number), [number, None], 1)
    store.keep_map(_name(1), '{"number": 1, "status": "solved", "mass": [[1.0]], "total": 1.0}')
    topic = "heatveil/1/lab/north/data"
    store.keep_batch([], [DeadLetter(topic, "it is no CBOR", b"SECRET-FRAME", "garbled")])
    store.quarantine("north", "it floods")
    reader = Reader(path)
    with Page("127.0.0.1", 0, reader=reader) as page:
        yield page
    reader.close()
    store.close()


class Answer(NamedTuple):
    """What a server said."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """Return the body, read."""
        return json.loads(self.body)


def _ask(
    page: Page, path: str, method: str = "GET", body: bytes | None = None, **headers: str
) -> Answer:
    place = urlsplit(page.url)
    link = http.client.HTTPConnection(place.hostname or "", place.port, timeout=60)
    try:
        named = {key.replace("_", "-"): value for key, value in headers.items()}
        link.request(method, path, body, named)
        answer = link.getresponse()
        held = {key.lower(): value for key, value in answer.getheaders()}
        return Answer(answer.status, held, answer.read())
    finally:
        link.close()


@pytest.fixture
def ask() -> Callable[..., Answer]:
    """Return what asks a page: `ask(page, path, method, body, If_None_Match=...)`."""
    return _ask


@pytest.fixture
def known() -> Known:
    """Return what reads a store of seven rounds, of which the last is open."""
    return Known()


@pytest.fixture
def live(known: Known) -> Iterator[Page]:
    """Return a page of a gateway that works, over a known store."""
    health = Health("store", "broker")
    health.set_part("store", True)
    health.set_part("broker", True)
    with Page("127.0.0.1", 0, reader=known, health=health, metrics=Metrics()) as page:
        page.feed.put_event({"kind": "promise", "sentences": ["It is kept."]})
        yield page


@pytest.fixture(scope="module")
def browser(need: Callable[[str], str]) -> Iterator[Browser]:
    """Return one headless Chromium for all tests."""
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=need("chromium"), args=FLAGS)
        yield chromium
        chromium.close()


def open_tab(
    browser: Browser, url: str, width: int = 400, now_s: float | None = None, **words: Any
) -> Tab:
    """Return an address in a tab whose complaints and requests are written down.

    Args:
        now_s: what its clock shows; None for the machine's.
    """
    tab = browser.new_context(viewport={"width": width, "height": 800}, **words).new_page()
    tab.said, tab.asked = [], []
    # The last is a hint to whoever reads pixels, which only these tests do.
    tab.on(
        "console", lambda message: "getImageData" in message.text or tab.said.append(message.text)
    )
    tab.on("pageerror", lambda fault: tab.said.append(str(fault)))
    tab.on("request", lambda request: tab.asked.append(request.url))
    if now_s is not None:
        tab.clock.set_fixed_time(now_s)
    tab.goto(url)
    return tab


@pytest.fixture
def opened(browser: Browser) -> Iterator[Callable[..., Tab]]:
    """Return what opens an address in a tab: `opened(url, width, now_s=...)`."""
    yield partial(open_tab, browser)
    for context in browser.contexts:
        context.close()


def wait_until(tab: Tab, expression: str) -> None:
    """Return once an expression holds; the policy forbids the usual way to wait."""
    assert eventually(lambda: _holds(tab, expression)), f"never came true: {expression}"


def _holds(tab: Tab, expression: str) -> bool:
    try:
        return bool(tab.evaluate(expression))
    except Error as fault:
        if "context was destroyed" in str(fault):  # it is just being loaded anew
            return False
        raise


@pytest.fixture
def until() -> Callable[[Tab, str], None]:
    """Return what waits until an expression holds."""
    return wait_until


@pytest.fixture
def axe() -> str:
    """Return axe-core, the program that looks for what keeps somebody from using a page."""
    try:
        import axe_playwright_python as package
    except ImportError:
        miss("axe-core is not here: pip install axe-playwright-python")
    return (Path(package.__file__).parent / "axe.min.js").read_text("utf-8")
