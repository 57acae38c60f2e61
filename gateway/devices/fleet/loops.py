"""A thread with an event loop on it, for devices that wait; everybody else calls and blocks."""

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any


class Loop:
    """The thread; `close` it."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)
        self._thread.start()

    def do(self, work: Coroutine[Any, Any, Any]) -> "Future[Any]":
        """Let work be done there; return what it will come to."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def close(self) -> None:
        """End what is still under way there, and the thread."""
        self.do(_ended()).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def ended(*tasks: "asyncio.Task[Any]") -> None:
    """Cancel these, until they are over.

    Once is not enough: before Python 3.12 a wait that ends in the same moment swallows it.
    """
    while left := [task for task in tasks if not task.done()]:
        for task in left:
            task.cancel()
        await asyncio.wait(left, timeout=0.1)


async def _ended() -> None:
    await ended(*(asyncio.all_tasks() - {asyncio.current_task()}))
