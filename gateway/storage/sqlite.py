"""The store's file: opened only where it is ours, and SQLite made to keep its promises."""

from pathlib import Path
from typing import Any

from sqlalchemy import Engine, create_engine, event, insert, inspect, select
from sqlalchemy.exc import SQLAlchemyError

from ..faults import OperatorFault
from .schema import METADATA, SCHEMA, about


def opened(path: Path, site: str) -> Engine:
    """Return an engine on the file, with the tables of this site in it.

    Raises:
        OperatorFault: the file cannot be opened, is no store, is another site's or another
            heatveil's.
    """
    # What a statement carried must not end up in a log with its error.
    engine = create_engine(f"sqlite:///{path}", hide_parameters=True)
    _hold_to_promises(engine)
    try:
        with engine.begin() as connection:
            if not inspect(connection).has_table("about"):
                METADATA.create_all(connection)
                connection.execute(insert(about).values(schema=SCHEMA, site=site))
            found = connection.scalar(select(about.c.schema))
            owner = connection.scalar(select(about.c.site)) if found == SCHEMA else site
    except SQLAlchemyError as fault:
        engine.dispose()
        raise OperatorFault(
            f"the database {path} cannot be opened ({getattr(fault, 'orig', fault)}); it must "
            "be a writable SQLite file, because nothing is acknowledged before it is stored. "
            "Mend [site] database in the deployment file"
        ) from fault
    if found != SCHEMA:
        engine.dispose()
        raise OperatorFault(
            f"the database {path} holds schema {found}, and this heatveil knows schema "
            f"{SCHEMA}: it would misread what was spent. Run the heatveil that wrote it, or "
            "name another file under [site] database"
        )
    if owner != site:
        engine.dispose()
        raise OperatorFault(
            f"the database {path} belongs to site {owner}, not to {site}: what one room's people "
            "have spent is not another's. Name another file under [site] database"
        )
    return engine


def _hold_to_promises(engine: Engine) -> None:
    """Make commits survive a power cut, and transactions really be transactions.

    Left to itself Python's sqlite3 opens transactions late and not at all for CREATE
    TABLE, so a failure half way leaves half a schema behind. We send BEGIN ourselves:
    IMMEDIATE for writers, so that what was read under it still holds when it is written.
    """

    @event.listens_for(engine, "connect")
    def _connected(connection: Any, _record: Any) -> None:
        connection.isolation_level = None
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA busy_timeout=2000")

    @event.listens_for(engine, "begin")
    def _begun(connection: Any) -> None:
        reading = connection.get_execution_options().get("reading", False)
        connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")
