"""The page, its API and what machines ask: everything is public, this side of the veil.

    /                          the page
    /livez, /readyz, /metrics  see `probes`; on a port of their own too
    /api/v1/...                see `operations`; described at /api/v1/openapi.json
    /api/v1/session            a cookie for the token
    /api/v1/events             server-sent events, one for each thing the service tells
    /api/state, /api/map, /api/events    the same as they were before there were versions

Server-sent events and not a web socket: they go one way, and a browser reconnects by itself.
"""

from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any, cast

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from . import access, api, feed, probes
from .access import Door, Guarded
from .parts import Parts, Reading
from .requests import Refusal, missing

HERE = Path(__file__).parent
FILES = {"/": "index.html"} | {
    f"/{path.name}": path.name for path in HERE.iterdir() if path.suffix in (".js", ".css", ".svg")
}


def application(
    parts: Parts, door: Door | None = None, hosts: Collection[str] | None = None
) -> Starlette:
    """Return the web application that shows what the parts know.

    Args:
        hosts: the names it goes by, besides this machine's own; None for any.
    """
    door = door or Door(None)
    reading = Reading()

    async def state(request: Request) -> Response:
        return JSONResponse(parts.feed.latest())

    async def last_map(request: Request) -> Response:
        drawn = parts.feed.latest().get("map")
        if drawn is None:
            raise missing("map yet")
        return JSONResponse(drawn)

    async def file(request: Request) -> Response:
        return FileResponse(HERE / FILES[request.url.path])

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        parts.feed.opened()
        yield
        reading.close()

    routes = [
        Route("/api/state", state),
        Route("/api/map", last_map),
        *access.session_routes(door),
        *feed.event_routes(parts.feed),
        *api.routes(parts, reading, door.locked),
        *probes.routes(parts, reading),
        *(Route(path, file) for path in FILES),
    ]
    return _guarded(routes, door, hosts, {*FILES, "/livez", access.PATH}, lifespan)


def probing(parts: Parts, door: Door, hosts: Collection[str] | None = None) -> Starlette:
    """Return the web application that answers machines alone: its arguments are the page's."""
    reading = Reading()

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        reading.close()

    return _guarded(probes.routes(parts, reading), door, hosts, {"/livez"}, lifespan)


def _guarded(
    routes: list[Route],
    door: Door,
    hosts: Collection[str] | None,
    free: Collection[str],
    lifespan: Callable[[Starlette], Any],
) -> Starlette:
    made = Starlette(
        routes=routes,
        lifespan=lifespan,
        middleware=[Middleware(Guarded, door, hosts, free)],
        exception_handlers={Refusal: _refused, HTTPException: _wrong},
    )
    made.router.redirect_slashes = False  # else whoever asks says, by Host, where it leads
    return made


async def _refused(request: Request, fault: Any) -> Response:
    return cast(Refusal, fault).response()


async def _wrong(request: Request, fault: Any) -> Response:
    """Return what the router says, in our own shape; OPTIONS is asked to hear of the others."""
    if request.method == "OPTIONS" and fault.status_code == 405:
        return Response(None, 204, {"allow": "GET, HEAD, OPTIONS"})
    words = {
        404: ("address", "there is nothing at this address", "/api/v1/openapi.json lists what is"),
        405: ("method", "the address is right, and what is to be done there is not", "use GET"),
    }
    code, why, do = words.get(
        fault.status_code,
        ("request", HTTPStatus(fault.status_code).phrase, "see /api/v1/openapi.json"),
    )
    return Refusal(fault.status_code, code, why, do, fault.headers).response()
