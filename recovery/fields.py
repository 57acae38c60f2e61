"""What a field of a query says of itself, beside its type and default.

From these words come the options of `heatveil play` and `calibrate`, `--set`, the table of a
deployment file and its sample, each once. A query checks its own values all the same.
"""

import math
from collections.abc import Mapping
from dataclasses import Field, fields
from types import NoneType
from typing import Any, Literal, NamedTuple, get_args, get_origin


class About(NamedTuple):
    """What is said of a field."""

    help: str = ""
    unit: str = ""
    low: float | None = None  # the bounds that a number must keep to, both included
    high: float | None = None
    flag: str | None = None  # its own option on the command line, without --; None for --set alone
    example: str | None = None  # what an option and a sample have where the field has no value
    served: str | None = None  # what a sample has, where that is other than what is played
    elsewhere: str = ""  # what gives it, where no text can
    map_only: bool = False  # it alters the map and never the noise: `calibrate` has no use for it

    @property
    def sentence(self) -> str:
        """The help with unit and bounds."""
        low = "" if self.low is None else f"from {self.low:g}"
        high = "" if self.high is None else f"to {self.high:g}"
        beside = ", ".join(filter(None, [self.unit, f"{low} {high}".strip()]))
        return f"{self.help.removesuffix('.')} ({beside})." if beside else self.help


def describe(help: str, **words: Any) -> dict[str, Any]:
    """Return the metadata of a field, `field(default=..., metadata=described(...))`.

    Args:
        words: the fields of `About`.
    """
    return {"about": About(help, **words)}


OUTSIDE = describe(  # of a field that is "clamp" or "refuse"
    "What a file may do with points beyond the grid: count at the border, or be refused. Devices "
    "always count.",
    map_only=True,
)


WINDOW_H = describe("", elsewhere="[privacy] window_h in a deployment file")  # 0: for a key's life


def describe_field(field: Field[Any] | Any) -> About:
    """Return what a field says; empty words where it says nothing."""
    metadata: Mapping[str, Any] = field.metadata
    found: About = metadata.get("about", About())
    return found


def check(query: Any) -> None:
    """Check that each field is one of its choices, or a whole number within its bounds.

    None passes where the type has it. A field with neither, or that may be a fraction, is not
    looked at.

    Raises:
        ValueError: one is not.
    """
    for field in fields(query):
        value, said, parts = (
            getattr(query, field.name),
            describe_field(field),
            get_args(field.type),
        )
        if get_origin(field.type) is Literal:
            good, needed = value in parts, f"one of {', '.join(parts)}"
        elif (field.type is int or int in parts) and (said.low, said.high) != (None, None):
            low = -math.inf if said.low is None else said.low
            high = math.inf if said.high is None else said.high
            good = value is None and NoneType in parts
            good = good or (type(value) is int and low <= value <= high)
            needed = f"a whole number from {low} to {high}"
        else:
            continue
        if not good:
            raise ValueError(
                f"{field.name} is {value!r} but must be {needed}, or neither the Round nor the "
                "map would mean anything. Correct it in the query."
            )
