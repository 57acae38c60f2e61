"""A store opened to be read only: nothing is made, nothing is changed, nobody is kept waiting."""

import sqlite3
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, create_engine, event, inspect, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from ..faults import OperatorFault
from . import postgres
from .files import address
from .opening import unusable
from .places import Database, Place
from .schema import SCHEMA, about

MADE = "heatveil serve makes it"


def looking(place: Place) -> Engine:
    """Return an engine that only reads, on a store that is there.

    Raises:
        OperatorFault: it is not there, is no store, or of another heatveil's schema.
    """
    if isinstance(place, Path) and not place.exists():
        raise _unmade(f"at {place}", "[site] database")
    engine = _file(place) if isinstance(place, Path) else postgres.engine(place, read_only=True)
    try:
        with engine.connect() as connection:
            if isinstance(place, Database) and not inspect(connection).get_table_names():
                raise _unmade(str(place), "[store] postgresql")
            found = connection.scalar(select(about.c.schema))
    except OperatorFault:
        engine.dispose()
        raise
    except SQLAlchemyError as fault:
        engine.dispose()
        raise unusable(place, fault) from fault
    if found != SCHEMA:
        engine.dispose()
        older = found is None or found < SCHEMA
        way = "heatveil serve brings it up to date at its start" if older else "Use that heatveil"
        raise OperatorFault(
            f"the database {place} holds schema {found}, and this heatveil reads schema {SCHEMA}: "
            f"it would misread what was spent. {way}"
        )
    return engine


def _unmade(place: str, key: str) -> OperatorFault:
    return OperatorFault(
        f"there is no store {place} yet, so there is nothing to be read; {MADE}. Start that "
        f"first, or mend {key} in the deployment file"
    )


def _file(path: Path) -> Engine:
    def connected() -> Any:
        return sqlite3.connect(address(path), uri=True, timeout=5, check_same_thread=False)

    engine = create_engine(
        "sqlite://", creator=connected, poolclass=NullPool, hide_parameters=True
    )

    @event.listens_for(engine, "connect")
    def _connected(connection: Any, _record: Any) -> None:
        connection.isolation_level = None
        connection.execute("PRAGMA query_only=ON")

    @event.listens_for(engine, "begin")
    def _begun(connection: Any) -> None:
        connection.exec_driver_sql("BEGIN")

    return engine
