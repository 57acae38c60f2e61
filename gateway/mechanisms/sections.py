"""Which tables and keys of a deployment file belong to which mechanism.

A table that is needed and missing, or one that its mechanism does not read, is refused with a
sentence: what is written down and heeded by nobody would be taken for a promise.
"""

import typing
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, create_model, model_validator

from recovery.noise import Ratio

from ..faults import OperatorFault
from ..settings.fields import Count, Number, RatioField, Section
from . import TABLE, Mechanism, find_mechanism

_WINDOW = (
    f"{'# window_h = 24':<31} # they share it in any so many hours, for ever; an answer an hour: "
    "readings = 26\n"
)
# What [privacy] says of every query that has such a field.
_PRIVACY = ("epsilon", "delta", "protect_distance_m", "readings", "keyholder", "window_h")
POLE = 85.0  # degrees: beyond it the meridians run together within a grid
_Finite = Annotated[float, Field(allow_inf_nan=False), Number]


class Places(Section):
    """A device a person, and where the grid of their places lies; and then the query's fields."""

    devices: Count
    corner: tuple[_Finite, _Finite] | None = None  # latitude, longitude of the first cell's
    # degrees from north: the way of a row
    bearing: Annotated[float, Field(ge=0, le=360), Number] = 90.0

    @model_validator(mode="after")
    def _on_earth(self) -> Self:
        if self.corner is not None:
            latitude, longitude = self.corner
            if abs(latitude) > POLE or abs(longitude) > 180:
                raise ValueError(
                    f"corner is {latitude:g}, {longitude:g}; needed are a latitude from -{POLE:g} "
                    f"to {POLE:g} degrees, north positive, and then a longitude from -180 to 180, "
                    "east positive: nearer to a pole no grid is flat. Are the two the wrong way "
                    "round?"
                )
        return self


def list_own_tables() -> dict[str, type[Section]]:
    """Return the tables that mechanisms have of their own, by name."""
    return {
        one.name: _make_table_model(one)
        for one in map(find_mechanism, TABLE)
        if one.name in one.tables
    }


def _make_table_model(mechanism: Mechanism) -> type[Section]:
    kinds = typing.get_type_hints(mechanism.query)
    keys: dict[str, Any] = {}
    for field in _list_own_fields(mechanism):
        said, kind = mechanism.abouts[field.name], kinds[field.name]
        bounds = Field(ge=said.low, le=said.high)
        default: Any = ... if field.default is MISSING else field.default
        if kind == Ratio:
            kind = RatioField
        elif not {int, float}.isdisjoint(
            typing.get_args(kind) or (kind,)
        ):  # None may stand beside
            kind = Annotated[kind, Number]
        keys[field.name] = Annotated[kind, bounds], default
    return create_model(mechanism.name.capitalize(), __base__=Places, **keys)


def _list_own_fields(mechanism: Mechanism) -> list[Any]:
    """Return the fields of its query that stand in its own table."""
    elsewhere = ("grid", *_PRIVACY)
    return [field for field in fields(mechanism.query) if field.name not in elsewhere]


def make_sample_tables(mechanism: Mechanism) -> str:
    """Return the tables of a sample deployment above [mqtt]."""
    return (
        (Path(__file__).parent / "places.toml")
        .read_text("utf-8")
        .format(
            name=mechanism.name,
            title=TABLE[mechanism.name],
            gather=120 if mechanism.trust == "distributed" else 30,  # five steps, and not one
            own="\n".join(_format_key_line(one, mechanism) for one in _list_own_fields(mechanism)),
            privacy='delta = "1/100000"              # the probability added to its factor\n'
            * ("delta" in mechanism.abouts),
            window=_WINDOW * ("window_h" in mechanism.abouts),
        )
    )


def _format_key_line(field: Any, mechanism: Mechanism) -> str:
    """Return the line of a key; a comment where it alters the noise and need not be said."""
    said, kind = mechanism.abouts[field.name], typing.get_type_hints(mechanism.query)[field.name]
    text = said.served or said.example
    value = text if said.served or field.default in (None, MISSING) else _format(field.default)
    quoted = field.default is MISSING and typing.get_origin(kind) is typing.Literal
    if quoted or (said.served and field.default is not MISSING):
        value = f'"{value}"'
    off = "# " * (field.default is not MISSING and not said.map_only and not said.served)
    words = said.sentence.removesuffix(".")
    return f"{f'{off}{field.name} = {value}':<31} # {words[:1].lower()}{words[1:]}".rstrip(" #")


def _format(value: Any) -> str:
    """Return a value as TOML has it, and a ratio as a text.

    >>> _format("auto"), _format((1, 2)), _format(True), _format(0.9)
    ('"auto"', '"1/2"', 'true', '0.9')
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return f'"{value[0]}/{value[1]}"'
    return f'"{value}"' if isinstance(value, str) else str(value)


def check_tables(deployment: Any) -> None:
    """Check that a deployment has what its mechanism reads, and nothing beside it.

    Raises:
        ValueError: there is no such mechanism, or a table or key is missing or of no use to it.
    """
    try:
        mechanism = find_mechanism(deployment.rounds.mechanism)
    except OperatorFault as fault:
        raise ValueError(f"[rounds] mechanism: {fault}") from fault
    if said := [*_find_needless(deployment, mechanism), *_find_missing(deployment, mechanism)]:
        raise ValueError("; ".join(said))


def _find_needless(deployment: Any, mechanism: Mechanism) -> list[str]:
    name = mechanism.name
    said = [
        f"[{table}] {key} is given and the mechanism is {name}, for which {why}; remove it"
        for (table, key), why in mechanism.refused_keys.items()
        if _is_given(getattr(deployment, table), key)
    ]
    if not deployment.room.plan:  # a room file brings tables of its own
        said += [
            f"[{table}] is given and the mechanism is {name}, which does not read it: it "
            "would be ignored without a word. Remove it, or set [rounds] mechanism to one that "
            "does"
            for table in dict.fromkeys(
                table for one in TABLE for table in find_mechanism(one).tables
            )
            if table not in mechanism.tables and getattr(deployment, table) is not None
        ]
    return said


def _find_missing(deployment: Any, mechanism: Mechanism) -> list[str]:
    name = mechanism.name
    said = [
        f"[{table}] is missing and has no value to fall back on; the mechanism {name} must "
        f"know {why}. Add it: heatveil config --sample --mechanism {name}"
        for table, why in mechanism.tables.items()
        if getattr(deployment, table) is None
    ]
    return said + [
        f"[{table}] {key} is missing and has no value to fall back on; the mechanism {name} "
        f"must know {why}. Add it"
        for (table, key), why in mechanism.keys.items()
        if getattr(getattr(deployment, table), key) is None
    ]


def _is_given(section: Any, key: str) -> bool:
    """Return whether a key says something else than it would by itself."""
    return bool(getattr(section, key) != type(section).model_fields[key].default)
