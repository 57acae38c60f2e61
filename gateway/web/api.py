"""The API under /api/v1: from the table of operations to routes."""

import hashlib
from collections.abc import Awaitable, Callable

import msgspec
import structlog
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from .accepted import check_accepts
from .asks import Nothing, asked
from .openapi import BASE, document
from .operations import OPERATIONS, Operation
from .parts import Parts
from .reading import Reading
from .refusals import OURS, Refusal
from .shared import Shared

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
