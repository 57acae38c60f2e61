"""From the service's threads to any number of viewers, however slow they are.

Every viewer has room for the latest event of each kind and no more: what it has not fetched
in time is overtaken, so a viewer that sleeps costs nothing and the gateway waits for nobody.

Differs from a queue of the last few events: there many reports would push out the one map.
"""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

Event = dict[str, Any]


class Viewer:
    """One page that is open somewhere; lives on the event loop."""

    def __init__(self, latest: dict[str, Event]) -> None:
        self._waiting = latest
        self._news = asyncio.Event()
        self._news.set()

    def offer(self, event: Event) -> None:
        """Put an event in the place of an older one of its kind."""
        self._waiting.pop(event["kind"], None)
        self._waiting[event["kind"]] = event
        self._news.set()

    async def take(self, patience_s: float) -> list[Event]:
        """Return what is new, oldest first; nothing when patience ends before."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._news.wait(), patience_s)
        self._news.clear()
        events, self._waiting = list(self._waiting.values()), {}
        return events


class Feed:
    """The latest event of each kind, and who wants the next ones. `put` is thread safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._latest: dict[str, Event] = {}
        self._viewers: set[Viewer] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ended = False

    def put(self, event: Event) -> None:
        """Take an event from the service, on any thread; returns at once."""
        with self._lock:
            self._latest.pop(event["kind"], None)
            self._latest[event["kind"]] = event
            if self._loop is not None:
                self._loop.call_soon_threadsafe(self._spread, event)

    def latest(self) -> dict[str, Event]:
        """Return the last event of each kind."""
        with self._lock:
            return dict(self._latest)

    def opened(self) -> None:
        """Begin to serve viewers; called on the event loop."""
        with self._lock:
            self._loop = asyncio.get_running_loop()

    def closed(self) -> None:
        """Let every viewer go; called on the event loop."""
        with self._lock:
            self._loop = None
        self._ended = True
        for viewer in self._viewers:
            viewer.offer({"kind": "bye"})

    async def watch(self, beat_s: float = 10.0) -> AsyncIterator[Event | None]:
        """Yield the latest events, then every new one; None as a sign of life."""
        viewer = Viewer(self.latest())
        self._viewers.add(viewer)
        try:
            while not self._ended:
                events = await viewer.take(beat_s)
                for event in events:
                    yield event
                if not events:
                    yield None
        finally:
            self._viewers.discard(viewer)

    def _spread(self, event: Event) -> None:
        for viewer in self._viewers:
            viewer.offer(event)
