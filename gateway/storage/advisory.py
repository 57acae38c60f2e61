"""The lock of one gateway at PostgreSQL: an advisory lock, on a connection of its own.

It goes with the connection, so a server that was started again has forgotten it. A thread looks
every second, and takes it again. What is in the database does not rest on it: rounds are opened
and charged under a row lock. It keeps two gateways from being in each other's way.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256

import structlog
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError

from ..faults import TakenFault
from . import postgres
from .opening import unusable
from .places import Database

LOOK_S = 1.0
log = structlog.get_logger()


@contextmanager
def held_at(
    database: Database, part: int | None, taken: str, lost: Callable[[], None] | None
) -> Iterator[None]:
    """Hold the lock of a site's gateway, or of a part, for as long as the block lasts.

    Raises:
        OperatorFault: another holds it (`TakenFault`), or the database cannot be reached.
    """
    engine = postgres.engine(database).execution_options(isolation_level="AUTOCOMMIT")
    over = threading.Event()
    try:
        try:
            connection = _taken(engine, part)
        except DBAPIError as fault:
            raise unusable(database, fault) from fault
        if connection is None:
            raise TakenFault(taken)
        words = (engine, connection, part, over, lost)
        keeper = threading.Thread(target=_keep, args=words, name="lock", daemon=True)
        keeper.start()
        try:
            yield
        finally:
            over.set()
            keeper.join()
    finally:
        engine.dispose()


def _taken(engine: Engine, part: int | None) -> Connection | None:
    """Return a connection that holds the lock, or None where another does."""
    connection = engine.connect()
    try:
        where = connection.scalar(text("SELECT current_schema()"))
        words = f"heatveil/{where}/{'' if part is None else part}".encode()
        key = int.from_bytes(sha256(words).digest()[:8], "big", signed=True)
        ours = connection.scalar(text("SELECT pg_try_advisory_lock(:key)"), {"key": key})
    except BaseException:
        connection.close()
        raise
    if ours:
        return connection
    connection.close()
    return None


def _keep(
    engine: Engine,
    connection: Connection | None,
    part: int | None,
    over: threading.Event,
    lost: Callable[[], None] | None,
) -> None:
    """Look that the lock is still held, and take it again when the server forgot it."""
    told = False
    while not over.wait(LOOK_S):
        try:
            if connection is not None:
                connection.scalar(text("SELECT 1"))
                continue
            connection = _taken(engine, part)
        except DBAPIError:
            _let_go(connection)
            connection = None
            continue
        if connection is None and not told:
            told = True
            log.error("another gateway has taken the database while it was out of reach")
            if lost is not None:
                lost()
    _let_go(connection)


def _let_go(connection: Connection | None) -> None:
    """Close a connection, and not only return it to those that are used again: it has the lock."""
    if connection is not None:
        connection.invalidate()
        connection.close()
