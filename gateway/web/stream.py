"""Server-sent events from the feed, as the browser's EventSource reads them."""

import asyncio
from contextlib import aclosing

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from .accepted import check_accepts
from .asks import Resumed, asked
from .feed import MOST, Feed
from .refusals import Refusal

PATHS = ("/api/v1/events", "/api/events")
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


def routes(feed: Feed) -> list[Route]:
    """Return the addresses of the events."""

    async def events(request: Request) -> Response:
        check_accepts(request, KIND)
        wanted = asked(Resumed, {}, request.scope["query_string"])
        last_id = request.headers.get("last-event-id") or wanted.last_event_id
        if not feed.enter():
            raise FULL
        return Events(feed, last_id)

    return [Route(path, events) for path in PATHS]


class Events(StreamingResponse):
    """What is told, until the viewer hangs up or the feed ends."""

    def __init__(self, feed: Feed, last_id: str | None) -> None:
        super().__init__((), headers=HEADERS, media_type=KIND)
        self._feed, self._last_id = feed, last_id

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._answer(scope, receive, send)
        finally:
            self._feed.leave()

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
        await send(start)
        if scope["method"] != "HEAD":
            telling = asyncio.ensure_future(self._tell(send))
            hanging = asyncio.ensure_future(_hung_up(receive))
            try:
                await asyncio.wait([telling, hanging], return_when=asyncio.FIRST_COMPLETED)
            finally:
                telling.cancel()
                hanging.cancel()
                await asyncio.gather(telling, hanging, return_exceptions=True)
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _tell(self, send: Send) -> None:
        body = BEGIN
        async with aclosing(self._feed.watch(self._last_id)) as watching:
            async for new in watching:
                body += b"".join([told.frame for told in new]) or (b"" if body else BEAT)
                await send({"type": "http.response.body", "body": body, "more_body": True})
                body = b""
        await send({"type": "http.response.body", "body": END, "more_body": True})


async def _hung_up(receive: Receive) -> None:
    """Return when the viewer has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
