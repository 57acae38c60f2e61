"""One answer for all who ask the same: pages do, all at once, whenever something has happened.

An answer is good for a second, or until something is told. Two hundred pages that ask for the
devices when a round has closed are so one look at the store, and not two hundred.

The API under /api/v1: from the table of operations to routes.
"""

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from typing import NamedTuple

import msgspec
import structlog
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from .feed import Feed
from .openapi import BASE, document
from .operations import OPERATIONS, Operation
from .parts import Parts, Reading
from .requests import OURS, Nothing, Refusal, asked, check_accepts

FRESH_S = 1.0
HELD = 32  # answers; of maps, the largest, that is a few megabytes


class _Answer(NamedTuple):
    body: "asyncio.Task[bytes]"
    told: int
    until_s: float


class Shared:
    """The answers of the last moment; lives on the event loop."""

    def __init__(self, reading: Reading, feed: Feed) -> None:
        self._reading, self._feed = reading, feed
        self._held: OrderedDict[Hashable, _Answer] = OrderedDict()

    async def answer(self, asked: Hashable, make: Callable[[], bytes]) -> bytes:
        """Return what `make` returns, or did for somebody else just now.

        Raises:
            Refusal: there is no answer; the next to ask has another try.
        """
        now_s, told = asyncio.get_running_loop().time(), self._feed.number
        held = self._held.pop(asked, None)
        if held is None or held.told != told or held.until_s < now_s or _failed(held.body):
            reading = asyncio.ensure_future(self._reading.run(make))
            reading.add_done_callback(_failed)  # looked at, even if whoever asked has gone
            held = _Answer(reading, told, now_s + FRESH_S)
        self._held[asked] = held
        if len(self._held) > HELD:
            self._held.popitem(last=False)
        return await asyncio.shield(held.body)


def _failed(body: "asyncio.Task[bytes]") -> bool:
    return body.done() and (body.cancelled() or body.exception() is not None)


JSON = "application/json"
log = structlog.get_logger()


def routes(parts: Parts, reading: Reading, needs_token: bool) -> list[Route]:
    """Return a route for each operation, and for what describes them."""
    described = msgspec.json.encode(document(needs_token))
    shared = Shared(reading, parts.feed)

    async def openapi(request: Request) -> Response:
        asked(Nothing, {}, request.scope["query_string"])
        check_accepts(request, JSON)
        return Response(described, media_type=JSON)

    return [
        *(Route(BASE + one.path, _endpoint(one, parts, shared)) for one in OPERATIONS),
        Route(f"{BASE}/openapi.json", openapi),
    ]


def _endpoint(
    one: Operation, parts: Parts, shared: Shared
) -> Callable[[Request], Awaitable[Response]]:
    """Return what answers one operation."""

    async def endpoint(request: Request) -> Response:
        check_accepts(request, JSON)
        wanted = asked(one.asks, request.path_params, request.scope["query_string"])
        key = request.url.path, request.scope["query_string"]

        def make() -> bytes:
            return msgspec.json.encode(one.answer(parts, wanted))

        try:
            body = await shared.answer(key, make) if one.stored else make()
        except Refusal:
            raise
        except Exception:
            log.exception("the page could not answer", operation=one.name)
            raise OURS from None
        if not one.tagged:
            return Response(body, media_type=JSON)
        tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
        if _known(request, tag):
            return Response(None, 304, {"etag": tag})
        return Response(body, headers={"etag": tag}, media_type=JSON)

    return endpoint


def _known(request: Request, tag: str) -> bool:
    """Return whether whoever asks has this already."""
    held = [part.strip() for part in request.headers.get("if-none-match", "").split(",")]
    return "*" in held or tag in [one.removeprefix("W/") for one in held]
