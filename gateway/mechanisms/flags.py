"""From the words of flags, of --set and of published files to the fields of a query."""

import re
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import numpy as np

from edge.core.records import Grid, Round
from recovery.noise import Ratio, parse_ratio

from ..faults import OperatorFault, suggest_name
from .record import Mechanism

# What the flags of every mechanism's query share: shapes, grids, and faults as the operator's.

_SHAPE = re.compile(r"([0-9]{1,7})(?:x([0-9]{1,7}))?", re.ASCII)


def parse_shape(text: str, flag: str) -> tuple[int, int]:
    """Return (columns, rows) of N or NxM.

    >>> parse_shape("100", "--cells"), parse_shape("40x30", "--cells")
    ((100, 1), (40, 30))
    """
    match = _SHAPE.fullmatch(text.strip())
    columns, rows = (int(match[1]), int(match[2] or 1)) if match else (0, 0)
    if not (columns and rows):
        raise OperatorFault(
            f"{flag} is {text} but must be a whole number from 1 to 9999999, or two with an x "
            "between. Write 100 for a line and 40x30 for a plane"
        )
    return columns, rows


def make_grid(cells: str, length: float | None, flag: str = "--cells") -> Grid:
    """Return the grid of so many cells (by that flag), so many metres long or on the unit line."""
    columns, rows = parse_shape(cells, flag)
    if length is None:
        return Grid((columns, rows), 0)
    if not length > 0:
        raise OperatorFault(
            f"--length {length:g} is in metres and must be above 0. Give another length"
        )
    cell_mm = 1000 * length / columns
    if not 1 - 1e-9 <= cell_mm < 1e9 or abs(cell_mm - round(cell_mm)) > 1e-6:
        raise OperatorFault(
            f"--length {length:g} divided by {columns} cells is {cell_mm:g} mm; a cell must be "
            "whole millimetres, for every device must know the same one. Choose a length that "
            "the cells divide"
        )
    return Grid((columns, rows), round(cell_mm))


@contextmanager
def convert_recovery_faults() -> Iterator[None]:
    """Turn what an estimator cannot do, in this room or with these readings, into that too.

    Raises:
        OperatorFault: there is no drawing this map.
    """
    try:
        yield
    except ValueError as fault:
        raise OperatorFault(str(fault)) from fault


@contextmanager
def convert_plan_faults() -> Iterator[None]:
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
            f"the query leads to numbers too large to compute with ({fault}), so no noise can be "
            "planned. Lower intensity_max, or whichever other value is very large"
        ) from fault


def plan_or_refuse(query: Any, asks: Callable[[Any, Any], Round | None]) -> Round:
    """Return what the query asks first; asks: the plan of its mechanism.

    Raises:
        OperatorFault: it cannot be served.
    """
    with convert_plan_faults():
        round = asks(query, [])
    if round is None:
        raise RuntimeError("a query of one reading at least plans no round")
    return round


# One field of a query from its text: what `--set name=value` and a published file give.


def parse_ratio_flag(text: str, flag: str) -> Ratio:
    """Return the ratio that a flag was given.

    Raises:
        OperatorFault: it is not one, above all when it is a decimal.
    """
    try:
        return parse_ratio(text, flag)
    except ValueError as fault:
        raise OperatorFault(str(fault)) from fault


def parse_query(mechanism: Mechanism, settings: Iterable[str] = (), **given: Any) -> Any:
    """Return the query that options and settings ask for.

    Args:
        settings: "name=value" for any further field, as --set gives it.
        given: the texts of the options that came; "length" among them, in metres.

    Raises:
        OperatorFault: one has no meaning, alone or beside the others.
    """
    usual = {
        said.flag: said.example for said in mechanism.abouts.values() if said.flag and said.example
    }
    texts = {**usual, **{flag: str(text) for flag, text in given.items() if text is not None}}
    mechanism.check_texts(texts)
    asked: dict[str, Any] = {}
    kinds = typing.get_type_hints(mechanism.query)
    for name, said in mechanism.abouts.items():
        if said.flag not in texts:
            continue
        text, flag = texts[said.flag], f"--{said.flag}"
        if kinds[name] is Grid:
            length = texts.get("length")
            asked[name] = make_grid(text, None if length is None else float(length), flag)
        elif kinds[name] == tuple[int, ...]:
            columns, rows = parse_shape(text, flag)
            asked[name] = (columns,) if rows == 1 else (columns, rows)
        else:
            asked[name] = parse_value(name, text, flag, mechanism)
    more = parse_settings(settings, mechanism)
    for name in mechanism.abouts.keys() & more:
        if given.get(flag := mechanism.abouts[name].flag or "") is not None:
            raise OperatorFault(
                f"--{flag} and --set {name} are one setting, and both were given. Leave one out"
            )
    return make_query_from_fields(mechanism, {**asked, **more})


def make_query_from_fields(mechanism: Mechanism, asked: Mapping[str, Any]) -> Any:
    """Return the query of these values.

    Raises:
        OperatorFault: they have no meaning together.
    """
    try:
        query = mechanism.query(**asked)
    except ValueError as fault:
        raise OperatorFault(str(fault)) from fault
    mechanism.check_query(query)
    return query


def parse_settings(settings: Iterable[str], mechanism: Mechanism) -> dict[str, Any]:
    """Return the fields that settings name, "name=value" each, as --set gives them.

    Raises:
        OperatorFault: one sets nothing, or what cannot be set.
    """
    asked: dict[str, Any] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            raise OperatorFault(
                f"--set {setting} is not of the form name=value. Write for instance --set "
                "readings=4"
            )
        asked[name.strip()] = parse_value(
            name.strip(), text.strip(), f"--set {setting}", mechanism
        )
    return asked


def read_text_file(path: Path) -> str:
    """Return what a file says.

    Raises:
        OperatorFault: it cannot be read.
    """
    try:
        return path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as fault:
        why = getattr(fault, "strerror", None) or "it is not UTF-8 text"
        raise OperatorFault(
            f"{path} cannot be read ({why}); it must be the file of published readings from "
            "which the map is drawn. Check the name"
        ) from fault


def parse_value(name: str, text: str, given: str, mechanism: Mechanism) -> Any:
    """Return a field's value from its text, by the type of that field.

    Args:
        given: what to call the setting in a complaint.
        mechanism: of whose query it is a field.

    Raises:
        OperatorFault: it has no such field, or the text is no value of it.
    """
    kinds = typing.get_type_hints(mechanism.query)
    other = {
        name: way
        for name, kind in kinds.items()
        if (way := _name_other_way(kind, mechanism, name))
    }
    if name in other:
        raise OperatorFault(f"{given}: {name!r} cannot be set this way; use {other[name]}")
    if name not in kinds:
        raise OperatorFault(
            f"{given}: {name!r} is not a setting of this mechanism, and would be silently "
            f"ignored; {suggest_name(name, [name for name in kinds if name not in other])}"
        )
    kind = kinds[name]
    parts = typing.get_args(kind) if isinstance(kind, types.UnionType) else (kind,)
    if types.NoneType in parts and text.lower() == "none":
        return None
    (kind,) = (part for part in parts if part is not types.NoneType)
    if name == "furniture":
        return _parse_rectangles(text, given)
    if kind == Ratio or kind is Fraction:
        pair = parse_ratio_flag(text, given)
        return pair if kind == Ratio else Fraction(*pair)
    return _parse_plain_value(kind, text, given)


def _name_other_way(kind: Any, mechanism: Mechanism, name: str) -> str:
    """Return what gives a field that no text can; "" where a text gives it."""
    flag = f"--{mechanism.abouts[name].flag}"
    if kind is Grid:
        return f"{flag} and --length"
    return flag if kind == tuple[int, ...] else mechanism.abouts[name].elsewhere


def _parse_rectangles(text: str, given: str) -> tuple[tuple[int, ...], ...]:
    """Return rectangles of cells, "column,row,columns,rows" each, with semicolons between."""
    try:
        return tuple(
            tuple(int(part) for part in one.split(",")) for one in text.split(";") if one.strip()
        )
    except ValueError as fault:
        raise OperatorFault(
            f"{given}: {text!r} is not a list of rectangles where nobody can stand. Write "
            "column,row,columns,rows in whole cells, with semicolons between rectangles, for "
            "instance --set 'furniture=0,0,4,2;10,5,3,3'"
        ) from fault


def _parse_plain_value(kind: Any, text: str, given: str) -> Any:
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
    raise OperatorFault(f"{given}: {text!r} is not {needs[kind]}. Correct it")
