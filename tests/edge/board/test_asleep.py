"""How a board goes to sleep: when, and what it takes with it."""

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from edge.board import start
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
