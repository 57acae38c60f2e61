"""What may be asked with an address: parameters with bounds, and nothing besides."""

import re
from typing import Annotated, Any, TypeVar, get_args, get_type_hints
from urllib.parse import unquote_plus

import msgspec
from msgspec import UNSET, Meta, UnsetType

from .refusals import Refusal

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


def asked(type: type[A], path: dict[str, Any], query: bytes) -> A:
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
                raise _refusal(f"{key[:64]!r} is given twice")
            found[key] = read(key, unquote_plus(value, errors="strict"))
        return msgspec.convert(found, type)
    except UnicodeError:
        raise _refusal("a parameter is no UTF-8 text") from None
    except msgspec.ValidationError as fault:
        raise _refusal(str(fault)) from None


def _refusal(why: str) -> Refusal:
    return Refusal(
        400,
        "parameters",
        why,
        "see /api/v1/openapi.json for what may be asked, and leave the rest",
    )
