"""What queries share: what a field says of itself, and what is held against values and releases.

From a field's words come the options of `heatveil play` and `calibrate`, `--set`, the table of a
deployment file and its sample, each once. A query checks its own values all the same.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import Field, fields
from numbers import Real
from types import NoneType
from typing import Any, Literal, NamedTuple, get_args, get_origin

from edge.core.records import Grid, Release, Round

CELLS_MAX = 1 << 20  # a map of 1024 x 1024
_MEANING = "neither the Round nor the map would mean anything"


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
GRID = describe("Cells of a map of people: columns x rows.", flag="grid", example="15x15")
EPSILON = describe(
    "A ratio such as 1/2, for all readings together.", flag="epsilon", example="1/1"
)
# Of devices in a secure sum: see `recovery.noise.sums`.
SHARD = describe("The most devices of one secure sum.", low=1)
DROPOUT = describe("The share of a shard that may be missing, such as 1/10.", served="1/10")
COLLUDERS = describe(
    "The share of a shard that may help the gateway, such as 1/20.", served="1/20"
)


def describe_field(field: Field[Any] | Any) -> About:
    """Return what a field says; empty words where it says nothing."""
    metadata: Mapping[str, Any] = field.metadata
    found: About = metadata.get("about", About())
    return found


def check(query: Any) -> None:
    """Check that each field is one of its choices, or a number within its bounds.

    None passes where the type has it. A field with neither is not looked at.

    Raises:
        ValueError: one is not.
    """
    for field in fields(query):
        value, said = getattr(query, field.name), describe_field(field)
        parts = get_args(field.type) or (field.type,)
        if get_origin(field.type) is Literal:
            check_rules(query, [(field.name, value in parts, f"one of {', '.join(parts)}")])
        elif not {int, float}.isdisjoint(parts) and (said.low, said.high) != (None, None):
            low = -math.inf if said.low is None else said.low
            high = math.inf if said.high is None else said.high
            good = value is None and NoneType in parts
            # A fraction may be a `Fraction` or numpy's; what must be whole is an int alone.
            fits = isinstance(value, Real) if float in parts else type(value) is int
            fits = fits and not isinstance(value, bool)
            good = good or (fits and low <= value <= high and math.isfinite(value))
            whole = "" if float in parts else "whole "
            check_rules(query, [(field.name, good, f"a {whole}number from {low} to {high}")])


def check_rules(
    query: Any, rules: Iterable[tuple[str, bool, str]], otherwise: str = _MEANING
) -> None:
    """Check rules, each a field's name, whether it holds, and what the field must be.

    Args:
        otherwise: what would come of a query that breaks one.

    Raises:
        ValueError: one does not hold.
    """
    for name, good, needed in rules:
        if not good:
            flag = next(describe_field(one).flag for one in fields(query) if one.name == name)
            option = f"; as an option it is --{flag}" if flag else ""
            raise ValueError(
                f"{name} is {getattr(query, name)!r} but must be {needed}, or {otherwise}. "
                f"Correct it{option}."
            )


def check_grid(
    grid: Grid,
    cells: int = CELLS_MAX,
    longest: int = CELLS_MAX,
    reason: str = "a map is held in memory",
) -> None:
    """Check that a map can be made of a grid, of so many cells at most, in all and along a side.

    Args:
        reason: why there may be no more.

    Raises:
        ValueError: it cannot.
    """
    shape = grid.shape
    whole = isinstance(shape, tuple) and len(shape) == 2 and all(type(n) is int for n in shape)
    if not (whole and min(shape) > 0 and type(grid.cell_mm) is int and grid.cell_mm >= 0):
        raise ValueError(
            f"the grid is {grid!r} but needs (columns, rows), whole numbers from 1, and a cell's "
            "side in whole millimetres, or 0: answers are cells. Correct it."
        )
    if shape[0] * shape[1] > cells or max(shape) > longest:
        raise ValueError(
            f"the grid has {shape[0]} x {shape[1]} cells but must have at most {cells}, and "
            f"{longest} along a side: {reason}. Take larger cells."
        )


def check_releases(
    query: Any,
    releases: Sequence[Release],
    expected: Round | None,
    differs: str = "other noise or other squares",
) -> None:
    """Check that releases are of a query's plan, each of a round of its own.

    Args:
        expected: the query's first Round.
        differs: how another plan differs.

    Raises:
        ValueError: there is none, or more than readings, or one is of another plan.
    """
    if expected is None or not 0 < len(releases) <= query.readings:
        raise ValueError(
            f"{len(releases)} releases came but the query asks for 1 to {query.readings}: what is "
            "promised holds for so many. Give those of one window."
        )
    for release in releases:
        # In whom to trust an experiment says otherwise.
        told = release.round.guarantee._replace(trust=expected.guarantee.trust)
        if release.round._replace(number=1, guarantee=told) != expected:
            raise ValueError(
                f"the release of round {release.round.number} is of another plan than this query's"
                f": {differs}, and the map would be wrong. Recover with the query that it was "
                "planned with."
            )
    if len({release.round.number for release in releases}) != len(releases):
        raise ValueError(
            "two releases are of one round, and would count twice. Give each round's once."
        )
