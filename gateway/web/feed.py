"""What the service tells, and every viewer of it, however slow, by server-sent events.

The last few events of each kind are kept, numbered, as they go over the wire: a viewer who comes
back says which was the last it heard and gets the rest, or, where some of that has been
overwritten, is told so and gets all there is instead. Each has room for the latest event of each
kind and no more, so one that sleeps costs nothing and the gateway waits for nobody.

Differs from a queue of the last few events: there many reports would push out the one map.
"""

import asyncio
import secrets
import threading
from collections import deque
from collections.abc import AsyncGenerator, Callable, Collection, Iterable, Sequence
from contextlib import aclosing
from typing import Any, NamedTuple

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from ..logs import log
from .access import Door, Session, find_session
from .records import Refusal, Resumed, check_accepts, parse_parameters

Event = dict[str, Any]
KEPT = 8  # of each kind
# The kinds that a viewer's token shows: none names a device, and a new one is an operator's.
SHOWN = frozenset(
    ("ready", "round", "reports", "release", "map", "budget", "promise", "health", "done")
)
BEGAN = "this gateway has not told what you heard last: it began anew"
GONE = "some of what was told since then is gone"


def is_shown(kind: str, shown: Collection[str] | None) -> bool:
    """Return whether a kind is among those that somebody is told; None stands for all."""
    return shown is None or kind in shown


class NumberedEvent(NamedTuple):
    """An event with its number and its bytes."""

    number: int
    event: Event
    frame: bytes


class EventHistory:
    """The last events of each kind since this start; not thread safe."""

    def __init__(self, size: int = KEPT) -> None:
        self._size = size
        self._start = secrets.token_hex(4)  # numbers of another start mean nothing here
        self.number = 0
        self._kinds: dict[str, deque[NumberedEvent]] = {}
        self._lost: dict[str, int] = {}  # of each kind the newest that was overwritten

    def add_event(self, event: Event) -> NumberedEvent:
        """Number an event and keep it."""
        self.number += 1
        kind = event["kind"]
        told = NumberedEvent(self.number, event, self._format_frame(kind, event))
        held = self._kinds.setdefault(kind, deque(maxlen=self._size))
        if len(held) == self._size:
            self._lost[kind] = held[0].number
        held.append(told)
        return told

    def list_latest(self, shown: Collection[str] | None = None) -> list[NumberedEvent]:
        """Return the last of each kind, oldest first."""
        last = (held[-1] for kind, held in self._kinds.items() if is_shown(kind, shown))
        return sorted(last, key=lambda one: one.number)

    def list_after(self, id: str, shown: Collection[str] | None = None) -> Sequence[NumberedEvent]:
        """Return what was told after the event of this id, or a `reset` with all there is."""
        start, _, number = id.partition(":")
        whole = number.isdecimal() and number.isascii() and len(number) < 16
        if start != self._start or not whole:
            return [self._reset(BEGAN, shown)]
        since = int(number)
        if any(lost > since for lost in self._lost.values()) or since > self.number:
            return [self._reset(GONE, shown)]
        held = (held for kind, held in self._kinds.items() if is_shown(kind, shown))
        missed = [one for each in held for one in each if one.number > since]
        return sorted(missed, key=lambda one: one.number)

    def _reset(self, why: str, shown: Collection[str] | None) -> NumberedEvent:
        events = {one.event["kind"]: one.event for one in self.list_latest(shown)}
        event = {"kind": "reset", "why": why, "events": events}
        return NumberedEvent(self.number, event, self._format_frame("reset", event))

    def _format_frame(self, kind: str, event: Event) -> bytes:
        data = msgspec.json.encode(event, enc_hook=str)  # a sentence with a code is text, too
        return b"id: %s:%d\nevent: %s\ndata: %s\n\n" % (
            self._start.encode(),
            self.number,
            kind.encode(),
            data,
        )


MOST = 500  # viewers
EVERY_S = 0.05  # that viewers are woken at most: a thousand devices answer at once
TOGETHER_S = 0.004  # that what is told in one breath has, to go out as one: a release and its map
BEAT_S = 10.0  # a sign of life for whoever has heard nothing


class Viewer:
    """One page that is open somewhere; lives on the event loop."""

    def __init__(
        self, first: Iterable[NumberedEvent], seen: int, shown: Collection[str] | None
    ) -> None:
        """Begin with what it has missed; of what comes, up to this number it has seen all."""
        self._first, self._seen, self._shown = list(first), seen, shown
        self._waiting: dict[str, NumberedEvent] = {}
        self.news = asyncio.Event()
        self.news.set()

    def offer_event(self, told: NumberedEvent) -> None:
        """Put an event in the place of an older one of its kind."""
        if told.number > self._seen and is_shown(told.event["kind"], self._shown):
            self._waiting.pop(told.event["kind"], None)
            self._waiting[told.event["kind"]] = told
            self.news.set()

    def take_new(self) -> list[NumberedEvent]:
        """Return what is new, oldest first."""
        self.news.clear()
        found = [*self._first, *self._waiting.values()]
        self._first, self._waiting = [], {}
        return found


class Feed:
    """The latest event of each kind, and who wants the next ones. `put_event` is thread safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept = EventHistory()
        self._new: list[NumberedEvent] = []  # not yet spread
        self._viewers: set[Viewer] = set()
        self._places = 0  # that are taken: from the answer on, and not only once it is begun
        self._loop: asyncio.AbstractEventLoop | None = None
        self._last_s = 0.0
        self._ended = False
        self.hear: Callable[[Event], None] | None = None  # on the thread that puts

    def put_event(self, event: Event) -> None:
        """Take an event from the service, on any thread; returns at once."""
        with self._lock:
            self._new.append(self._kept.add_event(event))
            if self._loop is None:
                self._new.clear()  # who comes later begins with what is kept
            elif len(self._new) == 1:
                self._loop.call_soon_threadsafe(self._schedule_spread)
        try:
            if self.hear is not None:
                self.hear(event)
        except Exception:  # who counts must not keep viewers from what there is to see
            log.exception("/metrics could not count an event", kind=event["kind"])

    def list_latest(self) -> dict[str, Event]:
        """Return the last event of each kind."""
        with self._lock:
            return {one.event["kind"]: one.event for one in self._kept.list_latest()}

    @property
    def number(self) -> int:
        """How many events have been told."""
        return self._kept.number

    @property
    def viewers(self) -> int:
        """How many are looking."""
        return len(self._viewers)

    def take_place(self) -> bool:
        """Take a place for a viewer, for `give_place_back`; False where there is none."""
        free = self._places < MOST
        self._places += free
        return free

    def give_place_back(self) -> None:
        """Give a viewer's place back."""
        self._places -= 1

    def start(self) -> None:
        """Begin to serve viewers; called on the event loop."""
        with self._lock:
            self._loop = asyncio.get_running_loop()
        self._loop.call_later(BEAT_S, self._beat)

    def stop(self) -> None:
        """Let every viewer go; called on the event loop."""
        with self._lock:
            self._loop = None
        self._ended = True
        for viewer in self._viewers:
            viewer.news.set()

    async def watch_events(
        self, last_id: str | None = None, shown: Collection[str] | None = None
    ) -> AsyncGenerator[list[NumberedEvent], None]:
        """Yield what there is, or what is new since an event; then what comes.

        Nothing in a list is a sign of life. Ends when the feed does.

        Args:
            shown: the kinds that this viewer is told; None for all.
        """
        with self._lock:
            kept = self._kept
            first = kept.list_latest(shown) if last_id is None else kept.list_after(last_id, shown)
            viewer = Viewer(first, kept.number, shown)
        self._viewers.add(viewer)
        try:
            while not self._ended:
                yield viewer.take_new()
                await viewer.news.wait()
        finally:
            self._viewers.discard(viewer)

    def _schedule_spread(self) -> None:
        """Spread now, or when viewers have had a rest."""
        loop = asyncio.get_running_loop()
        loop.call_at(max(self._last_s + EVERY_S, loop.time() + TOGETHER_S), self._spread)

    def _spread(self) -> None:
        self._last_s = asyncio.get_running_loop().time()
        with self._lock:
            new, self._new = self._new, []
        for viewer in self._viewers:
            for told in new:
                viewer.offer_event(told)

    def _beat(self) -> None:
        for viewer in self._viewers:
            viewer.news.set()
        if self._loop is not None:
            self._loop.call_later(BEAT_S, self._beat)


PATH = "/api/v1/events"
KIND = "text/event-stream"
# A proxy would hold events back; a browser that lost us asks again after half a second.
HEADERS = {"x-accel-buffering": "no"}
BEGIN, BEAT, END = (
    b"retry: 500\n\n",
    b"event: beat\ndata: {}\n\n",
    b'event: bye\ndata: {"kind":"bye"}\n\n',
)
FULL = Refusal(
    503,
    "viewers",
    f"{MOST} pages are looking already, and the gateway has its own work to do",
    "close some of them, or ask /api/v1/state now and then",
    {"retry-after": "30"},
)


def make_event_route(feed: Feed, door: Door) -> Route:
    """Return the address of the events, which end with the session of who asks."""

    async def events(request: Request) -> Response:
        check_accepts(request, KIND)
        wanted = parse_parameters(Resumed, {}, request.scope["query_string"])
        last_id = request.headers.get("last-event-id") or wanted.last_event_id
        if not feed.take_place():
            raise FULL
        return Events(feed, last_id, door, find_session(request))

    return Route(PATH, events)


class Events(StreamingResponse):
    """What is told, until the viewer hangs up, its session is over or the feed ends."""

    def __init__(self, feed: Feed, last_id: str | None, door: Door, session: Session) -> None:
        super().__init__((), headers=HEADERS, media_type=KIND)
        self._feed, self._last_id = feed, last_id
        self._door, self._session = door, session

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._answer(scope, receive, send)
        finally:
            self._feed.give_place_back()

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
        await send(start)
        if scope["method"] != "HEAD":
            telling = asyncio.ensure_future(self._tell(send))
            hanging = asyncio.ensure_future(_wait_hung_up(receive))
            try:
                await asyncio.wait([telling, hanging], return_when=asyncio.FIRST_COMPLETED)
            finally:
                telling.cancel()
                hanging.cancel()
                await asyncio.gather(telling, hanging, return_exceptions=True)
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _tell(self, send: Send) -> None:
        body, shown = BEGIN, None if self._session.names_devices else SHOWN
        async with aclosing(self._feed.watch_events(self._last_id, shown)) as watching:
            async for new in watching:
                if not self._door.is_valid(self._session):
                    break  # at the next sign of life at the latest
                body += b"".join([told.frame for told in new]) or (b"" if body else BEAT)
                await send({"type": "http.response.body", "body": body, "more_body": True})
                body = b""
        await send({"type": "http.response.body", "body": END, "more_body": True})


async def _wait_hung_up(receive: Receive) -> None:
    """Return when the viewer has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
