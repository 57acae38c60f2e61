"""SQLite, made to keep its promises."""

from pathlib import Path
from typing import Any

from sqlalchemy import Engine, create_engine, event


def engine(path: Path) -> Engine:
    """Return an engine on a file; nothing is opened yet."""
    # What a statement carried must not end up in a log with its error.
    engine = create_engine(f"sqlite:///{path}", hide_parameters=True)
    _hold_to_promises(engine)
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
        connection.execute("PRAGMA journal_size_limit=8388608")  # after a reader held it open

    @event.listens_for(engine, "begin")
    def _begun(connection: Any) -> None:
        reading = connection.get_execution_options().get("reading", False)
        connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")
