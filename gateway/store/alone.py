"""One process to a database or a folder: a lock that goes with the process, however it ends.

At PostgreSQL it is an advisory lock, on a connection of its own. It goes with the connection, so a
server that was started again has forgotten it. A thread looks every second, and takes it again.
What is in the database does not rest on it: rounds are opened and charged under a row lock. It
keeps two gateways from being in each other's way.
"""

import fcntl
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import structlog
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError

from ..faults import OperatorFault, TakenFault
from . import postgres
from .opening import unusable
from .places import Database, Place

LOOK_S = 1.0
# Of the server: a leader whose machine has lost its power says no goodbye, and a server that does
# not ask whether it is still there would keep its lock, two hours by default.
NOTICED = {"tcp_keepalives_idle": 5, "tcp_keepalives_interval": 2, "tcp_keepalives_count": 3}
log = structlog.get_logger()


@contextmanager
def held_at(database: Database, taken: str, lost: Callable[[], None] | None) -> Iterator[None]:
    """Hold the lock of a site's gateway for as long as the block lasts.

    Raises:
        OperatorFault: another holds it (`TakenFault`), or the database cannot be reached.
    """
    engine = postgres.engine(database).execution_options(isolation_level="AUTOCOMMIT")
    over = threading.Event()
    try:
        try:
            connection = _taken(engine)
        except DBAPIError as fault:
            raise unusable(database, fault) from fault
        if connection is None:
            raise TakenFault(taken)
        words = (engine, connection, over, lost)
        keeper = threading.Thread(target=_keep, args=words, name="lock", daemon=True)
        keeper.start()
        try:
            yield
        finally:
            over.set()
            keeper.join()
    finally:
        engine.dispose()


def _taken(engine: Engine) -> Connection | None:
    """Return a connection that holds the lock, or None where another does."""
    connection = engine.connect()
    try:
        where = connection.scalar(text("SELECT current_schema()"))
        digest = sha256(f"heatveil/{where}/".encode()).digest()
        key = int.from_bytes(digest[:8], "big", signed=True)
        for name, value in NOTICED.items():
            connection.execute(text(f"SET {name} = {value}"))
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
            connection = _taken(engine)
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


@contextmanager
def held(lock: Path, unusable: str, taken: str) -> Iterator[None]:
    """Hold a lock file against every other process, for as long as the block lasts.

    Args:
        unusable: what to say where the file cannot be opened; `{why}` is put in.
        taken: what to say where another process holds it.

    Raises:
        OperatorFault: one of the two.
    """
    try:
        opened = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as fault:
        raise OperatorFault(unusable.replace("{why}", str(fault.strerror))) from fault
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as fault:
        os.close(opened)
        raise TakenFault(taken) from fault
    try:
        yield
    finally:
        os.close(opened)


@contextmanager
def alone(place: Place, *, lost: Callable[[], None] | None = None) -> Iterator[None]:
    """Hold a site's store against every other gateway, for as long as the block lasts.

    In a folder the lock is on a file beside the database: SQLite's own are on it, and come and
    go. At PostgreSQL it is an advisory lock, which goes with our connection.

    Args:
        lost: called, on another thread, when another gateway took the lock while PostgreSQL was
            out of reach.

    Raises:
        OperatorFault: another gateway holds it, or there is no such place.
    """
    taken = (
        f"another gateway runs on the database {place}; one at a time may, for two would "
        "throw each other off the broker and open rounds behind each other's back. Stop the "
        "other one first"
    )
    if not isinstance(place, Path):
        pass

        with held_at(place, taken, lost):
            yield
        return
    real = place.resolve()
    beside = real.with_name(real.name + ".lock")
    unusable = (
        f"the database {place} cannot be locked: {beside} cannot be written ({{why}}); the "
        "lock keeps a second gateway off, which would throw the first off the broker. Mend "
        "[site] database in the deployment file, or its folder"
    )
    with held(beside, unusable, taken):
        yield
