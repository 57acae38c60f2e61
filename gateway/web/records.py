"""What the API takes and answers, as records: JSON and its description are both made from them.

Nothing that is answered has not passed the veil: counts, prices, noised whole numbers, maps made
of them. A rho is a fraction and is written as one, "num/den", beside what it is about; of a pure
promise the epsilon of each device that it stands for is beside it. What is asked is checked
against its record, and refused as a problem with a code, a reason and what to do.
"""

import re
from collections.abc import Mapping
from fractions import Fraction
from http import HTTPStatus
from typing import Annotated, Any, TypeVar, get_args, get_type_hints
from urllib.parse import unquote_plus

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType
from starlette.requests import Request
from starlette.responses import Response

from ..service.ledger import RHO, Unit

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

    def make_response(self) -> Response:
        """Return it as what is sent."""
        body = msgspec.json.encode(self.problem)
        return Response(body, self.status, dict(self.headers or {}), KIND)


def make_missing_refusal(what: str) -> Refusal:
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


def check_accepts(request: Request, kind: str) -> None:
    """Check that whoever asks takes what there is to be had.

    Raises:
        Refusal: it does not.
    """
    said = request.headers.getlist("accept")
    if not said:
        return
    family = kind.split("/")[0]
    for part in ",".join(said).split(","):
        name, *words = (word.strip().lower() for word in part.split(";"))
        if name in ("*/*", f"{family}/*", kind) and not any(
            word.replace(" ", "") in ("q=0", "q=0.0", "q=0.00", "q=0.000") for word in words
        ):
            return
    raise Refusal(
        406,
        "accept",
        f"this address answers {kind}, and the request takes other kinds only",
        f"ask with Accept: {kind}, or without it",
    )


_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,17})")
_MOST = 2**53 - 1  # what JSON's readers can all count to

Number = Annotated[int, Meta(ge=1, le=_MOST)]
Limit = Annotated[int, Meta(ge=1, le=200, description="how many at most")]
Before = Annotated[
    int, Meta(ge=1, le=_MOST, description="only what is older: `next` of the page before")
]
Name = Annotated[str, Meta(min_length=1, max_length=64, pattern="^[A-Za-z0-9_.-]+$")]
A = TypeVar("A", bound=msgspec.Struct)


class Nothing(msgspec.Struct, forbid_unknown_fields=True):
    """No parameters."""


class Paged(msgspec.Struct, forbid_unknown_fields=True):
    """Newest first, a page at a time."""

    limit: Limit = 50
    before: Before | UnsetType = UNSET

    @property
    def older(self) -> int | None:
        """What `before` is for a function of Python."""
        return None if self.before is UNSET else self.before


class Named(msgspec.Struct, forbid_unknown_fields=True):
    """By name, a page at a time."""

    limit: Annotated[int, Meta(ge=1, le=1000, description="how many at most")] = 200
    after: Annotated[Name, Meta(description="only names that come later")] | UnsetType = UNSET


class Resumed(msgspec.Struct, forbid_unknown_fields=True):
    """Events from here on, or from after the one that was heard last."""

    last_event_id: Annotated[str, Meta(max_length=64)] | None = None


class One(msgspec.Struct, forbid_unknown_fields=True):
    """The one of a number."""

    number: Number


class OneNamed(msgspec.Struct, forbid_unknown_fields=True):
    """The device of a name."""

    name: Name


def parse_parameters(type: type[A], path: dict[str, Any], query: bytes) -> A:
    """Return the parameters of an address.

    Raises:
        Refusal: one is unknown, given twice, out of bounds, or no text.
    """
    counts = {key for key, hint in get_type_hints(type).items() if int in (hint, *get_args(hint))}

    def read(key: str, text: str) -> int | str:
        return int(text) if key in counts and _WHOLE.fullmatch(text) else text

    found = {key: read(key, value) for key, value in path.items()}
    try:
        for part in query.decode("ascii").split("&") if query else []:
            key, _, value = part.partition("=")
            key = unquote_plus(key, errors="strict")
            if key in found:
                raise _make_parameter_refusal(f"{key[:64]!r} is given twice")
            found[key] = read(key, unquote_plus(value, errors="strict"))
        return msgspec.convert(found, type)
    except UnicodeError:
        raise _make_parameter_refusal("a parameter is no UTF-8 text") from None
    except msgspec.ValidationError as fault:
        raise _make_parameter_refusal(str(fault)) from None


def _make_parameter_refusal(why: str) -> Refusal:
    return Refusal(
        400,
        "parameters",
        why,
        "see /api/v1/openapi.json for what may be asked, and leave the rest",
    )


class Part(Struct):
    """How a part of the gateway is, for how long it has been so, and the code of why."""

    ok: bool
    why: str
    for_s: float
    code: str = ""
    fields: dict[str, Any] = {}


class Standing(Struct):
    """Whether every part works; else which does not and why."""

    ready: bool
    why: str
    parts: dict[str, Part]
    reads: bool  # whether the store can be asked here


class Rho(Struct):
    """A price, exactly and about; `epsilon` is what a pure promise is told in, else null."""

    exact: str
    about: float
    epsilon: str | None = None

    @classmethod
    def of(cls, rho: Fraction, unit: Unit = RHO) -> "Rho":
        """Return a fraction as JSON carries it.

        Args:
            unit: what the promise is told in.
        """
        told = _format_fraction(unit.convert(rho)) if unit.is_epsilon else None
        return cls(_format_fraction(rho), float(rho), told)


def _format_fraction(amount: Fraction) -> str:
    return f"{amount.numerator}/{amount.denominator}"


class Round(Struct):
    """A round: what was asked, what it cost, how many answered, how it ended."""

    number: int
    name: str
    mechanism: str
    opened_s: float
    closed_s: float | None
    reports: int | None
    enrolled: int | None
    rho: Rho
    outcome: str | None


class Rounds(Struct):
    """Rounds, newest first; `next` is the `before` of the next page."""

    rounds: list[Round]
    next: int | None


class Release(Struct):
    """The folded answers of a round: noised whole numbers, null where none came."""

    number: int
    values: list[int | None]


class Charge(Struct):
    """What was charged: for a round, or for one device's second answer to it."""

    id: int
    number: int | None
    device: str
    rho: Rho
    at_s: float


class Ledger(Struct):
    """The promise, and what is left of it."""

    promise: list[str]
    guarantee: dict[str, Any] | None
    budget: Rho | None
    spent: Rho | None
    left: Rho | None
    charges: list[Charge]
    next: int | None


class Device(Struct):
    """What is known of a device, and no reading: counts, when it was last heard, what is amiss."""

    name: str
    key_id: str
    boot: int
    seq: int
    reports: int
    last_s: float | None
    late: int
    refused: int
    left: Rho | None
    alarm: str | None
    quarantine: str | None
    clock: str | None


class Devices(Struct):
    """Devices by name; `next` is the `after` of the next page."""

    devices: list[Device]
    budget: Rho | None
    next: str | None


class Gap(Struct):
    """Numbers of a boot that never came, both ends included."""

    boot: int
    first: int
    last: int


class Gaps(Struct):
    """What of a device never came, between what did, newest first."""

    device: str
    gaps: list[Gap]


class Refused(Struct):
    """A message that does not count: which, why and how long; its bytes are not shown."""

    id: int
    at_s: float
    topic: str
    kind: str
    why: str
    size: int


class Refusals(Struct):
    """How many messages did not count, by kind, and the newest."""

    kinds: dict[str, int]
    newest: list[Refused]
    next: int | None


class Quarantined(Struct):
    """A device that is shut out; since when, where that is known."""

    device: str
    why: str
    since_s: float | None


class Quarantine(Struct):
    """All devices that are shut out."""

    devices: list[Quarantined]


class State(Struct):
    """The last event of each kind, as the page hears them."""

    events: dict[str, dict[str, Any]]
