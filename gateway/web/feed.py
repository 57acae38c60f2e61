"""From the service's threads to any number of viewers, however slow they are.

Every viewer has room for the latest event of each kind and no more: what it has not fetched
in time is overtaken, so a viewer that sleeps costs nothing and the gateway waits for nobody.

Differs from a queue of the last few events: there many reports would push out the one map.
"""

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Iterable

import structlog

from .kept import Event as Event
from .kept import Kept, Told

MOST = 500  # viewers
EVERY_S = 0.05  # that viewers are woken at most: a thousand devices answer at once
BEAT_S = 10.0  # a sign of life for whoever has heard nothing

log = structlog.get_logger()


class Viewer:
    """One page that is open somewhere; lives on the event loop."""

    def __init__(self, first: Iterable[Told], seen: int) -> None:
        """Begin with what it has missed; of what comes, up to this number it has seen all."""
        self._first, self._seen = list(first), seen
        self._waiting: dict[str, Told] = {}
        self.news = asyncio.Event()
        self.news.set()

    def offer(self, told: Told) -> None:
        """Put an event in the place of an older one of its kind."""
        if told.number > self._seen:
            self._waiting.pop(told.event["kind"], None)
            self._waiting[told.event["kind"]] = told
            self.news.set()

    def take(self) -> list[Told]:
        """Return what is new, oldest first."""
        self.news.clear()
        found = [*self._first, *self._waiting.values()]
        self._first, self._waiting = [], {}
        return found


class Feed:
    """The latest event of each kind, and who wants the next ones. `put` is thread safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept = Kept()
        self._new: list[Told] = []  # not yet spread
        self._viewers: set[Viewer] = set()
        self._places = 0  # that are taken: from the answer on, and not only once it is begun
        self._loop: asyncio.AbstractEventLoop | None = None
        self._last_s = 0.0
        self._ended = False
        self.hear: Callable[[Event], None] | None = None  # on the thread that puts

    def put(self, event: Event) -> None:
        """Take an event from the service, on any thread; returns at once."""
        with self._lock:
            self._new.append(self._kept.add(event))
            if self._loop is None:
                self._new.clear()  # who comes later begins with what is kept
            elif len(self._new) == 1:
                self._loop.call_soon_threadsafe(self._soon)
        try:
            if self.hear is not None:
                self.hear(event)
        except Exception:  # who counts must not keep viewers from what there is to see
            log.exception("an event could not be counted", kind=event["kind"])

    def latest(self) -> dict[str, Event]:
        """Return the last event of each kind."""
        with self._lock:
            return {one.event["kind"]: one.event for one in self._kept.latest()}

    @property
    def number(self) -> int:
        """How many events have been told."""
        return self._kept.number

    @property
    def viewers(self) -> int:
        """How many are looking."""
        return len(self._viewers)

    def enter(self) -> bool:
        """Take a place for a viewer, to be given back by `leave`; False where there is none."""
        free = self._places < MOST
        self._places += free
        return free

    def leave(self) -> None:
        """Give a viewer's place back."""
        self._places -= 1

    def opened(self) -> None:
        """Begin to serve viewers; called on the event loop."""
        with self._lock:
            self._loop = asyncio.get_running_loop()
        self._loop.call_later(BEAT_S, self._beat)

    def closed(self) -> None:
        """Let every viewer go; called on the event loop."""
        with self._lock:
            self._loop = None
        self._ended = True
        for viewer in self._viewers:
            viewer.news.set()

    async def watch(self, last_id: str | None = None) -> AsyncGenerator[list[Told], None]:
        """Yield what there is, or what is new since an event; then what comes.

        Nothing in a list is a sign of life. Ends when the feed does.
        """
        with self._lock:
            first = self._kept.latest() if last_id is None else self._kept.after(last_id)
            viewer = Viewer(first, self._kept.number)
        self._viewers.add(viewer)
        try:
            while not self._ended:
                yield viewer.take()
                await viewer.news.wait()
        finally:
            self._viewers.discard(viewer)

    def _soon(self) -> None:
        """Spread now, or when viewers have had a rest."""
        loop = asyncio.get_running_loop()
        loop.call_at(max(self._last_s + EVERY_S, loop.time()), self._spread)

    def _spread(self) -> None:
        self._last_s = asyncio.get_running_loop().time()
        with self._lock:
            new, self._new = self._new, []
        for viewer in self._viewers:
            for told in new:
                viewer.offer(told)

    def _beat(self) -> None:
        for viewer in self._viewers:
            viewer.news.set()
        if self._loop is not None:
            self._loop.call_later(BEAT_S, self._beat)
