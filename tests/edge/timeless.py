"""Time that passes only while everybody waits for it, and then at once.

How busy the machine is does not show in what a program does at which moment.
"""

import asyncio
import time
from collections.abc import Coroutine
from typing import Any

import pytest

from edge.core import compat


class Loop(asyncio.SelectorEventLoop):
    """A loop of asyncio with such a clock, which goes on from the system's."""

    def __init__(self) -> None:
        self.now_s = time.monotonic()
        super().__init__()
        selector: Any = self._selector  # type: ignore[attr-defined]
        select = selector.select

        def wait(timeout_s: float) -> Any:
            self.sleep(timeout_s)
            return select(0)

        selector.select = wait

    def time(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        """Do what takes so long, as `time.sleep` would."""
        self.now_s += seconds


def run(main: Coroutine[Any, Any, Any]) -> Any:
    """Return what comes of it; `time.sleep` and what devices take for their uptime go along."""
    with asyncio.Runner(loop_factory=Loop) as runner, pytest.MonkeyPatch.context() as patch:
        loop: Any = runner.get_loop()
        patch.setattr(compat, "_ticks", lambda: int(1000 * loop.now_s + 0.001))
        patch.setattr(time, "sleep", loop.sleep)
        return runner.run(main)
