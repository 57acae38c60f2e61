"""Server-sent events from the feed, as the browser's EventSource reads them."""

import json
from collections.abc import AsyncIterator

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from .feed import Event, Feed

PATHS = ("/api/v1/events", "/api/events")


def routes(feed: Feed) -> list[Route]:
    """Return the addresses of the events."""

    async def events(request: Request) -> Response:
        return StreamingResponse(
            _stream(feed),
            media_type="text/event-stream",
            headers={"x-accel-buffering": "no"},  # proxies would hold events back
        )

    return [Route(path, events) for path in PATHS]


async def _stream(feed: Feed) -> AsyncIterator[str]:
    """Yield events; a comment is a sign of life."""
    yield "retry: 500\n\n"
    async for event in feed.watch():
        yield ": beat\n\n" if event is None else _framed(event)


def _framed(event: Event) -> str:
    return f"event: {event['kind']}\ndata: {json.dumps(event)}\n\n"
