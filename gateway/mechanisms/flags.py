"""From the words of flags, of --set and of published files to the fields of a query."""

import re
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import numpy as np

from edge.records import Grid, Round
from recovery.noise import Ratio, parse_ratio

from ..faults import OperatorFault, suggestion

# What the flags of every mechanism's query share: shapes, grids, and faults as the operator's.

_SHAPE = re.compile(r"([0-9]{1,7})(?:x([0-9]{1,7}))?", re.ASCII)


def shape(text: str, flag: str) -> tuple[int, int]:
    """Return (columns, rows) of N or NxM.

    >>> shape("100", "--cells"), shape("40x30", "--cells")
    ((100, 1), (40, 30))
    """
    match = _SHAPE.fullmatch(text.strip())
    columns, rows = (int(match[1]), int(match[2] or 1)) if match else (0, 0)
    if not (columns and rows):
        raise OperatorFault(
            f"{flag} {text} is no count; it must be a whole number from 1 to 9999999, or two with "
            "an x between, for it lays out the room. Write 100 for a line and 40x30 for a plane"
        )
    return columns, rows


def grid(cells: str, length: float | None, flag: str = "--cells") -> Grid:
    """Return the grid of so many cells (by that flag), so many metres long or on the unit line."""
    columns, rows = shape(cells, flag)
    if length is None:
        return Grid((columns, rows), 0)
    cell_mm = 1000 * length / columns
    if not 1 - 1e-9 <= cell_mm < 1e9 or abs(cell_mm - round(cell_mm)) > 1e-6:
        raise OperatorFault(
            f"--length {length:g} divided by {columns} cells is {cell_mm:g} mm; a cell must be "
            "whole millimetres, for every device must know the same one. Choose a length that "
            "the cells divide"
        )
    return Grid((columns, rows), round(cell_mm))


@contextmanager
def undrawn() -> Iterator[None]:
    """Turn what an estimator cannot do, in this room or with these readings, into that too.

    Raises:
        OperatorFault: there is no drawing this map.
    """
    try:
        yield
    except ValueError as fault:
        raise OperatorFault(str(fault)) from fault


@contextmanager
def refused() -> Iterator[None]:
    """Turn what a plan objects to into the operator's fault.

    Raises:
        OperatorFault: the query cannot be served.
    """
    try:
        with np.errstate(over="raise"):
            yield
    except ValueError as fault:
        raise OperatorFault(str(fault)) from fault
    except ArithmeticError as fault:
        raise OperatorFault(
            f"the query leads to numbers that cannot be computed with ({fault}); noise must be a "
            "whole number, or no device can draw it. Lower intensity_max or what else is huge"
        ) from fault


def first_round_of(query: Any, asks: Callable[[Any, Any], Round | None]) -> Round:
    """Return what the query asks first; asks: the plan of its mechanism.

    Raises:
        OperatorFault: it cannot be served.
    """
    with refused():
        round = asks(query, [])
    if round is None:
        raise RuntimeError("a query of one reading at least plans no round")
    return round


# One field of a query from its text: what `--set name=value` and a published file give.


def ratio(text: str, flag: str) -> Ratio:
    """Return the ratio that a flag was given.

    Raises:
        OperatorFault: it is not one, above all when it is a decimal.
    """
    try:
        return parse_ratio(text, flag)
    except ValueError as fault:
        raise OperatorFault(str(fault)) from fault


def given(settings: typing.Iterable[str], of: type, other: Mapping[str, str]) -> dict[str, Any]:
    """Return the fields that settings name, "name=value" each, as --set gives them.

    Args:
        of, other: as for `value`.

    Raises:
        OperatorFault: one sets nothing, or what cannot be set.
    """
    asked: dict[str, Any] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            raise OperatorFault(
                f"--set {setting} sets nothing; it needs a name and a value, name=value, or it "
                "is not known what is meant. Write for instance --set readings=4"
            )
        asked[name.strip()] = value(name.strip(), text.strip(), f"--set {setting}", of, other)
    return asked


def read_text(path: Path) -> str:
    """Return what a file says.

    Raises:
        OperatorFault: it cannot be read.
    """
    try:
        return path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as fault:
        why = getattr(fault, "strerror", None) or "it is not UTF-8 text"
        raise OperatorFault(
            f"{path} cannot be read ({why}); it must hold published readings, for there is "
            "nothing else to draw a map from. Check the name"
        ) from fault


def value(name: str, text: str, given: str, of: type, other: Mapping[str, str]) -> Any:
    """Return a field's value from its text, by the type of that field.

    Args:
        given: what to call the setting in a complaint.
        of: the dataclass whose field it is, a mechanism's query.
        other: those of its fields that are not set this way, and what sets them.

    Raises:
        OperatorFault: it has no such field, or the text is no value of it.
    """
    kinds = typing.get_type_hints(of)
    if name not in kinds or name in other:
        hint = suggestion(name, [field.name for field in fields(of) if field.name not in other])
        way = f"use {other[name]}" if name in other else hint
        raise OperatorFault(
            f"{given}: {name or 'nothing'} cannot be set this way; a setting names what the "
            f"mechanism knows, or it would do nothing unnoticed; {way}"
        )
    kind = kinds[name]
    parts = typing.get_args(kind) if isinstance(kind, types.UnionType) else (kind,)
    if types.NoneType in parts and text.lower() == "none":
        return None
    (kind,) = (part for part in parts if part is not types.NoneType)
    if name == "furniture":
        return _rectangles(text, given)
    if kind == Ratio or kind is Fraction:
        pair = ratio(text, given)
        return pair if kind == Ratio else Fraction(*pair)
    return _plain(kind, text, given)


def _rectangles(text: str, given: str) -> tuple[tuple[int, ...], ...]:
    """Return rectangles of cells, "column,row,columns,rows" each, with semicolons between."""
    try:
        return tuple(
            tuple(int(part) for part in one.split(",")) for one in text.split(";") if one.strip()
        )
    except ValueError as fault:
        raise OperatorFault(
            f"{given}: {text!r} is no furniture; it needs column,row,columns,rows in whole cells, "
            "and semicolons between several, or it is not known where nobody can stand. Write "
            "for instance --set 'furniture=0,0,4,2;10,5,3,3'"
        ) from fault


def _plain(kind: Any, text: str, given: str) -> Any:
    """Return a word, a truth, a whole number or a decimal."""
    if kind is str or typing.get_origin(kind) is Literal:
        return text
    if kind is bool and text.lower() in ("true", "false"):
        return text.lower() == "true"
    needs = {bool: "true or false", int: "a whole number", float: "a number"}
    if kind is not bool:
        try:
            return kind(text)
        except ValueError:
            pass
    raise OperatorFault(
        f"{given}: {text!r} is not {needs[kind]}, which it must be, or the query would mean "
        "something else. Correct it"
    )
