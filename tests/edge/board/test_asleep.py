"""How a board goes to sleep: when, and what it takes with it."""

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from edge.board import start
from edge.board.led import ROUND_MS, Led, lit
from edge.net import link
from edge.net.ring import File, Ring


class World:
    """Time that passes in sleeps alone, and a draw that begins 50 ms after the start."""

    def __init__(self, draw_ms: int) -> None:
        self.now_ms_, self._draw_ms = 0, draw_ms
        self.EARLY_MS = 0

    def now_ms(self) -> int:
        return self.now_ms_

    def stay(self, due_ms: int) -> None:
        """Boards are exact by themselves."""

    async def sleep_ms(self, ms: int) -> None:
        """Wake up when it is due, or when the loop is free again."""
        due_ms = self.now_ms_ + ms
        if self.now_ms_ < 50 <= due_ms:
            due_ms = max(due_ms, 50 + self._draw_ms)
        self.now_ms_ = due_ms


def sleeping(ring: Ring, world: World, farewell: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a board that has answered go to sleep."""
    parts: Any = start.Parts.__new__(start.Parts)
    parts.ring, parts.client = ring, SimpleNamespace(connected=True)
    parts.budget = SimpleNamespace(frames=1, fault="")
    parts.config = SimpleNamespace(identity=None, wake_s=60)
    parts.led = SimpleNamespace(dark=lambda: None)
    parts.station = parts.nap = parts.machine = parts.watchdog = None
    for module in (start, link):
        monkeypatch.setattr(module, "sleep_ms", world.sleep_ms)
    monkeypatch.setattr(start, "Uptime", lambda: world)
    monkeypatch.setattr("edge.board.assemble.farewell", farewell)
    monkeypatch.setattr("edge.board.power.sleep", lambda *how: None)
    asyncio.run(parts._nap())


def test_when_it_leaves_does_not_tell_how_long_a_draw_took(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its last words come at a multiple of what it looks at, whatever stood still in between."""
    left = []

    async def farewell(*who: Any) -> None:
        left.append(world.now_ms())

    for draw_ms in (1, 60, 130, 170, 420):
        world = World(draw_ms)
        sleeping(Ring(64), world, farewell, monkeypatch)

    assert left == [1000] * 5


def test_what_is_answered_during_the_farewell_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was paid for, and memory does not outlive the sleep."""
    ring = Ring(64, File(f"{tmp_path}/frames", 1024))

    async def farewell(*who: Any) -> None:
        ring.put(b"a frame")

    sleeping(ring, World(1), farewell, monkeypatch)

    assert File(f"{tmp_path}/frames", 1024).oldest() == b"a frame"


# What the light says, to somebody who counts its flashes.

WORDS = ["ready", "sleeping", "disconnected", "lost", "alert", "exhausted"]
WORDS += ["starting", "joining", "fault"]


def flashes(word: str) -> int:
    """Return how often the light comes on in one round."""
    seen = [lit(word, now_ms) for now_ms in range(ROUND_MS, 2 * ROUND_MS)]
    return sum(after > before for before, after in zip([0, *seen], seen, strict=False))


def test_each_word_looks_as_the_table_says() -> None:
    """Somebody counts flashes with the README in the other hand."""
    assert {word: flashes(word) for word in WORDS} == {
        "ready": 1,
        "sleeping": 0,
        "disconnected": 8,
        "lost": 8,
        "alert": 3,
        "exhausted": 2,
        "starting": 1,  # on all the time
        "joining": 20,
        "fault": 4,
    }
    assert all(lit("starting", now_ms) for now_ms in range(9000))


def test_the_pin_is_told_only_of_changes() -> None:
    """Some lights hang on the radio's own bus, which a word each look would keep busy."""
    told: list[int] = []
    led = Led(SimpleNamespace(value=told.append))
    led.show("ready")
    for now_ms in range(0, 2 * ROUND_MS, 30):
        led.look(now_ms)

    assert told == [1, 0, 1, 0]


def test_a_board_without_a_light_does_without() -> None:
    """No pin, no fault."""
    Led().look(0)


def test_a_sensor_that_is_gone_shows_once_it_matters() -> None:
    """A fault of the sensor is told where all else is well; worse is not hidden by it."""
    faults = [0]
    led = Led()
    led.ill = lambda: faults[0]
    led.show("ready")
    seen = []
    for faults[0], word in (
        (0, "ready"),
        (1, "ready"),
        (1, "alert"),
        (1, "joining"),
        (0, "alert"),
    ):
        led.show(word)
        shown = []
        for now_ms in range(ROUND_MS, 2 * ROUND_MS, 10):
            led.look(now_ms)
            shown.append(led._level)
        seen.append(sum(b and not a for a, b in zip([0, *shown], shown, strict=False)))

    assert seen == [1, 4, 4, 20, 3]


def test_it_is_dark_before_a_sleep() -> None:
    """A light left on would be most of what a battery gives."""
    told: list[int] = []
    led = Led(SimpleNamespace(value=told.append))
    led.look(0)
    led.dark()

    assert told == [1, 0]


def test_the_board_s_files_load_on_every_interpreter(interpreter) -> None:
    """Without pins and radios too: what needs them asks for them when it runs."""
    names = ["boot", "config", "drivers", "firmware", "led", "main", "nap", "net", "pins", "power"]
    script = "".join(f"import edge.board.{name}\n" for name in names)

    assert interpreter.run(script + "print('all')") == "all\n"
