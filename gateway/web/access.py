"""Who may read how much, and what every request must pass and every answer carry.

There are two tokens: a viewer's, for maps, rounds and the promise, and an operator's, for what
names a device, too. Whoever shows one may read, or the cookie that was given for it, for a
browser's EventSource cannot send a header. The cookie says whose it is and until when it is good,
and is signed with a key made of the token: it survives a restart, and a new token ends it. Those
that were signed out are remembered, the last 1024 of each role, until a restart; a copy of such a
cookie is then good again until its time is out, unless there is a new token. Wrong tokens are
counted by address, in bounded memory, and after a few nobody from there is heard for a while.

    POST    /api/v1/session {"token": "..."}: sets the cookie, or 401
    GET     whether, and as whom, a token or a cookie opens the page; a viewer's cookie is renewed
    DELETE  ends the session
"""

import hmac
import math
import re
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Collection
from ipaddress import IPv6Address, ip_address
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..faults import OperatorFault, read_small_file
from ..logs import log
from ..loopback import is_loopback
from .records import OURS, Refusal

LEAST = 16
_PRINTED = re.compile(r"[\x21-\x7e]+")


def read_token(path: Path | None, key: str = "token_file") -> str | None:
    """Return the token in a file, or None where there is no file.

    Args:
        key: of the deployment file, that names it.

    Raises:
        OperatorFault: it cannot be read, is too short to be a secret, or no header can carry it.
    """
    if path is None:
        return None
    needed = f"whoever looks at the page has to show what is in it. Mend {key} under [page], or"
    token = read_small_file(path, "the token file", f"{needed} who may read the file").strip()
    if len(token) < LEAST or not _PRINTED.fullmatch(token):
        raise OperatorFault(
            f"the token in {path} is {len(token)} characters, and needs to be {LEAST} or more of "
            "letters, digits and signs, without blanks: it is all that keeps the network from "
            "reading the page. Make one, such as with: openssl rand -hex 24"
        )
    return token


def check_tokens_differ(token: str | None, viewer: str | None) -> None:
    """Check that an operator's token is not a viewer's, too.

    Raises:
        OperatorFault: it is.
    """
    if viewer is not None and viewer == token:
        raise OperatorFault(
            "the viewer's token is the same as the operator's, so every viewer would have an "
            "operator's rights. Make another one, such as with: openssl rand -hex 24"
        )


OPERATOR, VIEWER = "operator", "viewer"
SESSION_S = {OPERATOR: 12 * 3600, VIEWER: 7 * 24 * 3600}  # a viewer's from when it last looked
WRONG, EVERY_S = 10, 6.0  # wrong tokens at once, and one more after each such while
ADDRESSES = ENDED = 1024
CHALLENGE = {"www-authenticate": 'Bearer realm="heatveil"'}
_DO = "send Authorization: Bearer and a token that a file under [page] holds, such as token_file"
CLOSED = Refusal(401, "token", "this page is for those who have its token", _DO, CHALLENGE)
WRONG_ONE = Refusal(401, "token", "this is not the token of this page", _DO, CHALLENGE)
OPERATORS = Refusal(
    403,
    "role",
    "this names devices and is for operators; what was shown is a viewer's token",
    "sign in with the operator's token, which is in the file that token_file under [page] names",
)


class Session(NamedTuple):
    """Who looks, and until when: what a cookie says."""

    role: str
    until_s: float
    sign_in: str  # the same in every cookie that follows from one token shown

    @property
    def names_devices(self) -> bool:
        """Whether it may read what names a device."""
        return self.role == OPERATOR


OPEN = Session(OPERATOR, math.inf, "")  # of everybody, where there is no token


class Door:
    """The tokens of a page, and who has tried; without a token everybody is an operator.

    Args:
        token: the operator's.
        viewer: of those who look on; None where there are none.
    """

    def __init__(
        self,
        token: str | None,
        viewer: str | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        given = {OPERATOR: token, VIEWER: viewer}
        self._tokens = {role: one.encode() for role, one in given.items() if one}
        self._keys = {
            role: hmac.digest(one, b"heatveil page session", "sha256")
            for role, one in self._tokens.items()
        }
        self._clock = clock
        self._wrong: OrderedDict[str, tuple[float, float]] = OrderedDict()
        # Of each role its own, lest viewers, signing out again and again, push an operator's out.
        self._ended: dict[str, OrderedDict[str, None]] = {role: OrderedDict() for role in given}

    @property
    def locked(self) -> bool:
        """Whether there is a token at all."""
        return bool(self._tokens)

    def authenticate(self, address: str, authorization: str, cookie: str) -> Session:
        """Return whose token or cookie was shown.

        Raises:
            Refusal: neither was, the token is wrong, or too many were.
        """
        if not self.locked:
            return OPEN
        session = self._read(cookie)
        if session is not None and self.is_valid(session):
            return session
        scheme, _, given = authorization.partition(" ")
        if scheme.lower() != "bearer":
            raise CLOSED
        return self.try_token(address, given.strip())

    def try_token(self, address: str, given: str) -> Session:
        """Return a new session for a token; how long it takes does not tell where it differs.

        Raises:
            Refusal: it is another, or too many from this address were.
        """
        where, now_s = find_network(address), self._clock()
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
        right = [
            role
            for role, token in self._tokens.items()
            if hmac.compare_digest(given.encode(), token)
        ]
        if right:
            return self._begin(right[0], secrets.token_hex(8))
        self._wrong[where] = count + 1, now_s
        self._wrong.move_to_end(where)
        if len(self._wrong) > ADDRESSES:
            self._wrong.popitem(last=False)
        raise WRONG_ONE

    def is_valid(self, session: Session) -> bool:
        """Return whether a session has neither run out nor been signed out."""
        ended = self._ended[session.role]
        return session.until_s > self._clock() and session.sign_in not in ended

    def renew_session(self, session: Session) -> Session:
        """Return the session as it goes on: a viewer's begins anew, an operator's does not."""
        return session if session.names_devices else self._begin(VIEWER, session.sign_in)

    def end_session(self, cookie: str) -> None:
        """End the session of a cookie and of all that were renewed from it."""
        session = self._read(cookie)
        if session is not None and self.is_valid(session):
            ended = self._ended[session.role]
            ended[session.sign_in] = None
            if len(ended) > ENDED:
                ended.popitem(last=False)

    def make_cookie(self, session: Session) -> str:
        """Return what a browser keeps of a session."""
        said = f"{session.role}.{int(session.until_s)}.{session.sign_in}"
        return f"{said}.{self._sign(session.role, said)}"

    def _begin(self, role: str, sign_in: str) -> Session:
        return Session(role, int(self._clock() + SESSION_S[role]), sign_in)

    def _read(self, cookie: str) -> Session | None:
        """Return the session of a cookie; None of any that is not ours."""
        said, _, signed = cookie.rpartition(".")
        role = said.partition(".")[0]
        if role not in self._keys:
            return None
        if not hmac.compare_digest(signed.encode(), self._sign(role, said).encode()):
            return None
        _, until, sign_in = said.split(".")
        return Session(role, int(until), sign_in)

    def _sign(self, role: str, said: str) -> str:
        return hmac.digest(self._keys[role], said.encode(), "sha256").hex()


def find_network(address: str) -> str:
    """Return whom to hold an attempt against: of IPv6, the network that one customer has.

    >>> find_network("192.0.2.7"), find_network("2001:db8::1:2:3"), find_network("?")
    ('192.0.2.7', '2001:db8::', '?')
    >>> find_network("::ffff:192.0.2.7")  # as one that listens on :: sees it
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


def make_session_routes(door: Door) -> list[Route]:
    """Return the one address."""

    async def enter(request: Request) -> Response:
        if request.headers.get("content-type", "").split(";")[0].strip() != "application/json":
            raise Refusal(415, "kind", "the token has to come as JSON", "send application/json")
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > BODY:
                raise make_too_long_refusal(BODY)
        try:
            shown = msgspec.json.decode(body, type=Shown)
        except msgspec.MsgspecError as fault:
            raise Refusal(400, "body", str(fault), 'send {"token": "..."}') from None
        session = door.try_token(find_address(request), shown.token) if door.locked else OPEN
        return _let_in(request, door, session)

    async def look(request: Request) -> Response:
        try:
            session = door.authenticate(find_address(request), *read_tokens(request))
        except Refusal as fault:
            if fault.status != 401:
                raise
            return Response(b'{"open":false}', media_type="application/json")
        return _let_in(request, door, door.renew_session(session))

    async def leave(request: Request) -> Response:
        door.end_session(read_tokens(request)[1])
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


def find_session(request: HTTPConnection) -> Session:
    """Return who asks, where not anybody may."""
    session: Session = request.scope["session"]
    return session


def find_address(request: HTTPConnection) -> str:
    """Return who asks."""
    return request.client.host if request.client else ""


def make_too_long_refusal(most: int) -> Refusal:
    """Return the refusal of a body that nobody needs to send."""
    return Refusal(
        413,
        "size",
        f"the request has a body, and of more than {most} bytes",
        "send none: the API only answers",
        {"connection": "close"},
    )


def _let_in(request: Request, door: Door, session: Session) -> Response:
    # `token` says whether there is a session to be left.
    body = {"open": True, "token": door.locked, "role": session.role}
    answer = Response(msgspec.json.encode(body), media_type="application/json")
    if door.locked:
        answer.set_cookie(
            _name(request),
            door.make_cookie(session),
            max_age=SESSION_S[session.role],
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
            scope["session"] = self._check(HTTPConnection(scope))
            await self._app(scope, receive, sending)
        except Refusal as fault:
            await fault.make_response()(scope, receive, sending)
        except Exception:
            log.exception("the page could not answer")
            if not started:
                await OURS.make_response()(scope, receive, sending)

    def _check(self, request: HTTPConnection) -> Session | None:
        """Return who asks, None where anybody may, before anything is done for a request.

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
            raise make_too_long_refusal(BODY)
        if request.scope["path"] in self._free:
            return None
        return self._door.authenticate(find_address(request), *read_tokens(request))

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
