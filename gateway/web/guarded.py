"""What every answer carries, and what every request must: a known host, no load, the token."""

import re
from collections.abc import Collection

import structlog
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..loopback import is_loopback
from .door import Door
from .refusals import OURS, Refusal
from .session import BODY, address_of, shown_by, too_long

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
                message["headers"] = [*message["headers"], *HEADERS.items()]
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
            self._door.check(address_of(request), *shown_by(request))

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
