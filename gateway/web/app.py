"""The page, its API and what machines ask: everything is public, this side of the veil.

    /                          the page; /floor is the building's own picture of the floor
    /livez, /readyz, /metrics  see `parts`; on a port of their own too
    /api/v1/...                see `operations`; described at /api/v1/openapi.json (OpenAPI 3.1)
    /api/v1/session            a cookie for a token; what names devices is for operators alone
    /api/v1/events             server-sent events, one for each thing the service tells

Server-sent events and not a web socket: they go one way, and a browser reconnects by itself. An
answer is good for a second, or until something is told: two hundred pages that ask for the devices
when a round has closed are one look at the store, and not two hundred.
"""

import asyncio
import gzip
import hashlib
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Hashable
from contextlib import asynccontextmanager
from functools import cache
from http import HTTPStatus
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple, cast

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ..faults import OperatorFault
from ..logs import log
from . import access, feed
from .access import Door, Guarded
from .feed import Feed
from .operations import OPERATIONS, Operation
from .parts import Parts, Reading, make_probe_routes
from .records import (
    KIND,
    OURS,
    Nothing,
    Problem,
    Refusal,
    check_accepts,
    make_missing_refusal,
    parse_parameters,
)

BASE = "/api/v1"
REF = "#/components/schemas/{name}"
STREAM = (
    "Server-sent events: one for each thing that the gateway tells, its kind as the event's name. "
    "Every one has an id; who comes back with it, in Last-Event-ID or as last_event_id, is told "
    "what was missed, and with the event `reset` that some of it is gone: it holds all that is."
)
COMMON = {
    "400": "A parameter or the request itself is wrong.",
    "401": "The token is missing or wrong.",
    "403": "It names devices, and the token is a viewer's.",
    "406": "Only JSON is answered.",
    "413": "The request has a body that is too long.",
    "429": "Too many wrong tokens.",
    "500": "A fault of the gateway's own.",
    "503": "The store cannot be read just now.",
}


def describe_api(needs_token: bool) -> dict[str, Any]:
    """Return the description of the whole API."""
    records = [one.answers for one in OPERATIONS] + [Problem]
    schemas, components = msgspec.json.schema_components(records, ref_template=REF)
    written = dict(zip((record.__name__ for record in records), schemas, strict=True))
    paths = {BASE + one.path: {"get": _describe_operation(one, written)} for one in OPERATIONS}
    paths[f"{BASE}/events"] = {"get": _describe_stream()}
    made: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {
            "title": "heatveil",
            "version": version("heatveil"),
            "description": "What a gateway may say: all of it has passed the veil.",
        },
        "paths": paths,
        "components": {"schemas": components},
    }
    if needs_token:
        made["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        made["security"] = [{"token": []}]
    return made


def _describe_operation(one: Operation, written: dict[str, Any]) -> dict[str, Any]:
    headers = {"ETag": {"schema": {"type": "string"}}} if one.tagged else {}
    answers: dict[str, Any] = {
        "200": _describe_json_answer(one.says, written[one.answers.__name__], headers)
    }
    if one.tagged:
        answers["304"] = {"description": "It is still what If-None-Match says."}
    codes = {code: says for code, says in COMMON.items() if code != "403" or one.names_devices}
    codes |= {"404": "There is none."} if one.missing else {}
    for code, says in sorted(codes.items()):
        answers[code] = _describe_json_answer(says, written["Problem"], {}, KIND)
    return {
        "operationId": one.name,
        "summary": one.says,
        "parameters": _describe_parameters(one),
        "responses": answers,
    }


def _describe_parameters(one: Operation) -> list[dict[str, Any]]:
    """Return what may be asked: what the path names is in it, and all else in the query."""
    (_,), components = msgspec.json.schema_components([one.asks], ref_template=REF)
    found = []
    for name, schema in components[one.asks.__name__]["properties"].items():
        within = f"{{{name}}}" in one.path
        says = {"description": schema.pop("description")} if "description" in schema else {}
        found.append(
            {"name": name, "in": "path" if within else "query", "required": within}
            | {"schema": schema}
            | says
        )
    return found


def _describe_json_answer(
    says: str, schema: dict[str, Any], headers: dict[str, Any], kind: str = "application/json"
) -> dict[str, Any]:
    made = {"description": says, "content": {kind: {"schema": schema}}}
    return made | ({"headers": headers} if headers else {})


def _describe_stream() -> dict[str, Any]:
    return {
        "operationId": "events",
        "summary": "What happens, as it happens.",
        "description": STREAM,
        "parameters": [
            {"name": "last_event_id", "in": "query", "schema": {"type": "string", "maxLength": 64}}
        ],
        "responses": {
            "200": {
                "description": "It goes on until one of both hangs up.",
                "content": {"text/event-stream": {"schema": {"type": "string"}}},
            }
        },
    }


FRESH_S = 1.0
HELD = 32  # answers; of maps, the largest, that is a few megabytes


class _Answer(NamedTuple):
    body: "asyncio.Task[bytes]"
    told: int
    until_s: float


class RecentAnswers:
    """The answers of the last moment; lives on the event loop."""

    def __init__(self, reading: Reading, feed: Feed) -> None:
        self._reading, self._feed = reading, feed
        self._held: OrderedDict[Hashable, _Answer] = OrderedDict()

    async def find_or_make(self, asked: Hashable, make: Callable[[], bytes]) -> bytes:
        """Return what `make` returns, or did for somebody else just now.

        Raises:
            Refusal: there is no answer; the next to ask has another try.
        """
        now_s, told = asyncio.get_running_loop().time(), self._feed.number
        held = self._held.pop(asked, None)
        if held is None or held.told != told or held.until_s < now_s or _has_failed(held.body):
            reading = asyncio.ensure_future(self._reading.run_in_thread(make))
            reading.add_done_callback(_has_failed)  # looked at, even if whoever asked has gone
            held = _Answer(reading, told, now_s + FRESH_S)
        self._held[asked] = held
        if len(self._held) > HELD:
            self._held.popitem(last=False)
        return await asyncio.shield(held.body)


def _has_failed(body: "asyncio.Task[bytes]") -> bool:
    return body.done() and (body.cancelled() or body.exception() is not None)


JSON = "application/json"


def make_api_routes(
    parts: Parts, reading: Reading, others: Reading, needs_token: bool
) -> list[Route]:
    """Return a route for each operation, and for what describes them.

    Args:
        others: reads the stores of other gateways, so that no look at ours waits for them.
    """
    described = msgspec.json.encode(describe_api(needs_token))
    shared, theirs = RecentAnswers(reading, parts.feed), RecentAnswers(others, parts.feed)

    async def openapi(request: Request) -> Response:
        parse_parameters(Nothing, {}, request.scope["query_string"])
        check_accepts(request, JSON)
        return Response(described, media_type=JSON)

    return [
        *(
            Route(BASE + one.path, _make_endpoint(one, parts, theirs if one.others else shared))
            for one in OPERATIONS
        ),
        Route(f"{BASE}/openapi.json", openapi),
    ]


def _make_endpoint(
    one: Operation, parts: Parts, shared: RecentAnswers
) -> Callable[[Request], Awaitable[Response]]:
    """Return what answers one operation."""
    asks = one.asks

    async def endpoint(request: Request) -> Response:
        check_accepts(request, JSON)
        if one.names_devices and not access.find_session(request).names_devices:
            raise access.OPERATORS
        wanted = parse_parameters(asks, request.path_params, request.scope["query_string"])
        key = request.url.path, request.scope["query_string"]

        def make() -> bytes:
            return msgspec.json.encode(one.answer(parts, wanted))

        try:
            body = await shared.find_or_make(key, make) if one.stored else make()
        except Refusal:
            raise
        except Exception:
            log.exception("the page could not answer", operation=one.name)
            raise OURS from None
        if not one.tagged:
            return Response(body, media_type=JSON)
        tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
        if _is_known(request, tag):
            return Response(None, 304, {"etag": tag})
        return Response(body, headers={"etag": tag}, media_type=JSON)

    return endpoint


def _is_known(request: Request, tag: str) -> bool:
    """Return whether whoever asks has this already."""
    held = [part.strip() for part in request.headers.get("if-none-match", "").split(",")]
    return "*" in held or tag in [one.removeprefix("W/") for one in held]


HERE = Path(__file__).parent / "page"
KINDS = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".webmanifest": "application/manifest+json",
}
FILES = {"/": "index.html"} | {
    f"/{path.name}": path.name
    for path in HERE.iterdir()
    if path.suffix in KINDS and path.suffix != ".html"
}


@cache
def _load(name: str) -> tuple[bytes, bytes, str]:
    """Return a file of the page, the same compressed, and its tag."""
    body = (HERE / name).read_bytes()
    tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    return body, gzip.compress(body, 9, mtime=0), tag


async def _answer_file(request: Request) -> Response:
    """Return a file of the page: compressed, and kept by a browser that asks whether it is new."""
    name = FILES[request.url.path]
    body, zipped, tag = _load(name)
    headers = {"etag": tag, "cache-control": "no-cache", "vary": "accept-encoding"}
    if _is_known(request, tag):
        return Response(None, 304, headers)
    if "gzip" in request.headers.get("accept-encoding", ""):
        body, headers["content-encoding"] = zipped, "gzip"
    return Response(body, headers=headers, media_type=KINDS[Path(name).suffix])


PICTURE_MOST = 8_000_000  # bytes
_KINDS = (  # how a picture begins, what a whole one has at its end, and its kind
    (b"\x89PNG\r\n\x1a\n", b"IEND\xaeB`\x82", "image/png"),
    (b"\xff\xd8\xff", b"\xff\xd9", "image/jpeg"),
)


def read_picture(path: Path | None) -> tuple[bytes, str] | None:
    """Return the operator's picture of the floor and its kind; None where there is none.

    Raises:
        OperatorFault: it cannot be read, is none, or is too large for a page.
    """
    if path is None:
        return None
    try:
        size = path.stat().st_size
        body = path.read_bytes() if size <= PICTURE_MOST else b""
    except OSError as fault:
        raise OperatorFault(
            f"the picture {path}, which the page shows under the map, cannot be read "
            f"({fault.strerror}). Correct picture under [page], or remove it"
        ) from fault
    kind = next(
        (kind for start, end, kind in _KINDS if body.startswith(start) and end in body), ""
    )
    whole = int.from_bytes(body[4:8], "little") + 8 <= len(body)
    if body[:4] == b"RIFF" and body[8:12] == b"WEBP" and whole:
        kind = "image/webp"
    if not kind:
        raise OperatorFault(
            f"the picture {path} has {size} bytes and is not a complete PNG, JPEG or WebP of at "
            f"most {PICTURE_MOST // 1_000_000} MB. Save it again as PNG, or remove picture under "
            "[page]"
        )
    return body, kind


def make_application(
    parts: Parts, door: Door | None = None, hosts: Collection[str] | None = None
) -> Starlette:
    """Return the web application that shows what the parts know.

    Args:
        hosts: the names it goes by, besides this machine's own; None for any.
    """
    door = door or Door(None)
    reading, others = Reading(), Reading()

    async def floor(request: Request) -> Response:
        if parts.picture is None:
            raise make_missing_refusal("picture of the floor")
        return Response(parts.picture[0], media_type=parts.picture[1])

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        parts.feed.start()
        yield
        reading.close()
        others.close()

    routes = [
        *access.make_session_routes(door),
        feed.make_event_route(parts.feed, door),
        *make_api_routes(parts, reading, others, door.locked),
        *make_probe_routes(parts, reading),
        Route("/floor", floor),
        *(Route(path, _answer_file) for path in FILES),
    ]
    return _guard(routes, door, hosts, {*FILES, "/livez", access.PATH}, lifespan)


def make_probe(parts: Parts, door: Door, hosts: Collection[str] | None = None) -> Starlette:
    """Return the web application that answers machines alone: its arguments are the page's."""
    reading = Reading()

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        reading.close()

    return _guard(make_probe_routes(parts, reading), door, hosts, {"/livez"}, lifespan)


def _guard(
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
        exception_handlers={Refusal: _refuse, HTTPException: _answer_http_fault},
    )
    made.router.redirect_slashes = False  # else whoever asks says, by Host, where it leads
    return made


async def _refuse(request: Request, fault: Any) -> Response:
    return cast(Refusal, fault).make_response()


async def _answer_http_fault(request: Request, fault: Any) -> Response:
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
    return Refusal(fault.status_code, code, why, do, fault.headers).make_response()
