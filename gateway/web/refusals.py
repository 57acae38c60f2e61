"""The one shape of every error, RFC 9457's: what it is called, why, and what to do about it."""

from collections.abc import Mapping
from http import HTTPStatus

import msgspec
from starlette.responses import Response

KIND = "application/problem+json"


class Problem(msgspec.Struct):
    """What went wrong: `code` is a word for programs, `detail` and `do` are for people."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    do: str


class Refusal(Exception):
    """An answer that is a problem; raised anywhere below a route."""

    def __init__(
        self, status: int, code: str, why: str, do: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(why)
        self.status, self.headers = status, headers
        # Nothing stands at an address of ours that says more, so the type is the status itself.
        title = HTTPStatus(status).phrase
        self.problem = Problem("about:blank", title, status, why, code, do)

    def response(self) -> Response:
        """Return it as what is sent."""
        body = msgspec.json.encode(self.problem)
        return Response(body, self.status, dict(self.headers or {}), KIND)


def missing(what: str) -> Refusal:
    """Return the refusal of something that is not there."""
    return Refusal(
        404, "missing", f"there is no {what}", "ask for one of the list that is a level above"
    )


STARTING = Refusal(
    503,
    "starting",
    "the store is not open yet, or this page stands without one",
    "ask again in a few seconds; /readyz says what is amiss",
    {"retry-after": "2"},
)
BUSY = Refusal(
    503,
    "busy",
    "too many are reading the store at once, and messages from devices go first",
    "ask again in a few seconds, and for less at a time",
    {"retry-after": "2"},
)
STORE = Refusal(
    503,
    "store",
    "the store could not be read just now",
    "ask again in a few seconds; /readyz and the gateway's log say what is amiss",
    {"retry-after": "5"},
)
OURS = Refusal(
    500,
    "fault",
    "the gateway could not answer, and that is its own fault",
    "look into the gateway's log for the traceback, and report it",
)
