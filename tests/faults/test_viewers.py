"""Viewers who do not read, and viewers whose gateway went away."""

import asyncio
import gc
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from harness import sized, takes_long
from harness.stage import Stage, get
from harness.switches import queueing
from playwright.sync_api import Browser, Page, sync_playwright

from gateway.web import feed
from tests.waiting import eventually

Staged = Callable[..., Stage]
VIEWERS, ROUNDS = sized((50, 5), (200, 40))
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
# A page whose browser does not ask again: what stands in for an EventSource ends with its link.
GIVES_UP = """
const Real = window.EventSource;
let over = false;
window.EventSource = class extends Real {
  constructor(...given) {
    super(...given);
    if (over) this.close();
    this.addEventListener("error", () => { over = true; this.close(); });
  }
};
"""


def asleep(site: Stage) -> socket.socket:
    """Return a viewer that asks for the events and never reads one."""
    viewer = socket.socket()
    viewer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    viewer.connect(("127.0.0.1", site.page))
    viewer.sendall(b"GET /api/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    return viewer


def watched(site: Stage, viewers: int) -> tuple[float, float]:
    """Run all rounds under so many sleeping viewers; return seconds, and MB that were added."""
    gateway = site.gateway()
    assert eventually(lambda: get(site, "/livez") == 200)
    with ExitStack() as stack:
        for _ in range(viewers):
            stack.enter_context(asleep(site))
        assert site.asked()
        before_mb, began_s = gateway.resident_mb(), time.monotonic()
        site.hurried()
        assert eventually(lambda: site.released() == ROUNDS, 60)
        return time.monotonic() - began_s, gateway.resident_mb() - before_mb


@takes_long
def test_slow_viewer(stage: Staged) -> None:
    """Those who sleep cost neither time nor memory."""
    took_s, grown_mb = watched(stage(readings=ROUNDS), VIEWERS)
    print(f"{VIEWERS} sleeping viewers: {ROUNDS} rounds in {took_s:.1f} s, {grown_mb:+.1f} MB")

    assert took_s < 2 * ROUNDS
    assert grown_mb < 24


async def waiting_for_a_sleeper() -> int:
    """Return how many of five thousand events wait for a viewer that fetches none."""
    spread, event = feed.Feed(), {"kind": "reports", "body": "x" * 1000}
    spread.opened()
    watching = spread.watch()
    await anext(watching)
    for number in range(5000):
        spread.put({**event, "kind": ("reports", "map")[number % 2], "number": number})
        if number % 500 == 0:
            await asyncio.sleep(2 * feed.EVERY_S)
    await asyncio.sleep(2 * feed.EVERY_S)
    waiting = len(await anext(watching))
    spread.closed()
    await watching.aclose()
    return waiting


def test_slow_viewer_is_overtaken() -> None:
    """Of each kind of event the latest waits, and no other."""
    assert asyncio.run(waiting_for_a_sleeper()) == 2


def test_slow_viewer_control(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where everything waits for whoever sleeps, it grows with the time."""
    monkeypatch.setattr(feed.Viewer, "offer", feed.Viewer.offer)  # so that it comes back
    queueing()

    assert asyncio.run(waiting_for_a_sleeper()) > 4000


@pytest.fixture(scope="module")
def browser(need: Callable[[str], str]) -> Iterator[Browser]:
    """Return one headless Chromium for all tests."""
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=need("chromium"), args=FLAGS)
        yield chromium
        chromium.close()
    gc.collect()


def link_of(tab: Page) -> Any:
    """Return whether the page says that it is live."""
    return tab.evaluate("document.getElementById('link').dataset.state")


def until(tab: Page, state: str, patience_s: float) -> float | None:
    """Return how long until the page says so; None when it does not."""
    began_s = time.monotonic()
    while time.monotonic() - began_s < patience_s:
        if link_of(tab) == state:
            return time.monotonic() - began_s
        tab.wait_for_timeout(20)
    return None


def returned(stage: Staged, browser: Browser, script: str = "") -> float | None:
    """Kill the gateway under an open page, start it; return how long until the page is live."""
    site = stage(readings=1)
    gateway = site.gateway()
    assert eventually(lambda: get(site, "/livez") == 200)
    context = browser.new_context()
    tab = context.new_page()
    if script:
        tab.add_init_script(script)
    tab.goto(f"http://127.0.0.1:{site.page}/")
    assert until(tab, "live", 10) is not None
    gateway.kill()
    assert until(tab, "lost", 10) is not None
    gateway.start()
    assert eventually(lambda: get(site, "/livez") == 200)
    found = until(tab, "live", 6)
    context.close()
    return found


@takes_long
def test_server_restart_under_a_viewer(stage: Staged, browser: Browser) -> None:
    """The page comes back by itself, without anybody at the keyboard."""
    took_s = returned(stage, browser)
    print(f"live again {took_s or -1:.1f} s after the page answered")

    assert took_s is not None


@takes_long
def test_server_restart_under_a_viewer_control(stage: Staged, browser: Browser) -> None:
    """A page that does not ask again stays dead."""
    assert returned(stage, browser, GIVES_UP) is None
