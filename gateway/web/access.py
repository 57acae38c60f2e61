"""Who may read, and what every request must pass and every answer carry.

Whoever shows the token may, or the cookie that was given for it, for a browser's EventSource
cannot send a header. The cookie says until when it is good and is signed with a key made of the
token: nothing need be remembered, it survives a restart, and a new token ends it. Wrong tokens are
counted by address, in bounded memory, and after a few nobody from there is heard for a while.

    POST    /api/v1/session {"token": "..."}: sets the cookie, or 401
    GET     204 where the token or the cookie is shown, which is renewed; else 401
    DELETE  takes the cookie back
"""

import hmac
import re
import time
from collections import OrderedDict
from collections.abc import Callable, Collection
from ipaddress import IPv6Address, ip_address
from pathlib import Path
from typing import Annotated

import msgspec
import structlog
from msgspec import Meta
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..faults import OperatorFault, text_of
from ..loopback import is_loopback
from .records import OURS, Refusal

LEAST = 16
_PRINTED = re.compile(r"[\x21-\x7e]+")


def read(path: Path | None) -> str | None:
    """Return the token in a file, or None where there is no file.

    Raises:
        OperatorFault: it cannot be read, is too short to be a secret, or no header can carry it.
    """
    if path is None:
        return None
    needed = (
        "whoever looks at the page has to show what is in it. Mend token_file under [page], or"
    )
    token = text_of(path, "the token file", f"{needed} who may read the file").strip()
    if len(token) < LEAST or not _PRINTED.fullmatch(token):
        raise OperatorFault(
            f"the token in {path} is {len(token)} characters, and needs to be {LEAST} or more of "
            "letters, digits and signs, without blanks: it is all that keeps the network from "
            "reading the page. Make one, such as with: openssl rand -hex 24"
        )
    return token


WEEK_S = 7 * 24 * 3600
WRONG, EVERY_S = 10, 6.0  # wrong tokens at once, and one more after each such while
ADDRESSES = 1024
CHALLENGE = {"www-authenticate": 'Bearer realm="heatveil"'}
_DO = "send Authorization: Bearer and the token that is in the file token_file under [page] names"
CLOSED = Refusal(401, "token", "this page is for those who have its token", _DO, CHALLENGE)
WRONG_ONE = Refusal(401, "token", "this is not the token of this page", _DO, CHALLENGE)


class Door:
    """The token of a page, and who has tried; without a token it is open."""

    def __init__(self, token: str | None, clock: Callable[[], float] = time.time) -> None:
        self._token = (token or "").encode()
        self._key = hmac.digest(self._token, b"heatveil page session", "sha256")
        self._clock = clock
        self._wrong: OrderedDict[str, tuple[float, float]] = OrderedDict()

    @property
    def locked(self) -> bool:
        """Whether there is a token at all."""
        return bool(self._token)

    def check(self, address: str, authorization: str, cookie: str) -> None:
        """Let whoever has the token or a cookie pass.

        Raises:
            Refusal: neither was shown, the token is wrong, or too many were.
        """
        if not self.locked or self.left_s(cookie) > 0:
            return
        scheme, _, given = authorization.partition(" ")
        if scheme.lower() != "bearer":
            raise CLOSED
        self.try_token(address, given.strip())

    def try_token(self, address: str, given: str) -> None:
        """Compare a token, in a time that says nothing of where it differs.

        Raises:
            Refusal: it is another, or too many from this address were.
        """
        where, now_s = network_of(address), self._clock()
        count, at_s = self._wrong.get(where, (0.0, now_s))
        count = max(count - max(now_s - at_s, 0) / EVERY_S, 0)
        if count > WRONG - 1:
            wait_s = str(int((count - WRONG + 1) * EVERY_S) + 1)
            raise Refusal(
                429,
                "attempts",
                "too many wrong tokens came from this address",
                f"wait {wait_s} s, then try the right one",
                {"retry-after": wait_s},
            )
        if hmac.compare_digest(given.encode(), self._token):
            return
        self._wrong[where] = count + 1, now_s
        self._wrong.move_to_end(where)
        if len(self._wrong) > ADDRESSES:
            self._wrong.popitem(last=False)
        raise WRONG_ONE

    def cookie(self) -> str:
        """Return a cookie that is good for a week."""
        until = str(int(self._clock() + WEEK_S))
        return f"{until}.{self._signed(until)}"

    def left_s(self, cookie: str) -> float:
        """Return for how long a cookie is still good; 0 for any that is not ours."""
        until, _, signed = cookie.partition(".")
        if not (until.isascii() and until.isdecimal() and len(until) < 16):
            return 0
        if not hmac.compare_digest(signed.encode(), self._signed(until).encode()):
            return 0
        return max(int(until) - self._clock(), 0)

    def _signed(self, until: str) -> str:
        return hmac.digest(self._key, until.encode(), "sha256").hex()


def network_of(address: str) -> str:
    """Return whom to hold an attempt against: of IPv6, the network that one customer has.

    >>> network_of("192.0.2.7"), network_of("2001:db8::1:2:3"), network_of("?")
    ('192.0.2.7', '2001:db8::', '?')
    >>> network_of("::ffff:192.0.2.7")  # as one that listens on :: sees it
    '192.0.2.7'
    """
    try:
        found = ip_address(address)
    except ValueError:
        return address
    if isinstance(found, IPv6Address):
        if found.ipv4_mapped:
            return str(found.ipv4_mapped)
        return str(found) if found.is_loopback else str(IPv6Address(int(found) >> 64 << 64))
    return address


PATH = "/api/v1/session"
BODY = 4096


class Shown(msgspec.Struct, forbid_unknown_fields=True):
    """What a browser shows."""

    token: Annotated[str, Meta(max_length=1024)]


def session_routes(door: Door) -> list[Route]:
    """Return the one address."""

    async def enter(request: Request) -> Response:
        if request.headers.get("content-type", "").split(";")[0].strip() != "application/json":
            raise Refusal(415, "kind", "the token has to come as JSON", "send application/json")
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > BODY:
                raise too_long(BODY)
        try:
            shown = msgspec.json.decode(body, type=Shown)
        except msgspec.MsgspecError as fault:
            raise Refusal(400, "body", str(fault), 'send {"token": "..."}') from None
        if door.locked:
            door.try_token(address_of(request), shown.token)
        return _read_given(request, door)

    async def look(request: Request) -> Response:
        try:
            door.check(address_of(request), *read_tokens(request))
        except Refusal as fault:
            if fault.status != 401:
                raise
            return Response(b'{"open":false}', media_type="application/json")
        return _read_given(request, door)

    async def leave(request: Request) -> Response:
        answer = Response(None, 204)
        answer.delete_cookie(_name(request), httponly=True, samesite="strict")
        return answer

    return [
        Route(PATH, enter, methods=["POST"]),
        Route(PATH, look, methods=["GET"]),
        Route(PATH, leave, methods=["DELETE"]),
    ]


def read_tokens(request: HTTPConnection) -> tuple[str, str]:
    """Return the authorization and the cookie of a request."""
    return request.headers.get("authorization", ""), request.cookies.get(_name(request), "")


def address_of(request: HTTPConnection) -> str:
    """Return who asks."""
    return request.client.host if request.client else ""


def too_long(most: int) -> Refusal:
    """Return the refusal of a body that nobody needs to send."""
    return Refusal(
        413,
        "size",
        f"the request has a body, and of more than {most} bytes",
        "send none: the API only answers",
        {"connection": "close"},
    )


def _read_given(request: Request, door: Door) -> Response:
    body = {"open": True, "token": door.locked}  # whether there is a session to be left
    answer = Response(msgspec.json.encode(body), media_type="application/json")
    if door.locked:
        answer.set_cookie(
            _name(request),
            door.cookie(),
            max_age=WEEK_S,
            secure=request.url.scheme == "https",  # as a proxy on this machine says
            httponly=True,
            samesite="strict",
        )
    return answer


def _name(request: HTTPConnection) -> str:
    """Return what the cookie is called: browsers do not tell ports of a host apart."""
    server = request.scope.get("server") or ("", 0)
    return f"heatveil-{server[1]}"


HEADERS = {
    b"content-security-policy": b"default-src 'self'; base-uri 'none'; form-action 'none'; "
    b"frame-ancestors 'none'",
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"permissions-policy": b"camera=(), microphone=(), geolocation=(), usb=(), payment=()",
    b"cache-control": b"no-store",
}
HEADER = 16_384
LONG = Refusal(
    431,
    "size",
    f"the address and the headers are more than {HEADER} bytes",
    "send fewer of them; a browser does when its cookies for this host are removed",
)
FRAMED = Refusal(
    400,
    "framing",
    "the request says twice how long its body is, and a proxy may have read the other one",
    "send Content-Length or Transfer-Encoding, and not both",
    {"connection": "close"},
)
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:[0-9]{1,5})?")
log = structlog.get_logger()


class Guarded:
    """Lets in who may, and adds the headers that keep strange scripts, frames and caches out."""

    def __init__(
        self, app: ASGIApp, door: Door, hosts: Collection[str] | None, free: Collection[str]
    ) -> None:
        """Guard an application.

        Args:
            hosts: the names it goes by, besides this machine's own; None for any.
            free: the addresses for which no token is needed.
        """
        self._app, self._door, self._free = app, door, free
        self._hosts = None if hosts is None else {host.lower() for host in hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = False

        async def sending(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                own = {key for key, _ in message["headers"]}
                rest = [item for item in HEADERS.items() if item[0] not in own]
                message["headers"] = [*message["headers"], *rest]
            await send(message)

        try:
            self._check(HTTPConnection(scope))
            await self._app(scope, receive, sending)
        except Refusal as fault:
            await fault.response()(scope, receive, sending)
        except Exception:
            log.exception("the page could not answer")
            if not started:
                await OURS.response()(scope, receive, sending)

    def _check(self, request: HTTPConnection) -> None:
        """Check a request before anything is done for it.

        Raises:
            Refusal: it has no business here.
        """
        self._check_host(request.headers.get("host", ""))
        size = sum(len(key) + len(value) for key, value in request.scope["headers"])
        if size + len(request.scope["query_string"]) > HEADER:
            raise LONG
        if {"content-length", "transfer-encoding"} <= set(request.headers):
            raise FRAMED
        length = request.headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > BODY:
            raise too_long(BODY)
        if request.scope["path"] not in self._free:
            self._door.check(address_of(request), *read_tokens(request))

    def _check_host(self, given: str) -> None:
        """Check by which name we were asked for.

        A stranger's page could else have its name point here, and read what this browser may.
        """
        match = _HOST.fullmatch(given.lower())
        name = match[1].strip("[]") if match else ""
        if not match or not (self._hosts is None or is_loopback(name) or name in self._hosts):
            raise Refusal(
                421,
                "host",
                f"{given[:64]!r} is no name of this page",
                "open it by the address that was printed, or list its names in hosts under [page]",
            )
