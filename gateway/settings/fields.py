"""The kinds of values that a deployment file may hold: counts, shapes, ratios, names, ports."""

from dataclasses import fields
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from recovery.estimators import HOMES
from recovery.noise import Ratio, parse_ratio


class Variable(str):
    """A text of a variable of the environment, alone or in its JSON: it may stand for a number."""

    __slots__ = ()


def _check_number(given: Any) -> Any:
    if isinstance(given, str) and not isinstance(given, Variable):
        raise ValueError("it should be a number without quotes")
    return given


def _parse_ratio_value(given: Any) -> Any:
    if isinstance(given, float):
        try:
            parse_ratio(str(given), "the decimal")
        except ValueError as fault:
            raise ValueError(f"{fault}. Put it in quotes") from fault
    return given if isinstance(given, tuple) else parse_ratio(str(given), "the text")


def _parse_shape(given: Any) -> Any:
    if isinstance(given, Variable) and given.isascii() and given.isdecimal():
        given = int(given)
    if isinstance(given, str):
        raise ValueError("it should be a number, or two in brackets, without quotes")
    return (given, 1) if isinstance(given, int) else given


def _check_estimator(given: Any) -> Any:
    if given not in HOMES:  # a file brings no code
        raise ValueError(f"it should be one of {', '.join(HOMES)}")
    return given


def _switch(given: Any) -> Any:
    if isinstance(given, bool):
        return given
    if isinstance(given, Variable) and given in ("true", "false"):
        return given == "true"
    raise ValueError("it should be true or false and nothing else, lest a no be taken for a yes")


# What editors are told of a field, where a validator takes more than its type says.
_COUNT = {"type": "integer", "minimum": 1, "maximum": 1_000_000}
_SHAPE = {"anyOf": [_COUNT, {"type": "array", "items": _COUNT, "minItems": 2, "maxItems": 2}]}
_RATIO = {"anyOf": [{"type": "string", "examples": ["8/1", "1/100000"]}, {"type": "integer"}]}

Number = BeforeValidator(_check_number)
Count = Annotated[int, Field(ge=1, le=1_000_000), Number]
Shape = Annotated[tuple[Count, Count], BeforeValidator(_parse_shape), WithJsonSchema(_SHAPE)]
RatioField = Annotated[Ratio, BeforeValidator(_parse_ratio_value), WithJsonSchema(_RATIO)]
Switch = Annotated[bool, BeforeValidator(_switch), WithJsonSchema({"type": "boolean"})]
EstimatorName = Annotated[str, BeforeValidator(_check_estimator)]
_FromZero = Annotated[int, Field(ge=0), Number]
Rectangle = tuple[_FromZero, _FromZero, Count, Count]  # of cells: column, row, how many of both
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False), Number]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False), Number]
Port = Annotated[int, Field(ge=1, le=65535), Number]
# A level of an MQTT topic: no slash, no wildcard, nothing to escape.
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,32}$")]


class Section(BaseModel):
    """A table of the file: frozen, and nothing in it that we do not know."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def collect_fields(query: Any, *tables: Any) -> dict[str, Any]:
    """Return the fields of a query that tables of a deployment file have by the same name."""
    return {
        field.name: getattr(table, field.name)
        for field in fields(query)
        for table in tables
        if field.name in type(table).model_fields
    }
