"""What the live page costs: its weight, its first drawing, updates at 5 Hz, many viewers, its end.

Run it: `python tests/bench/bench_page.py [seconds]`. Chromium and the viewers are on this machine;
latency is from when the page is given a map until it is drawn. An update that the browser's own
clock has not drawn before the next one counts as dropped.
"""

import selectors
import socket
import statistics
import subprocess
import sys
import time
from shutil import which
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from playwright.sync_api import sync_playwright

from gateway.web.app import FILES
from gateway.web.server import Page
from tests.gateway.web.conftest import FLAGS, wait_until
from tests.gateway.web.test_pictures import Day, room

HERTZ, VIEWERS = 5, 200
WATCH = """
window.drawn = [];
new MutationObserver(() => {
  const now = Date.now(), number = Number(document.getElementById("map").dataset.number);
  if (!window.pack_first) window.pack_first = performance.now();
  if (number === window.last) return;
  window.last = number;
  requestAnimationFrame(() => window.drawn.push([number, now]));
}).observe(document, { subtree: true, attributeFilter: ["data-number"] });
"""


def weigh(url: str) -> int:
    """Return the bytes of all files of the page as they go over the wire."""
    packed = {"Accept-Encoding": "gzip"}
    return sum(len(urlopen(Request(f"{url[:-1]}{path}", headers=packed)).read()) for path in FILES)


def feed_maps(page: Page, seconds: float) -> dict[int, float]:
    """Give a page maps; return by number when each was given, in milliseconds of the epoch."""
    *_, release, map = room()
    given: dict[int, float] = {}
    began_s = time.monotonic()
    for number in range(100, 100 + round(HERTZ * seconds)):
        page.feed.put_event({**release, "number": number})
        given[number] = 1000 * time.time()
        page.feed.put_event({**map, "number": number})
        time.sleep(max(began_s + (number - 99) / HERTZ - time.monotonic(), 0))
    return given


def look(page: Page, seconds: float) -> None:
    """Print how soon a browser draws, and how it keeps up."""
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=which("chromium"), args=FLAGS)
        firsts = []
        for _ in range(5):
            context = chromium.new_context()
            context.add_init_script(WATCH)
            tab = context.new_page()
            tab.goto(page.url)
            wait_until(tab, "window.pack_first")
            firsts.append(tab.evaluate("window.pack_first"))
            context.close()
        print(f"first drawing: {statistics.median(firsts):.0f} ms, worst {max(firsts):.0f} ms")
        context = chromium.new_context(viewport={"width": 1280, "height": 800})
        context.add_init_script(WATCH)
        tab = context.new_page()
        tab.goto(page.url)
        wait_until(tab, "window.pack_first")
        tab.wait_for_timeout(1500)
        given = feed_maps(page, seconds)
        tab.wait_for_timeout(500)
        drawn = {int(number): at_ms for number, at_ms in tab.evaluate("window.drawn")}
        took = [drawn[number] - given[number] for number in given if number in drawn]
        print(
            f"{HERTZ} maps a second: {len(given)} given, {len(given) - len(took)} dropped; "
            f"latency {statistics.median(took):.0f} ms, worst {max(took):.0f} ms"
        )
        chromium.close()


def view(url: str, viewers: int) -> None:
    """Read what a page tells so many viewers, until it ends."""
    place, chosen = urlsplit(url), selectors.DefaultSelector()
    for number in range(viewers):
        # At most half of the connections may be of one address.
        source = f"127.0.0.{2 + number // 100}"
        link = socket.create_connection((place.hostname or "", place.port or 0), 10, (source, 0))
        link.sendall(b"GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        chosen.register(link, selectors.EVENT_READ)
    print("open", flush=True)
    while chosen.get_map():
        for key, _ in chosen.select():
            if not key.fileobj.recv(1 << 20):  # type: ignore[union-attr]
                chosen.unregister(key.fileobj)
    print("closed", flush=True)


def serve_many(seconds: float) -> None:
    """Print what many viewers take of a core, and how soon the page lets them go."""
    me = [sys.executable, __file__]
    page = Page("127.0.0.1", 0)
    for event in room():
        page.feed.put_event(event)
    crowd = subprocess.Popen([*me, "view", page.url], stdout=subprocess.PIPE, text=True)
    crowd.stdout.readline()
    while page.feed.viewers < VIEWERS:
        time.sleep(0.1)
    time.sleep(1)
    began_s, spent_s = time.monotonic(), time.process_time()
    feed_maps(page, seconds)
    share = (time.process_time() - spent_s) / (time.monotonic() - began_s)
    print(f"{VIEWERS} viewers at {HERTZ} maps a second: {100 * share:.1f} % of a core")
    began_s = time.monotonic()
    page.close()
    print(f"the page ends with {VIEWERS} viewers in {1000 * (time.monotonic() - began_s):.0f} ms")
    crowd.wait()


def main(words: list[str]) -> None:
    """Print all of it."""
    if words[:1] == ["view"]:
        view(words[1], VIEWERS)
        return
    seconds = float(words[0]) if words else 8.0
    told = room()
    with Page("127.0.0.1", 0, reader=Day(told[0])) as page:
        for event in told:
            page.feed.put_event(event)
        print(f"weight: {weigh(page.url) / 1000:.1f} kB over the wire, {len(FILES)} files")
        look(page, seconds)
    serve_many(seconds)


if __name__ == "__main__":
    main(sys.argv[1:])
