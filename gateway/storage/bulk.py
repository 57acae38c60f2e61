"""Many rows in one statement, and many keys in one question, as each database does it fastest.

SQLite takes one prepared statement many times; PostgreSQL takes columns as arrays. Both are
measured in `tests/bench`: SQLAlchemy's own way costs three times as much a row.
"""

from collections.abc import Sequence
from functools import cache
from itertools import chain
from typing import Any

from sqlalchemy import Boolean, Float, Integer, LargeBinary, String, Table

AT_ONCE = 512  # keys in one question to SQLite, which bounds the values of a statement
ARRAYS = {Boolean: "bool[]", Float: "float8[]", LargeBinary: "bytea[]", String: "text[]"}


def insert_many(
    connection: Any,
    table: Table,
    columns: tuple[str, ...],
    rows: Sequence[tuple[Any, ...]],
    conflict: str = "",
) -> int:
    """Insert rows; return how many were written.

    Args:
        conflict: what to do with a row that is there: the statement's last clause.
    """
    if not rows:
        return 0
    postgres = connection.dialect.name == "postgresql"
    statement = _insert(table, columns, conflict, postgres)
    given: Any = tuple(map(list, zip(*rows, strict=True))) if postgres else list(rows)
    return int(connection.exec_driver_sql(statement, given).rowcount)


def select_many(
    connection: Any,
    table: Table,
    columns: tuple[str, ...],
    keys: Sequence[tuple[Any, ...]],
    wanted: tuple[str, ...],
) -> list[tuple[Any, ...]]:
    """Return these columns of the rows under one of the keys; a row may come more than once."""
    if not keys:
        return []
    if connection.dialect.name == "postgresql":
        arrays = tuple(map(list, zip(*keys, strict=True)))
        rows = connection.exec_driver_sql(_question(table, columns, wanted, 0), arrays)
        return [tuple(row) for row in rows]
    found: list[tuple[Any, ...]] = []
    for first in range(0, len(keys), AT_ONCE):
        some = list(keys[first : first + AT_ONCE])
        size = 1 << (len(some) - 1).bit_length()  # few texts, so that each is prepared once
        some += [some[0]] * (size - len(some))
        statement = _question(table, columns, wanted, size)
        rows = connection.exec_driver_sql(statement, tuple(chain.from_iterable(some)))
        found += [tuple(row) for row in rows]
    return found


@cache
def _insert(table: Table, columns: tuple[str, ...], conflict: str, postgres: bool) -> str:
    into = f"INSERT INTO {table.name} ({_names(columns)}) "
    if postgres:
        arrays = ", ".join(_array(table, column) for column in columns)
        return f"{into}SELECT * FROM unnest({arrays}) {conflict}"
    return f"{into}VALUES ({', '.join('?' * len(columns))}) {conflict}"


@cache
def _question(table: Table, columns: tuple[str, ...], wanted: tuple[str, ...], size: int) -> str:
    names, asked = _names(columns), _names(wanted)
    if not size:
        arrays = ", ".join(_array(table, column) for column in columns)
        return (
            f"SELECT {asked} FROM {table.name} JOIN unnest({arrays}) "
            f"AS asked ({names}) USING ({names})"
        )
    # CROSS keeps the keys in front: SQLite would else go through the whole table for them.
    keys = [f"key_{n}" for n in range(len(columns))]
    row = f"({', '.join('?' * len(columns))})"
    same = " AND ".join(f'"{column}" = {key}' for column, key in zip(columns, keys, strict=True))
    return (
        f"WITH asked ({', '.join(keys)}) AS (VALUES {', '.join([row] * size)}) "
        f"SELECT {asked} FROM asked CROSS JOIN {table.name} ON {same}"
    )


def _names(columns: tuple[str, ...]) -> str:
    return ", ".join(f'"{column}"' for column in columns)


def _array(table: Table, column: str) -> str:
    kind = table.c[column].type
    named = "int8[]" if isinstance(kind, Integer) else ARRAYS[type(kind)]
    return f"%b::{named}"
