"""A cookie for the token: a browser's EventSource cannot send a header.

POST    {"token": "..."}: sets the cookie, or 401
GET     204 where the token or the cookie is shown, which is renewed; else 401
DELETE  takes the cookie back
"""

from typing import Annotated

import msgspec
from msgspec import Meta
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response
from starlette.routing import Route

from .door import WEEK_S, Door
from .refusals import Refusal

PATH = "/api/v1/session"
BODY = 4096


class Shown(msgspec.Struct, forbid_unknown_fields=True):
    """What a browser shows."""

    token: Annotated[str, Meta(max_length=1024)]


def routes(door: Door) -> list[Route]:
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
        return _given(request, door)

    async def look(request: Request) -> Response:
        try:
            door.check(address_of(request), *shown_by(request))
        except Refusal as fault:
            if fault.status != 401:
                raise
            return Response(b'{"open":false}', media_type="application/json")
        return _given(request, door)

    async def leave(request: Request) -> Response:
        answer = Response(None, 204)
        answer.delete_cookie(_name(request), httponly=True, samesite="strict")
        return answer

    return [
        Route(PATH, enter, methods=["POST"]),
        Route(PATH, look, methods=["GET"]),
        Route(PATH, leave, methods=["DELETE"]),
    ]


def shown_by(request: HTTPConnection) -> tuple[str, str]:
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


def _given(request: Request, door: Door) -> Response:
    answer = Response(b'{"open":true}', media_type="application/json")
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
