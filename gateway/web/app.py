"""The live page and its four addresses: everything is public, this side of the veil.

    /               the page        /api/state    the last event of each kind
    /livez, /readyz, /metrics       /api/map      the last map, or 404
    /api/events     server-sent events, one for each thing the service tells

Server-sent events and not a web socket: they go one way, and a browser reconnects by itself.
"""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import (
    FileResponse,
    JSONResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .feed import Event, Feed
from .parts import Parts
from .probes import routes as probes

HERE = Path(__file__).parent
FILES = {"/": "index.html"} | {
    f"/{name}": name for name in ("page.js", "draw.js", "style.css", "icon.svg")
}
HEADERS = {
    b"content-security-policy": b"default-src 'self'; base-uri 'none'; form-action 'none'; "
    b"frame-ancestors 'none'",
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"no-referrer",
    b"cache-control": b"no-store",
}


def application(parts: Parts) -> Starlette:
    """Return the web application that shows what the parts know."""
    feed = parts.feed

    async def events(request: Request) -> Response:
        return StreamingResponse(
            _stream(feed),
            media_type="text/event-stream",
            headers={"x-accel-buffering": "no"},  # proxies would hold events back
        )

    async def state(request: Request) -> Response:
        return JSONResponse(feed.latest())

    async def last_map(request: Request) -> Response:
        drawn = feed.latest().get("map")
        return JSONResponse(drawn or {"why": "no map yet"}, 200 if drawn else 404)

    async def file(request: Request) -> Response:
        return FileResponse(HERE / FILES[request.url.path])

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        feed.opened()
        yield

    routes = [
        Route("/api/events", events),
        Route("/api/state", state),
        Route("/api/map", last_map),
        *probes(parts),
        *(Route(path, file) for path in FILES),
    ]
    return Starlette(routes=routes, lifespan=lifespan, middleware=[Middleware(Guarded)])


class Guarded:
    """Adds the headers that keep other people's scripts, frames and caches out."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *HEADERS.items()]
            await send(message)

        await self._app(scope, receive, sending if scope["type"] == "http" else send)


async def _stream(feed: Feed) -> AsyncIterator[str]:
    """Yield events as the browser's EventSource reads them; a comment is a sign of life."""
    yield "retry: 500\n\n"
    async for event in feed.watch():
        yield ": beat\n\n" if event is None else _framed(event)


def _framed(event: Event) -> str:
    return f"event: {event['kind']}\ndata: {json.dumps(event)}\n\n"
