"""kill -9 between drawing a result and publishing it; and viewers who are slow or left behind."""

import asyncio
import gc
import json
import os
import signal
import socket
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
from harness import FULL, sized, takes_long
from harness.children import Child
from harness.radio import Listener
from harness.stage import SITE, Stage, get
from harness.switches import STEPS, queueing
from playwright.sync_api import Browser, Page, sync_playwright

from edge.core import wire
from gateway.web import feed
from tests.waiting import eventually

# kill -9 between drawing a result, storing it and publishing it: one payload, one charge.

Staged = Callable[..., Stage]
POINTS = [f"{step}:{when}" for step in STEPS for when in ("before", "after")]
if not FULL:  # where results are; `make faults` dies at every step
    POINTS = ["keep_map:before", "keep_map:after"]


def payloads(listener: Listener, leaf: str) -> dict[int, set[bytes]]:
    """Return what was published for each round on a leaf: maps by number, rounds by their own."""
    found = defaultdict(set)
    for topic, payload in list(listener.messages):
        if payload and f"/{leaf}/" in topic:
            told = json.loads(payload) if leaf == "map" else {"number": 0}
            if told.get("status") != "unresolved":  # no result yet: a later start may find one
                found[told["number"]].add(payload)
    return found


def died_at(site: Stage, *points: str) -> None:
    """Let the gateway die at each of these points, one life after the other, and live on."""
    for point in points:
        gateway = site.gateway(point)
        assert eventually(lambda gateway=gateway: not gateway.alive), point
    site.gateway()


@pytest.mark.long
@pytest.mark.parametrize("store", sized(["sqlite"], ["sqlite", "postgresql"]))
def test_kill_between_draw_store_publish(stage: Staged, store: str) -> None:
    """Drawn once more is a second result, with the first already out; so it is written first."""
    rounds = sized(2, 8)
    site = stage(readings=rounds, store=store)
    site.hurried(resend_s=1.0)
    with Listener(site.broker.port, f"heatveil/1/{SITE}/#") as listener:
        died_at(site, *POINTS)
        assert eventually(lambda: site.released() == rounds)
        assert eventually(lambda: len(payloads(listener, "map")) >= 1)
        time.sleep(1)
        maps, asked = payloads(listener, "map"), payloads(listener, "round")
    print(f"{len(POINTS)} kills, {rounds} rounds, {sum(map(len, maps.values()))} maps published")

    assert all(len(different) == 1 for different in maps.values()), maps
    assert len(asked[0]) == rounds  # each asked with the same bytes, before and after
    assert site.truth().whole
    assert site.charges() == (rounds, rounds * site.price, 0)


@takes_long
def test_kill_between_draw_store_publish_control(stage: Staged) -> None:
    """Published first and written afterwards, one round has two results."""
    site = stage(readings=1)
    site.hurried(resend_s=1.0)
    with Listener(site.broker.port, f"heatveil/1/{SITE}/#") as listener:
        died_at(site, "publishing_first")
        assert eventually(lambda: len(payloads(listener, "map")[1]) == 2)


@takes_long
def test_the_round_is_signed_by_its_own_site(stage: Staged) -> None:
    """What the listener heard as rounds are rounds: else the counts above counted nothing."""
    site = stage(readings=1)
    with Listener(site.broker.port, f"heatveil/1/{SITE}/round/thermal") as listener:
        site.gateway()
        assert eventually(lambda: any(message for _, message in listener.messages))
    topic, message = next(one for one in listener.messages if one[1])
    key = bytes.fromhex(json.loads((site.folder / "devices.json").read_text())["site_key"])

    assert wire.unpack_round(message, key, topic).number == 1


# The program that draws maps hangs, or dies: the round counts, and the next one goes on.


def solvers(gateway: Child) -> list[int]:
    """Return the processes that draw a gateway's maps."""
    found = []
    for place in Path("/proc").iterdir():
        with suppress(OSError, ValueError, IndexError):
            parent = int((place / "stat").read_text().rsplit(")", 1)[1].split()[1])
            if (
                parent == gateway.pid
                and b"gateway.service.solver" in (place / "cmdline").read_bytes()
            ):
                found.append(int(place.name))
    return found


@pytest.mark.long
@pytest.mark.parametrize("fault", sized(["dies"], ["hangs", "dies"]))
def test_solver_hangs_or_dies(stage: Staged, fault: str) -> None:
    """A map that cannot be drawn is a result, and a new program draws the next."""
    site = stage(readings=3, every_s=2)
    site.path.write_text(site.path.read_text().replace("[rounds]", "[rounds]\nsolve_s = 10"))
    gateway = site.gateway()
    with Listener(site.broker.port, f"heatveil/1/{SITE}/map/#") as listener:
        devices, worker = site.hurried(), 0
        for number in (1, 2, 3):
            assert eventually(lambda number=number: site.released() == number)
            devices.freeze()  # a round that ended meanwhile would be drawn in the place of this
            assert eventually(
                lambda number=number: len({one for _, one in listener.messages}) == number, 60
            )
            if number == 1:
                (worker,) = solvers(gateway)
                os.kill(worker, signal.SIGSTOP if fault == "hangs" else signal.SIGKILL)
            devices.thaw()
    told = [json.loads(one) for _, one in listener.messages]
    print([(one["number"], one["status"], one["why"]) for one in told])

    assert [one["status"] for one in told] == ["solved", "unresolved", "solved"]
    assert solvers(gateway) != [worker]
    assert site.charges() == (3, 3 * site.price, 0)


@takes_long
def test_solver_hangs_control(stage: Staged) -> None:
    """Where it hangs in the gateway itself, there is never a map, nor a word why."""
    site = stage(readings=3)
    gateway = site.gateway("inline")
    with Listener(site.broker.port, f"heatveil/1/{SITE}/map/#") as listener:
        site.hurried()
        assert eventually(lambda: site.released() == 3)
        assert eventually(lambda: "it hangs" in gateway.said())

        assert not eventually(lambda: listener.messages, 6)


# Viewers who do not read, and viewers whose gateway went away.

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
    viewer.sendall(b"GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
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
        assert eventually(lambda: site.released() == ROUNDS)
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
    spread.start()
    watching = spread.watch_events()
    await anext(watching)
    for number in range(5000):
        spread.put_event({**event, "kind": ("reports", "map")[number % 2], "number": number})
        if number % 500 == 0:
            await asyncio.sleep(2 * feed.EVERY_S)
    await asyncio.sleep(2 * feed.EVERY_S)
    waiting = len(await anext(watching))
    spread.stop()
    await watching.aclose()
    return waiting


def test_slow_viewer_is_overtaken() -> None:
    """Of each kind of event the latest waits, and no other."""
    assert asyncio.run(waiting_for_a_sleeper()) == 2


def test_slow_viewer_control(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where everything waits for whoever sleeps, it grows with the time."""
    # So that it comes back
    monkeypatch.setattr(feed.Viewer, "offer_event", feed.Viewer.offer_event)
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
